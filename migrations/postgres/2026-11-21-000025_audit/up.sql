-- What was done with wallets, in chains of hashes. Entries outlive their wallet and its user.
CREATE TABLE audit_entries (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    sequence INT8 NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    wallet_id TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    detail TEXT COLLATE "C" NOT NULL,
    api_key_id TEXT COLLATE "C" NOT NULL,
    result BYTEA,
    happened_at INT8 NOT NULL,
    previous BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    CONSTRAINT audit_entries_app_id_environment_chain_sequence_key
        PRIMARY KEY (app_id, environment, chain, sequence)
);

CREATE INDEX audit_entries_app_id_environment_wallet_id_id_idx
    ON audit_entries (app_id, environment, wallet_id, id);

-- How far each chain goes.
CREATE TABLE audit_chains (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    sequence INT8 NOT NULL,
    hash BYTEA NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    CONSTRAINT audit_chains_app_id_environment_chain_key PRIMARY KEY (app_id, environment, chain)
);
