-- Passwords of users: the hash, sealed under the App key.
CREATE TABLE passwords (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    user_id TEXT NOT NULL,
    key_version INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT passwords_app_id_environment_user_id_key PRIMARY KEY (app_id, environment, user_id),
    CONSTRAINT passwords_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
) STRICT;

-- Whom the users of another service became.
CREATE TABLE imported_users (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    external_key TEXT NOT NULL,
    user_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT imported_users_app_id_environment_external_key_key PRIMARY KEY (app_id, environment, external_key),
    CONSTRAINT imported_users_app_id_environment_user_id_key UNIQUE (app_id, environment, user_id),
    CONSTRAINT imported_users_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id) ON DELETE CASCADE
) STRICT;
