-- Key pairs to which private keys are sealed for import. A row is deleted when it is used or has expired: nothing that was
-- sealed to it opens any more.
CREATE TABLE wallet_imports (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    wallet_type TEXT COLLATE "C" NOT NULL,
    public_address TEXT COLLATE "C" NOT NULL,
    entropy_type TEXT COLLATE "C" NOT NULL,
    account_index INT8,
    user_id TEXT COLLATE "C",
    kem TEXT COLLATE "C" NOT NULL,
    public_key BYTEA NOT NULL,
    private_key_version INT8 NOT NULL,
    private BYTEA NOT NULL,
    created_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    CONSTRAINT wallet_imports_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);

CREATE INDEX wallet_imports_of_address_idx ON wallet_imports (app_id, environment, wallet_type, public_address, id);
CREATE INDEX wallet_imports_app_id_environment_user_id_idx ON wallet_imports (app_id, environment, user_id)
    WHERE user_id IS NOT NULL;
CREATE INDEX wallet_imports_expires_at_idx ON wallet_imports (expires_at);
