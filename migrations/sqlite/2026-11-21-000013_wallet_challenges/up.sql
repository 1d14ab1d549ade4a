-- Challenges that the holders of wallets sign to sign in. Their user may not exist yet.
CREATE TABLE wallet_challenges (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    id TEXT NOT NULL,
    wallet_type TEXT NOT NULL,
    public_address TEXT NOT NULL,
    user_id TEXT NOT NULL,
    is_new_user INTEGER NOT NULL,
    nonce TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    CONSTRAINT wallet_challenges_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
) STRICT;

CREATE INDEX wallet_challenges_of_address_idx ON wallet_challenges (app_id, environment, wallet_type, public_address, id);
CREATE INDEX wallet_challenges_expires_at_idx ON wallet_challenges (expires_at);
