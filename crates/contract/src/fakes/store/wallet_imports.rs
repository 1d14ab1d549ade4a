//! Key pairs for importing sealed private keys.

use vestry_domain::ids::{UserId, WalletImportId};
use vestry_domain::key_transfer::ImportKey;
use vestry_domain::wallet::WalletType;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{StoreResult, SweptWorlds, WalletImports};

use super::Work;
use super::state::{add, at_most, remove, remove_few};

#[port]
impl WalletImports for Work {
    async fn insert(&mut self, key: &ImportKey) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.wallet_imports, key.clone(), |a, b| {
                (a.world, a.id) == (b.world, b.id)
            })
        })
    }

    async fn living(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<ImportKey>> {
        self.reading(|state| {
            let rows = state.wallet_imports.iter();
            let mut living: Vec<_> = rows
                .filter(|key| {
                    key.world == *world
                        && key.origin.wallet_type == wallet_type
                        && key.origin.public_address == public_address
                        && now < key.expires_at
                })
                .cloned()
                .collect();
            living.sort_by_key(|key| std::cmp::Reverse(key.id));
            living.truncate(at_most(limit));
            living
        })
    }

    async fn consume(
        &mut self,
        world: &World,
        id: WalletImportId,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let gone = remove(&mut state.wallet_imports, |key| {
                (key.world, key.id) == (*world, id) && now < key.expires_at
            });
            Ok(gone == 1)
        })
    }

    async fn forget(&mut self, world: &World, user: UserId) -> StoreResult<()> {
        self.writing(|state| {
            remove(&mut state.wallet_imports, |key| {
                key.world == *world && key.user_id == Some(user)
            });
            Ok(())
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_by: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            Ok(remove_few(&mut state.wallet_imports, |key| {
                worlds.include(&key.world) && key.expires_at <= expired_by
            }))
        })
    }
}
