//! Identity providers: connections of Apps, pending sign-ins, and linked users.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{AppId, OauthCallbackId, ProviderLinkId, UserId};
use vestry_domain::provider::{Flow, Pending, ProviderLink, ProviderName, TestGrant};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    Attached, OauthFlows, ProviderConnections, ProviderLinks, StoreResult, StoredConnection,
    SweptWorlds,
};

use super::{Unit, count, dialect, in_world, in_worlds, load_all, load_first, oldest_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::providers::{ConnectionRow, FlowRow, PendingRow, ProviderLinkRow};
use vestry_store_rows::rows::to_json;
use vestry_store_rows::schema::{oauth_flows, oauth_tokens, provider_connections, provider_links};

#[port]
impl ProviderConnections for Unit {
    async fn insert(&mut self, stored: &StoredConnection) -> StoreResult<bool> {
        let insert = diesel::insert_into(provider_connections::table)
            .values(ConnectionRow::try_from(stored)?)
            .on_conflict((
                provider_connections::app_id,
                provider_connections::environment,
                provider_connections::name,
            ))
            .do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        Ok(self.done(inserted)? == 1)
    }

    async fn update(&mut self, stored: &StoredConnection) -> StoreResult<bool> {
        let connection = &stored.connection;
        let row = ConnectionRow::try_from(stored)?;
        let known = in_world!(provider_connections, connection.world)
            .filter(provider_connections::name.eq(connection.name.to_string()))
            .filter(provider_connections::callback_id.eq(connection.callback_id.to_string()));
        let update = diesel::update(known).set((
            provider_connections::client_id.eq(row.client_id),
            provider_connections::settings.eq(row.settings),
            provider_connections::secret_key_version.eq(row.secret_key_version),
            provider_connections::secret.eq(row.secret),
            provider_connections::secret_last_four.eq(row.secret_last_four),
            provider_connections::secret_updated_at.eq(row.secret_updated_at),
            provider_connections::updated_at.eq(row.updated_at),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn find(
        &mut self,
        world: &World,
        name: &ProviderName,
    ) -> StoreResult<Option<StoredConnection>> {
        let query = in_world!(provider_connections, world)
            .filter(provider_connections::name.eq(name.as_str()))
            .select(ConnectionRow::as_select());
        let found = query.first(self.reading()?).await.optional();
        self.done(found)?
            .map(StoredConnection::try_from)
            .transpose()
    }

    async fn find_by_callback(
        &mut self,
        id: OauthCallbackId,
    ) -> StoreResult<Option<StoredConnection>> {
        let query = provider_connections::table
            .filter(provider_connections::callback_id.eq(id.to_string()))
            .select(ConnectionRow::as_select());
        let found = query.first(self.reading()?).await.optional();
        self.done(found)?
            .map(StoredConnection::try_from)
            .transpose()
    }

    async fn list(&mut self, app: AppId) -> StoreResult<Vec<StoredConnection>> {
        let query = provider_connections::table
            .filter(provider_connections::app_id.eq(app.to_string()))
            .order((
                provider_connections::environment,
                provider_connections::name,
            ))
            .select(ConnectionRow::as_select());
        load_all!(self, query)
    }

    async fn remove(&mut self, world: &World, name: &ProviderName) -> StoreResult<bool> {
        let row = in_world!(provider_connections, world)
            .filter(provider_connections::name.eq(name.as_str()));
        let deleted = diesel::delete(row).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }
}

#[port]
impl OauthFlows for Unit {
    async fn insert_flow(&mut self, flow: &Flow) -> StoreResult<()> {
        let insert = diesel::insert_into(oauth_flows::table).values(FlowRow::try_from(flow)?);
        let inserted = dialect::defer!(self.writing()?, insert).await;
        self.done(inserted)
    }

    async fn find_flow(&mut self, world: &World, state: &TokenHash) -> StoreResult<Option<Flow>> {
        let query = in_world!(oauth_flows, world)
            .filter(oauth_flows::state_hash.eq(state.0.to_vec()))
            .select(FlowRow::as_select());
        load_first!(self, query)
    }

    async fn grant_test(
        &mut self,
        world: &World,
        state: &TokenHash,
        grant: &TestGrant,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let waiting = in_world!(oauth_flows, world)
            .filter(oauth_flows::state_hash.eq(state.0.to_vec()))
            .filter(oauth_flows::provider.eq(ProviderName::TEST))
            .filter(oauth_flows::test_code_hash.is_null())
            .filter(oauth_flows::expires_at.gt(now.unix()));
        let update = diesel::update(waiting).set((
            oauth_flows::test_code_hash.eq(grant.code.0.to_vec()),
            oauth_flows::test_identity.eq(to_json(&grant.identity)?),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn consume_flow(
        &mut self,
        world: &World,
        state: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let living = in_world!(oauth_flows, world)
            .filter(oauth_flows::state_hash.eq(state.0.to_vec()))
            .filter(oauth_flows::expires_at.gt(now.unix()));
        let deleted = diesel::delete(living).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }

    async fn insert_pending(&mut self, pending: &Pending) -> StoreResult<()> {
        let insert = diesel::insert_into(oauth_tokens::table).values(PendingRow::from(pending));
        let inserted = dialect::defer!(self.writing()?, insert).await;
        self.done(inserted)
    }

    async fn find_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
    ) -> StoreResult<Option<Pending>> {
        let query = in_world!(oauth_tokens, world)
            .filter(oauth_tokens::token_hash.eq(token.0.to_vec()))
            .select(PendingRow::as_select());
        load_first!(self, query)
    }

    async fn attempt_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<Option<i64>> {
        // Postgres re-evaluates the condition on the newest version of the row after waiting for its lock.
        let living = in_world!(oauth_tokens, world)
            .filter(oauth_tokens::token_hash.eq(token.0.to_vec()))
            .filter(oauth_tokens::expires_at.gt(now.unix()));
        let update = diesel::update(living)
            .set(oauth_tokens::tries.eq(oauth_tokens::tries + 1))
            .returning(oauth_tokens::tries);
        let counted = Prepared(update)
            .get_result(self.writing()?)
            .await
            .optional();
        self.done(counted)
    }

    async fn consume_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let living = in_world!(oauth_tokens, world)
            .filter(oauth_tokens::token_hash.eq(token.0.to_vec()))
            .filter(oauth_tokens::expires_at.gt(now.unix()));
        let deleted = diesel::delete(living).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_by: Timestamp) -> StoreResult<u64> {
        let old =
            in_worlds!(oauth_flows, worlds).filter(oauth_flows::expires_at.le(expired_by.unix()));
        let old = oldest_first!(old, worlds, oauth_flows::expires_at);
        let flows = delete_limited!(self, oauth_flows, old)?;
        let old =
            in_worlds!(oauth_tokens, worlds).filter(oauth_tokens::expires_at.le(expired_by.unix()));
        let old = oldest_first!(old, worlds, oauth_tokens::expires_at);
        let tokens = delete_limited!(self, oauth_tokens, old)?;
        Ok(flows + tokens)
    }
}

#[port]
impl ProviderLinks for Unit {
    async fn insert(&mut self, link: &ProviderLink) -> StoreResult<Attached> {
        let insert = diesel::insert_into(provider_links::table)
            .values(ProviderLinkRow::from(link))
            .on_conflict((
                provider_links::app_id,
                provider_links::environment,
                provider_links::provider,
                provider_links::issuer,
                provider_links::subject,
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
        id: ProviderLinkId,
    ) -> StoreResult<Option<ProviderLink>> {
        let query = in_world!(provider_links, world)
            .filter(provider_links::id.eq(id.to_string()))
            .select(ProviderLinkRow::as_select());
        load_first!(self, query)
    }

    async fn find_by_subject(
        &mut self,
        world: &World,
        provider: &ProviderName,
        issuer: &str,
        subject: &str,
    ) -> StoreResult<Option<ProviderLink>> {
        let query = in_world!(provider_links, world)
            .filter(provider_links::provider.eq(provider.as_str()))
            .filter(provider_links::issuer.eq(issuer))
            .filter(provider_links::subject.eq(subject))
            .select(ProviderLinkRow::as_select());
        load_first!(self, query)
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<ProviderLink>> {
        let query = in_world!(provider_links, world)
            .filter(provider_links::user_id.eq(user.to_string()))
            .order(provider_links::id)
            .select(ProviderLinkRow::as_select());
        load_all!(self, query)
    }

    async fn touch(&mut self, world: &World, id: ProviderLinkId, at: Timestamp) -> StoreResult<()> {
        let row = in_world!(provider_links, world).filter(provider_links::id.eq(id.to_string()));
        let update = diesel::update(row).set(provider_links::updated_at.eq(at.unix()));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated).map(drop)
    }

    async fn remove(&mut self, world: &World, id: ProviderLinkId) -> StoreResult<bool> {
        let row = in_world!(provider_links, world).filter(provider_links::id.eq(id.to_string()));
        let deleted = diesel::delete(row).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }

    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64> {
        let rows =
            in_world!(provider_links, world).filter(provider_links::user_id.eq(user.to_string()));
        let deleted = diesel::delete(rows).execute(self.writing()?).await;
        self.done(deleted).map(count)
    }
}
