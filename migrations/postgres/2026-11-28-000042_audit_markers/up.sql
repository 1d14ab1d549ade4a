-- Where a chain of either log begins, of which entries were exported and then removed: the place and the hash of the last of these.
CREATE TABLE audit_markers (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    sequence INT8 NOT NULL,
    hash BYTEA NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    CONSTRAINT audit_markers_app_id_environment_chain_key PRIMARY KEY (app_id, environment, chain)
);
