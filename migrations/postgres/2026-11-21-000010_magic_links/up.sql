-- Magic links: at most one of an address and purpose. No foreign keys, as for codes.
CREATE TABLE magic_links (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    email_id TEXT COLLATE "C" NOT NULL,
    purpose TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    token_hash BYTEA NOT NULL,
    redirect TEXT,
    fingerprint TEXT,
    -- Of the browser that asked for the link, where it has a token of its own.
    origin_hash BYTEA,
    created_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    used_at INT8,
    -- What its use started, and when that browser got its own.
    session_id TEXT COLLATE "C",
    handed_at INT8,
    CONSTRAINT magic_links_app_id_environment_email_id_purpose_key PRIMARY KEY (app_id, environment, email_id, purpose),
    CONSTRAINT magic_links_app_id_environment_token_hash_key UNIQUE (app_id, environment, token_hash)
);

CREATE INDEX magic_links_app_id_environment_user_id_idx ON magic_links (app_id, environment, user_id);
CREATE INDEX magic_links_expires_at_idx ON magic_links (expires_at);
