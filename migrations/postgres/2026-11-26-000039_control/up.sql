-- How far each chain of what was done to an App, its keys and its settings goes. The chain with the highest number goes on. Whoever
-- writes locks the row with the lowest one: it stands for the world, also while another chain is begun.
CREATE TABLE control_chains (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    number INT8 NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    sequence INT8 NOT NULL,
    hash BYTEA NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    CONSTRAINT control_chains_app_id_environment_number_key PRIMARY KEY (app_id, environment, number)
);

-- Their entries, which outlive what they are about: `actor_id` and `subject_id` may be of something that is gone, a user among others.
CREATE TABLE control_entries (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    sequence INT8 NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor_id TEXT COLLATE "C",
    action TEXT COLLATE "C" NOT NULL,
    subject_kind TEXT COLLATE "C" NOT NULL,
    subject_id TEXT COLLATE "C" NOT NULL,
    detail TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    request_id TEXT COLLATE "C",
    happened_at INT8 NOT NULL,
    previous BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    CONSTRAINT control_entries_app_id_environment_chain_sequence_key
        PRIMARY KEY (app_id, environment, chain, sequence)
);

CREATE INDEX control_entries_app_id_environment_id_idx ON control_entries (app_id, environment, id);

-- What was done with wallets has a second format, with what went under a signature and the request. What is there is of the first.
ALTER TABLE audit_entries ADD COLUMN format INT8 NOT NULL DEFAULT 1;
ALTER TABLE audit_entries ADD COLUMN payload BYTEA;
ALTER TABLE audit_entries ADD COLUMN request_id TEXT COLLATE "C";
