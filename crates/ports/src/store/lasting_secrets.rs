//! Small secrets that live as long as their rows, for whoever brings them under another App key.
//!
//! Codes, messages, kept answers and sign-ins at providers are none of these: they end by themselves.

use vestry_domain::World;
use vestry_domain::envelope::{Mac, Sealed, SecretKind};
use vestry_domain::ids::UserId;
use vestry_port_macro::port;

use super::StoreResult;

/// What such a secret is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LastingKind {
    /// Private half of a session signing key.
    SigningKey,
    /// Hash of a password.
    Password,
    /// Seed of an authenticator app.
    TotpSeed,
    /// Recovery code of an authenticator app that was not used yet.
    RecoveryCode,
    /// Client secret of a connection to an identity provider.
    ProviderSecret,
    /// What requests to a webhook endpoint are signed with.
    WebhookSecret,
}

impl LastingKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::SigningKey,
        Self::Password,
        Self::TotpSeed,
        Self::RecoveryCode,
        Self::ProviderSecret,
        Self::WebhookSecret,
    ];

    /// As what it is sealed.
    pub const fn secret(self) -> SecretKind {
        match self {
            Self::SigningKey => SecretKind::SigningKey,
            Self::Password => SecretKind::Password,
            Self::TotpSeed => SecretKind::TotpSeed,
            Self::RecoveryCode => SecretKind::RecoveryCode,
            Self::ProviderSecret => SecretKind::ProviderSecret,
            Self::WebhookSecret => SecretKind::WebhookSecret,
        }
    }

    /// Its table, as [`Standing`](super::Standing) names it.
    pub const fn table(self) -> &'static str {
        match self {
            Self::SigningKey => "signing_keys",
            Self::Password => "passwords",
            Self::TotpSeed => "totps",
            Self::RecoveryCode => "totp_recovery_codes",
            Self::ProviderSecret => "provider_connections",
            Self::WebhookSecret => "webhook_secrets",
        }
    }
}

/// One of them, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastingSecret {
    /// App and environment.
    pub world: World,
    /// What it is.
    pub kind: LastingKind,
    /// What the seal is bound to, besides world and kind: the id of a signing key, of the password's user, of an authenticator app,
    /// of a connection's callback, or of a webhook secret; of a recovery code `totp_…/number`.
    pub owner: String,
    /// The secret.
    pub sealed: Sealed,
    /// The keyed hash that a recovery code has beside it, and the user that it is bound to.
    pub hash: Option<(UserId, Mac)>,
}

/// Those secrets, whatever table they are in.
#[port]
pub trait LastingSecrets: Send {
    /// Secrets of a kind in a world whose seal or keyed hash is under a version of the App key below the given one, in a stable order,
    /// after the one of this owner, at most `limit`.
    async fn under_older(
        &mut self,
        world: &World,
        kind: LastingKind,
        version: u32,
        after: Option<&str>,
        limit: i64,
    ) -> StoreResult<Vec<LastingSecret>>;
    /// Puts the seal, and the keyed hash, of `fresh` in place of those there are, if the row still has the seal that was seen; `false`
    /// when it has not. One guarded statement: what somebody has changed meanwhile stays.
    async fn reseal(&mut self, fresh: &LastingSecret, seen: &Sealed) -> StoreResult<bool>;
    /// Forgets the keyed hashes of used recovery codes that are under a version below the given one; returns of how many. Such a code
    /// is a wrong one from then on.
    async fn forget_used(&mut self, world: &World, version: u32) -> StoreResult<u64>;
}
