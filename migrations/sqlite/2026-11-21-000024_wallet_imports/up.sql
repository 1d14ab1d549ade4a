-- Key pairs to which private keys are sealed for import. A row is deleted when it is used or has expired: nothing that was
-- sealed to it opens any more.
CREATE TABLE wallet_imports (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    wallet_type TEXT NOT NULL,
    public_address TEXT NOT NULL,
    entropy_type TEXT NOT NULL,
    account_index INTEGER,
    user_id TEXT,
    kem TEXT NOT NULL,
    public_key BLOB NOT NULL,
    private_key_version INTEGER NOT NULL,
    private BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT wallet_imports_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
) STRICT;

CREATE INDEX wallet_imports_of_address_idx ON wallet_imports (app_id, environment, wallet_type, public_address, id);
CREATE INDEX wallet_imports_app_id_environment_user_id_idx ON wallet_imports (app_id, environment, user_id)
    WHERE user_id IS NOT NULL;
CREATE INDEX wallet_imports_expires_at_idx ON wallet_imports (expires_at);
