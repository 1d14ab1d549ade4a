//! Identity providers: connections of Apps, pending sign-ins, and linked users.

use vestry_domain::ids::{AppId, OauthCallbackId, ProviderLinkId, UserId};
use vestry_domain::provider::{Flow, Pending, ProviderLink, ProviderName, TestGrant};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    Attached, OauthFlows, ProviderConnections, ProviderLinks, StoreResult, StoredConnection,
    SweptWorlds,
};

use super::Work;
use super::state::{State, add, remove, remove_few};

impl State {
    fn connection(&self, fits: impl Fn(&StoredConnection) -> bool) -> Option<&StoredConnection> {
        self.provider_connections.iter().find(|stored| fits(stored))
    }

    fn links_that(&self, fits: impl Fn(&ProviderLink) -> bool) -> Vec<ProviderLink> {
        let rows = self.provider_links.iter();
        let mut found: Vec<_> = rows.filter(|link| fits(link)).cloned().collect();
        found.sort_by_key(|link| link.id);
        found
    }
}

fn is_named(stored: &StoredConnection, world: &World, name: &ProviderName) -> bool {
    let connection = &stored.connection;
    (&connection.world, &connection.name) == (world, name)
}

#[port]
impl ProviderConnections for Work {
    async fn insert(&mut self, stored: &StoredConnection) -> StoreResult<bool> {
        self.writing(|state| {
            let connection = &stored.connection;
            let same =
                |known: &StoredConnection| is_named(known, &connection.world, &connection.name);
            if state.connection(same).is_some() {
                return Ok(false);
            }
            add(&mut state.provider_connections, stored.clone(), |a, b| {
                a.connection.callback_id == b.connection.callback_id
            })?;
            Ok(true)
        })
    }

    async fn update(&mut self, stored: &StoredConnection) -> StoreResult<bool> {
        self.writing(|state| {
            let connection = &stored.connection;
            let mut rows = state.provider_connections.iter_mut();
            let known = rows.find(|known| {
                is_named(known, &connection.world, &connection.name)
                    && known.connection.callback_id == connection.callback_id
            });
            let Some(known) = known else {
                return Ok(false);
            };
            let created_at = known.connection.created_at;
            *known = stored.clone();
            known.connection.created_at = created_at;
            Ok(true)
        })
    }

    async fn find(
        &mut self,
        world: &World,
        name: &ProviderName,
    ) -> StoreResult<Option<StoredConnection>> {
        self.reading(|state| {
            state
                .connection(|known| is_named(known, world, name))
                .cloned()
        })
    }

    async fn find_by_callback(
        &mut self,
        id: OauthCallbackId,
    ) -> StoreResult<Option<StoredConnection>> {
        self.reading(|state| {
            let same = |known: &StoredConnection| known.connection.callback_id == id;
            state.connection(same).cloned()
        })
    }

    async fn list(&mut self, app: AppId) -> StoreResult<Vec<StoredConnection>> {
        self.reading(|state| {
            let rows = state.provider_connections.iter();
            let of_app = rows.filter(|stored| stored.connection.world.app_id == app);
            let mut listed: Vec<_> = of_app.cloned().collect();
            listed.sort_by_key(|stored| {
                let connection = &stored.connection;
                (
                    connection.world.environment.as_str(),
                    connection.name.clone(),
                )
            });
            listed
        })
    }

    async fn remove(&mut self, world: &World, name: &ProviderName) -> StoreResult<bool> {
        self.writing(|state| {
            let this = |known: &StoredConnection| is_named(known, world, name);
            Ok(remove(&mut state.provider_connections, this) == 1)
        })
    }
}

