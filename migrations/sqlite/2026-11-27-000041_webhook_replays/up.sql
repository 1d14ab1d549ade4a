-- Replays of many events. Of what was given up since `failed_since`, or of a stretch of the log; the `after_` says how far one is.
CREATE TABLE webhook_replays (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    failed_since INTEGER,
    after_delivery TEXT,
    after_position INTEGER,
    until_position INTEGER,
    expected INTEGER NOT NULL,
    done INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    CONSTRAINT webhook_replays_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
) STRICT;

-- One of an endpoint runs at a time.
CREATE UNIQUE INDEX webhook_replays_app_id_environment_endpoint_id_key
    ON webhook_replays (app_id, environment, endpoint_id) WHERE ended_at IS NULL;
CREATE INDEX webhook_replays_endpoint_id_idx ON webhook_replays (app_id, environment, endpoint_id, id);
CREATE INDEX webhook_replays_next_at_idx ON webhook_replays (next_at) WHERE ended_at IS NULL;
CREATE INDEX webhook_replays_ended_at_idx ON webhook_replays (ended_at) WHERE ended_at IS NOT NULL;

-- What was given up, and whether something newer of the same event was left.
CREATE INDEX webhook_deliveries_exhausted_idx
    ON webhook_deliveries (app_id, environment, endpoint_id, id) WHERE ended_as = 'exhausted';
CREATE INDEX webhook_deliveries_event_id_idx
    ON webhook_deliveries (app_id, environment, endpoint_id, event_id);
