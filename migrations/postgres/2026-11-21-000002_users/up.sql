-- Users and the identifiers they sign in with. No foreign key to apps: every writer would lock the row of its App.
CREATE TABLE users (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    first_name TEXT NOT NULL,
    middle_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    status TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT users_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);

CREATE TABLE user_emails (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    -- As it was sent; mail goes here.
    address TEXT NOT NULL,
    -- As it is compared.
    identity TEXT COLLATE "C" NOT NULL,
    verified BOOL NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT user_emails_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT user_emails_app_id_environment_identity_key UNIQUE (app_id, environment, identity),
    CONSTRAINT user_emails_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

CREATE INDEX user_emails_app_id_environment_user_id_idx ON user_emails (app_id, environment, user_id);

CREATE TABLE user_phones (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    number TEXT COLLATE "C" NOT NULL,
    verified BOOL NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT user_phones_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT user_phones_app_id_environment_number_key UNIQUE (app_id, environment, number),
    CONSTRAINT user_phones_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

CREATE INDEX user_phones_app_id_environment_user_id_idx ON user_phones (app_id, environment, user_id);
