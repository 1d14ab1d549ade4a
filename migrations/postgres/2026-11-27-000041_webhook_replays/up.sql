-- Replays of many events. Of what was given up since `failed_since`, or of a stretch of the log; the `after_` says how far one is.
CREATE TABLE webhook_replays (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    failed_since INT8,
    after_delivery TEXT COLLATE "C",
    after_position INT8,
    until_position INT8,
    expected INT8 NOT NULL,
    done INT8 NOT NULL,
    next_at INT8 NOT NULL,
    created_at INT8 NOT NULL,
    ended_at INT8,
    CONSTRAINT webhook_replays_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);

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
