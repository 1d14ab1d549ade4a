-- Wallets and their encrypted keys.
CREATE TABLE wallets (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    key_id TEXT,
    wallet_type TEXT NOT NULL,
    public_address TEXT NOT NULL,
    verified INTEGER NOT NULL,
    is_default INTEGER NOT NULL,
    is_read_only INTEGER NOT NULL,
    is_imported INTEGER NOT NULL,
    account_index INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    mac_key_version INTEGER NOT NULL,
    mac BLOB NOT NULL,
    CONSTRAINT wallets_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT wallets_app_id_environment_wallet_type_public_address_key
        UNIQUE (app_id, environment, wallet_type, public_address),
    CONSTRAINT wallets_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
) STRICT;

CREATE UNIQUE INDEX wallets_app_id_environment_user_id_wallet_type_key
    ON wallets (app_id, environment, user_id, wallet_type) WHERE is_default;
CREATE INDEX wallets_app_id_environment_user_id_id_idx ON wallets (app_id, environment, user_id, id);

CREATE TABLE wallet_keys (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    wallet_id TEXT NOT NULL,
    public_key BLOB NOT NULL,
    format INTEGER NOT NULL,
    key_version INTEGER NOT NULL,
    wrapped_data_key BLOB NOT NULL,
    ciphertext BLOB NOT NULL,
    CONSTRAINT wallet_keys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT wallet_keys_app_id_environment_wallet_id_key UNIQUE (app_id, environment, wallet_id),
    CONSTRAINT wallet_keys_app_id_environment_wallet_id_fkey FOREIGN KEY (app_id, environment, wallet_id)
        REFERENCES wallets (app_id, environment, id)
) STRICT;

-- The walk over all worlds. Not on wallets: pages of one world would be read through it, past the wallets of all others.
CREATE INDEX wallet_keys_wallet_id_idx ON wallet_keys (wallet_id);
