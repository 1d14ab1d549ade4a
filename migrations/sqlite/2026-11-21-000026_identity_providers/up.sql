-- What Apps have set for identity providers. The callback id stands in an address that the provider is told, without a world.
CREATE TABLE provider_connections (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    name TEXT NOT NULL,
    callback_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    settings TEXT NOT NULL,
    secret_key_version INTEGER NOT NULL,
    secret BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT provider_connections_app_id_environment_name_key PRIMARY KEY (app_id, environment, name),
    CONSTRAINT provider_connections_callback_id_key UNIQUE (callback_id),
    CONSTRAINT provider_connections_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
) STRICT;

-- Browsers that are away at a provider. A row is deleted when its state is used.
CREATE TABLE oauth_flows (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    state_hash BLOB NOT NULL,
    provider TEXT NOT NULL,
    secrets_key_version INTEGER NOT NULL,
    secrets BLOB NOT NULL,
    redirect_uri TEXT,
    browser_hash BLOB,
    login_url TEXT,
    registration_url TEXT,
    -- Of the built-in provider of test worlds: its code, and whom it stands for.
    test_code_hash BLOB,
    test_identity TEXT,
    expires_at INTEGER NOT NULL,
    CONSTRAINT oauth_flows_app_id_environment_state_hash_key PRIMARY KEY (app_id, environment, state_hash)
) STRICT;

CREATE INDEX oauth_flows_expires_at_idx ON oauth_flows (expires_at);

-- Browsers that have come back, and whose token was not verified yet. A row is deleted when it is.
CREATE TABLE oauth_tokens (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    token_hash BLOB NOT NULL,
    provider TEXT NOT NULL,
    state_hash BLOB NOT NULL,
    identity_key_version INTEGER NOT NULL,
    identity BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT oauth_tokens_app_id_environment_token_hash_key PRIMARY KEY (app_id, environment, token_hash)
) STRICT;

CREATE INDEX oauth_tokens_expires_at_idx ON oauth_tokens (expires_at);

-- People of providers who are users.
CREATE TABLE provider_links (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    email_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT provider_links_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT provider_links_app_id_environment_provider_issuer_subject_key
        UNIQUE (app_id, environment, provider, issuer, subject),
    CONSTRAINT provider_links_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
) STRICT;

CREATE INDEX provider_links_app_id_environment_user_id_id_idx ON provider_links (app_id, environment, user_id, id);
