//! `vestry vault`: maintenance of the root keys. Only for operators; not available through the API.

use std::collections::BTreeMap;

use vestry_domain::World;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::envelope::{AppKey, KeyPurpose};
use vestry_domain::extent::Extent;
use vestry_domain::ids::WalletId;
use vestry_ports::custody::CustodyError;
use vestry_ports::store::PersistentKind;
use vestry_ports::vault::{VaultError, VaultStatus};

use crate::kernel::fault::retried;
use crate::platform::rotation::FailedSecret;
use crate::{Fault, Principal, Refusal, Service};

/// Status of the root key of one purpose, as shown by `vault status`.
#[derive(Debug)]
pub struct RootReport {
    /// The purpose of the App keys that it wraps.
    pub purpose: KeyPurpose,
    /// Status of the provider, or why it is unavailable.
    pub provider: Result<VaultStatus, VaultError>,
    /// Number of App keys wrapped by each root version, ascending.
    pub app_keys: Vec<(u32, u64)>,
    /// Root versions that exist but do not open an App key they are said to wrap, ascending. Either the file belongs to another purpose or
    /// installation, or the App key was altered.
    pub wrong: Vec<u32>,
}

/// Result of `vault rotate-root`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rotation {
    /// The root version that now wraps all App keys of a purpose.
    pub versions: BTreeMap<KeyPurpose, u32>,
    /// Number of App keys rewrapped.
    pub rewrapped: u64,
    /// App keys that failed and were left unchanged, as `app/environment/purpose/version`.
    pub failed: Vec<String>,
}

impl Rotation {
    /// Returns whether a key needs no more work. Keys wrapped by a concurrent rotation under an even newer version are done too, and failed
    /// keys are not retried.
    fn is_done(&self, key: &AppKey) -> bool {
        let version = self.versions.get(&key.purpose.root());
        version.is_none_or(|version| key.wrapped.root_version >= *version)
            || self.failed.contains(&place(key))
    }
}

/// Returns the name of an App key in operator output.
fn place(key: &AppKey) -> String {
    format!("{}/{}/{}", key.world, key.purpose, key.version)
}

/// Result of `vault verify`.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// Number of App keys that could be unwrapped.
    pub app_keys: u64,
    /// Number of wallet keys that could be decrypted and match their row's address.
    pub wallets: u64,
    /// Number of read-only wallets, which never had a key here, with an intact row.
    pub read_only: u64,
    /// Number of small secrets that could be decrypted.
    pub secrets: u64,
    /// Wallets whose key or row failed, or whose key is missing.
    pub failed: Vec<WalletId>,
    /// Small secrets that failed.
    pub failed_secrets: Vec<FailedSecret>,
    /// App keys that failed, as `app/environment/purpose/version`.
    pub failed_app_keys: Vec<String>,
}

impl Verification {
    /// Returns the number of wallets verified so far.
    fn looked_at(&self) -> u64 {
        let failed = u64::try_from(self.failed.len()).unwrap_or(u64::MAX);
        self.wallets + self.read_only + failed
    }
}

/// Wallets read in one query.
const PAGE: i64 = 500;

impl Service {
    /// Returns the root keys, their versions and what they wrap.
    ///
    /// # Errors
    /// See [`Fault`]; an unavailable provider is part of the result.
    pub async fn vault_status(&self) -> Result<Vec<RootReport>, Fault> {
        let app_keys = self.app_keys().await?;
        let mut reports = Vec::new();
        for purpose in KeyPurpose::ALL {
            let provider = self.ports.vaults.of(purpose).status().await;
            let mut counts = BTreeMap::<u32, u64>::new();
            let mut wrong = Vec::new();
            for key in app_keys.iter().filter(|key| key.purpose.root() == purpose) {
                let version = key.wrapped.root_version;
                let count = counts.entry(version).or_default();
                *count += 1;
                // One key per version shows whether it is the right root key; `vault verify` opens all of them.
                if *count == 1 && provider.is_ok() && self.is_altered(key).await {
                    wrong.push(version);
                }
            }
            wrong.sort_unstable();
            reports.push(RootReport {
                purpose,
                provider,
                app_keys: counts.into_iter().collect(),
                wrong,
            });
        }
        Ok(reports)
    }

