-- How far each chain of what was done to an App, its keys and its settings goes. The chain with the highest number goes on. Whoever
-- writes locks the row with the lowest one: it stands for the world, also while another chain is begun.
CREATE TABLE control_chains (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    number INTEGER NOT NULL,
    chain TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    hash BLOB NOT NULL,
    mac_key_version INTEGER NOT NULL,
    mac BLOB NOT NULL,
    CONSTRAINT control_chains_app_id_environment_number_key PRIMARY KEY (app_id, environment, number)
) STRICT;

-- Their entries, which outlive what they are about: `actor_id` and `subject_id` may be of something that is gone, a user among others.
CREATE TABLE control_entries (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    chain TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    id TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT,
    action TEXT NOT NULL,
    subject_kind TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    detail TEXT NOT NULL,
    outcome TEXT NOT NULL,
    request_id TEXT,
    happened_at INTEGER NOT NULL,
    previous BLOB NOT NULL,
    hash BLOB NOT NULL,
    mac_key_version INTEGER NOT NULL,
    mac BLOB NOT NULL,
    CONSTRAINT control_entries_app_id_environment_chain_sequence_key
        PRIMARY KEY (app_id, environment, chain, sequence)
) STRICT;

CREATE INDEX control_entries_app_id_environment_id_idx ON control_entries (app_id, environment, id);

-- What was done with wallets has a second format, with what went under a signature and the request. What is there is of the first.
ALTER TABLE audit_entries ADD COLUMN format INTEGER NOT NULL DEFAULT 1;
ALTER TABLE audit_entries ADD COLUMN payload BLOB;
ALTER TABLE audit_entries ADD COLUMN request_id TEXT;
