//! One-time passcodes.

use vestry_domain::code::{Code, CodePurpose, MethodId};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Attempt, Codes, StoreResult, SweptWorlds};

use super::Work;
use super::state::{CodeRow, State, remove_few};

impl State {
    /// The code, unless it was used or has expired.
    fn living_code(
        &mut self,
        world: World,
        method: MethodId,
        purpose: CodePurpose,
        now: Timestamp,
    ) -> Option<&mut CodeRow> {
        let wanted = (world, method, purpose);
        let mut rows = self.codes.iter_mut();
        let row = rows.find(|row| key(&row.code) == wanted)?;
        (!row.is_used && now < row.code.expires_at).then_some(row)
    }
}

const fn key(code: &Code) -> (World, MethodId, CodePurpose) {
    (code.world, code.method_id, code.purpose)
}

#[port]
impl Codes for Work {
    async fn replace(&mut self, code: &Code) -> StoreResult<()> {
        self.writing(|state| {
            state.codes.retain(|row| key(&row.code) != key(code));
            state.codes.push(CodeRow {
                code: code.clone(),
                tries: 0,
                is_used: false,
            });
            Ok(())
        })
    }

    async fn attempt(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        most_tries: i64,
        now: Timestamp,
    ) -> StoreResult<Option<Attempt>> {
        self.writing(|state| {
            let living = state.living_code(*world, method, purpose, now);
            let Some(row) = living.filter(|row| row.tries < most_tries) else {
                return Ok(None);
            };
            row.tries += 1;
            Ok(Some(Attempt {
                code: row.code.clone(),
                tries: row.tries,
            }))
        })
    }

    async fn made_since(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        most_tries: i64,
        since: Timestamp,
        now: Timestamp,
    ) -> StoreResult<Option<Code>> {
        self.reading(|state| {
            let wanted = (*world, method, purpose);
            let row = state.codes.iter().find(|row| key(&row.code) == wanted)?;
            let lives = !row.is_used && now < row.code.expires_at && row.tries < most_tries;
            (lives && since < row.code.created_at).then(|| row.code.clone())
        })
    }

    async fn consume(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let living = state.living_code(*world, method, purpose, now);
            Ok(living.map(|row| row.is_used = true).is_some())
        })
    }

    async fn forget(&mut self, world: &World, method: MethodId) -> StoreResult<()> {
        self.writing(|state| {
            let wanted = (*world, method);
            state
                .codes
                .retain(|row| (row.code.world, row.code.method_id) != wanted);
            Ok(())
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let expired = |row: &CodeRow| {
                worlds.include(&row.code.world) && row.code.expires_at < expired_before
            };
            Ok(remove_few(&mut state.codes, expired))
        })
    }
}
