//! Idempotency keys.

use vestry_domain::envelope::Sealed;
use vestry_domain::idempotency::{Claim, KeyDigest, KnownKey};
use vestry_domain::ids::UserId;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Idempotency, StoreResult, SweptWorlds};

use super::Work;
use super::state::{KeyRow, State, remove, remove_few};

/// The row of a run that has no response yet.
fn running<'a>(
    state: &'a mut State,
    world: &World,
    key: &KeyDigest,
    holder: &str,
) -> Option<&'a mut KeyRow> {
    state.idempotency.iter_mut().find(|row| {
        (row.claim.world, row.claim.key) == (*world, *key)
            && row.claim.holder == holder
            && row.answer.is_none()
    })
}

#[port]
impl Idempotency for Work {
    async fn claim(&mut self, claim: &Claim, now: Timestamp) -> StoreResult<Option<KnownKey>> {
        self.writing(|state| {
            let is_its =
                |row: &KeyRow| (row.claim.world, row.claim.key) == (claim.world, claim.key);
            remove(&mut state.idempotency, |row| {
                is_its(row) && row.claim.expires_at <= now
            });
            if let Some(row) = state.idempotency.iter().find(|row| is_its(row)) {
                return Ok(Some(KnownKey {
                    request: row.claim.request.clone(),
                    holder: row.claim.holder.clone(),
                    lease_until: row.claim.lease_until,
                    answer: row.answer.clone(),
                    erased: row.erased,
                }));
            }
            state.idempotency.push(KeyRow {
                claim: claim.clone(),
                answer: None,
                about: None,
                erased: false,
            });
            Ok(None)
        })
    }

    async fn take_over(
        &mut self,
        claim: &Claim,
        silent: &str,
        machine: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let row = running(state, &claim.world, &claim.key, silent);
            let silent = row.filter(|row| row.claim.lease_until <= machine);
            Ok(silent
                .map(|row| {
                    row.claim.holder.clone_from(&claim.holder);
                    row.claim.lease_until = claim.lease_until;
                })
                .is_some())
        })
    }

    async fn renew(
        &mut self,
        world: &World,
        key: &KeyDigest,
        holder: &str,
        lease_until: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let row = running(state, world, key, holder);
            Ok(row.map(|row| row.claim.lease_until = lease_until).is_some())
        })
    }

    async fn finish(
        &mut self,
        world: &World,
        key: &KeyDigest,
        holder: &str,
        answer: &Sealed,
        about: Option<UserId>,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let row = running(state, world, key, holder);
            Ok(row
                .map(|row| {
                    row.answer = Some(answer.clone());
                    row.about = about;
                })
                .is_some())
        })
    }

    async fn erase(&mut self, world: &World, user: UserId) -> StoreResult<u64> {
        self.writing(|state| {
            let rows = state.idempotency.iter_mut();
            let about = rows.filter(|row| row.claim.world == *world && row.about == Some(user));
            let mut erased = 0;
            for row in about {
                row.answer = None;
                row.about = None;
                row.erased = true;
                row.claim.lease_until = Timestamp::from_unix(0);
                erased += 1;
            }
            Ok(erased)
        })
    }

    async fn release(&mut self, world: &World, key: &KeyDigest, holder: &str) -> StoreResult<bool> {
        self.writing(|state| {
            let Some(row) = running(state, world, key, holder) else {
                return Ok(false);
            };
            if row.erased {
                row.claim.lease_until = Timestamp::from_unix(0);
                return Ok(true);
            }
            let removed = remove(&mut state.idempotency, |row| {
                (row.claim.world, row.claim.key) == (*world, *key)
            });
            Ok(removed == 1)
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            Ok(remove_few(&mut state.idempotency, |row| {
                worlds.include(&row.claim.world) && row.claim.expires_at < expired_before
            }))
        })
    }
}
