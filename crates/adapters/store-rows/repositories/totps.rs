//! Authenticator apps and their recovery codes.

use diesel::dsl::not;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{TotpId, UserId};
use vestry_domain::totp::{StoredRecoveryCode, Totp};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{StoreError, StoreResult, SweptWorlds, Totps};

use super::{Unit, count, dialect, in_world, in_worlds, load_all, load_first, oldest_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::totps::{RecoveryCodeRow, TotpRow};
use vestry_store_rows::schema::{totp_recovery_codes, totps};

#[port]
impl Totps for Unit {
    async fn replace_waiting(
        &mut self,
        totp: &Totp,
        recovery_codes: &[StoredRecoveryCode],
    ) -> StoreResult<()> {
        // Its recovery codes are deleted with it. The condition keeps one that is being verified at this moment.
        let waiting = in_world!(totps, &totp.world)
            .filter(totps::user_id.eq(totp.user_id.to_string()))
            .filter(not(totps::verified));
        let removed = diesel::delete(waiting).execute(self.writing()?).await;
        self.done(removed)?;
        let insert = diesel::insert_into(totps::table)
            .values(TotpRow::from(totp))
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        if self.done(inserted)? == 0 {
            // Another transaction has added one since ours was deleted; the next attempt replaces it.
            return Err(StoreError::Retry);
        }
        let rows: Vec<_> = recovery_codes
            .iter()
            .map(|code| RecoveryCodeRow::new(totp, code))
            .collect();
        let (conn, table) = (self.writing()?, totp_recovery_codes::table);
        let inserted = dialect::insert_all!(conn, table, rows).await;
        self.done(inserted).map(drop)
    }

    async fn count_verified(&mut self, world: &World, user: UserId) -> StoreResult<i64> {
        let query = in_world!(totps, world)
            .filter(totps::user_id.eq(user.to_string()))
            .filter(totps::verified)
            .count();
        let counted = query.get_result(self.reading()?).await;
        self.done(counted)
    }

    async fn find(&mut self, world: &World, id: TotpId) -> StoreResult<Option<Totp>> {
        let query = in_world!(totps, world)
            .filter(totps::id.eq(id.to_string()))
            .select(TotpRow::as_select());
        load_first!(self, query)
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Totp>> {
        let query = in_world!(totps, world)
            .filter(totps::user_id.eq(user.to_string()))
            .order(totps::id)
            .select(TotpRow::as_select());
        load_all!(self, query)
    }

    async fn confirm(
        &mut self,
        world: &World,
        id: TotpId,
        step: i64,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let waiting = in_world!(totps, world)
            .filter(totps::id.eq(id.to_string()))
            .filter(not(totps::verified))
            .filter(totps::expires_at.gt(now.unix()));
        let update = diesel::update(waiting).set((
            totps::verified.eq(true),
            totps::last_step.eq(step),
            totps::updated_at.eq(now.unix()),
        ));
        let confirmed = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(confirmed)? == 1)
    }

    async fn accept(&mut self, world: &World, id: TotpId, step: i64) -> StoreResult<bool> {
        // Postgres re-evaluates the condition on the newest version of the row after waiting for its lock.
        let unused = in_world!(totps, world)
            .filter(totps::id.eq(id.to_string()))
            .filter(totps::verified)
            .filter(totps::last_step.lt(step));
        let update = diesel::update(unused).set(totps::last_step.eq(step));
        let accepted = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(accepted)? == 1)
    }

    async fn recovery_codes(
        &mut self,
        world: &World,
        user: UserId,
    ) -> StoreResult<Vec<(TotpId, StoredRecoveryCode)>> {
        let its_totp = totp_recovery_codes::app_id
            .eq(totps::app_id)
            .and(totp_recovery_codes::environment.eq(totps::environment))
            .and(totp_recovery_codes::totp_id.eq(totps::id));
        let query = in_world!(totps, world)
            .inner_join(totp_recovery_codes::table.on(its_totp))
            .filter(totps::user_id.eq(user.to_string()))
            .order((totps::id, totp_recovery_codes::number))
            .select(RecoveryCodeRow::as_select());
        load_all!(self, query)
    }

    async fn use_recovery_code(
        &mut self,
        world: &World,
        id: TotpId,
        number: u32,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let unused = in_world!(totp_recovery_codes, world)
            .filter(totp_recovery_codes::totp_id.eq(id.to_string()))
            .filter(totp_recovery_codes::number.eq(i64::from(number)))
            .filter(totp_recovery_codes::used_at.is_null());
        let update = diesel::update(unused).set((
            totp_recovery_codes::used_at.eq(at.unix()),
            totp_recovery_codes::code.eq(Vec::<u8>::new()),
        ));
        let used = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(used)? == 1)
    }

    async fn remove(&mut self, world: &World, id: TotpId) -> StoreResult<bool> {
        let one = in_world!(totps, world).filter(totps::id.eq(id.to_string()));
        let removed = diesel::delete(one).execute(self.writing()?).await;
        Ok(self.done(removed)? == 1)
    }

    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64> {
        let all = in_world!(totps, world).filter(totps::user_id.eq(user.to_string()));
        let removed = diesel::delete(all).execute(self.writing()?).await;
        self.done(removed).map(count)
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64> {
        let old = in_worlds!(totps, worlds)
            .filter(not(totps::verified))
            .filter(totps::expires_at.lt(expired_before.unix()));
        let old = oldest_first!(old, worlds, totps::expires_at);
        delete_limited!(self, totps, old)
    }
}
