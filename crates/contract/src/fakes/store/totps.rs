//! Authenticator apps and their recovery codes.

use vestry_domain::ids::{TotpId, UserId};
use vestry_domain::totp::{NO_STEP, StoredRecoveryCode, Totp};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{StoreResult, SweptWorlds, Totps};

use super::Work;
use super::state::{State, TotpRow, add, remove, remove_few};

impl State {
    fn totp(&mut self, world: World, id: TotpId) -> Option<&mut TotpRow> {
        self.totps.iter_mut().find(|row| is(row, world, id))
    }

    fn totps_of(&self, world: World, user: UserId) -> Vec<&TotpRow> {
        let rows = self.totps.iter();
        let mut rows: Vec<_> = rows.filter(|row| is_of(row, world, user)).collect();
        rows.sort_by_key(|row| row.totp.id);
        rows
    }
}

fn is(row: &TotpRow, world: World, id: TotpId) -> bool {
    (row.totp.world, row.totp.id) == (world, id)
}

fn is_of(row: &TotpRow, world: World, user: UserId) -> bool {
    (row.totp.world, row.totp.user_id) == (world, user)
}

#[port]
impl Totps for Work {
    async fn replace_waiting(
        &mut self,
        totp: &Totp,
        recovery_codes: &[StoredRecoveryCode],
    ) -> StoreResult<()> {
        self.writing(|state| {
            state.needs_user(totp.world, totp.user_id)?;
            state
                .totps
                .retain(|row| row.totp.verified || !is_of(row, totp.world, totp.user_id));
            let row = TotpRow {
                totp: Totp {
                    verified: false,
                    ..totp.clone()
                },
                last_step: NO_STEP,
                recovery_codes: recovery_codes.to_vec(),
            };
            add(&mut state.totps, row, |a, b| is(a, b.totp.world, b.totp.id))
        })
    }

    async fn count_verified(&mut self, world: &World, user: UserId) -> StoreResult<i64> {
        self.reading(|state| {
            let rows = state.totps_of(*world, user);
            let verified = rows.into_iter().filter(|row| row.totp.verified).count();
            i64::try_from(verified).unwrap_or(i64::MAX)
        })
    }

    async fn find(&mut self, world: &World, id: TotpId) -> StoreResult<Option<Totp>> {
        self.reading(|state| {
            let mut rows = state.totps.iter();
            let row = rows.find(|row| is(row, *world, id));
            row.map(|row| row.totp.clone())
        })
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Totp>> {
        self.reading(|state| {
            let rows = state.totps_of(*world, user).into_iter();
            rows.map(|row| row.totp.clone()).collect()
        })
    }

    async fn confirm(
        &mut self,
        world: &World,
        id: TotpId,
        step: i64,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let row = state.totp(*world, id);
            let waiting = row.filter(|row| !row.totp.verified && now < row.totp.expires_at);
            let Some(row) = waiting else {
                return Ok(false);
            };
            row.totp.verified = true;
            row.totp.updated_at = now;
            row.last_step = step;
            Ok(true)
        })
    }

    async fn accept(&mut self, world: &World, id: TotpId, step: i64) -> StoreResult<bool> {
        self.writing(|state| {
            let row = state.totp(*world, id);
            let unused = row.filter(|row| row.totp.verified && row.last_step < step);
            Ok(unused.map(|row| row.last_step = step).is_some())
        })
    }

    async fn recovery_codes(
        &mut self,
        world: &World,
        user: UserId,
    ) -> StoreResult<Vec<(TotpId, StoredRecoveryCode)>> {
        self.reading(|state| {
            let rows = state.totps_of(*world, user).into_iter();
            rows.flat_map(|row| {
                let codes = row.recovery_codes.iter().cloned();
                codes.map(|code| (row.totp.id, code))
            })
            .collect()
        })
    }

    async fn use_recovery_code(
        &mut self,
        world: &World,
        id: TotpId,
        number: u32,
        _at: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let Some(row) = state.totp(*world, id) else {
                return Ok(false);
            };
            let mut codes = row.recovery_codes.iter_mut();
            let unused = codes.find(|code| code.number == number && !code.used);
            Ok(unused
                .map(|code| {
                    code.used = true;
                    code.sealed.bytes.clear();
                })
                .is_some())
        })
    }

    async fn remove(&mut self, world: &World, id: TotpId) -> StoreResult<bool> {
        self.writing(|state| Ok(remove(&mut state.totps, |row| is(row, *world, id)) == 1))
    }

    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64> {
        self.writing(|state| Ok(remove(&mut state.totps, |row| is_of(row, *world, user))))
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let expired = |row: &TotpRow| {
                let totp = &row.totp;
                worlds.include(&totp.world) && !totp.verified && totp.expires_at < expired_before
            };
            Ok(remove_few(&mut state.totps, expired))
        })
    }
}
