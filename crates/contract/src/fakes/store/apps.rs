//! Apps and their configuration.

use vestry_domain::api_key::{ApiKey, KeyUse};
use vestry_domain::app::{App, NamedEvents};
use vestry_domain::envelope::{AppKey, KeyPurpose, WrappedKey};
use vestry_domain::ids::{ApiKeyId, AppId, ManagementKeyId, RedirectUrlId, SigningKeyId};
use vestry_domain::management_key::ManagementKey;
use vestry_domain::signing_key::SigningKey;
use vestry_domain::test_clock::TestClock;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    ApiKeys, AppKeys, Apps, KeyUsage, ManagementKeys, RedirectUrl, RedirectUrls, SigningKeys,
    StoreResult,
};

use super::Work;
use super::state::{add, remove};

#[port]
impl Apps for Work {
    async fn insert(&mut self, app: &App) -> StoreResult<()> {
        self.writing(|state| add(&mut state.apps, app.clone(), |a, b| a.id == b.id))
    }

    async fn find(&mut self, id: AppId) -> StoreResult<Option<App>> {
        self.reading(|state| state.apps.iter().find(|app| app.id == id).cloned())
    }

    async fn list(&mut self) -> StoreResult<Vec<App>> {
        self.reading(|state| {
            let mut apps = state.apps.clone();
            apps.retain(|app| app.id != AppId::BUILT_IN);
            apps.sort_by_key(|app| app.id);
            apps
        })
    }

    async fn update(&mut self, app: &App) -> StoreResult<bool> {
        self.writing(|state| {
            let Some(row) = state.apps.iter_mut().find(|row| row.id == app.id) else {
                return Ok(false);
            };
            *row = App {
                created_at: row.created_at,
                test_clock: row.test_clock,
                named_events: row.named_events.clone(),
                ..app.clone()
            };
            Ok(true)
        })
    }

    async fn lock(&mut self, id: AppId) -> StoreResult<Option<App>> {
        self.writing(|state| Ok(state.apps.iter().find(|row| row.id == id).cloned()))
    }

    async fn name_events(&mut self, id: AppId, named: &NamedEvents) -> StoreResult<()> {
        self.writing(|state| {
            if let Some(row) = state.apps.iter_mut().find(|row| row.id == id) {
                row.named_events = named.clone();
            }
            Ok(())
        })
    }

    async fn swap_test_clock(
        &mut self,
        app: AppId,
        from: &TestClock,
        to: &TestClock,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.apps.iter_mut();
            let unchanged = rows.find(|row| row.id == app && row.test_clock == *from);
            Ok(unchanged.map(|row| row.test_clock = *to).is_some())
        })
    }
}

