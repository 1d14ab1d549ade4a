-- Keys under which requests are sent again, and the first answers, sealed. A run without an answer has its key until its lease ends.
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
    CONSTRAINT idempotency_keys_app_id_environment_digest_key PRIMARY KEY (app_id, environment, digest)
);

CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);
