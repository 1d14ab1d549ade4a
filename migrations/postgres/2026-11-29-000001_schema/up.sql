-- The whole schema of the first release.
-- Apps and their configuration. The App id is the first column of every key of the other tables.
CREATE TABLE apps (
    id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    -- Clock of the test environment, a JSON document that is replaced as a whole.
    test_clock TEXT NOT NULL,
    -- On-demand event types that an endpoint of the App subscribes to, by environment.
    named_events TEXT COLLATE "C" NOT NULL,
    -- When the App was disabled; NULL if it is enabled.
    disabled_at INT8,
    CONSTRAINT apps_id_key PRIMARY KEY (id)
);

CREATE TABLE api_keys (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL,
    hash BYTEA NOT NULL,
    last_four TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    restrictions TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INT8 NOT NULL,
    revoked_at INT8,
    CONSTRAINT api_keys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    -- The only lookup that does not start from an App and environment.
    CONSTRAINT api_keys_hash_key UNIQUE (hash),
    CONSTRAINT api_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
);

CREATE TABLE api_key_uses (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    operation TEXT COLLATE "C" NOT NULL,
    last_used_at INT8 NOT NULL,
    CONSTRAINT api_key_uses_app_id_environment_key_id_operation_key PRIMARY KEY (app_id, environment, key_id, operation)
);

-- Keys of the management API. The App is the built-in one.
CREATE TABLE management_keys (
    app_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL,
    last_four TEXT NOT NULL,
    name TEXT NOT NULL,
    -- Apps, environments, scopes and networks: a JSON document that is never changed.
    rights TEXT NOT NULL,
    expires_at INT8 NOT NULL,
    created_by TEXT NOT NULL,
    created_at INT8 NOT NULL,
    revoked_at INT8,
    CONSTRAINT management_keys_app_id_id_key PRIMARY KEY (app_id, id),
    CONSTRAINT management_keys_app_id_hash_key UNIQUE (app_id, hash)
);

-- Operators are users of the built-in App.
CREATE TABLE operators (
    app_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    -- Roles, by App: a JSON document.
    grants TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT operators_app_id_user_id_key PRIMARY KEY (app_id, user_id)
);

-- Invitations, and links for operators who lost their factors.
CREATE TABLE operator_links (
    app_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL,
    address TEXT NOT NULL,
    identity TEXT COLLATE "C" NOT NULL,
    grants TEXT,
    created_by TEXT NOT NULL,
    created_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    used_at INT8,
    CONSTRAINT operator_links_app_id_id_key PRIMARY KEY (app_id, id),
    CONSTRAINT operator_links_app_id_hash_key UNIQUE (app_id, hash)
);

CREATE TABLE redirect_urls (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    is_default BOOL NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT redirect_urls_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT redirect_urls_app_id_environment_kind_target_key UNIQUE (app_id, environment, kind, target),
    CONSTRAINT redirect_urls_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
);
CREATE UNIQUE INDEX redirect_urls_app_id_environment_kind_key ON redirect_urls (app_id, environment, kind)
    WHERE is_default;

CREATE TABLE app_keys (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    purpose TEXT COLLATE "C" NOT NULL,
    version INT8 NOT NULL,
    root_version INT8 NOT NULL,
    wrapped BYTEA NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT app_keys_app_id_environment_purpose_version_key PRIMARY KEY (app_id, environment, purpose, version),
    CONSTRAINT app_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
);

CREATE TABLE signing_keys (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    algorithm TEXT NOT NULL,
    public_jwk TEXT NOT NULL,
    private_key_version INT8 NOT NULL,
    private BYTEA NOT NULL,
    created_at INT8 NOT NULL,
    active_from INT8 NOT NULL,
    CONSTRAINT signing_keys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT signing_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
);

