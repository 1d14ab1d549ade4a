//! A time-limited cache of decrypted App keys of one purpose.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;
use vestry_domain::envelope::{AppKey, KeyPurpose, join_with_lengths};
use vestry_domain::{Secret, World};
use vestry_ports::custody::CustodyError;
use vestry_ports::entropy::Entropy;
use vestry_ports::store::Store;
use vestry_ports::vault::{VaultError, Vaults};
use zeroize::Zeroizing;

use crate::alarm::Alarm;
use crate::subkeys::Subkeys;

const PLACE: &str = "App key";
/// Maximum number of consecutive root key rotations that can overtake the opening of one key.
const TRIES: u32 = 4;

/// Lifetimes of cached data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Of a decrypted key.
    pub(crate) lease: Duration,
    /// Of the newest version number; it is refreshed after half of this time.
    pub(crate) recheck: Duration,
}

/// Returns the `context` for the key provider, which binds a wrapped App key to its place. Never change it.
pub(crate) fn context(world: &World, purpose: KeyPurpose, version: u32) -> Vec<u8> {
    join_with_lengths([
        b"vestry-app-key-v1".as_slice(),
        world.app_id.to_string().as_bytes(),
        world.environment.as_str().as_bytes(),
        purpose.as_str().as_bytes(),
        &version.to_be_bytes(),
    ])
}

/// A decrypted key, with the time at which it was decrypted.
struct Opened<K> {
    keys: Arc<K>,
    at: Instant,
}

/// Filled by the first caller; the others wait for the result instead of calling the key provider as well.
type Slot<K> = Arc<OnceCell<Opened<K>>>;

#[derive(Clone, Copy)]
struct Newest {
    version: u32,
    /// When the database was queried for this result.
    checked: Instant,
    /// When a caller last started to refresh it.
    asked: Instant,
}

/// A version for new data.
struct Known {
    version: u32,
    /// Whether the caller should have it refreshed.
    is_due: bool,
}

/// App keys of one purpose. All copies in memory are wiped on drop.
pub(crate) struct KeyRing<K> {
    vaults: Vaults,
    store: Arc<dyn Store>,
    alarm: Arc<Alarm>,
    times: Times,
    slots: RwLock<HashMap<(World, u32), Slot<K>>>,
    newest: RwLock<HashMap<World, Newest>>,
}

