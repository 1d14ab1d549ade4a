-- A deleted user takes the stored responses about it along. The key stays taken until it expires: a repeat must not create the user again.
ALTER TABLE idempotency_keys ADD COLUMN user_id TEXT COLLATE "C";
ALTER TABLE idempotency_keys ADD COLUMN erased BOOL NOT NULL DEFAULT FALSE;
CREATE INDEX idempotency_keys_app_id_environment_user_id_idx ON idempotency_keys (app_id, environment, user_id);