-- Users and the identifiers they sign in with. No foreign key to apps: each insert would lock the App's row.
CREATE TABLE users (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    first_name TEXT NOT NULL,
    middle_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    status TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    -- Case-folded text for searches. Rust folds it, so that both databases find the same users.
    folded_name TEXT COLLATE "C" NOT NULL,
    -- Whether the owner of the account proved an identifier of it.
    is_owned BOOL NOT NULL,
    -- When and why the user was disabled; NULL while the user can sign in. The status applies again once the user is enabled.
    disabled_at INT8,
    disabled_reason TEXT,
    -- Time of the last sign-in; NULL before the first one.
    last_sign_in_at INT8,
    CONSTRAINT users_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);
CREATE INDEX users_app_id_environment_status_id_idx ON users (app_id, environment, status, id);
CREATE INDEX users_app_id_environment_id_idx ON users (app_id, environment, id) WHERE disabled_at IS NOT NULL;

CREATE TABLE user_emails (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    -- The spelling of the request; mail is sent to it.
    address TEXT NOT NULL,
    -- The normalized form that is compared.
    identity TEXT COLLATE "C" NOT NULL,
    verified BOOL NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    pending_owner TEXT COLLATE "C",
    -- Whether the account had a proved owner when the identifier was attached.
    of_owned BOOL NOT NULL,
    CONSTRAINT user_emails_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT user_emails_app_id_environment_identity_key UNIQUE (app_id, environment, identity),
    CONSTRAINT user_emails_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);
CREATE INDEX user_emails_app_id_environment_user_id_idx ON user_emails (app_id, environment, user_id);

CREATE TABLE user_phones (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    number TEXT COLLATE "C" NOT NULL,
    verified BOOL NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    pending_owner TEXT COLLATE "C",
    of_owned BOOL NOT NULL,
    CONSTRAINT user_phones_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT user_phones_app_id_environment_number_key UNIQUE (app_id, environment, number),
    CONSTRAINT user_phones_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);
CREATE INDEX user_phones_app_id_environment_user_id_idx ON user_phones (app_id, environment, user_id);

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
    -- When the wallet was disabled; NULL while it signs.
    disabled_at INT8,
    -- Why the wallet was disabled.
    disabled_reason TEXT COLLATE "C",
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

-- For reads across all Apps. An index on wallets would also serve pages of one App, and scan the wallets of all others.
CREATE INDEX wallet_keys_wallet_id_idx ON wallet_keys (wallet_id);

-- One-time passcodes, lockouts, quotas and sessions.
CREATE TABLE codes (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    method_id TEXT COLLATE "C" NOT NULL,
    purpose TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    fingerprint TEXT,
    tries INT8 NOT NULL,
    used_at INT8,
    created_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    -- Whether the code was requested by a call that also accepts unknown users.
    for_anybody BOOL NOT NULL,
    -- The response of the first send, which a second send within a few seconds repeats.
    user_created BOOL NOT NULL,
    -- The spelling of the address in the request, and whether the message was sent to it (until the address is verified). Verification
    -- stores it on the user's row.
    asked_as TEXT,
    sent_as_asked BOOL NOT NULL,
    CONSTRAINT codes_app_id_environment_method_id_purpose_key PRIMARY KEY (app_id, environment, method_id, purpose)
);
CREATE INDEX codes_expires_at_idx ON codes (expires_at);

CREATE TABLE lockouts (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    failures INT8 NOT NULL,
    failed_at INT8,
    blocked_until INT8,
    CONSTRAINT lockouts_app_id_environment_subject_key PRIMARY KEY (app_id, environment, subject)
);

-- For the removal of expired failure counts.
CREATE INDEX lockouts_failed_at_idx ON lockouts (failed_at);

CREATE TABLE quotas (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    opened_at INT8 NOT NULL,
    closes_at INT8 NOT NULL,
    used INT8 NOT NULL,
    CONSTRAINT quotas_app_id_environment_name_subject_key PRIMARY KEY (app_id, environment, name, subject)
);
CREATE INDEX quotas_closes_at_idx ON quotas (closes_at);