impl<K: Subkeys + 'static> KeyRing<K> {
    pub(crate) fn new(
        vaults: &Vaults,
        store: &Arc<dyn Store>,
        alarm: &Arc<Alarm>,
        times: Times,
    ) -> Arc<Self> {
        Arc::new(Self {
            vaults: vaults.clone(),
            store: Arc::clone(store),
            alarm: Arc::clone(alarm),
            times,
            slots: RwLock::default(),
            newest: RwLock::default(),
        })
    }

    /// Returns the keys of one version.
    pub(crate) async fn version(
        &self,
        world: &World,
        version: u32,
    ) -> Result<Arc<K>, CustodyError> {
        self.opened(world, version, None).await
    }

    /// Returns the keys of a version if it exists. Unlike a version that stored data refers to, a missing one raises no alarm.
    pub(crate) async fn find(
        &self,
        world: &World,
        version: u32,
    ) -> Result<Option<Arc<K>>, CustodyError> {
        if let Some(keys) = self.in_memory(world, version) {
            return Ok(Some(keys));
        }
        let row = {
            let mut view = self.store.read().await?;
            view.app_keys().find(world, K::PURPOSE, version).await?
        };
        let Some(row) = row else { return Ok(None) };
        self.opened(world, version, Some(row)).await.map(Some)
    }

    /// Returns the keys of a version if they are in memory.
    pub(crate) fn in_memory(&self, world: &World, version: u32) -> Option<Arc<K>> {
        let slot = self.slot_in_lease(world, version)?;
        slot.get().map(|opened| Arc::clone(&opened.keys))
    }

    /// Returns the version for new data, with its keys.
    ///
    /// In the second half of its lifetime, a known version is refreshed by a task, and stays in use. The caller may be in a transaction: if
    /// it waited for another connection, all of them could be held by transactions that wait for this one.
    pub(crate) async fn newest(
        self: &Arc<Self>,
        world: &World,
    ) -> Result<(u32, Arc<K>), CustodyError> {
        let Some(known) = self.known_newest(world) else {
            return self.read_newest(world).await;
        };
        if known.is_due {
            let (ring, world) = (Arc::clone(self), *world);
            tokio::spawn(async move { ring.read_newest(&world).await.map(drop) });
        }
        let keys = self.version(world, known.version).await?;
        Ok((known.version, keys))
    }

    async fn read_newest(&self, world: &World) -> Result<(u32, Arc<K>), CustodyError> {
        let asked = Instant::now();
        let row = {
            let mut view = self.store.read().await?;
            view.app_keys().newest(world, K::PURPOSE).await?
        };
        let row = row.ok_or_else(|| self.alarm.world(world, PLACE))?;
        let version = row.version;
        let keys = self.opened(world, version, Some(row)).await?;
        self.note_newest(*world, version, asked);
        Ok((version, keys))
    }

    /// Caches the first key of a new world before it is stored. The transaction that stores it needs it to encrypt records of the world's
    /// creation. Replaces a key that was created for the world and never stored.
    pub(crate) async fn adopt(&self, row: &AppKey) -> Result<(), CustodyError> {
        let (world, version) = (row.world, row.version);
        let now = Instant::now();
        let keys = Arc::new(self.open(&world, version, Some(row.clone())).await?);
        let slot = OnceCell::new_with(Some(Opened { keys, at: now }));
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        slots.insert((world, version), Arc::new(slot));
        drop(slots);
        self.note_newest(world, version, now);
        Ok(())
    }

    fn note_newest(&self, world: World, version: u32, asked: Instant) {
        let newest = Newest {
            version,
            checked: asked,
            asked,
        };
        self.newest
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(world, newest);
    }

    /// Returns the version that is valid for new data, if one is known. In the second half of its lifetime, one caller in each tenth of it
    /// learns that a refresh is due. If the refresh fails, the version is valid no longer than promised.
    fn known_newest(&self, world: &World) -> Option<Known> {
        let within = self.times.recheck;
        let known = self
            .newest
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(world)
            .copied()?;
        let age = known.checked.elapsed();
        if age >= within {
            return None;
        }
        let is_due = |known: &Newest| age >= within / 2 && known.asked.elapsed() >= within / 10;
        let version = known.version;
        if !is_due(&known) {
            return Some(Known {
                version,
                is_due: false,
            });
        }
        let mut newest = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        let known = newest.get_mut(world)?;
        let is_due = is_due(known);
        if is_due {
            known.asked = Instant::now();
        }
        Some(Known { version, is_due })
    }

    /// Makes the known version older.
    #[cfg(test)]
    pub(crate) fn age(&self, world: &World, by: Duration) {
        let mut newest = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        let known = newest.get_mut(world).unwrap();
        known.checked = known.checked.checked_sub(by).unwrap();
        known.asked = known.asked.checked_sub(by).unwrap();
    }

    async fn opened(
        &self,
        world: &World,
        version: u32,
        row: Option<AppKey>,
    ) -> Result<Arc<K>, CustodyError> {
        let slot = self.slot(world, version);
        let opened = slot
            .get_or_try_init(|| async {
                let keys = Arc::new(self.open(world, version, row).await?);
                let at = Instant::now();
                Ok::<_, CustodyError>(Opened { keys, at })
            })
            .await;
        match opened {
            Ok(opened) => Ok(Arc::clone(&opened.keys)),
            Err(error) => {
                // A version that does not exist must not leave an entry behind.
                self.forget(world, version, &slot);
                Err(error)
            }
        }
    }

    fn slot(&self, world: &World, version: u32) -> Slot<K> {
        let known = self.slot_in_lease(world, version);
        known.unwrap_or_else(|| self.new_slot(world, version))
    }

    fn slot_in_lease(&self, world: &World, version: u32) -> Option<Slot<K>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let known = slots.get(&(*world, version));
        known.filter(|slot| self.in_lease(slot)).map(Arc::clone)
    }

    /// Returns an empty slot, unless another caller has just created one. Also drops all expired keys, including those of unused worlds.
    fn new_slot(&self, world: &World, version: u32) -> Slot<K> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|_, slot| self.in_lease(slot));
        Arc::clone(slots.entry((*world, version)).or_default())
    }

    /// A slot that is still being filled has its whole lifetime ahead.
    fn in_lease(&self, slot: &Slot<K>) -> bool {
        slot.get()
            .is_none_or(|opened| opened.at.elapsed() < self.times.lease)
    }

    fn forget(&self, world: &World, version: u32, failed: &Slot<K>) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let place = (*world, version);
        if slots
            .get(&place)
            .is_some_and(|slot| Arc::ptr_eq(slot, failed) && !slot.initialized())
        {
            slots.remove(&place);
        }
    }

    /// Reads the wrapped key, unless it is at hand, and decrypts it.
    async fn open(
        &self,
        world: &World,
        version: u32,
        row: Option<AppKey>,
    ) -> Result<K, CustodyError> {
        let mut row = match row {
            Some(row) => row,
            None => self.read(world, version).await?,
        };
        let vault = self.vaults.of(K::PURPOSE);
        let context = context(world, K::PURPOSE, version);
        let mut tries = 1;
        let key = loop {
            let begun = Instant::now();
            let opened = vault.unwrap(&context, &row.wrapped).await;
            self.alarm.time_vault(K::PURPOSE, begun.elapsed());
            match opened {
                Ok(key) => break key,
                // The root key may have been rotated, and its old version retired, since the row was read.
                Err(VaultError::UnknownVersion(unknown)) if tries < TRIES => {
                    row = self.read(world, version).await?;
                    if row.wrapped.root_version == unknown {
                        let error = VaultError::UnknownVersion(unknown);
                        return Err(refusal(&self.alarm, world, error));
                    }
                    tries += 1;
                }
                Err(error) => return Err(refusal(&self.alarm, world, error)),
            }
        };
        K::derive(&key).map_err(|_refused| CustodyError::Failed("deriving keys"))
    }

    async fn read(&self, world: &World, version: u32) -> Result<AppKey, CustodyError> {
        let mut view = self.store.read().await?;
        let row = view.app_keys().find(world, K::PURPOSE, version).await?;
        row.ok_or_else(|| self.alarm.world(world, PLACE))
    }
}

/// Maps an error of the key provider to the caller's error.
pub(crate) fn refusal(alarm: &Alarm, world: &World, error: VaultError) -> CustodyError {
    match error {
        VaultError::Missing(_) | VaultError::Unavailable(_) | VaultError::UnknownVersion(_) => {
            CustodyError::Sealed(Box::new(error))
        }
        VaultError::Corrupt => alarm.world(world, PLACE),
    }
}

/// Creates a new App key.
pub(crate) fn fresh(entropy: &dyn Entropy) -> Secret<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    entropy.fill(key.as_mut_slice());
    Secret::new(*key)
}
