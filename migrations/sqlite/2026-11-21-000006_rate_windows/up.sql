-- The general rate limit, one row for each world.
CREATE TABLE rate_windows (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    used INTEGER NOT NULL,
    CONSTRAINT rate_windows_app_id_environment_key PRIMARY KEY (app_id, environment)
) STRICT;