CREATE TABLE sessions (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    token_hash BYTEA NOT NULL,
    started_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    last_active_at INT8 NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    factors TEXT NOT NULL,
    device_fingerprint TEXT NOT NULL,
    permissions TEXT NOT NULL,
    deleted_at INT8,
    CONSTRAINT sessions_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT sessions_app_id_environment_token_hash_key UNIQUE (app_id, environment, token_hash),
    CONSTRAINT sessions_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);
CREATE INDEX sessions_app_id_environment_user_id_id_idx ON sessions (app_id, environment, user_id, id);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);
CREATE INDEX sessions_deleted_at_idx ON sessions (deleted_at) WHERE deleted_at IS NOT NULL;

-- Messages awaiting delivery, and messages captured in test environments.
CREATE TABLE outbox (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    channel TEXT NOT NULL,
    -- 0 for codes and links, 1 for notices, 2 for invitations.
    priority INT8 NOT NULL,
    -- 0 to 63, a hash of the App.
    lane INT8 NOT NULL,
    payload_key_version INT8 NOT NULL,
    payload BYTEA NOT NULL,
    not_before INT8 NOT NULL,
    deliver_before INT8 NOT NULL,
    attempts INT8 NOT NULL,
    -- Attempts that failed because of the message itself.
    failures INT8 NOT NULL,
    -- When a worker can claim the message: not_before, or the end of the current worker's lease.
    due_at INT8 NOT NULL,
    lease_owner TEXT,
    ended_at INT8,
    ended_as TEXT,
    -- The reason of the last of these failures.
    fault TEXT,
    -- The request that caused the message.
    cause TEXT,
    created_at INT8 NOT NULL,
    CONSTRAINT outbox_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);
