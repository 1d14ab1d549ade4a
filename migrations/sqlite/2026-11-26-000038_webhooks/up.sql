-- Receivers of events. `fingerprint` is the SHA-256 of URL and types, which are too long for an index together. What is counted is
-- what has failed since an endpoint last took something.
CREATE TABLE webhook_endpoints (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    name TEXT,
    types TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    disabled_reason TEXT,
    failed_attempts INTEGER NOT NULL,
    failed_deliveries INTEGER NOT NULL,
    failures_since INTEGER,
    failing_since INTEGER,
    failing_told INTEGER NOT NULL,
    last_success_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT webhook_endpoints_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT webhook_endpoints_app_id_environment_fingerprint_key UNIQUE (app_id, environment, fingerprint)
) STRICT;

-- What requests to them are signed with. The newest one has no end.
CREATE TABLE webhook_secrets (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    key_version INTEGER NOT NULL,
    secret BLOB NOT NULL,
    last_four TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    CONSTRAINT webhook_secrets_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
) STRICT;

CREATE INDEX webhook_secrets_endpoint_id_idx ON webhook_secrets (app_id, environment, endpoint_id);
CREATE INDEX webhook_secrets_expires_at_idx ON webhook_secrets (expires_at) WHERE expires_at IS NOT NULL;

-- Events on their way. Of rank 0 is what was never tried, of rank 1 what is tried again.
CREATE TABLE webhook_deliveries (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    is_replay INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    ended_as TEXT,
    CONSTRAINT webhook_deliveries_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
) STRICT;

CREATE INDEX webhook_deliveries_endpoint_id_rank_due_at_idx
    ON webhook_deliveries (app_id, environment, endpoint_id, rank, due_at) WHERE ended_at IS NULL;
CREATE INDEX webhook_deliveries_endpoint_id_id_idx
    ON webhook_deliveries (app_id, environment, endpoint_id, id);
CREATE INDEX webhook_deliveries_created_at_idx ON webhook_deliveries (created_at);

-- Every attempt that has ended.
CREATE TABLE webhook_attempts (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    endpoint_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    status INTEGER,
    error TEXT,
    response_excerpt TEXT,
    CONSTRAINT webhook_attempts_app_id_environment_delivery_id_number_key
        PRIMARY KEY (app_id, environment, delivery_id, number)
) STRICT;

CREATE INDEX webhook_attempts_at_idx ON webhook_attempts (at);

-- Types of events that are written on demand only, and that an endpoint of the App names; by environment.
ALTER TABLE apps ADD COLUMN named_events TEXT NOT NULL DEFAULT '{}';