    async fn is_altered(&self, key: &AppKey) -> bool {
        let opened = self.ports.custodian.rewrap_app_key(key).await;
        matches!(opened, Err(CustodyError::Tampered { .. }))
    }

    /// Creates a new version of each root key and rewraps every App key under it.
    ///
    /// It runs online: wallets are not touched, and running services can use both versions. The next run finishes one that was interrupted.
    ///
    /// Old root versions stay usable until [`Service::vault_retire`].
    ///
    /// # Errors
    /// See [`Fault`]; an App key that does not open is a finding, not an error. It must not keep the others under an old root key.
    pub async fn vault_rotate_root(
        &self,
        by: &Principal,
        progress: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<Rotation, Refusal> {
        by.authorize(Action::RotateRootKey, Extent::Deployment)?;
        // Check all providers first, so that an unavailable one does not leave another with an unused new version.
        for purpose in KeyPurpose::ALL {
            self.ports.vaults.of(purpose).status().await?;
        }
        // Each rewrapping gets an audit entry, and the deployment may have no log key yet. It cannot be created later under a version that
        // no other key uses.
        let is_of_deployment = |key: &AppKey| key.world == World::DEPLOYMENT;
        if self.app_keys().await?.iter().any(is_of_deployment) {
            self.hold_deployment_key(KeyPurpose::Secrets).await?;
        }
        let mut rotation = Rotation::default();
        for purpose in KeyPurpose::ALL {
            let version = self.ports.vaults.of(purpose).add_root_version().await?;
            rotation.versions.insert(purpose, version);
        }
        loop {
            let mut old = self.app_keys().await?;
            old.retain(|key| !rotation.is_done(key));
            if old.is_empty() {
                return Ok(rotation);
            }
            let total = rotation.rewrapped + u64::try_from(old.len()).unwrap_or(u64::MAX);
            for key in old {
                match self.ports.custodian.rewrap_app_key(&key).await {
                    Ok(fresh) => {
                        if retried(|| self.replace_wrapping(by, &key, &fresh)).await? {
                            rotation.rewrapped += 1;
                        }
                    }
                    Err(CustodyError::Tampered { .. }) => rotation.failed.push(place(&key)),
                    // A concurrent rotation may have been faster and have destroyed the version that wrapped the key.
                    Err(error) if self.app_keys().await?.contains(&key) => return Err(error.into()),
                    Err(_) => {}
                }
                progress(rotation.rewrapped, total);
            }
        }
    }

    async fn replace_wrapping(
        &self,
        by: &Principal,
        key: &AppKey,
        fresh: &AppKey,
    ) -> Result<bool, Fault> {
        let (from, to) = (key.wrapped.root_version, fresh.wrapped.root_version);
        let mut tx = match self.begin_change([key.world]).await {
            // The key of the audit log itself does not open. That must not keep this key under an old root key.
            Err(Fault::Tampered(_)) => return self.replace_unrecorded(key, fresh).await,
            change => change?,
        };
        if !tx.app_keys().rewrap(key, from, &fresh.wrapped).await? {
            return Ok(false);
        }
        let detail = Detail::default().changed("root_version", from.into(), to.into());
        let action = ControlAction::AppKeyRewrap;
        tx.note(self.done(&by.at(key.world), action, Subject::app_key(key), &detail));
        tx.commit().await?;
        Ok(true)
    }

    async fn replace_unrecorded(&self, key: &AppKey, fresh: &AppKey) -> Result<bool, Fault> {
        let from = key.wrapped.root_version;
        let mut tx = self.ports.store.begin().await?;
        let is_replaced = tx.app_keys().rewrap(key, from, &fresh.wrapped).await?;
        tx.commit().await?;
        tracing::error!(
            key = place(key),
            "App key rewrapped without an audit entry: the audit log's own key does not open; run `vestry vault verify`"
        );
        Ok(is_replaced)
    }

    /// Destroys root key versions that no longer wrap any key. Returns the number of App keys still under an older version; if it is not
    /// zero, nothing was destroyed.
    ///
    /// # Errors
    /// See [`Fault`].
    pub async fn vault_retire(&self, by: &Principal) -> Result<u64, Refusal> {
        by.authorize(Action::RetireRootKey, Extent::Deployment)?;
        let mut primaries = BTreeMap::new();
        for purpose in KeyPurpose::ALL {
            let status = self.ports.vaults.of(purpose).status().await?;
            primaries.insert(purpose, status.primary_version);
        }
        let mut older = self.app_keys().await?;
        older.retain(|key| {
            let primary = primaries.get(&key.purpose.root());
            primary.is_some_and(|primary| key.wrapped.root_version < *primary)
        });
        if older.is_empty() {
            for (purpose, primary) in primaries {
                self.retire_root_below(by, purpose, primary).await?;
            }
        }
        Ok(u64::try_from(older.len()).unwrap_or(u64::MAX))
    }

    async fn retire_root_below(
        &self,
        by: &Principal,
        purpose: KeyPurpose,
        version: u32,
    ) -> Result<(), Fault> {
        let vault = self.ports.vaults.of(purpose);
        let status = vault.status().await?;
        if status.versions.iter().all(|known| *known >= version) {
            return Ok(());
        }
        let subject = Subject::root_key(purpose);
        let detail = Detail::default().with("below", version);
        let action = ControlAction::RootKeyRetire;
        let event = self.done(&by.at(World::DEPLOYMENT), action, subject, &detail);
        self.record_for_deployment(event).await?;
        Ok(vault.retire_below(version).await?)
    }

    /// Verifies every App key, wallet key and long-lived small secret by decrypting it. It compares wallet keys with their rows, and checks
    /// that wallets without a key are those that never had one.
    ///
    /// # Errors
    /// See [`Fault`]; a key that does not open is a finding, not an error.
    pub async fn vault_verify(
        &self,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Verification, Fault> {
        let mut report = Verification::default();
        for key in self.app_keys().await? {
            match self.ports.custodian.rewrap_app_key(&key).await {
                Ok(_) => report.app_keys += 1,
                Err(CustodyError::Tampered { .. }) => report.failed_app_keys.push(place(&key)),
                Err(other) => return Err(other.into()),
            }
        }
        let mut after = None;
        loop {
            let mut read = self.ports.store.read().await?;
            let page = read.wallets().walk(after, PAGE).await?;
            drop(read);
            let Some((last, _)) = page.last() else { break };
            after = Some(last.wallet.id);
            for (stored, key) in page {
                let id = stored.wallet.id;
                match self.ports.custodian.verify_wallet(stored, key).await {
                    Ok(()) => report.wallets += 1,
                    Err(CustodyError::Tampered { .. }) => report.failed.push(id),
                    Err(other) => return Err(other.into()),
                }
            }
            progress(report.looked_at());
        }
        for world in self.every_world().await? {
            self.verify_keyless(&world, &mut report, progress).await?;
            self.verify_secrets(&world, &mut report).await?;
        }
        Ok(report)
    }

    async fn verify_keyless(
        &self,
        world: &World,
        report: &mut Verification,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<(), Fault> {
        let mut after = None;
        loop {
            let mut read = self.ports.store.read().await?;
            let page = read.wallets().without_key(world, after, PAGE).await?;
            drop(read);
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = Some(last.wallet.id);
            for stored in page {
                let id = stored.wallet.id;
                match self.ports.custodian.authenticate(stored).await {
                    Ok(wallet) if wallet.is_read_only => report.read_only += 1,
                    // Its key was removed from the database.
                    Ok(_) | Err(CustodyError::Tampered { .. }) => report.failed.push(id),
                    Err(other) => return Err(other.into()),
                }
            }
            progress(report.looked_at());
        }
    }

    async fn verify_secrets(&self, world: &World, report: &mut Verification) -> Result<(), Fault> {
        for kind in PersistentKind::ALL {
            let mut after = None;
            loop {
                let page = self.secrets_page(world, kind, u32::MAX, after).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.owner.clone());
                for secret in page {
                    match self.secret_opens(&secret).await {
                        Ok(()) => report.secrets += 1,
                        Err(Fault::Tampered(_)) => report.failed_secrets.push(secret.into()),
                        Err(other) => return Err(other),
                    }
                }
            }
        }
        Ok(())
    }

    async fn app_keys(&self) -> Result<Vec<AppKey>, Fault> {
        Ok(self.ports.store.read().await?.app_keys().all().await?)
    }
}
