//! Operators and the links that let them in.

use vestry_domain::Timestamp;
use vestry_domain::email::EmailIdentity;
use vestry_domain::event::Actor;
use vestry_domain::ids::{OperatorLinkId, UserId};
use vestry_domain::operator::{Grants, Operator, OperatorLink};
use vestry_domain::token::TokenHash;
use vestry_ports::port;
use vestry_ports::store::{OperatorLinks, Operators, StoreResult};

use super::Work;
use super::state::{State, add, remove};

impl State {
    fn sorted_operators(&self) -> Vec<Operator> {
        let mut operators = self.operators.clone();
        operators.sort_by_key(|operator| operator.user_id);
        operators
    }
}

#[port]
impl Operators for Work {
    async fn insert(&mut self, operator: &Operator) -> StoreResult<bool> {
        self.writing(|state| {
            let same = |a: &Operator, b: &Operator| a.user_id == b.user_id;
            Ok(add(&mut state.operators, operator.clone(), same).is_ok())
        })
    }

    async fn find(&mut self, user: UserId) -> StoreResult<Option<Operator>> {
        self.reading(|state| {
            let mut operators = state.operators.iter();
            operators.find(|row| row.user_id == user).cloned()
        })
    }

    async fn list(&mut self) -> StoreResult<Vec<Operator>> {
        self.reading(|state| state.sorted_operators())
    }

    async fn lock_all(&mut self) -> StoreResult<Vec<Operator>> {
        self.writing(|state| Ok(state.sorted_operators()))
    }

    async fn update(&mut self, user: UserId, grants: &Grants, at: Timestamp) -> StoreResult<bool> {
        self.writing(|state| {
            let mut operators = state.operators.iter_mut();
            let found = operators.find(|row| row.user_id == user);
            Ok(found
                .map(|row| {
                    row.grants = grants.clone();
                    row.updated_at = at;
                })
                .is_some())
        })
    }

    async fn remove(&mut self, user: UserId) -> StoreResult<bool> {
        self.writing(|state| Ok(remove(&mut state.operators, |row| row.user_id == user) == 1))
    }
}

#[port]
impl OperatorLinks for Work {
    async fn insert(&mut self, link: &OperatorLink) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.operator_links, link.clone(), |a, b| {
                a.id == b.id || a.hash == b.hash
            })
        })
    }

    async fn find(&mut self, hash: &TokenHash) -> StoreResult<Option<OperatorLink>> {
        self.reading(|state| {
            let mut links = state.operator_links.iter();
            links.find(|link| link.hash == *hash).cloned()
        })
    }

    async fn list_open(&mut self, now: Timestamp) -> StoreResult<Vec<OperatorLink>> {
        self.reading(|state| {
            let links = state.operator_links.iter();
            let mut open: Vec<_> = links.filter(|link| link.is_open(now)).cloned().collect();
            open.sort_by_key(|link| link.id);
            open
        })
    }

    async fn consume(
        &mut self,
        hash: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<Option<OperatorLink>> {
        self.writing(|state| {
            let mut links = state.operator_links.iter_mut();
            let open = links.find(|link| link.hash == *hash && link.is_open(now));
            Ok(open.map(|link| {
                link.used_at = Some(now);
                link.clone()
            }))
        })
    }

    async fn remove(&mut self, id: OperatorLinkId) -> StoreResult<bool> {
        self.writing(|state| {
            let unused = |link: &OperatorLink| link.id == id && link.used_at.is_none();
            Ok(remove(&mut state.operator_links, unused) == 1)
        })
    }

    async fn remove_unused(&mut self, email: &EmailIdentity) -> StoreResult<u64> {
        self.writing(|state| {
            Ok(remove(&mut state.operator_links, |link| {
                link.email.identity() == email && link.used_at.is_none()
            }))
        })
    }

    async fn remove_made_by(&mut self, actor: &Actor) -> StoreResult<u64> {
        self.writing(|state| {
            Ok(remove(&mut state.operator_links, |link| {
                link.created_by == *actor && link.used_at.is_none()
            }))
        })
    }

    async fn sweep(&mut self, expired_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            Ok(remove(&mut state.operator_links, |link| {
                link.expires_at < expired_before
            }))
        })
    }
}