#[port]
impl ApiKeys for Work {
    async fn insert(&mut self, key: &ApiKey) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.api_keys, key.clone(), |a, b| {
                a.id == b.id || a.hash == b.hash
            })
        })
    }

    async fn find_by_hash(&mut self, hash: &TokenHash) -> StoreResult<Option<(ApiKey, App)>> {
        self.reading(|state| {
            let key = state.api_keys.iter().find(|key| key.hash == *hash)?;
            let app = state.apps.iter().find(|app| app.id == key.world.app_id)?;
            Some((key.clone(), app.clone()))
        })
    }

    async fn list(&mut self, app: AppId) -> StoreResult<Vec<ApiKey>> {
        self.reading(|state| {
            let of_app = |key: &&ApiKey| key.world.app_id == app;
            let mut keys: Vec<_> = state.api_keys.iter().filter(of_app).cloned().collect();
            keys.sort_by_key(|key| key.id);
            keys
        })
    }

    async fn update(&mut self, key: &ApiKey) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.api_keys.iter_mut();
            let found = rows
                .find(|row| row.world == key.world && row.id == key.id && row.revoked_at.is_none());
            let Some(row) = found else {
                return Ok(false);
            };
            row.name.clone_from(&key.name);
            row.scopes.clone_from(&key.scopes);
            row.restrictions.clone_from(&key.restrictions);
            Ok(true)
        })
    }

    async fn note_uses(&mut self, uses: &[KeyUse]) -> StoreResult<()> {
        self.writing(|state| {
            for fresh in uses {
                let same = |known: &KeyUse| {
                    (known.world, known.key, known.operation)
                        == (fresh.world, fresh.key, fresh.operation)
                };
                state.key_uses.retain(|known| !same(known));
                state.key_uses.push(*fresh);
            }
            Ok(())
        })
    }

    async fn uses(&mut self, app: AppId) -> StoreResult<Vec<KeyUse>> {
        self.reading(|state| {
            let of_app = |known: &&KeyUse| known.world.app_id == app;
            let mut uses: Vec<_> = state.key_uses.iter().filter(of_app).copied().collect();
            uses.sort_by_key(|known| (known.key, known.operation.as_str()));
            uses
        })
    }

    async fn revoke(&mut self, app: AppId, id: ApiKeyId, at: Timestamp) -> StoreResult<bool> {
        self.writing(|state| {
            let found = state
                .api_keys
                .iter_mut()
                .find(|key| key.world.app_id == app && key.id == id && key.revoked_at.is_none());
            Ok(found.map(|key| key.revoked_at = Some(at)).is_some())
        })
    }
}

#[port]
impl ManagementKeys for Work {
    async fn insert(&mut self, key: &ManagementKey) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.management_keys, key.clone(), |a, b| {
                a.id == b.id || a.hash == b.hash
            })
        })
    }

    async fn find_by_hash(&mut self, hash: &TokenHash) -> StoreResult<Option<ManagementKey>> {
        self.reading(|state| {
            let mut keys = state.management_keys.iter();
            keys.find(|key| key.hash == *hash).cloned()
        })
    }

    async fn list(&mut self) -> StoreResult<Vec<ManagementKey>> {
        self.reading(|state| {
            let mut keys = state.management_keys.clone();
            keys.sort_by_key(|key| key.id);
            keys
        })
    }

    async fn revoke(&mut self, id: ManagementKeyId, at: Timestamp) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.management_keys.iter_mut();
            let active = rows.find(|row| row.id == id && row.revoked_at.is_none());
            Ok(active.map(|row| row.revoked_at = Some(at)).is_some())
        })
    }
}

#[port]
impl RedirectUrls for Work {
    async fn insert(&mut self, url: &RedirectUrl) -> StoreResult<bool> {
        self.writing(|state| {
            let of_kind = |row: &RedirectUrl| row.world == url.world && row.kind == url.kind;
            let mut rows = state.redirect_urls.iter();
            if rows.any(|row| of_kind(row) && row.target == url.target) {
                return Ok(false);
            }
            if url.is_default {
                let earlier = state.redirect_urls.iter_mut().filter(|row| of_kind(row));
                earlier.for_each(|row| row.is_default = false);
            }
            add(&mut state.redirect_urls, url.clone(), |a, b| a.id == b.id)?;
            Ok(true)
        })
    }

    async fn list(&mut self, app: AppId) -> StoreResult<Vec<RedirectUrl>> {
        self.reading(|state| {
            let of_app = |url: &&RedirectUrl| url.world.app_id == app;
            let mut urls: Vec<_> = state.redirect_urls.iter().filter(of_app).cloned().collect();
            urls.sort_by_key(|url| url.id);
            urls
        })
    }

    async fn remove(&mut self, app: AppId, id: RedirectUrlId) -> StoreResult<bool> {
        self.writing(|state| {
            let removed = remove(&mut state.redirect_urls, |url| {
                url.world.app_id == app && url.id == id
            });
            Ok(removed > 0)
        })
    }
}

