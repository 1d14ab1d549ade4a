-- Magic links: at most one of an address and purpose. No foreign keys, as for codes.
CREATE TABLE magic_links (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    email_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    user_id TEXT NOT NULL,
    token_hash BLOB NOT NULL,
    redirect TEXT,
    fingerprint TEXT,
    -- Of the browser that asked for the link, where it has a token of its own.
    origin_hash BLOB,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    -- What its use started, and when that browser got its own.
    session_id TEXT,
    handed_at INTEGER,
    CONSTRAINT magic_links_app_id_environment_email_id_purpose_key PRIMARY KEY (app_id, environment, email_id, purpose),
    CONSTRAINT magic_links_app_id_environment_token_hash_key UNIQUE (app_id, environment, token_hash)
) STRICT;

CREATE INDEX magic_links_app_id_environment_user_id_idx ON magic_links (app_id, environment, user_id);
CREATE INDEX magic_links_expires_at_idx ON magic_links (expires_at);
