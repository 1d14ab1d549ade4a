-- Passkeys, what authenticators know their users by, and the challenges of ceremonies.
CREATE TABLE passkeys (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    credential_id BYTEA NOT NULL,
    public_key BYTEA NOT NULL,
    sign_count INT8 NOT NULL,
    backup_eligible BOOL NOT NULL,
    backed_up BOOL NOT NULL,
    domain TEXT COLLATE "C" NOT NULL,
    authenticator_type TEXT COLLATE "C" NOT NULL,
    transports TEXT NOT NULL,
    user_agent TEXT NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    last_used_at INT8,
    CONSTRAINT passkeys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT passkeys_app_id_environment_credential_id_key UNIQUE (app_id, environment, credential_id),
    CONSTRAINT passkeys_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

CREATE INDEX passkeys_app_id_environment_user_id_id_idx ON passkeys (app_id, environment, user_id, id);

CREATE TABLE passkey_handles (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    handle BYTEA NOT NULL,
    CONSTRAINT passkey_handles_app_id_environment_user_id_key PRIMARY KEY (app_id, environment, user_id),
    CONSTRAINT passkey_handles_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

CREATE TABLE passkey_challenges (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL,
    ceremony TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C",
    domain TEXT COLLATE "C" NOT NULL,
    authenticator_type TEXT COLLATE "C" NOT NULL,
    created_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    CONSTRAINT passkey_challenges_app_id_environment_hash_key PRIMARY KEY (app_id, environment, hash)
);

CREATE INDEX passkey_challenges_app_id_environment_user_id_idx ON passkey_challenges (app_id, environment, user_id);
CREATE INDEX passkey_challenges_expires_at_idx ON passkey_challenges (expires_at);
