//! Wallets that are about to sign, read for all who ask at the moment in one statement.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::ids::WalletId;
use vestry_ports::store::{Store, StoreResult, WalletWithKey};

use crate::ports::Ports;
use crate::together::Batch;

/// A wallet and its key, if they are there.
pub(crate) type Found = Option<WalletWithKey>;

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

    async fn serve(&self, asked: Vec<Self::Asked>, _memory: &mut ()) -> Vec<Self::Answer> {
        match self.read(&asked).await {
            Ok(found) => found.into_iter().map(Some).collect(),
            // A row that cannot be read must not fail the other wallets, and each is told its own error when it asks alone.
            Err(_told_to_each) => vec![None; asked.len()],
        }
    }
}