CREATE INDEX outbox_claim_idx ON outbox (environment, channel, priority, lane, due_at, id) WHERE ended_at IS NULL;
CREATE INDEX outbox_ended_at_idx ON outbox (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX outbox_dead_idx ON outbox (app_id, environment, ended_at, id) WHERE ended_as = 'dead';

CREATE TABLE captured_messages (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    -- Arrival order within one second, which ids do not preserve.
    position INT8 NOT NULL,
    recipient TEXT NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT captured_messages_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);
CREATE INDEX captured_messages_app_id_environment_created_at_position_idx
    ON captured_messages (app_id, environment, created_at, position);
CREATE INDEX captured_messages_recipient_idx ON captured_messages (app_id, environment, recipient, created_at, position);

-- The general rate limit, one row per App and environment.
CREATE TABLE rate_windows (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    opened_at INT8 NOT NULL,
    used INT8 NOT NULL,
    CONSTRAINT rate_windows_app_id_environment_key PRIMARY KEY (app_id, environment)
);

-- One row per searchable top-level key of a user's metadata.
CREATE TABLE user_metadata (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    CONSTRAINT user_metadata_app_id_environment_user_id_digest_key PRIMARY KEY (app_id, environment, user_id, digest),
    CONSTRAINT user_metadata_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);
CREATE INDEX user_metadata_app_id_environment_digest_user_id_idx
    ON user_metadata (app_id, environment, digest, user_id);

-- User counts by status, kept ready for searches. Sharded, so that concurrent sign-ups do not wait for one row.
CREATE TABLE user_counts (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    shard INT8 NOT NULL,
    users INT8 NOT NULL,
    CONSTRAINT user_counts_app_id_environment_status_shard_key PRIMARY KEY (app_id, environment, status, shard)
);

-- Magic links, at most one per address and purpose. No foreign keys, as for codes.
CREATE TABLE magic_links (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    email_id TEXT COLLATE "C" NOT NULL,
    purpose TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    token_hash BYTEA NOT NULL,
    redirect TEXT,
    fingerprint TEXT,
    -- Hash of the requesting browser's token, if it has one.
    origin_hash BYTEA,
    created_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    used_at INT8,
    -- The session started with the link, and when the requesting browser received its own.
    session_id TEXT COLLATE "C",
    handed_at INT8,
    code_challenge BYTEA,
    tries INT8 NOT NULL,
    user_created BOOL NOT NULL,
    landing TEXT,
    asked_as TEXT,
    sent_as_asked BOOL NOT NULL,
    CONSTRAINT magic_links_app_id_environment_email_id_purpose_key PRIMARY KEY (app_id, environment, email_id, purpose),
    CONSTRAINT magic_links_app_id_environment_token_hash_key UNIQUE (app_id, environment, token_hash)
);
CREATE INDEX magic_links_app_id_environment_user_id_idx ON magic_links (app_id, environment, user_id);
CREATE INDEX magic_links_expires_at_idx ON magic_links (expires_at);

-- Password hashes, encrypted under the App key.
CREATE TABLE passwords (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    key_version INT8 NOT NULL,
    sealed BYTEA NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT passwords_app_id_environment_user_id_key PRIMARY KEY (app_id, environment, user_id),
    CONSTRAINT passwords_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

-- Users imported from another service, by their key there.
CREATE TABLE imported_users (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    external_key TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT imported_users_app_id_environment_external_key_key PRIMARY KEY (app_id, environment, external_key),
    CONSTRAINT imported_users_app_id_environment_user_id_key UNIQUE (app_id, environment, user_id),
    CONSTRAINT imported_users_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id) ON DELETE CASCADE
);

-- Authenticator apps and their recovery codes.
CREATE TABLE totps (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    verified BOOL NOT NULL,
    -- Latest accepted time step (RFC 6238); -1 before the first code.
    last_step INT8 NOT NULL,
    seed_key_version INT8 NOT NULL,
    seed BYTEA NOT NULL,
    expires_at INT8 NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT totps_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT totps_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);
CREATE INDEX totps_app_id_environment_user_id_id_idx ON totps (app_id, environment, user_id, id);

-- At most one unverified TOTP per user.
CREATE UNIQUE INDEX totps_app_id_environment_user_id_key ON totps (app_id, environment, user_id) WHERE NOT verified;
CREATE INDEX totps_expires_at_idx ON totps (expires_at) WHERE NOT verified;

CREATE TABLE totp_recovery_codes (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    totp_id TEXT COLLATE "C" NOT NULL,
    number INT8 NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    code_key_version INT8 NOT NULL,
    -- Empty once used.
    code BYTEA NOT NULL,
    used_at INT8,
    CONSTRAINT totp_recovery_codes_app_id_environment_totp_id_number_key PRIMARY KEY (app_id, environment, totp_id, number),
    -- Deleted with their authenticator app by one guarded statement.
    CONSTRAINT totp_recovery_codes_app_id_environment_totp_id_fkey FOREIGN KEY (app_id, environment, totp_id)
        REFERENCES totps (app_id, environment, id) ON DELETE CASCADE
);

-- Challenges that wallet owners sign to sign in. The user may not exist yet.
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

-- For the deletion of a user.
CREATE INDEX wallet_challenges_app_id_environment_user_id_idx ON wallet_challenges (app_id, environment, user_id);

-- Passkeys, user handles and WebAuthn challenges.
CREATE TABLE passkeys (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    credential_id BYTEA NOT NULL,
    public_key BYTEA NOT NULL,
    sign_count INT8 NOT NULL,
    backup_eligible BOOL NOT NULL,
    backed_up BOOL NOT NULL,
    domain TEXT COLLATE "C" NOT NULL,
    authenticator_type TEXT COLLATE "C" NOT NULL,
    transports TEXT NOT NULL,
    user_agent TEXT NOT NULL,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    last_used_at INT8,
    CONSTRAINT passkeys_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT passkeys_app_id_environment_credential_id_key UNIQUE (app_id, environment, credential_id),
    CONSTRAINT passkeys_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);
CREATE INDEX passkeys_app_id_environment_user_id_id_idx ON passkeys (app_id, environment, user_id, id);

CREATE TABLE passkey_handles (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    handle BYTEA NOT NULL,
    CONSTRAINT passkey_handles_app_id_environment_user_id_key PRIMARY KEY (app_id, environment, user_id),
    CONSTRAINT passkey_handles_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);

CREATE TABLE passkey_challenges (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL,
    ceremony TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C",
    domain TEXT COLLATE "C" NOT NULL,
    authenticator_type TEXT COLLATE "C" NOT NULL,
    created_at INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    CONSTRAINT passkey_challenges_app_id_environment_hash_key PRIMARY KEY (app_id, environment, hash)
);
CREATE INDEX passkey_challenges_app_id_environment_user_id_idx ON passkey_challenges (app_id, environment, user_id);
CREATE INDEX passkey_challenges_expires_at_idx ON passkey_challenges (expires_at);

-- Idempotency keys with their encrypted first responses. A run without a response owns its key until its lease ends.
CREATE TABLE idempotency_keys (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    request_key_version INT8 NOT NULL,
    request BYTEA NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    lease_until INT8 NOT NULL,
    expires_at INT8 NOT NULL,
    answer_key_version INT8,
    answer BYTEA,
    -- The stored response is erased with its user. The key stays in use until it expires, so that a repeat does not create the user
    -- again.
    user_id TEXT COLLATE "C",
    erased BOOL NOT NULL DEFAULT FALSE,
    CONSTRAINT idempotency_keys_app_id_environment_digest_key PRIMARY KEY (app_id, environment, digest)
);
CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);
CREATE INDEX idempotency_keys_app_id_environment_user_id_idx ON idempotency_keys (app_id, environment, user_id);

