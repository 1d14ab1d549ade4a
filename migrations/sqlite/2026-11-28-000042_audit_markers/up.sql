-- Where a chain of either log begins, of which entries were exported and then removed: the place and the hash of the last of these.
CREATE TABLE audit_markers (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    chain TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    hash BLOB NOT NULL,
    mac_key_version INTEGER NOT NULL,
    mac BLOB NOT NULL,
    CONSTRAINT audit_markers_app_id_environment_chain_key PRIMARY KEY (app_id, environment, chain)
) STRICT;
