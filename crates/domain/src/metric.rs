//! The labels of metrics. All are closed lists, so that no label can grow (PR-32).

use crate::closed_list::closed_lists;

closed_lists! {
    /// The class of work of a request.
    WorkClass {
        /// Probes.
        Health "health",
        /// Sessions.
        Session "session",
        /// Reading a user.
        UserRead "user_read",
        /// Changing a user.
        UserWrite "user_write",
        /// Searching users.
        UserSearch "user_search",
        /// Sending a code.
        CodeSend "code_send",
        /// Verifying a code.
        CodeVerify "code_verify",
        /// Magic links.
        Link "link",
        /// Passwords.
        Password "password",
        /// Passkeys.
        Passkey "passkey",
        /// Authenticator apps.
        Totp "totp",
        /// Identity providers.
        Oauth "oauth",
        /// Reading wallets, and their audit log.
        WalletRead "wallet_read",
        /// Creating, importing, exporting and switching wallets.
        WalletCreate "wallet_create",
        /// Signing with a wallet.
        Sign "sign",
        /// Events, management, the console and everything else.
        Admin "admin",
    }

    /// The status of a response.
    StatusClass {
        /// 200 to 299.
        Success "2xx",
        /// 300 to 399.
        Redirect "3xx",
        /// 401.
        Unauthorized "401",
        /// 429.
        TooMany "429",
        /// 400 to 499 except these.
        Refused "4xx",
        /// 503.
        Unavailable "503",
        /// 500 to 599 except 503.
        Failed "5xx",
    }

    /// The method of an attempt to sign in.
    AttemptMethod {
        /// A code by e-mail or SMS.
        Code "code",
        /// A magic link or a password reset link.
        Link "link",
        /// A password.
        Password "password",
        /// An authenticator app or a recovery code.
        Totp "totp",
        /// A passkey.
        Passkey "passkey",
        /// A wallet.
        Wallet "wallet",
        /// An identity provider.
        Oauth "oauth",
    }

    /// The result of an attempt to sign in.
    AttemptResult {
        /// The user is signed in.
        Ok "ok",
        /// The proof is wrong, or was used before.
        Wrong "wrong",
        /// The proof has expired.
        Expired "expired",
        /// There were too many wrong ones.
        Locked "locked",
        /// A rate limit was exceeded.
        Limited "limited",
        /// Refused for any other reason.
        Refused "refused",
    }

    /// The kind of a database transaction.
    TransactionKind {
        /// Reads, each a transaction of its own.
        Read "read",
        /// A transaction that writes.
        Write "write",
        /// A group commit.
        Batch "batch",
    }

    /// How a database transaction ended.
    TransactionOutcome {
        /// Committed, or given up by its use case.
        Ok "ok",
        /// A lock or a connection was waited for in vain.
        Busy "busy",
        /// It must be repeated.
        Retry "retry",
        /// The database is unreachable.
        Unavailable "unavailable",
        /// Any other failure.
        Other "other",
    }

    /// A pool of database connections.
    PoolName {
        /// Postgres.
        Main "main",
        /// The rate limit's.
        Limiter "limiter",
        /// SQLite, reading.
        Reader "reader",
        /// SQLite, writing.
        Writer "writer",
    }

    /// The state of a connection.
    PoolState {
        /// Waiting in the pool.
        Idle "idle",
        /// In use.
        Busy "busy",
    }

    /// The outcome of an attempt to send a webhook.
    WebhookResult {
        /// The endpoint accepted it.
        Ok "ok",
        /// The endpoint answered with an error, or was unreachable.
        Failed "failed",
        /// The endpoint did not answer in time.
        Timeout "timeout",
        /// Its address is not allowed.
        Refused "refused",
    }

    /// The result of signing.
    SignResult {
        /// Signed.
        Ok "ok",
        /// The request or the wallet does not permit it.
        Refused "refused",
        /// A failure of the service.
        Failed "failed",
    }

    /// A log of the audit.
    AuditLogName {
        /// The uses of wallets.
        Wallets "wallets",
        /// The changes by operators.
        Control "control",
    }

    /// What a tamper alarm is about.
    TamperKind {
        /// A wallet or another row.
        Record "record",
        /// The chain of an audit log.
        Chain "chain",
        /// A database that was set back.
        Rollback "rollback",
    }

    /// A background job.
    Job {
        /// Delivery of messages and webhooks.
        Deliver "deliver",
        /// Deletion of expired rows.
        Sweep "sweep",
        /// Numbering of events.
        Sequence "sequence",
        /// Checkpoints of the audit log.
        Checkpoint "checkpoint",
    }
}

impl StatusClass {
    /// The class of a status code. Those below 200 do not end a request.
    pub const fn of(status: u16) -> Self {
        match status {
            401 => Self::Unauthorized,
            429 => Self::TooMany,
            503 => Self::Unavailable,
            0..300 => Self::Success,
            300..400 => Self::Redirect,
            400..500 => Self::Refused,
            _ => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_a_class() {
        for (status, class) in [
            (200, "2xx"),
            (204, "2xx"),
            (303, "3xx"),
            (400, "4xx"),
            (401, "401"),
            (429, "429"),
            (500, "5xx"),
            (503, "503"),
        ] {
            assert_eq!(StatusClass::of(status).as_str(), class);
        }
    }
}
