//! Batched reads: concurrent reads of one App share a statement.

use std::marker::PhantomData;
use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::ids::{AppId, UserId, WalletId};
use vestry_domain::session::Session;
use vestry_domain::token::TokenHash;
use vestry_ports::store::{Partitions, Repositories, Store, StoreResult, WalletWithKey, WholeUser};

use crate::kernel::batcher::{Batch, Batcher};

/// A kind of row.
pub(crate) trait Kind: Send + Sync + 'static {
    /// The key of a row.
    type Name: InWorld + Send + Sync;
    /// The result for a key.
    type Found: Send;

    /// Finds the rows with these keys, in the order of the keys.
    fn find(
        read: &mut dyn Repositories,
        names: &[Self::Name],
    ) -> impl Future<Output = StoreResult<Vec<Self::Found>>> + Send;
}

/// A key within a world.
pub(crate) trait InWorld {
    fn world(&self) -> World;
}

impl<T> InWorld for (World, T) {
    fn world(&self) -> World {
        self.0
    }
}

/// BatchedReads rows of one kind for several requests at once.
pub(crate) struct BatchedReads<K> {
    store: Arc<dyn Store>,
    kind: PhantomData<K>,
}

impl<K: Kind> BatchedReads<K> {
    /// Creates the batcher for these reads.
    pub(crate) fn batcher(store: &Arc<dyn Store>) -> Arc<Batcher<Self>> {
        let reads = Self {
            store: Arc::clone(store),
            kind: PhantomData,
        };
        // Each App has a queue of its own, even if all share a database: a batch costs as much as its rows, and an App must not wait for
        // another App's rows.
        Arc::new(Batcher::new(reads, Partitions::PerApp))
    }

    async fn read(&self, names: &[K::Name]) -> StoreResult<Vec<K::Found>> {
        let mut read = self.store.read().await?;
        K::find(&mut *read, names).await
    }
}

impl<K: Kind> Batch for BatchedReads<K> {
    type Asked = K::Name;
    /// `None`: the requester has to read on its own.
    type Answer = Option<K::Found>;
    type Memory = ();

    const MAX_SIZE: usize = 64;

    fn app(asked: &K::Name) -> AppId {
        asked.world().app_id
    }

    async fn serve(&self, asked: Vec<Self::Asked>, _memory: &mut ()) -> Vec<Self::Answer> {
        match self.read(&asked).await {
            Ok(found) => found.into_iter().map(Some).collect(),
            // An unreadable row must not fail the others. Each requester gets its own error when it retries alone.
            Err(_told_to_each) => asked.iter().map(|_| None).collect(),
        }
    }
}

/// Wallets that are about to sign, with their keys.
pub(crate) struct WalletsToUse;

impl Kind for WalletsToUse {
    type Name = (World, WalletId);
    type Found = Option<WalletWithKey>;

    async fn find(
        read: &mut dyn Repositories,
        names: &[Self::Name],
    ) -> StoreResult<Vec<Self::Found>> {
        read.wallets().find_all_with_keys(names).await
    }
}

/// Sessions whose tokens were presented, ended or expired ones too.
pub(crate) struct PresentedSessions;

impl Kind for PresentedSessions {
    type Name = (World, TokenHash);
    type Found = Option<Session>;

    async fn find(
        read: &mut dyn Repositories,
        names: &[Self::Name],
    ) -> StoreResult<Vec<Self::Found>> {
        read.sessions().find_all_by_tokens(names).await
    }
}

/// Users with everything that is attached to them.
pub(crate) struct WholeUsers;

impl Kind for WholeUsers {
    type Name = (World, UserId);
    type Found = Option<WholeUser>;

    async fn find(
        read: &mut dyn Repositories,
        names: &[Self::Name],
    ) -> StoreResult<Vec<Self::Found>> {
        read.users().find_all_whole(names).await
    }
}

#[cfg(test)]
mod tests;
