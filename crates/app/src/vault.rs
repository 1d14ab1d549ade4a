//! `vestry vault`: looking after the root keys. Admin only; no API key opens any of this.

use std::collections::BTreeMap;

use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::envelope::{AppKey, KeyPurpose};
use vestry_domain::ids::WalletId;
use vestry_ports::custody::CustodyError;
use vestry_ports::store::LastingKind;
use vestry_ports::vault::{VaultError, VaultStatus};

use crate::fault::retried;
use crate::rotation::FailedSecret;
use crate::{Fault, Service};

/// What `vault status` shows of the root key of one purpose.
#[derive(Debug)]
pub struct RootReport {
    /// What the App keys that it wraps are for.
    pub purpose: KeyPurpose,
    /// The provider, or why it is away.
    pub provider: Result<VaultStatus, VaultError>,
    /// How many App keys are wrapped by each root version, ascending.
    pub app_keys: Vec<(u32, u64)>,
    /// Root versions that are there and do not open an App key that they are said to wrap, ascending: the file is that of another
    /// purpose or installation, or the App key was altered.
    pub wrong: Vec<u32>,
}

/// What `vault rotate-root` did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rotation {
    /// The root version that wraps all App keys of a purpose now.
    pub versions: BTreeMap<KeyPurpose, u32>,
    /// App keys wrapped anew.
    pub rewrapped: u64,
    /// App keys that failed and were left as they are, as `app/environment/purpose/version`.
    pub failed: Vec<String>,
}

impl Rotation {
    /// What another rotation has wrapped under a yet newer version is done as well, and what failed does not become better.
    fn is_done(&self, key: &AppKey) -> bool {
        let version = self.versions.get(&key.purpose.root());
        version.is_none_or(|version| key.wrapped.root_version >= *version)
            || self.failed.contains(&place(key))
    }
}

/// How an App key is called before an operator.
fn place(key: &AppKey) -> String {
    format!("{}/{}/{}", key.world, key.purpose, key.version)
}

/// What `vault verify` found.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// App keys that opened.
    pub app_keys: u64,
    /// Wallet keys that opened and yield their row's address.
    pub wallets: u64,
    /// Wallets that never had a key here, whose row is what it was.
    pub read_only: u64,
    /// Small secrets that opened.
    pub secrets: u64,
    /// Wallets whose key or row failed, or whose key is gone.
    pub failed: Vec<WalletId>,
    /// Small secrets that failed.
    pub failed_secrets: Vec<FailedSecret>,
    /// App keys that failed, as `app/environment/purpose/version`.
    pub failed_app_keys: Vec<String>,
}

impl Verification {
    /// Wallets looked at so far.
    fn looked_at(&self) -> u64 {
        let failed = u64::try_from(self.failed.len()).unwrap_or(u64::MAX);
        self.wallets + self.read_only + failed
    }
}

/// Wallets looked at in one step.
const PAGE: i64 = 500;

impl Service {
    /// The root keys, their versions and what they wrap.
    ///
    /// # Errors
    /// See [`Fault`]; a provider that is away is part of the answer.
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
                // One of each version tells whether it is the right root key; `vault verify` opens all.
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

    /// Makes a new version of each root key and wraps every App key under it. Online and resumable: wallets are not touched,
    /// running services open both versions, and a run that was cut off is finished by the next.
    ///
    /// Old root versions stay readable until [`Service::vault_retire`].
    ///
    /// # Errors
    /// See [`Fault`]; an App key that does not open is a finding, not an error: the others must not stay under an old root key for it.
    pub async fn vault_rotate_root(
        &self,
        progress: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<Rotation, Fault> {
        // A provider that is away is found before another one has a version that nothing is under yet.
        for purpose in KeyPurpose::ALL {
            self.ports.vaults.of(purpose).status().await?;
        }
        // What is wrapped anew has an entry, and the deployment may have no log yet. Later, nothing could be made under a version that
        // no other key is under.
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
                        if retried(|| self.replace_wrapping(&key, &fresh)).await? {
                            rotation.rewrapped += 1;
                        }
                    }
                    Err(CustodyError::Tampered { .. }) => rotation.failed.push(place(&key)),
                    // Another rotation may have been faster and have destroyed the version that the key was under.
                    Err(error) if self.app_keys().await?.contains(&key) => return Err(error.into()),
                    Err(_) => {}
                }
                progress(rotation.rewrapped, total);
            }
        }
    }

    async fn replace_wrapping(&self, key: &AppKey, fresh: &AppKey) -> Result<bool, Fault> {
        let (from, to) = (key.wrapped.root_version, fresh.wrapped.root_version);
        let mut tx = match self.begin_change([key.world]).await {
            // The key of the log itself does not open. This one is not to stay under an old root key for it.
            Err(Fault::Tampered(_)) => return self.replace_unrecorded(key, fresh).await,
            change => change?,
        };
        if !tx.app_keys().rewrap(key, from, &fresh.wrapped).await? {
            return Ok(false);
        }
        let detail = Detail::default().changed("root_version", from.into(), to.into());
        let action = ControlAction::AppKeyRewrap;
        tx.note(self.done_by_cli(key.world, action, Subject::app_key(key), &detail));
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
            "an App key was wrapped anew without an entry in the audit log, whose own key does not open"
        );
        Ok(is_replaced)
    }

    /// Destroys the versions of the root keys that wrap nothing any more. Answers how many App keys still stand under an older
    /// version; when that is not zero nothing was destroyed.
    ///
    /// # Errors
    /// See [`Fault`].
    pub async fn vault_retire(&self) -> Result<u64, Fault> {
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
                self.retire_root_below(purpose, primary).await?;
            }
        }
        Ok(u64::try_from(older.len()).unwrap_or(u64::MAX))
    }

    async fn retire_root_below(&self, purpose: KeyPurpose, version: u32) -> Result<(), Fault> {
        let vault = self.ports.vaults.of(purpose);
        let status = vault.status().await?;
        if status.versions.iter().all(|known| *known >= version) {
            return Ok(());
        }
        let subject = Subject::root_key(purpose);
        let detail = Detail::default().with("below", version);
        let action = ControlAction::RootKeyRetire;
        let event = self.done_by_cli(World::DEPLOYMENT, action, subject, &detail);
        self.record_for_deployment(event).await?;
        Ok(vault.retire_below(version).await?)
    }

    /// Opens every App key, every wallet key and every small secret that lasts, compares wallet keys with their rows, and looks whether
    /// the wallets without a key are those that never had one.
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
        for world in self.worlds_with_keys().await? {
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
                    // Its key was taken out of the database.
                    Ok(_) | Err(CustodyError::Tampered { .. }) => report.failed.push(id),
                    Err(other) => return Err(other.into()),
                }
            }
            progress(report.looked_at());
        }
    }

    async fn verify_secrets(&self, world: &World, report: &mut Verification) -> Result<(), Fault> {
        for kind in LastingKind::ALL {
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
