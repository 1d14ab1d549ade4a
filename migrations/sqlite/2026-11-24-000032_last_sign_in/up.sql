-- When the user last signed in; NULL when it never did, or not since this is noted.
ALTER TABLE users ADD COLUMN last_sign_in_at INTEGER;
