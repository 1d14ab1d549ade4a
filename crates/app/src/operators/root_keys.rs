//! Whether the root keys can be used.

use std::time::Duration;

use vestry_domain::envelope::KeyPurpose;

use crate::Service;

/// How long a vault may take to respond.
const PATIENCE: Duration = Duration::from_millis(500);

/// A root key that can be used.
#[derive(Debug, Clone)]
pub struct RootKeyStatus {
    /// The kind of vault, such as `local`.
    pub kind: &'static str,
    /// The version that wraps new keys.
    pub version: u32,
}

/// The root keys; `None` while one is unavailable.
pub(super) struct RootKeys {
    pub(super) wallets: Option<RootKeyStatus>,
    pub(super) secrets: Option<RootKeyStatus>,
}

impl RootKeys {
    /// What the unavailable ones protect.
    pub(super) fn unavailable(&self) -> impl Iterator<Item = KeyPurpose> {
        let keys = [
            (KeyPurpose::Wallets, &self.wallets),
            (KeyPurpose::Secrets, &self.secrets),
        ];
        let missing = keys.into_iter().filter(|(_, key)| key.is_none());
        missing.map(|(purpose, _)| purpose)
    }
}

impl Service {
    pub(super) async fn root_keys(&self) -> RootKeys {
        let (wallets, secrets) = tokio::join!(
            self.root_key_status(KeyPurpose::Wallets),
            self.root_key_status(KeyPurpose::Secrets),
        );
        RootKeys { wallets, secrets }
    }

    async fn root_key_status(&self, purpose: KeyPurpose) -> Option<RootKeyStatus> {
        let status = self.ports.vaults.of(purpose).status();
        let status = tokio::time::timeout(PATIENCE, status).await.ok()?.ok()?;
        Some(RootKeyStatus {
            kind: status.kind,
            version: status.primary_version,
        })
    }
}
