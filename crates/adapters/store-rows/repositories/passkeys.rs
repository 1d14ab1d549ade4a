//! Passkeys, user handles, and ceremony challenges.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{UserId, WebauthnCredentialId};
use vestry_domain::passkey::{Ceremony, Passkey, PasskeyChallenge, UserHandle};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Attached, PasskeyUse, Passkeys, StoreResult, SweptWorlds};

use super::{Unit, count, dialect, in_world, in_worlds, load_all, load_first, oldest_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::passkeys::{PasskeyChallengeRow, PasskeyRow, handle};
use vestry_store_rows::schema::{passkey_challenges, passkey_handles, passkeys};

#[port]
impl Passkeys for Unit {
    async fn handle_or(
        &mut self,
        world: &World,
        user: UserId,
        fresh: UserHandle,
    ) -> StoreResult<UserHandle> {
        let insert = diesel::insert_into(passkey_handles::table)
            .values((
                passkey_handles::app_id.eq(world.app_id.to_string()),
                passkey_handles::environment.eq(world.environment.as_str()),
                passkey_handles::user_id.eq(user.to_string()),
                passkey_handles::handle.eq(fresh.0.to_vec()),
            ))
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        if self.done(inserted)? == 1 {
            return Ok(fresh);
        }
        Ok(Passkeys::handle(self, world, user).await?.unwrap_or(fresh))
    }

    async fn handle(&mut self, world: &World, user: UserId) -> StoreResult<Option<UserHandle>> {
        let query = in_world!(passkey_handles, world)
            .filter(passkey_handles::user_id.eq(user.to_string()))
            .select(passkey_handles::handle);
        let found = query.first::<Vec<u8>>(self.reading()?).await.optional();
        self.done(found)?.map(|bytes| handle(&bytes)).transpose()
    }

    async fn insert(&mut self, passkey: &Passkey) -> StoreResult<Attached> {
        let insert = diesel::insert_into(passkeys::table)
            .values(PasskeyRow::try_from(passkey)?)
            .on_conflict((
                passkeys::app_id,
                passkeys::environment,
                passkeys::credential_id,
            ))
            .do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        Ok(match self.done(inserted)? {
            1 => Attached::Yes,
            _ => Attached::Taken,
        })
    }

    async fn find(
        &mut self,
        world: &World,
        id: WebauthnCredentialId,
    ) -> StoreResult<Option<Passkey>> {
        let query = in_world!(passkeys, world)
            .filter(passkeys::id.eq(id.to_string()))
            .select(PasskeyRow::as_select());
        load_first!(self, query)
    }

    async fn find_by_credential(
        &mut self,
        world: &World,
        credential_id: &[u8],
    ) -> StoreResult<Option<Passkey>> {
        let query = in_world!(passkeys, world)
            .filter(passkeys::credential_id.eq(credential_id.to_vec()))
            .select(PasskeyRow::as_select());
        load_first!(self, query)
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Passkey>> {
        let query = in_world!(passkeys, world)
            .filter(passkeys::user_id.eq(user.to_string()))
            .order(passkeys::id)
            .select(PasskeyRow::as_select());
        load_all!(self, query)
    }

    async fn record_use(
        &mut self,
        world: &World,
        id: WebauthnCredentialId,
        usage: PasskeyUse,
    ) -> StoreResult<bool> {
        let sign_count = i64::from(usage.sign_count);
        // Postgres re-evaluates the condition on the newest version of the row after waiting for its lock.
        let may_count = passkeys::sign_count.lt(sign_count).or(passkeys::sign_count
            .eq(0)
            .and(passkeys::sign_count.eq(sign_count)));
        let passkey = in_world!(passkeys, world)
            .filter(passkeys::id.eq(id.to_string()))
            .filter(may_count);
        let update = diesel::update(passkey).set((
            passkeys::sign_count.eq(sign_count),
            passkeys::backed_up.eq(usage.backed_up),
            passkeys::last_used_at.eq(usage.at.unix()),
            passkeys::updated_at.eq(usage.at.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn remove(&mut self, world: &World, id: WebauthnCredentialId) -> StoreResult<bool> {
        let row = in_world!(passkeys, world).filter(passkeys::id.eq(id.to_string()));
        let deleted = diesel::delete(row).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }

    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64> {
        let waiting = in_world!(passkey_challenges, world)
            .filter(passkey_challenges::user_id.eq(user.to_string()));
        let deleted = diesel::delete(waiting).execute(self.writing()?).await;
        self.done(deleted)?;
        let known_by =
            in_world!(passkey_handles, world).filter(passkey_handles::user_id.eq(user.to_string()));
        let deleted = diesel::delete(known_by).execute(self.writing()?).await;
        self.done(deleted)?;
        let all = in_world!(passkeys, world).filter(passkeys::user_id.eq(user.to_string()));
        let deleted = diesel::delete(all).execute(self.writing()?).await;
        self.done(deleted).map(count)
    }

    async fn add_challenge(&mut self, challenge: &PasskeyChallenge) -> StoreResult<()> {
        let insert = diesel::insert_into(passkey_challenges::table)
            .values(PasskeyChallengeRow::from(challenge));
        let inserted = dialect::defer!(self.writing()?, insert).await;
        self.done(inserted)
    }

    async fn challenge(
        &mut self,
        world: &World,
        hash: &TokenHash,
    ) -> StoreResult<Option<PasskeyChallenge>> {
        let query = in_world!(passkey_challenges, world)
            .filter(passkey_challenges::hash.eq(hash.0.to_vec()))
            .select(PasskeyChallengeRow::as_select());
        let found = query.first(self.reading()?).await.optional();
        self.done(found)?
            .map(PasskeyChallenge::try_from)
            .transpose()
    }

    async fn consume_challenge(
        &mut self,
        world: &World,
        hash: &TokenHash,
        ceremony: Ceremony,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let living = in_world!(passkey_challenges, world)
            .filter(passkey_challenges::hash.eq(hash.0.to_vec()))
            .filter(passkey_challenges::ceremony.eq(ceremony.as_str()))
            .filter(passkey_challenges::expires_at.gt(now.unix()));
        let deleted = diesel::delete(living).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }

    async fn sweep_challenges(
        &mut self,
        worlds: &SweptWorlds,
        expired_before: Timestamp,
    ) -> StoreResult<u64> {
        let old = in_worlds!(passkey_challenges, worlds)
            .filter(passkey_challenges::expires_at.lt(expired_before.unix()));
        let old = oldest_first!(old, worlds, passkey_challenges::expires_at);
        delete_limited!(self, passkey_challenges, old)
    }
}
