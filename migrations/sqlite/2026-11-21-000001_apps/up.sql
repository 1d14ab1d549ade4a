-- Apps and what is set up for them. The id of an App leads every key of the tables below and of all later ones.
CREATE TABLE apps (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT apps_id_key PRIMARY KEY (id)
) STRICT;

CREATE TABLE api_keys (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    hash BLOB NOT NULL,
    last_four TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    CONSTRAINT api_keys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    -- The one look-up that does not start from a world.
    CONSTRAINT api_keys_hash_key UNIQUE (hash),
    CONSTRAINT api_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
) STRICT;

CREATE TABLE redirect_urls (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    is_default INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT redirect_urls_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT redirect_urls_app_id_environment_kind_target_key UNIQUE (app_id, environment, kind, target),
    CONSTRAINT redirect_urls_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
) STRICT;

CREATE UNIQUE INDEX redirect_urls_app_id_environment_kind_key ON redirect_urls (app_id, environment, kind)
    WHERE is_default;

CREATE TABLE app_keys (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    purpose TEXT NOT NULL,
    version INTEGER NOT NULL,
    root_version INTEGER NOT NULL,
    wrapped BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT app_keys_app_id_environment_purpose_version_key PRIMARY KEY (app_id, environment, purpose, version),
    CONSTRAINT app_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
) STRICT;

CREATE TABLE signing_keys (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    public_jwk TEXT NOT NULL,
    private_key_version INTEGER NOT NULL,
    private BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    active_from INTEGER NOT NULL,
    CONSTRAINT signing_keys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT signing_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
) STRICT;