-- HPKE key pairs for wallet imports. The row is deleted on use or expiry; what was encrypted to it can then no longer be decrypted.
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

-- Hash-chained audit log of wallet use. Entries outlive their wallet and its user.
CREATE TABLE audit_entries (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    sequence INT8 NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    wallet_id TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    detail TEXT COLLATE "C" NOT NULL,
    -- Kind and id, separated by a space.
    actor TEXT COLLATE "C" NOT NULL,
    result BYTEA,
    happened_at INT8 NOT NULL,
    previous BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    -- Version of the hashed encoding; 2 adds the signed payload and the request id.
    format INT8 NOT NULL,
    payload BYTEA,
    request_id TEXT COLLATE "C",
    CONSTRAINT audit_entries_app_id_environment_chain_sequence_key
        PRIMARY KEY (app_id, environment, chain, sequence)
);
CREATE INDEX audit_entries_app_id_environment_wallet_id_id_idx
    ON audit_entries (app_id, environment, wallet_id, id);

-- The head of each chain.
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

-- Identity provider connections. The callback id is part of the callback URL, which names no App.
CREATE TABLE provider_connections (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    callback_id TEXT COLLATE "C" NOT NULL,
    client_id TEXT NOT NULL,
    settings TEXT NOT NULL,
    secret_key_version INT8 NOT NULL,
    secret BYTEA NOT NULL,
    secret_last_four TEXT,
    secret_updated_at INT8,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT provider_connections_app_id_environment_name_key PRIMARY KEY (app_id, environment, name),
    CONSTRAINT provider_connections_callback_id_key UNIQUE (callback_id),
    CONSTRAINT provider_connections_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id)
);

