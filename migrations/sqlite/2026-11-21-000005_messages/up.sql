-- Messages that wait for delivery, and those that test worlds kept.
CREATE TABLE outbox (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    channel TEXT NOT NULL,
    payload_key_version INTEGER NOT NULL,
    payload BLOB NOT NULL,
    not_before INTEGER NOT NULL,
    deliver_before INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    -- From when on a worker may take it: not_before, or the end of the lease of the worker that has it.
    due_at INTEGER NOT NULL,
    lease_owner TEXT,
    ended_at INTEGER,
    ended_as TEXT,
    created_at INTEGER NOT NULL,
    CONSTRAINT outbox_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
) STRICT;

CREATE INDEX outbox_due_at_id_idx ON outbox (due_at, id) WHERE ended_at IS NULL;
CREATE INDEX outbox_ended_at_idx ON outbox (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE captured_messages (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    -- Order of arrival within a second, by which ids do not sort.
    position INTEGER NOT NULL,
    recipient TEXT NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT captured_messages_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
) STRICT;

CREATE INDEX captured_messages_app_id_environment_created_at_position_idx
    ON captured_messages (app_id, environment, created_at, position);
