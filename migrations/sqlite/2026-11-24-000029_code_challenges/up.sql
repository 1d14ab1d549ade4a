-- Whose a sign-in token is: the challenge of the start call, and how often a verifier was tried.
ALTER TABLE oauth_flows ADD COLUMN code_challenge BLOB;
ALTER TABLE oauth_tokens ADD COLUMN code_challenge BLOB;
ALTER TABLE magic_links ADD COLUMN code_challenge BLOB;
ALTER TABLE oauth_tokens ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE magic_links ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;

-- What the browser brings back to the App beside the token.
ALTER TABLE oauth_flows ADD COLUMN caller_state TEXT;