-- OAuth sign-ins in progress at a provider. A row is deleted when its state is used.
CREATE TABLE oauth_flows (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    state_hash BYTEA NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    secrets_key_version INT8 NOT NULL,
    secrets BYTEA NOT NULL,
    redirect_uri TEXT,
    browser_hash BYTEA,
    login_url TEXT,
    registration_url TEXT,
    -- Built-in test provider only: the authorization code's hash and the test identity.
    test_code_hash BYTEA,
    test_identity TEXT,
    expires_at INT8 NOT NULL,
    -- PKCE challenge of the start call.
    code_challenge BYTEA,
    -- The App's own state, returned with the token.
    caller_state TEXT,
    -- Client address that the start was counted for, until the sign-in is finished.
    begun_from TEXT,
    -- Operator's session that tries the provider out. Such a flow signs no user in.
    trial_session_id TEXT,
    CONSTRAINT oauth_flows_app_id_environment_state_hash_key PRIMARY KEY (app_id, environment, state_hash)
);
CREATE INDEX oauth_flows_expires_at_idx ON oauth_flows (expires_at);

-- OAuth sign-ins that returned from the provider. A row is deleted when its token is verified.
CREATE TABLE oauth_tokens (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    token_hash BYTEA NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    state_hash BYTEA NOT NULL,
    identity_key_version INT8 NOT NULL,
    identity BYTEA NOT NULL,
    expires_at INT8 NOT NULL,
    code_challenge BYTEA,
    tries INT8 NOT NULL DEFAULT 0,
    begun_from TEXT,
    CONSTRAINT oauth_tokens_app_id_environment_token_hash_key PRIMARY KEY (app_id, environment, token_hash)
);
CREATE INDEX oauth_tokens_expires_at_idx ON oauth_tokens (expires_at);

-- Provider accounts linked to users.
CREATE TABLE provider_links (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    issuer TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    email_id TEXT COLLATE "C",
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT provider_links_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT provider_links_app_id_environment_provider_issuer_subject_key
        UNIQUE (app_id, environment, provider, issuer, subject),
    CONSTRAINT provider_links_app_id_environment_user_id_fkey FOREIGN KEY (app_id, environment, user_id)
        REFERENCES users (app_id, environment, id)
);
CREATE INDEX provider_links_app_id_environment_user_id_id_idx ON provider_links (app_id, environment, user_id, id);

-- Leases on work that one process does at a time. They belong to no App.
CREATE TABLE leases (
    work TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    until INT8 NOT NULL,
    CONSTRAINT leases_work_key PRIMARY KEY (work)
);

-- Events without a position in a log. `appended` is the database's clock at the insert in microseconds, so that changes of one object
-- keep their order across processes. `ordinal` orders events of one transaction.
CREATE TABLE unsequenced_events (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    appended INT8 NOT NULL DEFAULT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS INT8),
    ordinal INT8 NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C",
    wallet_id TEXT COLLATE "C",
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor_id TEXT COLLATE "C",
    request_id TEXT COLLATE "C",
    data TEXT COLLATE "C" NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT unsequenced_events_app_id_environment_appended_id_key
        PRIMARY KEY (app_id, environment, appended, id)
);

-- Start and end of each event log. The sequencer locks the row while it assigns positions.
CREATE TABLE event_heads (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    log INT8 NOT NULL,
    position INT8 NOT NULL,
    newest_id TEXT COLLATE "C",
    oldest_position INT8,
    oldest_id TEXT COLLATE "C",
    -- The last event that retention deleted. A reader that has read it has missed nothing.
    pruned_id TEXT,
    CONSTRAINT event_heads_app_id_environment_key PRIMARY KEY (app_id, environment)
);

-- The event logs.
CREATE TABLE events (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    position INT8 NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    log INT8 NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C",
    wallet_id TEXT COLLATE "C",
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor_id TEXT COLLATE "C",
    request_id TEXT COLLATE "C",
    data TEXT COLLATE "C" NOT NULL,
    created_at INT8 NOT NULL,
    CONSTRAINT events_app_id_environment_position_key PRIMARY KEY (app_id, environment, position),
    CONSTRAINT events_app_id_environment_id_key UNIQUE (app_id, environment, id)
);
CREATE INDEX events_app_id_environment_user_id_position_idx
    ON events (app_id, environment, user_id, position) WHERE user_id IS NOT NULL;

