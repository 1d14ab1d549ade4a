//! Idempotency keys.

use vestry_domain::envelope::Sealed;
use vestry_domain::idempotency::{Claim, KeyDigest, KnownKey};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Idempotency, StoreResult, SweptWorlds};

use super::Work;
use super::state::{KeyRow, State, remove, remove_few};

/// The row of a run that has no answer yet.
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
                }));
            }
            state.idempotency.push(KeyRow {
                claim: claim.clone(),
                answer: None,
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
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let row = running(state, world, key, holder);
            Ok(row.map(|row| row.answer = Some(answer.clone())).is_some())
        })
    }

    async fn release(&mut self, world: &World, key: &KeyDigest, holder: &str) -> StoreResult<bool> {
        self.writing(|state| {
            if running(state, world, key, holder).is_none() {
                return Ok(false);
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
