-- Whose account it is: whether something of it is proved, and who gets an address or number that it only claims once somebody
-- else proves it. `held`, which this replaces, is read by the release before this one only.
ALTER TABLE users ADD COLUMN founded BOOL NOT NULL DEFAULT FALSE;
ALTER TABLE user_emails ADD COLUMN successor TEXT COLLATE "C";
ALTER TABLE user_phones ADD COLUMN successor TEXT COLLATE "C";
-- Whether the account was founded when the identifier was attached to it: of those of before, nobody knows.
ALTER TABLE user_emails ADD COLUMN of_founded BOOL NOT NULL DEFAULT FALSE;
ALTER TABLE user_phones ADD COLUMN of_founded BOOL NOT NULL DEFAULT FALSE;

-- Why a wallet signs nothing; NULL where the App asked for it before there were other reasons.
ALTER TABLE wallets ADD COLUMN disabled_reason TEXT COLLATE "C";
