-- What Apps have set for identity providers. The callback id stands in an address that the provider is told, without a world.
CREATE TABLE provider_connections (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    callback_id TEXT COLLATE "C" NOT NULL,
    client_id TEXT NOT NULL,
    settings TEXT NOT NULL,
    secret_key_version INT8 NOT NULL,
    secret BYTEA NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT provider_connections_app_id_environment_name_key PRIMARY KEY (app_id, environment, name),
    CONSTRAINT provider_connections_callback_id_key UNIQUE (callback_id),
    CONSTRAINT provider_connections_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
);

-- Browsers that are away at a provider. A row is deleted when its state is used.
CREATE TABLE oauth_flows (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    state_hash BYTEA NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    secrets_key_version INT8 NOT NULL,
    secrets BYTEA NOT NULL,
    redirect_uri TEXT,
    browser_hash BYTEA,
    login_url TEXT,
    registration_url TEXT,
    -- Of the built-in provider of test worlds: its code, and whom it stands for.
    test_code_hash BYTEA,
    test_identity TEXT,
    expires_at INT8 NOT NULL,
    CONSTRAINT oauth_flows_app_id_environment_state_hash_key PRIMARY KEY (app_id, environment, state_hash)
);

CREATE INDEX oauth_flows_expires_at_idx ON oauth_flows (expires_at);

-- Browsers that have come back, and whose token was not verified yet. A row is deleted when it is.
CREATE TABLE oauth_tokens (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    token_hash BYTEA NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    state_hash BYTEA NOT NULL,
    identity_key_version INT8 NOT NULL,
    identity BYTEA NOT NULL,
    expires_at INT8 NOT NULL,
    CONSTRAINT oauth_tokens_app_id_environment_token_hash_key PRIMARY KEY (app_id, environment, token_hash)
);

CREATE INDEX oauth_tokens_expires_at_idx ON oauth_tokens (expires_at);

-- People of providers who are users.
CREATE TABLE provider_links (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    issuer TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    email_id TEXT COLLATE "C",
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT provider_links_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT provider_links_app_id_environment_provider_issuer_subject_key
        UNIQUE (app_id, environment, provider, issuer, subject),
    CONSTRAINT provider_links_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

CREATE INDEX provider_links_app_id_environment_user_id_id_idx ON provider_links (app_id, environment, user_id, id);
