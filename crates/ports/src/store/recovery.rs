//! Recovery of a database that was set back: restored, or taken over from a standby that lacked the last commits.

use vestry_domain::Timestamp;
use vestry_port_macro::port;

use super::StoreResult;

/// What a recovery ended, in all Apps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndedByRecovery {
    /// Sessions, those of operators included.
    pub sessions: u64,
    /// Codes by e-mail and SMS.
    pub codes: u64,
    /// Magic links, and links to set a password.
    pub links: u64,
    /// Invitations of operators, and links for new factors.
    pub operator_links: u64,
    /// Challenges for wallets and passkeys.
    pub challenges: u64,
    /// Key pairs of wallet imports.
    pub imports: u64,
    /// Sign-ins with identity providers that had begun.
    pub provider_sign_ins: u64,
    /// Messages that were not delivered. Those of live environments have expired.
    pub messages: u64,
}

/// Statements over the rows of all Apps at once.
#[port]
pub trait Recovery: Send {
    /// Ends everything that lives for a short time: it was valid when the data was saved, and may have been used or ended since.
    ///
    /// Sessions, codes, links, challenges, key pairs of imports, sign-ins in progress and captured messages are deleted. Messages in the
    /// outbox end as expired, dead ones included. In live environments, codes of authenticator apps are accepted only after `totp_step`.
    /// All leases are free.
    async fn end_short_lived(
        &mut self,
        now: Timestamp,
        totp_step: i64,
    ) -> StoreResult<EndedByRecovery>;
}
