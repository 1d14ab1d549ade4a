-- Authenticator apps and their recovery codes.
CREATE TABLE totps (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    verified BOOL NOT NULL,
    -- The latest step whose code was accepted; -1 before the first one.
    last_step INT8 NOT NULL,
    seed_key_version INT8 NOT NULL,
    seed BYTEA NOT NULL,
    expires_at INT8 NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT totps_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT totps_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

CREATE INDEX totps_app_id_environment_user_id_id_idx ON totps (app_id, environment, user_id, id);
-- At most one of a user waits for its first code.
CREATE UNIQUE INDEX totps_app_id_environment_user_id_key ON totps (app_id, environment, user_id) WHERE NOT verified;
CREATE INDEX totps_expires_at_idx ON totps (expires_at) WHERE NOT verified;

CREATE TABLE totp_recovery_codes (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    totp_id TEXT COLLATE "C" NOT NULL,
    number INT8 NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    code_key_version INT8 NOT NULL,
    -- Empty when it was used.
    code BYTEA NOT NULL,
    used_at INT8,
    CONSTRAINT totp_recovery_codes_app_id_environment_totp_id_number_key PRIMARY KEY (app_id, environment, totp_id, number),
    -- They go with their authenticator app in the one guarded statement that removes it.
    CONSTRAINT totp_recovery_codes_app_id_environment_totp_id_fkey FOREIGN KEY (app_id, environment, totp_id)
        REFERENCES totps (app_id, environment, id) ON DELETE CASCADE
);
