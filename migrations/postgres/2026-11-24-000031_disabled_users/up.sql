-- Since when a user may not sign in, and why; NULL while it may. Beside the status, which the release before this one reads and which
-- counts again once the user is enabled.
ALTER TABLE users ADD COLUMN disabled_at INT8;
ALTER TABLE users ADD COLUMN disabled_reason TEXT;

CREATE INDEX users_app_id_environment_id_idx ON users (app_id, environment, id) WHERE disabled_at IS NOT NULL;
