-- Whose account it is: whether something of it is proved, and who gets an address or number that it only claims once somebody
-- else proves it. `held`, which this replaces, is read by the release before this one only.
ALTER TABLE users ADD COLUMN founded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user_emails ADD COLUMN successor TEXT;
ALTER TABLE user_phones ADD COLUMN successor TEXT;
-- Whether the account was founded when the identifier was attached to it: of those of before, nobody knows.
ALTER TABLE user_emails ADD COLUMN of_founded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user_phones ADD COLUMN of_founded INTEGER NOT NULL DEFAULT 0;

-- Why a wallet signs nothing; NULL where the App asked for it before there were other reasons.
ALTER TABLE wallets ADD COLUMN disabled_reason TEXT;
