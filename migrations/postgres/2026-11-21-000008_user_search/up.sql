-- What users are searched by. Texts are folded in Rust, so that both databases find the same users.
ALTER TABLE users ADD COLUMN folded_name TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE user_emails ADD COLUMN folded TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX users_app_id_environment_status_id_idx ON users (app_id, environment, status, id);

-- A row for each key on the top level of a user's metadata whose value can be searched by.
CREATE TABLE user_metadata (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    CONSTRAINT user_metadata_app_id_environment_user_id_digest_key PRIMARY KEY (app_id, environment, user_id, digest),
    CONSTRAINT user_metadata_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

CREATE INDEX user_metadata_app_id_environment_digest_user_id_idx
    ON user_metadata (app_id, environment, digest, user_id);

-- How many users a world has, so that nobody has to count them. Many rows, so that sign-ups do not queue for one.
CREATE TABLE user_counts (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    shard INT8 NOT NULL,
    users INT8 NOT NULL,
    CONSTRAINT user_counts_app_id_environment_status_shard_key PRIMARY KEY (app_id, environment, status, shard)
);
