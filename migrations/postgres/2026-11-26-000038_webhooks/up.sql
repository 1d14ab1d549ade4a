-- Receivers of events. `fingerprint` is the SHA-256 of URL and types, which are too long for an index together. What is counted is
-- what has failed since an endpoint last took something.
CREATE TABLE webhook_endpoints (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    url TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C",
    types TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    disabled_reason TEXT COLLATE "C",
    failed_attempts INT8 NOT NULL,
    failed_deliveries INT8 NOT NULL,
    failures_since INT8,
    failing_since INT8,
    failing_told BOOL NOT NULL,
    last_success_at INT8,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT webhook_endpoints_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT webhook_endpoints_app_id_environment_fingerprint_key UNIQUE (app_id, environment, fingerprint)
);

-- What requests to them are signed with. The newest one has no end.
CREATE TABLE webhook_secrets (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    key_version INT8 NOT NULL,
    secret BYTEA NOT NULL,
    last_four TEXT COLLATE "C" NOT NULL,
    created_at INT8 NOT NULL,
    expires_at INT8,
    CONSTRAINT webhook_secrets_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);

CREATE INDEX webhook_secrets_endpoint_id_idx ON webhook_secrets (app_id, environment, endpoint_id);
CREATE INDEX webhook_secrets_expires_at_idx ON webhook_secrets (expires_at) WHERE expires_at IS NOT NULL;

-- Events on their way. Of rank 0 is what was never tried, of rank 1 what is tried again.
CREATE TABLE webhook_deliveries (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL,
    position INT8 NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    is_replay BOOL NOT NULL,
    rank INT8 NOT NULL,
    attempts INT8 NOT NULL,
    due_at INT8 NOT NULL,
    created_at INT8 NOT NULL,
    ended_at INT8,
    ended_as TEXT COLLATE "C",
    CONSTRAINT webhook_deliveries_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);

CREATE INDEX webhook_deliveries_endpoint_id_rank_due_at_idx
    ON webhook_deliveries (app_id, environment, endpoint_id, rank, due_at) WHERE ended_at IS NULL;
CREATE INDEX webhook_deliveries_endpoint_id_id_idx
    ON webhook_deliveries (app_id, environment, endpoint_id, id);
CREATE INDEX webhook_deliveries_created_at_idx ON webhook_deliveries (created_at);

-- Every attempt that has ended.
CREATE TABLE webhook_attempts (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    delivery_id TEXT COLLATE "C" NOT NULL,
    number INT8 NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    at INT8 NOT NULL,
    duration_ms INT8 NOT NULL,
    status INT8,
    error TEXT COLLATE "C",
    response_excerpt TEXT COLLATE "C",
    CONSTRAINT webhook_attempts_app_id_environment_delivery_id_number_key
        PRIMARY KEY (app_id, environment, delivery_id, number)
);

CREATE INDEX webhook_attempts_at_idx ON webhook_attempts (at);

-- Types of events that are written on demand only, and that an endpoint of the App names; by environment.
ALTER TABLE apps ADD COLUMN named_events TEXT COLLATE "C" NOT NULL DEFAULT '{}';
