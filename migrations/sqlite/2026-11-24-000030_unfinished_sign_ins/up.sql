-- The client address under which a begin was counted, until the sign-in is finished.
ALTER TABLE oauth_flows ADD COLUMN begun_from TEXT;
ALTER TABLE oauth_tokens ADD COLUMN begun_from TEXT;
