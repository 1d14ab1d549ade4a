-- The App that the service has of its own. It is in no list; keys of the deployment refer to it.
INSERT INTO apps (id, name, settings, created_at, updated_at)
    VALUES ('app_000000000000000000000000001', 'Vestry', '{}', 1400000000, 1400000000);

-- Signed statements of where all chains of the audit log end, until every sink has had them for a while.
CREATE TABLE checkpoints (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    number INTEGER NOT NULL,
    made_at INTEGER NOT NULL,
    note TEXT NOT NULL,
    CONSTRAINT checkpoints_app_id_environment_number_key PRIMARY KEY (app_id, environment, number)
) STRICT;

-- How far each sink is: it has every checkpoint up to this number.
CREATE TABLE checkpoint_sinks (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    sink TEXT NOT NULL,
    number INTEGER NOT NULL,
    taken_at INTEGER NOT NULL,
    CONSTRAINT checkpoint_sinks_app_id_environment_sink_key PRIMARY KEY (app_id, environment, sink)
) STRICT;
