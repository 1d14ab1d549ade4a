//! `vestry vault rotate-apps` and `retire-apps`: creates and retires App keys. Only for operators; not available through the API.

mod retire;
mod secrets;
mod wallets;

use std::time::Duration;

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::envelope::{AppKey, KeyPurpose};
use vestry_domain::extent::Extent;
use vestry_domain::ids::WalletId;
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::NEWEST_WITHIN;
use vestry_ports::store::{KeyUsage, PersistentKind, PersistentSecret};

use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_root;
use crate::{Fault, Principal, Refusal, Service};

/// Result of a rotation of App keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppRotation {
    /// Number of new App keys, for wallets and for secrets.
    pub minted: u64,
    /// Number of wallets moved to the newest App key by this run.
    pub rewrapped: u64,
    /// Number of small secrets moved to the newest App key by this run.
    pub resealed: u64,
    /// Wallets that failed authentication and were left unchanged.
    pub failed: Vec<WalletId>,
    /// Secrets that failed authentication and were left unchanged.
    pub failed_secrets: Vec<FailedSecret>,
    /// Number of old App keys that were destroyed.
    pub retired: u64,
    /// Old App keys that cannot be destroyed yet.
    pub kept: Vec<KeptKey>,
}

impl AppRotation {
    /// Merges the result of a later run into this one.
    #[must_use]
    pub fn then(mut self, later: Self) -> Self {
        self.minted += later.minted;
        self.rewrapped += later.rewrapped;
        self.resealed += later.resealed;
        self.retired += later.retired;
        self.failed.extend(later.failed);
        self.failed_secrets.extend(later.failed_secrets);
        self.kept = later.kept;
        self.in_order()
    }

    /// Removes duplicate failures and sorts them.
    fn in_order(mut self) -> Self {
        self.failed.sort_unstable();
        self.failed.dedup();
        let place = |failed: &FailedSecret| {
            let FailedSecret { world, kind, owner } = failed;
            (world.to_string(), kind.table(), owner.clone())
        };
        self.failed_secrets.sort_by_key(place);
        self.failed_secrets.dedup();
        self
    }
}

/// A secret that cannot be decrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedSecret {
    /// The environment that it belongs to.
    pub world: World,
    /// The kind of secret.
    pub kind: PersistentKind,
    /// The owner, as in [`PersistentSecret::owner`].
    pub owner: String,
}

impl From<PersistentSecret> for FailedSecret {
    fn from(secret: PersistentSecret) -> Self {
        let PersistentSecret {
            world, kind, owner, ..
        } = secret;
        Self { world, kind, owner }
    }
}

/// An App key version that cannot be destroyed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptKey {
    /// The environment that it belongs to.
    pub world: World,
    /// The purpose of the key.
    pub purpose: KeyPurpose,
    /// The version.
    pub version: u32,
    /// The reason.
    pub why: Why,
}

/// Reason why an App key version cannot be destroyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Data is still stored under it: rows that failed authentication, or short-lived data that has not expired.
    InUse(Vec<KeyUsage>),
    /// No data is stored under it, but it was the newest version until recently, so a process may still be about to use it. It can be
    /// destroyed from this time on.
    TooSoon(Timestamp),
}

/// Rows per transaction. Signatures only read wallets, but on SQLite, with its single writer, their audit entries wait for this
/// transaction.
const BATCH: i64 = 50;

/// Time after which every process has noticed a newer App key.
pub const NOTICED_WITHIN: Duration = Duration::from_secs(NEWEST_WITHIN.as_secs() * 3 / 2);

/// Progress of a rotation.
struct Course<'a> {
    by: &'a Principal,
    rotation: AppRotation,
    total: u64,
    progress: &'a (dyn Fn(u64, u64) + Send + Sync),
}

impl<'a> Course<'a> {
    fn new(by: &'a Principal, progress: &'a (dyn Fn(u64, u64) + Send + Sync)) -> Self {
        Self {
            by,
            rotation: AppRotation::default(),
            total: 0,
            progress,
        }
    }

    const fn done(&self) -> u64 {
        self.rotation.rewrapped + self.rotation.resealed
    }

    fn show(&mut self) {
        self.total = self.total.max(self.done());
        (self.progress)(self.done(), self.total);
    }

    fn end(self) -> AppRotation {
        self.rotation.in_order()
    }
}

/// Target version for all data of one purpose in an environment.
struct Goal {
    world: World,
    purpose: KeyPurpose,
    version: u32,
}

impl Goal {
    fn is_older(&self, key: &AppKey) -> bool {
        (key.world, key.purpose) == (self.world, self.purpose) && key.version < self.version
    }
}

