-- The general rate limit, one row for each world.
CREATE TABLE rate_windows (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    opened_at INT8 NOT NULL,
    used INT8 NOT NULL,
    CONSTRAINT rate_windows_app_id_environment_key PRIMARY KEY (app_id, environment)
);
