-- Authenticator apps and their recovery codes.
CREATE TABLE totps (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    verified INTEGER NOT NULL,
    -- The latest step whose code was accepted; -1 before the first one.
    last_step INTEGER NOT NULL,
    seed_key_version INTEGER NOT NULL,
    seed BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT totps_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT totps_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
) STRICT;

CREATE INDEX totps_app_id_environment_user_id_id_idx ON totps (app_id, environment, user_id, id);
-- At most one of a user waits for its first code.
CREATE UNIQUE INDEX totps_app_id_environment_user_id_key ON totps (app_id, environment, user_id) WHERE NOT verified;
CREATE INDEX totps_expires_at_idx ON totps (expires_at) WHERE NOT verified;

CREATE TABLE totp_recovery_codes (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    totp_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    mac_key_version INTEGER NOT NULL,
    mac BLOB NOT NULL,
    code_key_version INTEGER NOT NULL,
    -- Empty when it was used.
    code BLOB NOT NULL,
    used_at INTEGER,
    CONSTRAINT totp_recovery_codes_app_id_environment_totp_id_number_key PRIMARY KEY (app_id, environment, totp_id, number),
    -- They go with their authenticator app in the one guarded statement that removes it.
    CONSTRAINT totp_recovery_codes_app_id_environment_totp_id_fkey FOREIGN KEY (app_id, environment, totp_id)
        REFERENCES totps (app_id, environment, id) ON DELETE CASCADE
) STRICT;
