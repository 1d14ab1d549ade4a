-- Messages that wait for delivery, and those that test worlds kept.
CREATE TABLE outbox (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    channel TEXT NOT NULL,
    payload_key_version INT8 NOT NULL,
    payload BYTEA NOT NULL,
    not_before INT8 NOT NULL,
    deliver_before INT8 NOT NULL,
    attempts INT8 NOT NULL,
    -- From when on a worker may take it: not_before, or the end of the lease of the worker that has it.
    due_at INT8 NOT NULL,
    lease_owner TEXT,
    ended_at INT8,
    ended_as TEXT,
    created_at INT8 NOT NULL,
    CONSTRAINT outbox_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);

CREATE INDEX outbox_due_at_id_idx ON outbox (due_at, id) WHERE ended_at IS NULL;
CREATE INDEX outbox_ended_at_idx ON outbox (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE captured_messages (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    -- Order of arrival within a second, by which ids do not sort.
    position INT8 NOT NULL,
    recipient TEXT NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT captured_messages_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);

CREATE INDEX captured_messages_app_id_environment_created_at_position_idx
    ON captured_messages (app_id, environment, created_at, position);
