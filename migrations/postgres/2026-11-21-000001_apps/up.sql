-- Apps and what is set up for them. The id of an App leads every key of the tables below and of all later ones.
CREATE TABLE apps (
    id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT apps_id_key PRIMARY KEY (id)
);

CREATE TABLE api_keys (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL,
    hash BYTEA NOT NULL,
    last_four TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at INT8 NOT NULL,
    revoked_at INT8,
    CONSTRAINT api_keys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    -- The one look-up that does not start from a world.
    CONSTRAINT api_keys_hash_key UNIQUE (hash),
    CONSTRAINT api_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
);

CREATE TABLE redirect_urls (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    is_default BOOL NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT redirect_urls_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT redirect_urls_app_id_environment_kind_target_key UNIQUE (app_id, environment, kind, target),
    CONSTRAINT redirect_urls_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
);

CREATE UNIQUE INDEX redirect_urls_app_id_environment_kind_key ON redirect_urls (app_id, environment, kind)
    WHERE is_default;

CREATE TABLE app_keys (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    purpose TEXT COLLATE "C" NOT NULL,
    version INT8 NOT NULL,
    root_version INT8 NOT NULL,
    wrapped BYTEA NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT app_keys_app_id_environment_purpose_version_key PRIMARY KEY (app_id, environment, purpose, version),
    CONSTRAINT app_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
);

CREATE TABLE signing_keys (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    algorithm TEXT NOT NULL,
    public_jwk TEXT NOT NULL,
    private_key_version INT8 NOT NULL,
    private BYTEA NOT NULL,
    created_at INT8 NOT NULL,
    active_from INT8 NOT NULL,
    CONSTRAINT signing_keys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT signing_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
);
