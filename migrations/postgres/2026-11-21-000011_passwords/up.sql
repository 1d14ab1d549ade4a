-- Passwords of users: the hash, sealed under the App key.
CREATE TABLE passwords (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    key_version INT8 NOT NULL,
    sealed BYTEA NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT passwords_app_id_environment_user_id_key PRIMARY KEY (app_id, environment, user_id),
    CONSTRAINT passwords_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

-- Whom the users of another service became.
CREATE TABLE imported_users (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    external_key TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT imported_users_app_id_environment_external_key_key PRIMARY KEY (app_id, environment, external_key),
    CONSTRAINT imported_users_app_id_environment_user_id_key UNIQUE (app_id, environment, user_id),
    CONSTRAINT imported_users_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id) ON DELETE CASCADE
);