-- Webhook endpoints. `fingerprint` is the SHA-256 of URL and types, which together are too long for an index. Failures are counted since
-- the last successful delivery.
CREATE TABLE webhook_endpoints (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    url TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C",
    types TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    disabled_reason TEXT COLLATE "C",
    failed_attempts INT8 NOT NULL,
    failed_deliveries INT8 NOT NULL,
    failures_since INT8,
    failing_since INT8,
    failing_emitted BOOL NOT NULL,
    last_success_at INT8,
    created_at INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    CONSTRAINT webhook_endpoints_app_id_environment_id_key PRIMARY KEY (app_id, environment, id),
    CONSTRAINT webhook_endpoints_app_id_environment_fingerprint_key UNIQUE (app_id, environment, fingerprint)
);
CREATE INDEX webhook_endpoints_failing_since_idx ON webhook_endpoints (failing_since) WHERE failing_since IS NOT NULL;

-- Signing secrets of webhooks. The newest one has no end.
CREATE TABLE webhook_secrets (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    key_version INT8 NOT NULL,
    secret BYTEA NOT NULL,
    last_four TEXT COLLATE "C" NOT NULL,
    created_at INT8 NOT NULL,
    expires_at INT8,
    CONSTRAINT webhook_secrets_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);
CREATE INDEX webhook_secrets_endpoint_id_idx ON webhook_secrets (app_id, environment, endpoint_id);
CREATE INDEX webhook_secrets_expires_at_idx ON webhook_secrets (expires_at) WHERE expires_at IS NOT NULL;

-- Webhook deliveries. Rank 0: first attempts; rank 1: retries, which never delay first attempts.
CREATE TABLE webhook_deliveries (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL,
    position INT8 NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    is_replay BOOL NOT NULL,
    rank INT8 NOT NULL,
    attempts INT8 NOT NULL,
    due_at INT8 NOT NULL,
    created_at INT8 NOT NULL,
    ended_at INT8,
    ended_as TEXT COLLATE "C",
    CONSTRAINT webhook_deliveries_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);
CREATE INDEX webhook_deliveries_endpoint_id_rank_due_at_idx
    ON webhook_deliveries (app_id, environment, endpoint_id, rank, due_at) WHERE ended_at IS NULL;
CREATE INDEX webhook_deliveries_endpoint_id_id_idx
    ON webhook_deliveries (app_id, environment, endpoint_id, id);
CREATE INDEX webhook_deliveries_created_at_idx ON webhook_deliveries (created_at);

-- For replays of exhausted deliveries, and for newer deliveries of the same event.
CREATE INDEX webhook_deliveries_exhausted_idx
    ON webhook_deliveries (app_id, environment, endpoint_id, id) WHERE ended_as = 'exhausted';
CREATE INDEX webhook_deliveries_event_id_idx
    ON webhook_deliveries (app_id, environment, endpoint_id, event_id);

-- Finished delivery attempts.
CREATE TABLE webhook_attempts (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    delivery_id TEXT COLLATE "C" NOT NULL,
    number INT8 NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    at INT8 NOT NULL,
    duration_ms INT8 NOT NULL,
    status INT8,
    error TEXT COLLATE "C",
    response_excerpt TEXT COLLATE "C",
    CONSTRAINT webhook_attempts_app_id_environment_delivery_id_number_key
        PRIMARY KEY (app_id, environment, delivery_id, number)
);
CREATE INDEX webhook_attempts_at_idx ON webhook_attempts (at);

-- Heads of the control log's chains, which record changes of an App, its keys and settings. New entries go to the chain with the highest
-- number. Writers lock the row with the lowest number, which also covers the start of another chain.
CREATE TABLE control_chains (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    number INT8 NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    sequence INT8 NOT NULL,
    hash BYTEA NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    CONSTRAINT control_chains_app_id_environment_number_key PRIMARY KEY (app_id, environment, number)
);

