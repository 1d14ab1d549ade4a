-- Keys under which requests are sent again, and the first answers, sealed. A run without an answer has its key until its lease ends.
CREATE TABLE idempotency_keys (
    app_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    digest BLOB NOT NULL,
    request_key_version INTEGER NOT NULL,
    request BLOB NOT NULL,
    holder TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    answer_key_version INTEGER,
    answer BLOB,
    CONSTRAINT idempotency_keys_app_id_environment_digest_key PRIMARY KEY (app_id, environment, digest)
) STRICT;

CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);
