-- Passkeys, what authenticators know their users by, and the challenges of ceremonies.
CREATE TABLE passkeys (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    credential_id BLOB NOT NULL,
    public_key BLOB NOT NULL,
    sign_count INTEGER NOT NULL,
    backup_eligible INTEGER NOT NULL,
    backed_up INTEGER NOT NULL,
    domain TEXT NOT NULL,
    authenticator_type TEXT NOT NULL,
    transports TEXT NOT NULL,
    user_agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_used_at INTEGER,
    CONSTRAINT passkeys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT passkeys_app_id_environment_credential_id_key UNIQUE (app_id, environment, credential_id),
    CONSTRAINT passkeys_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
) STRICT;

CREATE INDEX passkeys_app_id_environment_user_id_id_idx ON passkeys (app_id, environment, user_id, id);

CREATE TABLE passkey_handles (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    user_id TEXT NOT NULL,
    handle BLOB NOT NULL,
    CONSTRAINT passkey_handles_app_id_environment_user_id_key PRIMARY KEY (app_id, environment, user_id),
    CONSTRAINT passkey_handles_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
) STRICT;

CREATE TABLE passkey_challenges (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    hash BLOB NOT NULL,
    ceremony TEXT NOT NULL,
    user_id TEXT,
    domain TEXT NOT NULL,
    authenticator_type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT passkey_challenges_app_id_environment_hash_key PRIMARY KEY (app_id, environment, hash)
) STRICT;

CREATE INDEX passkey_challenges_app_id_environment_user_id_idx ON passkey_challenges (app_id, environment, user_id);
CREATE INDEX passkey_challenges_expires_at_idx ON passkey_challenges (expires_at);
