-- Challenges that the holders of wallets sign to sign in. Their user may not exist yet.
CREATE TABLE wallet_challenges (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    wallet_type TEXT COLLATE "C" NOT NULL,
    public_address TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    is_new_user BOOL NOT NULL,
    nonce TEXT COLLATE "C" NOT NULL,
    text TEXT NOT NULL,
    created_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    used_at INT8,
    CONSTRAINT wallet_challenges_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);

CREATE INDEX wallet_challenges_of_address_idx ON wallet_challenges (app_id, environment, wallet_type, public_address, id);
CREATE INDEX wallet_challenges_expires_at_idx ON wallet_challenges (expires_at);