impl Service {
    /// Creates new App keys for every environment, one for wallets and one for small secrets, and moves stored data to them.
    ///
    /// It moves the data keys of wallets, signing keys, passwords, authenticator apps and secrets of providers. It runs online and can be
    /// resumed: private keys of wallets are not decrypted, and running services can use every version. An environment whose earlier run was
    /// interrupted is finished with the key of that run.
    ///
    /// Codes, messages, stored idempotent responses and provider sign-ins stay under their key until they expire.
    ///
    /// # Errors
    /// See [`Refusal`]; a wallet or secret that fails authentication is a finding, not an error.
    pub async fn vault_rotate_apps(
        &self,
        by: &Principal,
        progress: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<AppRotation, Refusal> {
        by.authorize(Action::RotateAppKeys, Extent::Deployment)?;
        let mut course = Course::new(by, progress);
        let mut goals = Vec::new();
        for world in self.every_world().await? {
            for purpose in KeyPurpose::ALL {
                // The built-in App has no wallets.
                if self.newest_version(&world, purpose).await? == 0 {
                    continue;
                }
                let version = self.next_version(&world, purpose, &mut course).await?;
                goals.push(Goal {
                    world,
                    purpose,
                    version,
                });
            }
        }
        self.bring_under(&goals, &mut course).await?;
        Ok(course.end())
    }

    /// Destroys old App keys.
    ///
    /// It waits until every process uses the newest App keys and moves the data created in the meantime. It then destroys each older
    /// version that protects no more data. Backups made earlier can then no longer be decrypted. It creates no new keys.
    ///
    /// A row that fails authentication keeps the version that it names alive, and no other. `patience` is [`NOTICED_WITHIN`] unless no
    /// other process runs.
    ///
    /// # Errors
    /// As [`Service::vault_rotate_apps`].
    pub async fn vault_retire_apps(
        &self,
        by: &Principal,
        patience: Duration,
        progress: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<AppRotation, Refusal> {
        by.authorize(Action::RetireAppKeys, Extent::Deployment)?;
        let mut course = Course::new(by, progress);
        let mut goals = Vec::new();
        for world in self.every_world().await? {
            for purpose in KeyPurpose::ALL {
                let version = self.newest_version(&world, purpose).await?;
                goals.push(Goal {
                    world,
                    purpose,
                    version,
                });
            }
        }
        // Until then a process may still store data under an old key.
        tokio::time::sleep(patience).await;
        self.bring_under(&goals, &mut course).await?;
        if course.done() > 0 {
            // Until then a process may use a row that it read before the move.
            tokio::time::sleep(patience).await;
        }
        let keys = self.ports.store.read().await?.app_keys().all().await?;
        for goal in &goals {
            let older = keys.iter().filter(|key| goal.is_older(key));
            let older: Vec<AppKey> = older.cloned().collect();
            self.retire(goal, &older, &mut course).await?;
        }
        Ok(course.end())
    }

    async fn bring_under(&self, goals: &[Goal], course: &mut Course<'_>) -> Result<(), Fault> {
        for goal in goals {
            let (world, version) = (&goal.world, goal.version);
            course.total += match goal.purpose {
                KeyPurpose::Wallets => self.wallets_under_older(world, version).await?,
                _ => self.secrets_under_older(world, version).await?,
            };
        }
        for goal in goals {
            let (world, version) = (&goal.world, goal.version);
            match goal.purpose {
                KeyPurpose::Wallets => self.rewrap_wallets(world, version, course).await?,
                _ => self.reseal_secrets(world, version, course).await?,
            }
        }
        Ok(())
    }

    async fn newest_version(&self, world: &World, purpose: KeyPurpose) -> Result<u32, Fault> {
        let mut read = self.ports.store.read().await?;
        let newest = read.app_keys().newest(world, purpose).await?;
        Ok(newest.map_or(0, |key| key.version))
    }

    /// Returns the target version: the newest one if data remains to be moved to it, else a new one.
    async fn next_version(
        &self,
        world: &World,
        purpose: KeyPurpose,
        course: &mut Course<'_>,
    ) -> Result<u32, Fault> {
        let newest = self.newest_version(world, purpose).await?;
        let is_unfinished = match purpose {
            KeyPurpose::Wallets => self.has_wallets_to_rewrap(world, newest).await?,
            _ => self.has_secrets_to_reseal(world, newest).await?,
        };
        if is_unfinished {
            return Ok(newest);
        }
        let version = newest.saturating_add(1);
        let added = retried(|| self.add_version(course.by, world, purpose, version));
        // If a concurrent rotation was faster, its key is used.
        if added.await? {
            course.rotation.minted += 1;
        }
        Ok(version)
    }

    async fn add_version(
        &self,
        by: &Principal,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> Result<bool, Fault> {
        let custodian = &self.ports.custodian;
        let key = custodian.mint_app_key(world, purpose, version, self.machine_time());
        let key = key.await?;
        let decoys = match purpose {
            KeyPurpose::Secrets => self.decoys_to_keep(world).await?,
            _ => None,
        };
        let mut tx = self.begin_change([*world]).await?;
        // Store the decoy key first, so that a process that sees a second version also finds it.
        for key in decoys.iter().chain([&key]) {
            hold_root(&mut *tx, key).await?;
        }
        if let Some(decoys) = &decoys {
            tx.app_keys().add(decoys).await?;
        }
        if !tx.app_keys().add(&key).await? {
            return Ok(false);
        }
        let (action, subject) = (ControlAction::AppKeyRotate, Subject::app_key(&key));
        tx.note(self.done(&by.at(*world), action, subject, &Detail::default()));
        tx.commit().await?;
        Ok(true)
    }

    /// Returns the decoy key if it is not stored yet. It is derived from the first version.
    async fn decoys_to_keep(&self, world: &World) -> Result<Option<AppKey>, Fault> {
        let mut read = self.ports.store.read().await?;
        if read
            .app_keys()
            .newest(world, KeyPurpose::Decoys)
            .await?
            .is_some()
        {
            return Ok(None);
        }
        let first = read.app_keys().find(world, KeyPurpose::Secrets, 1).await?;
        drop(read);
        let first = first
            .ok_or_else(|| Fault::Internal("first App key of an environment is missing".into()))?;
        let decoys = self
            .ports
            .custodian
            .narrow_app_key(&first, KeyPurpose::Decoys);
        Ok(Some(decoys.await?))
    }
}
