//! Wallets that are about to sign, read for all who ask at the moment in one statement.

use std::sync::Arc;
use std::time::Duration;

use vestry_domain::World;
use vestry_domain::ids::WalletId;
use vestry_ports::store::{FoundWallet, Store, StoreResult};

use crate::service::Ports;
use crate::together::Batch;
use crate::{Fault, Service};

/// How long one waits for a statement that is asked for many. One that hangs must not hold up everybody who signs.
const PATIENCE: Duration = Duration::from_secs(1);

/// A wallet and its key, if they are there.
type Found = Option<FoundWallet>;

/// Where wallets are read for several at once.
pub(crate) struct WalletReads {
    store: Arc<dyn Store>,
}

impl WalletReads {
    pub(crate) fn new(ports: &Ports) -> Self {
        Self {
            store: Arc::clone(&ports.store),
        }
    }

    async fn read(&self, asked: &[(World, WalletId)]) -> StoreResult<Vec<Found>> {
        let mut read = self.store.read().await?;
        read.wallets().find_all_with_keys(asked).await
    }
}

impl Batch for WalletReads {
    type Asked = (World, WalletId);
    /// `None`: whoever asked has to read alone.
    type Answer = Option<Found>;
    type Memory = ();

    const MOST: usize = 64;
    const ENOUGH: usize = 1;

    async fn serve(&self, asked: Vec<Self::Asked>, _memory: &mut ()) -> Vec<Self::Answer> {
        match self.read(&asked).await {
            Ok(found) => found.into_iter().map(Some).collect(),
            // A row that cannot be read must not fail the other wallets, and each is told its own error when it asks alone.
            Err(_told_to_each) => vec![None; asked.len()],
        }
    }
}

impl Service {
    /// A wallet and its key, by a statement that begins after this was called: what was committed before is seen.
    pub(super) async fn wallet_to_use(&self, world: &World, id: WalletId) -> Result<Found, Fault> {
        let asked = self.together(&self.wallet_reads, (*world, id), None);
        if let Ok(Some(Some(found))) = tokio::time::timeout(PATIENCE, asked).await {
            return Ok(found);
        }
        let mut read = self.ports.store.read().await?;
        let found = read.wallets().find_with_key(world, id).await?;
        Ok(found.map(|(stored, key)| FoundWallet {
            stored,
            key,
            state: None,
        }))
    }
}
