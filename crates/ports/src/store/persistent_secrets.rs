//! Persistent small secrets, for re-encryption under another App key.
//!
//! Codes, messages, stored responses and pending provider sign-ins are not included, because they expire.

use vestry_domain::World;
use vestry_domain::envelope::{Mac, Sealed, SecretKind};
use vestry_domain::ids::UserId;
use vestry_port_macro::port;

use super::StoreResult;

/// The kind of a persistent secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PersistentKind {
    /// Private half of a session signing key.
    SigningKey,
    /// Hash of a password.
    Password,
    /// Seed of an authenticator app.
    TotpSeed,
    /// Unused recovery code of an authenticator app.
    RecoveryCode,
    /// Client secret of a connection to an identity provider.
    ProviderSecret,
    /// Signing secret of a webhook endpoint.
    WebhookSecret,
}

impl PersistentKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::SigningKey,
        Self::Password,
        Self::TotpSeed,
        Self::RecoveryCode,
        Self::ProviderSecret,
        Self::WebhookSecret,
    ];

    /// The kind under which it is encrypted.
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

    /// The table, as named by [`KeyUsage`](super::KeyUsage).
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

/// A stored persistent secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistentSecret {
    /// App and environment.
    pub world: World,
    /// The kind of secret.
    pub kind: PersistentKind,
    /// The owner that the encryption is bound to, in addition to world and kind. It is the id of a signing key, of the password's user, of
    /// an authenticator app, of a connection's callback, or of a webhook secret. For a recovery code it is `totp_…/number`.
    pub owner: String,
    /// The encrypted secret.
    pub sealed: Sealed,
    /// The MAC of a recovery code, and the user that it is bound to.
    pub hash: Option<(UserId, Mac)>,
}

/// Persistent secrets of all tables.
#[port]
pub trait PersistentSecrets: Send {
    /// Secrets of a kind in a world whose encryption or MAC uses a version of the App key below the given one. In a stable order, after the
    /// one of this owner, at most `limit`.
    async fn under_older(
        &mut self,
        world: &World,
        kind: PersistentKind,
        version: u32,
        after: Option<&str>,
        limit: i64,
    ) -> StoreResult<Vec<PersistentSecret>>;
    /// Replaces the encrypted secret and the MAC with those of `fresh`, if the row still has the encrypted secret that was seen; `false`
    /// otherwise. One guarded statement, so that concurrent changes are preserved.
    async fn reseal(&mut self, fresh: &PersistentSecret, seen: &Sealed) -> StoreResult<bool>;
    /// Deletes the MACs of used recovery codes that are under a version below the given one; returns how many. From then on such a code
    /// counts as wrong.
    async fn forget_used(&mut self, world: &World, version: u32) -> StoreResult<u64>;
}
