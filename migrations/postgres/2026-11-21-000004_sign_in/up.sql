-- One-time passcodes, what guards them, and sessions.
CREATE TABLE codes (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    method_id TEXT COLLATE "C" NOT NULL,
    purpose TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    fingerprint TEXT,
    tries INT8 NOT NULL,
    used_at INT8,
    created_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    CONSTRAINT codes_app_id_environment_method_id_purpose_key PRIMARY KEY (app_id, environment, method_id, purpose)
);

CREATE INDEX codes_expires_at_idx ON codes (expires_at);

CREATE TABLE guards (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    failures INT8 NOT NULL,
    failed_at INT8,
    blocked_until INT8,
    CONSTRAINT guards_app_id_environment_subject_key PRIMARY KEY (app_id, environment, subject)
);

CREATE TABLE budgets (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    opened_at INT8 NOT NULL,
    closes_at INT8 NOT NULL,
    used INT8 NOT NULL,
    CONSTRAINT budgets_app_id_environment_name_subject_key PRIMARY KEY (app_id, environment, name, subject)
);

CREATE INDEX budgets_closes_at_idx ON budgets (closes_at);

CREATE TABLE sessions (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    token_hash BYTEA NOT NULL,
    started_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    last_active_at INT8 NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    factors TEXT NOT NULL,
    device_fingerprint TEXT NOT NULL,
    permissions TEXT NOT NULL,
    deleted_at INT8,
    CONSTRAINT sessions_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT sessions_app_id_environment_token_hash_key UNIQUE (app_id, environment, token_hash),
    CONSTRAINT sessions_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

CREATE INDEX sessions_app_id_environment_user_id_id_idx ON sessions (app_id, environment, user_id, id);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);
CREATE INDEX sessions_deleted_at_idx ON sessions (deleted_at) WHERE deleted_at IS NOT NULL;
