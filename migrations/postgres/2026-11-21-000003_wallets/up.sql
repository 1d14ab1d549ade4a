-- Wallets and their encrypted keys.
CREATE TABLE wallets (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C",
    wallet_type TEXT COLLATE "C" NOT NULL,
    public_address TEXT COLLATE "C" NOT NULL,
    verified BOOL NOT NULL,
    is_default BOOL NOT NULL,
    is_read_only BOOL NOT NULL,
    is_imported BOOL NOT NULL,
    account_index INT8,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    CONSTRAINT wallets_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT wallets_app_id_environment_wallet_type_public_address_key
        UNIQUE (app_id, environment, wallet_type, public_address),
    CONSTRAINT wallets_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

CREATE UNIQUE INDEX wallets_app_id_environment_user_id_wallet_type_key
    ON wallets (app_id, environment, user_id, wallet_type) WHERE is_default;
CREATE INDEX wallets_app_id_environment_user_id_id_idx ON wallets (app_id, environment, user_id, id);

CREATE TABLE wallet_keys (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    wallet_id TEXT COLLATE "C" NOT NULL,
    public_key BYTEA NOT NULL,
    format INT8 NOT NULL,
    key_version INT8 NOT NULL,
    wrapped_data_key BYTEA NOT NULL,
    ciphertext BYTEA NOT NULL,
    CONSTRAINT wallet_keys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT wallet_keys_app_id_environment_wallet_id_key UNIQUE (app_id, environment, wallet_id),
    CONSTRAINT wallet_keys_app_id_environment_wallet_id_fkey FOREIGN KEY (app_id, environment, wallet_id)
        REFERENCES wallets (app_id, environment, id)
);

-- The walk over all worlds. Not on wallets: pages of one world would be read through it, past the wallets of all others.
CREATE INDEX wallet_keys_wallet_id_idx ON wallet_keys (wallet_id);
