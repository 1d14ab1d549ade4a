-- One-time passcodes, what guards them, and sessions.
CREATE TABLE codes (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    method_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    user_id TEXT NOT NULL,
    mac_key_version INTEGER NOT NULL,
    mac BLOB NOT NULL,
    fingerprint TEXT,
    tries INTEGER NOT NULL,
    used_at INTEGER,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT codes_app_id_environment_method_id_purpose_key PRIMARY KEY (app_id, environment, method_id, purpose)
) STRICT;

CREATE INDEX codes_expires_at_idx ON codes (expires_at);

CREATE TABLE guards (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    subject TEXT NOT NULL,
    failures INTEGER NOT NULL,
    failed_at INTEGER,
    blocked_until INTEGER,
    CONSTRAINT guards_app_id_environment_subject_key PRIMARY KEY (app_id, environment, subject)
) STRICT;

CREATE TABLE budgets (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    name TEXT NOT NULL,
    subject TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    closes_at INTEGER NOT NULL,
    used INTEGER NOT NULL,
    CONSTRAINT budgets_app_id_environment_name_subject_key PRIMARY KEY (app_id, environment, name, subject)
) STRICT;

CREATE INDEX budgets_closes_at_idx ON budgets (closes_at);

CREATE TABLE sessions (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    token_hash BLOB NOT NULL,
    started_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    last_active_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    factors TEXT NOT NULL,
    device_fingerprint TEXT NOT NULL,
    permissions TEXT NOT NULL,
    deleted_at INTEGER,
    CONSTRAINT sessions_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT sessions_app_id_environment_token_hash_key UNIQUE (app_id, environment, token_hash),
    CONSTRAINT sessions_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
) STRICT;

CREATE INDEX sessions_app_id_environment_user_id_id_idx ON sessions (app_id, environment, user_id, id);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);
CREATE INDEX sessions_deleted_at_idx ON sessions (deleted_at) WHERE deleted_at IS NOT NULL;
