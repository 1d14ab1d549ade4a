-- Identifiers that were attached before somebody else proved the account: only a session of that account can prove them now.
ALTER TABLE user_emails ADD COLUMN held BOOL NOT NULL DEFAULT FALSE;
ALTER TABLE user_phones ADD COLUMN held BOOL NOT NULL DEFAULT FALSE;
