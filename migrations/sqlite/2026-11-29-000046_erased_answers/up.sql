-- A deleted user takes the stored responses about it along. The key stays taken until it expires: a repeat must not create the user again.
ALTER TABLE idempotency_keys ADD COLUMN user_id TEXT;
ALTER TABLE idempotency_keys ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;
CREATE INDEX idempotency_keys_app_id_environment_user_id_idx ON idempotency_keys (app_id, environment, user_id);