#[port]
impl OauthFlows for Work {
    async fn insert_flow(&mut self, flow: &Flow) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.oauth_flows, flow.clone(), |a, b| {
                (a.world, a.state) == (b.world, b.state)
            })
        })
    }

    async fn find_flow(&mut self, world: &World, state: &TokenHash) -> StoreResult<Option<Flow>> {
        self.reading(|rows| {
            let mut flows = rows.oauth_flows.iter();
            flows
                .find(|flow| (flow.world, flow.state) == (*world, *state))
                .cloned()
        })
    }

    async fn grant_test(
        &mut self,
        world: &World,
        state: &TokenHash,
        grant: &TestGrant,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|rows| {
            let mut flows = rows.oauth_flows.iter_mut();
            let waiting = flows.find(|flow| {
                (flow.world, flow.state) == (*world, *state)
                    && flow.provider.is_test()
                    && flow.test_grant.is_none()
                    && now < flow.expires_at
            });
            let Some(flow) = waiting else {
                return Ok(false);
            };
            flow.test_grant = Some(grant.clone());
            Ok(true)
        })
    }

    async fn consume_flow(
        &mut self,
        world: &World,
        state: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|rows| {
            let gone = remove(&mut rows.oauth_flows, |flow| {
                (flow.world, flow.state) == (*world, *state) && now < flow.expires_at
            });
            Ok(gone == 1)
        })
    }

    async fn insert_pending(&mut self, pending: &Pending) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.oauth_tokens, pending.clone(), |a, b| {
                (a.world, a.token) == (b.world, b.token)
            })
        })
    }

    async fn find_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
    ) -> StoreResult<Option<Pending>> {
        self.reading(|state| {
            let mut rows = state.oauth_tokens.iter();
            rows.find(|row| (row.world, row.token) == (*world, *token))
                .cloned()
        })
    }

    async fn attempt_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<Option<i64>> {
        self.writing(|state| {
            let mut rows = state.oauth_tokens.iter();
            let is_living =
                rows.any(|row| (row.world, row.token) == (*world, *token) && now < row.expires_at);
            Ok(is_living.then(|| state.count_try(*world, *token)))
        })
    }

    async fn consume_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let gone = remove(&mut state.oauth_tokens, |row| {
                (row.world, row.token) == (*world, *token) && now < row.expires_at
            });
            Ok(gone == 1)
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_by: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let flows = remove_few(&mut state.oauth_flows, |flow| {
                worlds.include(&flow.world) && flow.expires_at <= expired_by
            });
            let tokens = remove_few(&mut state.oauth_tokens, |row| {
                worlds.include(&row.world) && row.expires_at <= expired_by
            });
            Ok(flows + tokens)
        })
    }
}

#[port]
impl ProviderLinks for Work {
    async fn insert(&mut self, link: &ProviderLink) -> StoreResult<Attached> {
        self.writing(|state| {
            state.needs_user(link.world, link.user_id)?;
            let person = |row: &ProviderLink| {
                (
                    row.world,
                    row.provider.clone(),
                    row.issuer.clone(),
                    row.subject.clone(),
                )
            };
            let same = person(link);
            if state.provider_links.iter().any(|row| person(row) == same) {
                return Ok(Attached::Taken);
            }
            add(&mut state.provider_links, link.clone(), |a, b| {
                (a.world, a.id) == (b.world, b.id)
            })?;
            Ok(Attached::Yes)
        })
    }

    async fn find(
        &mut self,
        world: &World,
        id: ProviderLinkId,
    ) -> StoreResult<Option<ProviderLink>> {
        self.reading(|state| {
            state
                .links_that(|link| (link.world, link.id) == (*world, id))
                .pop()
        })
    }

    async fn find_by_subject(
        &mut self,
        world: &World,
        provider: &ProviderName,
        issuer: &str,
        subject: &str,
    ) -> StoreResult<Option<ProviderLink>> {
        self.reading(|state| {
            let same = |link: &ProviderLink| {
                link.world == *world
                    && link.provider == *provider
                    && link.issuer == issuer
                    && link.subject == subject
            };
            state.links_that(same).pop()
        })
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<ProviderLink>> {
        self.reading(|state| state.links_that(|link| link.world == *world && link.user_id == user))
    }

    async fn touch(&mut self, world: &World, id: ProviderLinkId, at: Timestamp) -> StoreResult<()> {
        self.writing(|state| {
            let mut rows = state.provider_links.iter_mut();
            if let Some(link) = rows.find(|link| (link.world, link.id) == (*world, id)) {
                link.updated_at = at;
            }
            Ok(())
        })
    }

    async fn remove(&mut self, world: &World, id: ProviderLinkId) -> StoreResult<bool> {
        self.writing(|state| {
            let this = |link: &ProviderLink| (link.world, link.id) == (*world, id);
            Ok(remove(&mut state.provider_links, this) == 1)
        })
    }

    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64> {
        self.writing(|state| {
            let of_user = |link: &ProviderLink| (link.world, link.user_id) == (*world, user);
            Ok(remove(&mut state.provider_links, of_user))
        })
    }
}