-- Entries of the control log. They outlive their actor and subject, which may be deleted.
CREATE TABLE control_entries (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    sequence INT8 NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor_id TEXT COLLATE "C",
    action TEXT COLLATE "C" NOT NULL,
    subject_kind TEXT COLLATE "C" NOT NULL,
    subject_id TEXT COLLATE "C" NOT NULL,
    detail TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    request_id TEXT COLLATE "C",
    happened_at INT8 NOT NULL,
    previous BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    CONSTRAINT control_entries_app_id_environment_chain_sequence_key
        PRIMARY KEY (app_id, environment, chain, sequence)
);
CREATE INDEX control_entries_app_id_environment_id_idx ON control_entries (app_id, environment, id);

-- Signed checkpoints: the ends of all chains of the audit log. Kept until each sink has stored them for some time.
CREATE TABLE checkpoints (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    number INT8 NOT NULL,
    made_at INT8 NOT NULL,
    note TEXT NOT NULL,
    CONSTRAINT checkpoints_app_id_environment_number_key PRIMARY KEY (app_id, environment, number)
);

-- Progress of each sink: it has stored all checkpoints up to this number.
CREATE TABLE checkpoint_sinks (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    sink TEXT COLLATE "C" NOT NULL,
    number INT8 NOT NULL,
    taken_at INT8 NOT NULL,
    -- MAC of the sink's progress, so that an edited row is rejected.
    mac_key_version INT8 NOT NULL,
    mac BYTEA NOT NULL,
    CONSTRAINT checkpoint_sinks_app_id_environment_sink_key PRIMARY KEY (app_id, environment, sink)
);

-- Bulk replays, of failures since `failed_since` or of a range of the log. `after_` is the progress.
CREATE TABLE webhook_replays (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    failed_since INT8,
    after_delivery TEXT COLLATE "C",
    after_position INT8,
    until_position INT8,
    expected INT8 NOT NULL,
    done INT8 NOT NULL,
    next_at INT8 NOT NULL,
    created_at INT8 NOT NULL,
    ended_at INT8,
    CONSTRAINT webhook_replays_app_id_environment_id_key PRIMARY KEY (app_id, environment, id)
);

-- One replay per endpoint runs at a time.
CREATE UNIQUE INDEX webhook_replays_app_id_environment_endpoint_id_key
    ON webhook_replays (app_id, environment, endpoint_id) WHERE ended_at IS NULL;
CREATE INDEX webhook_replays_endpoint_id_idx ON webhook_replays (app_id, environment, endpoint_id, id);
CREATE INDEX webhook_replays_next_at_idx ON webhook_replays (next_at) WHERE ended_at IS NULL;
CREATE INDEX webhook_replays_ended_at_idx ON webhook_replays (ended_at) WHERE ended_at IS NOT NULL;

-- Start of a chain that was pruned: position and hash of the last exported and removed entry.
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

-- The deployment's own App. It is never listed; the deployment's keys refer to it.
INSERT INTO apps (id, name, settings, created_at, updated_at, test_clock, named_events)
    VALUES ('app_000000000000000000000000001', 'Vestry', '{}', 1400000000, 1400000000,
            '{"revision":0,"set_at":0,"mode":"machine"}', '{}');

-- What happened in each hour and day, for the charts of the console.
CREATE TABLE activity (
    app_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    period TEXT COLLATE "C" NOT NULL,
    starts_at INT8 NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    count INT8 NOT NULL,
    CONSTRAINT activity_app_id_environment_period_starts_at_name_label_key
        PRIMARY KEY (app_id, environment, period, starts_at, name, label)
);
-- For the removal of old counts.
CREATE INDEX activity_period_starts_at_idx ON activity (period, starts_at);
