//! `vestry vault rotate-apps` and `retire-apps`: new App keys, and the end of old ones. Admin only; no API key opens any of this.

mod retire;
mod secrets;
mod wallets;

use std::time::Duration;

use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::envelope::{AppKey, KeyPurpose};
use vestry_domain::ids::WalletId;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::custody::NEWEST_WITHIN;
use vestry_ports::store::{LastingKind, LastingSecret, Standing};

use crate::fault::retried;
use crate::key_holds::hold_root;
use crate::{Fault, Service};

/// What a rotation of App keys did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppRotation {
    /// New App keys, of wallets and of secrets.
    pub minted: u64,
    /// Wallets that are under the newest App key of their world since this run.
    pub rewrapped: u64,
    /// Small secrets that are.
    pub resealed: u64,
    /// Wallets that failed their authentication and were left as they are.
    pub failed: Vec<WalletId>,
    /// Secrets that did.
    pub failed_secrets: Vec<FailedSecret>,
    /// Old App keys that were destroyed.
    pub retired: u64,
    /// Old App keys that were to be destroyed and could not be yet.
    pub kept: Vec<KeptKey>,
}

impl AppRotation {
    /// Both runs, this one first, as one.
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

    /// Each failure once, in a stable order.
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

/// A secret that does not open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedSecret {
    /// App and environment.
    pub world: World,
    /// What it is.
    pub kind: LastingKind,
    /// Whose, as [`LastingSecret::owner`].
    pub owner: String,
}

impl From<LastingSecret> for FailedSecret {
    fn from(secret: LastingSecret) -> Self {
        let LastingSecret {
            world, kind, owner, ..
        } = secret;
        Self { world, kind, owner }
    }
}

/// A version of an App key that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptKey {
    /// App and environment.
    pub world: World,
    /// What it is for.
    pub purpose: KeyPurpose,
    /// Which.
    pub version: u32,
    /// Why it stays.
    pub why: Why,
}

/// Why a version of an App key is not destroyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// This stands under it: what failed its authentication, or what ends by itself and has not ended.
    Standing(Vec<Standing>),
    /// Nothing stands under it, but it was the newest one until lately: a process may be about to store something under it. From this
    /// moment on it can be destroyed.
    TooSoon(Timestamp),
}

/// Rows in one transaction. Signatures only read wallets, but their entries in the audit log wait for it on SQLite, which
/// has one writer at a time.
const BATCH: i64 = 50;

/// After this time every process has noticed that there is a newer App key.
pub const NOTICED_WITHIN: Duration = Duration::from_secs(NEWEST_WITHIN.as_secs() * 3 / 2);

/// How far a rotation is.
struct Course<'a> {
    rotation: AppRotation,
    total: u64,
    progress: &'a (dyn Fn(u64, u64) + Send + Sync),
}

impl<'a> Course<'a> {
    fn new(progress: &'a (dyn Fn(u64, u64) + Send + Sync)) -> Self {
        Self {
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

/// The version that everything of a purpose in a world is to be under.
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
    /// Gives every world new App keys, one for its wallets and one for its small secrets, and brings what is stored under them: the data
    /// keys of wallets, signing keys, passwords, authenticator apps, secrets of providers. Online and resumable: private keys of wallets
    /// are not opened, running services open every version, and a world in which an earlier run was cut off is finished under the
    /// key that that run made.
    ///
    /// Codes, messages, kept answers and sign-ins at providers stay under the key that they were made under, and end.
    ///
    /// # Errors
    /// See [`Fault`]; a wallet or a secret that fails its authentication is a finding, not an error.
    pub async fn vault_rotate_apps(
        &self,
        progress: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<AppRotation, Fault> {
        let mut course = Course::new(progress);
        let mut goals = Vec::new();
        for world in self.worlds_with_keys().await? {
            for purpose in KeyPurpose::ALL {
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

    /// Waits until every process uses the newest App keys, brings under them what was made meanwhile, and destroys each older version
    /// under which nothing stands any more. Backups made before cannot be opened then. Makes no new keys.
    ///
    /// A row that fails its authentication keeps the version that it names, and no other one. `patience` is [`NOTICED_WITHIN`] unless
    /// no other process runs.
    ///
    /// # Errors
    /// As [`Service::vault_rotate_apps`].
    pub async fn vault_retire_apps(
        &self,
        patience: Duration,
        progress: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<AppRotation, Fault> {
        let mut course = Course::new(progress);
        let mut goals = Vec::new();
        for world in self.worlds_with_keys().await? {
            for purpose in KeyPurpose::ALL {
                let version = self.newest_version(&world, purpose).await?;
                goals.push(Goal {
                    world,
                    purpose,
                    version,
                });
            }
        }
        // Until then a process may make something under an old key.
        tokio::time::sleep(patience).await;
        self.bring_under(&goals, &mut course).await?;
        if course.done() > 0 {
            // And until then one may use what it read of a row before.
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
        for Goal {
            world,
            purpose,
            version,
        } in goals
        {
            course.total += match purpose {
                KeyPurpose::Wallets => self.wallets_under_older(world, *version).await?,
                _ => self.secrets_under_older(world, *version).await?,
            };
        }
        for Goal {
            world,
            purpose,
            version,
        } in goals
        {
            match purpose {
                KeyPurpose::Wallets => self.rewrap_wallets(world, *version, course).await?,
                _ => self.reseal_secrets(world, *version, course).await?,
            }
        }
        Ok(())
    }

    pub(crate) async fn worlds_with_keys(&self) -> Result<Vec<World>, Fault> {
        let apps = self.ports.store.read().await?.apps().list().await?;
        let worlds = apps
            .iter()
            .flat_map(|app| Environment::ALL.map(|environment| World::new(app.id, environment)));
        Ok(worlds.collect())
    }

    async fn newest_version(&self, world: &World, purpose: KeyPurpose) -> Result<u32, Fault> {
        let mut read = self.ports.store.read().await?;
        let newest = read.app_keys().newest(world, purpose).await?;
        Ok(newest.map_or(0, |key| key.version))
    }

    /// The version that everything is to be under: the newest there is while not all is under it, else a new one.
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
        let added = retried(|| self.add_version(world, purpose, version));
        // Another rotation may have been faster; then its key is the one.
        if added.await? {
            course.rotation.minted += 1;
        }
        Ok(version)
    }

    async fn add_version(
        &self,
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
        // Whoever sees a second version finds what decoys are made of.
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
        tx.note(self.done_by_cli(*world, action, subject, &Detail::default()));
        tx.commit().await?;
        Ok(true)
    }

    /// What decoys are made of, unless it is stored: it comes of the first version.
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
        let first =
            first.ok_or_else(|| Fault::Internal("a world has lost its first App key".into()))?;
        let decoys = self
            .ports
            .custodian
            .narrow_app_key(&first, KeyPurpose::Decoys);
        Ok(Some(decoys.await?))
    }
}
