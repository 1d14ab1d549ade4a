-- What was told of and has no place in a log yet. `appended` is the database's clock at the insert, in microseconds: of two changes of
-- one object the later one has the later time, whichever process made it. `ordinal` orders those of one transaction.
CREATE TABLE events_inbox (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    appended INT8 NOT NULL DEFAULT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS INT8),
    ordinal INT8 NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C",
    wallet_id TEXT COLLATE "C",
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor_id TEXT COLLATE "C",
    request_id TEXT COLLATE "C",
    data TEXT COLLATE "C" NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT events_inbox_app_id_environment_appended_id_key
        PRIMARY KEY (app_id, environment, appended, id)
);

-- Where the log of each world begins and ends. Whoever gives out places holds the row.
CREATE TABLE event_heads (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    log INT8 NOT NULL,
    position INT8 NOT NULL,
    newest_id TEXT COLLATE "C",
    oldest_position INT8,
    oldest_id TEXT COLLATE "C",
    CONSTRAINT event_heads_app_id_environment_key PRIMARY KEY (app_id, environment)
);

-- The logs.
CREATE TABLE events (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    position INT8 NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    log INT8 NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C",
    wallet_id TEXT COLLATE "C",
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor_id TEXT COLLATE "C",
    request_id TEXT COLLATE "C",
    data TEXT COLLATE "C" NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT events_app_id_environment_position_key PRIMARY KEY (app_id, environment, position),
    CONSTRAINT events_app_id_environment_id_key UNIQUE (app_id, environment, id)
);

CREATE INDEX events_app_id_environment_user_id_position_idx
    ON events (app_id, environment, user_id, position) WHERE user_id IS NOT NULL;
