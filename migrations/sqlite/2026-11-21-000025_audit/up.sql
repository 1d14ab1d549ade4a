-- What was done with wallets, in chains of hashes. Entries outlive their wallet and its user.
CREATE TABLE audit_entries (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    chain TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    id TEXT NOT NULL,
    wallet_id TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL,
    api_key_id TEXT NOT NULL,
    result BLOB,
    happened_at INTEGER NOT NULL,
    previous BLOB NOT NULL,
    hash BLOB NOT NULL,
    mac_key_version INTEGER NOT NULL,
    mac BLOB NOT NULL,
    CONSTRAINT audit_entries_app_id_environment_chain_sequence_key
        PRIMARY KEY (app_id, environment, chain, sequence)
) STRICT;

CREATE INDEX audit_entries_app_id_environment_wallet_id_id_idx
    ON audit_entries (app_id, environment, wallet_id, id);

-- How far each chain goes.
CREATE TABLE audit_chains (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    chain TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    hash BLOB NOT NULL,
    mac_key_version INTEGER NOT NULL,
    mac BLOB NOT NULL,
    CONSTRAINT audit_chains_app_id_environment_chain_key PRIMARY KEY (app_id, environment, chain)
) STRICT;