#[port]
impl AppKeys for Work {
    async fn insert(&mut self, key: &AppKey) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.app_keys, key.clone(), |a, b| {
                (a.world, a.purpose, a.version) == (b.world, b.purpose, b.version)
            })
        })
    }

    async fn add(&mut self, key: &AppKey) -> StoreResult<bool> {
        self.writing(|state| {
            let added = add(&mut state.app_keys, key.clone(), |a, b| {
                (a.world, a.purpose, a.version) == (b.world, b.purpose, b.version)
            });
            Ok(added.is_ok())
        })
    }

    async fn lock_below(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Vec<AppKey>> {
        // The write lock is held: no other transaction is writing.
        self.writing(|state| {
            let keys = state.app_keys.iter().filter(|key| {
                key.world == *world && key.purpose == purpose && key.version < version
            });
            let mut keys: Vec<_> = keys.cloned().collect();
            keys.sort_by_key(|key| key.version);
            Ok(keys)
        })
    }

    async fn references_below(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Vec<KeyUsage>> {
        self.reading(|state| state.references_below(*world, purpose, version))
    }

    async fn remove(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let removed = remove(&mut state.app_keys, |key| {
                (key.world, key.purpose, key.version) == (*world, purpose, version)
            });
            Ok(removed == 1)
        })
    }

    async fn hold(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<bool> {
        // The write lock is held: no other transaction is writing.
        self.writing(|state| {
            let wanted = (*world, purpose, version);
            let mut keys = state.app_keys.iter();
            Ok(keys.any(|key| (key.world, key.purpose, key.version) == wanted))
        })
    }

    async fn hold_root(&mut self, purpose: KeyPurpose, root_version: u32) -> StoreResult<bool> {
        self.writing(|state| {
            let keys = state.app_keys.iter();
            let mut roots = keys
                .filter(|key| key.purpose == purpose)
                .map(|key| key.wrapped.root_version)
                .peekable();
            Ok(roots.peek().is_none() || roots.any(|version| version == root_version))
        })
    }

    async fn find(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Option<AppKey>> {
        self.reading(|state| {
            let wanted = (*world, purpose, version);
            let mut keys = state.app_keys.iter();
            let found = keys.find(|key| (key.world, key.purpose, key.version) == wanted);
            found.cloned()
        })
    }

    async fn newest(&mut self, world: &World, purpose: KeyPurpose) -> StoreResult<Option<AppKey>> {
        self.reading(|state| {
            let keys = state.app_keys.iter();
            let fitting = keys.filter(|key| key.world == *world && key.purpose == purpose);
            fitting.max_by_key(|key| key.version).cloned()
        })
    }

    async fn all(&mut self) -> StoreResult<Vec<AppKey>> {
        self.reading(|state| state.app_keys.clone())
    }

    async fn rewrap(&mut self, key: &AppKey, from: u32, to: &WrappedKey) -> StoreResult<bool> {
        self.writing(|state| {
            let found = state.app_keys.iter_mut().find(|row| {
                (row.world, row.purpose, row.version) == (key.world, key.purpose, key.version)
                    && row.wrapped.root_version == from
            });
            Ok(found.map(|row| row.wrapped = to.clone()).is_some())
        })
    }
}

#[port]
impl SigningKeys for Work {
    async fn insert(&mut self, key: &SigningKey) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.signing_keys, key.clone(), |a, b| {
                (a.world, a.id) == (b.world, b.id)
            })
        })
    }

    async fn list(&mut self, world: &World) -> StoreResult<Vec<SigningKey>> {
        self.reading(|state| {
            let of_world = |key: &&SigningKey| key.world == *world;
            let mut keys: Vec<_> = state
                .signing_keys
                .iter()
                .filter(of_world)
                .cloned()
                .collect();
            keys.sort_by_key(|key| key.id);
            keys
        })
    }

    async fn remove(&mut self, world: &World, id: SigningKeyId) -> StoreResult<bool> {
        self.writing(|state| {
            let removed = remove(&mut state.signing_keys, |key| {
                key.world == *world && key.id == id
            });
            Ok(removed == 1)
        })
    }
}
