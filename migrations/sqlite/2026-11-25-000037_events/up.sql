-- What was told of and has no place in a log yet. `appended` counts the inserts: SQLite gives a row one more
-- than the highest that is there, and there is one writer at a time. `ordinal` is the place in the transaction.
CREATE TABLE events_inbox (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    appended INTEGER PRIMARY KEY,
    ordinal INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    user_id TEXT,
    wallet_id TEXT,
    actor_kind TEXT NOT NULL,
    actor_id TEXT,
    request_id TEXT,
    data TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX events_inbox_app_id_environment_appended_idx ON events_inbox (app_id, environment, appended);

-- Where the log of each world begins and ends. Whoever gives out places holds the row.
CREATE TABLE event_heads (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    log INTEGER NOT NULL,
    position INTEGER NOT NULL,
    newest_id TEXT,
    oldest_position INTEGER,
    oldest_id TEXT,
    CONSTRAINT event_heads_app_id_environment_key PRIMARY KEY (app_id, environment)
) STRICT;

-- The logs.
CREATE TABLE events (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    log INTEGER NOT NULL,
    kind TEXT NOT NULL,
    user_id TEXT,
    wallet_id TEXT,
    actor_kind TEXT NOT NULL,
    actor_id TEXT,
    request_id TEXT,
    data TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT events_app_id_environment_position_key PRIMARY KEY (app_id, environment, position),
    CONSTRAINT events_app_id_environment_id_key UNIQUE (app_id, environment, id)
) STRICT;

CREATE INDEX events_app_id_environment_user_id_position_idx
    ON events (app_id, environment, user_id, position) WHERE user_id IS NOT NULL;
