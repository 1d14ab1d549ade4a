//! Wallets that signed a moment ago, as they were read then: what signs again needs no reading.
//!
//! What is kept is what the database has, with the private key as sealed as there. Nothing of it is believed: a signature made
//! with it leaves only when the statement that writes its entry in the audit log has found both rows as they were.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::StoredWallet;
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::NEWEST_WITHIN;
use vestry_ports::store::WalletState;

/// Wallets that are kept at most, a kilobyte each. Beyond it those that are too old are forgotten, or all if none is.
const MOST: usize = 10_000;

/// For how long after it was read a wallet is used without another reading. A rotation waits longer than this before it destroys
/// keys, so that none is asked for whose App key is gone; and the hour in which a state means what it says is far longer.
const LIFETIME: Duration = NEWEST_WITHIN;

/// A wallet that may sign, with its key.
pub(super) struct KnownWallet {
    pub(super) stored: StoredWallet,
    pub(super) key: WalletKey,
    pub(super) state: WalletState,
    /// By the clock of the machine.
    pub(super) read_at: Timestamp,
}

impl KnownWallet {
    fn is_fresh(&self, now: Timestamp) -> bool {
        u64::try_from((now - self.read_at).0).is_ok_and(|age| age < LIFETIME.as_secs())
    }

    fn place(&self) -> (World, WalletId) {
        (self.stored.wallet.world, self.stored.wallet.id)
    }
}

/// Wallets that signed a moment ago.
#[derive(Default)]
pub(crate) struct KnownWallets(Mutex<HashMap<(World, WalletId), Arc<KnownWallet>>>);

impl KnownWallets {
    fn all(&self) -> MutexGuard<'_, HashMap<(World, WalletId), Arc<KnownWallet>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A wallet, unless it was read too long ago.
    pub(super) fn get(
        &self,
        world: &World,
        id: WalletId,
        now: Timestamp,
    ) -> Option<Arc<KnownWallet>> {
        let known = self.all().get(&(*world, id)).cloned();
        known.filter(|known| known.is_fresh(now))
    }

    pub(super) fn keep(&self, known: KnownWallet) {
        let mut all = self.all();
        if all.len() >= MOST && !all.contains_key(&known.place()) {
            all.retain(|_, other| other.is_fresh(known.read_at));
            if all.len() >= MOST {
                all.clear();
            }
        }
        all.insert(known.place(), Arc::new(known));
    }

    /// Forgets what has turned out not to be so any more, and nothing that was read since.
    pub(super) fn forget(&self, known: &Arc<KnownWallet>) {
        let mut all = self.all();
        let place = known.place();
        if all
            .get(&place)
            .is_some_and(|other| Arc::ptr_eq(other, known))
        {
            all.remove(&place);
        }
    }
}
