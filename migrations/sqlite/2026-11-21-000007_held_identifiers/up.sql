-- Identifiers that were attached before somebody else proved the account: only a session of that account can prove them now.
ALTER TABLE user_emails ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user_phones ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
