//! Webhook endpoints.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{AppId, WebhookEndpointId};
use vestry_domain::webhook::{DisabledReason, Endpoint, SealedSecret};
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Changed, Failures, StoreError, StoreResult, WebhookEndpoints};

use super::{Unit, count, dialect, in_world, load_all, load_first, read_all};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::webhooks::{EndpointChange, EndpointRow, FailuresRow, SecretRow};
use vestry_store_rows::schema::{webhook_endpoints, webhook_replays, webhook_secrets};

/// Precision, in seconds, of the recorded time of an endpoint's last successful delivery.
const SUCCESS_EVERY: i64 = 60;

/// An endpoint without failures.
macro_rules! sound {
    () => {
        (
            webhook_endpoints::failed_attempts.eq(0),
            webhook_endpoints::failed_deliveries.eq(0),
            webhook_endpoints::failures_since.eq(None::<i64>),
            webhook_endpoints::failing_since.eq(None::<i64>),
            webhook_endpoints::failing_emitted.eq(false),
        )
    };
}

/// The row of an endpoint.
macro_rules! one {
    ($world:expr, $id:expr) => {
        in_world!(webhook_endpoints, $world).filter(webhook_endpoints::id.eq($id.to_string()))
    };
}

/// A secret that has not expired.
macro_rules! living {
    ($now:expr) => {
        webhook_secrets::expires_at
            .is_null()
            .or(webhook_secrets::expires_at.gt($now.unix()))
    };
}

/// The order of secrets. Clocks differ between machines, and a second is long: the missing expiry identifies the newest.
macro_rules! newest_first {
    () => {
        (
            webhook_secrets::expires_at.is_null().desc(),
            webhook_secrets::created_at.desc(),
            webhook_secrets::id.desc(),
        )
    };
}

impl Unit {
    /// Whether no other endpoint has the same URL and types; nothing else can conflict.
    async fn is_free(&mut self, endpoint: &Endpoint, fingerprint: &str) -> StoreResult<bool> {
        let other = in_world!(webhook_endpoints, endpoint.world)
            .filter(webhook_endpoints::fingerprint.eq(fingerprint))
            .filter(webhook_endpoints::id.ne(endpoint.id.to_string()))
            .select(webhook_endpoints::id);
        let found = other.first::<String>(self.writing()?).await.optional();
        Ok(self.done(found)?.is_none())
    }
}

#[port]
impl WebhookEndpoints for Unit {
    async fn insert(&mut self, endpoint: &Endpoint) -> StoreResult<bool> {
        let insert = diesel::insert_into(webhook_endpoints::table)
            .values((EndpointRow::try_from(endpoint)?, sound!()))
            .on_conflict((
                webhook_endpoints::app_id,
                webhook_endpoints::environment,
                webhook_endpoints::fingerprint,
            ))
            .do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        Ok(self.done(inserted)? == 1)
    }

    async fn find(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
    ) -> StoreResult<Option<Endpoint>> {
        let query = one!(world, id).select(EndpointRow::as_select());
        load_first!(self, query)
    }

    async fn list(&mut self, app: AppId) -> StoreResult<Vec<Endpoint>> {
        let query = webhook_endpoints::table
            .filter(webhook_endpoints::app_id.eq(app.to_string()))
            .order((webhook_endpoints::environment, webhook_endpoints::id))
            .select(EndpointRow::as_select());
        load_all!(self, query)
    }

    async fn failing(&mut self, limit: i64) -> StoreResult<Vec<Endpoint>> {
        let query = webhook_endpoints::table
            .filter(webhook_endpoints::failing_since.is_not_null())
            .filter(webhook_endpoints::environment.eq(Environment::Live.as_str()))
            .order((webhook_endpoints::failing_since, webhook_endpoints::id))
            .limit(limit)
            .select(EndpointRow::as_select());
        load_all!(self, query)
    }

    async fn hold_enabled(&mut self, world: &World) -> StoreResult<Vec<Endpoint>> {
        let query = in_world!(webhook_endpoints, world)
            .filter(webhook_endpoints::disabled_reason.is_null())
            // Row locks are taken in this order.
            .order(webhook_endpoints::id)
            .select(EndpointRow::as_select());
        let found = dialect::for_key_share!(query).load(self.writing()?).await;
        read_all(self.done(found)?)
    }

    async fn lock(&mut self, world: &World, id: WebhookEndpointId) -> StoreResult<bool> {
        let query = one!(world, id).select(webhook_endpoints::id);
        let found = dialect::for_update!(query).first::<String>(self.writing()?);
        let found = found.await.optional();
        Ok(self.done(found)?.is_some())
    }

    async fn update(&mut self, endpoint: &Endpoint, seen: Timestamp) -> StoreResult<Changed> {
        let row = EndpointRow::try_from(endpoint)?;
        if !self.is_free(endpoint, row.fingerprint()).await? {
            return Ok(Changed::Taken);
        }
        let known =
            one!(endpoint.world, endpoint.id).filter(webhook_endpoints::updated_at.eq(seen.unix()));
        let update = diesel::update(known).set(EndpointChange::from(row));
        let updated = Prepared(update).execute(self.writing()?).await;
        // A concurrent call has created an endpoint with this URL and these types; a retry finds it.
        let lost = matches!(
            updated,
            Err(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _))
        );
        match self.done(updated) {
            Ok(1) => Ok(Changed::Yes),
            Ok(_) => Ok(Changed::Lost),
            Err(_) if lost => Err(StoreError::Retry),
            Err(other) => Err(other),
        }
    }

    async fn disable(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        reason: DisabledReason,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let enabled = one!(world, id).filter(webhook_endpoints::disabled_reason.is_null());
        let update = diesel::update(enabled).set((
            webhook_endpoints::disabled_reason.eq(reason.as_str()),
            webhook_endpoints::updated_at.eq(at.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn enable(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let disabled = one!(world, id).filter(webhook_endpoints::disabled_reason.is_not_null());
        let update = diesel::update(disabled).set((
            webhook_endpoints::disabled_reason.eq(None::<String>),
            webhook_endpoints::updated_at.eq(at.unix()),
            sound!(),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn remove(&mut self, world: &World, id: WebhookEndpointId) -> StoreResult<bool> {
        let delete = diesel::delete(one!(world, id));
        let deleted = Prepared(delete).execute(self.writing()?).await;
        if self.done(deleted)? == 0 {
            return Ok(false);
        }
        let secrets = in_world!(webhook_secrets, world)
            .filter(webhook_secrets::endpoint_id.eq(id.to_string()));
        let deleted = Prepared(diesel::delete(secrets))
            .execute(self.writing()?)
            .await;
        self.done(deleted)?;
        let replays = in_world!(webhook_replays, world)
            .filter(webhook_replays::endpoint_id.eq(id.to_string()));
        let deleted = Prepared(diesel::delete(replays))
            .execute(self.writing()?)
            .await;
        self.done(deleted)?;
        Ok(true)
    }

    async fn note_success(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<()> {
        let earlier = at.unix().saturating_sub(SUCCESS_EVERY);
        let stale = webhook_endpoints::failed_attempts
            .gt(0)
            .or(webhook_endpoints::last_success_at.is_null())
            .or(webhook_endpoints::last_success_at.le(earlier));
        let update = diesel::update(one!(world, id).filter(stale))
            .set((webhook_endpoints::last_success_at.eq(at.unix()), sound!()));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated).map(drop)
    }

    async fn note_failures(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        attempts: i64,
        deliveries: i64,
        is_failing: bool,
        at: Timestamp,
    ) -> StoreResult<Option<Failures>> {
        let update = diesel::update(one!(world, id)).set((
            webhook_endpoints::failed_attempts.eq(webhook_endpoints::failed_attempts + attempts),
            webhook_endpoints::failed_deliveries
                .eq(webhook_endpoints::failed_deliveries + deliveries),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        if self.done(updated)? == 0 {
            return Ok(None);
        }
        let first = one!(world, id).filter(webhook_endpoints::failures_since.is_null());
        let update = diesel::update(first).set(webhook_endpoints::failures_since.eq(at.unix()));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated)?;
        if is_failing {
            let first = one!(world, id).filter(webhook_endpoints::failing_since.is_null());
            let update = diesel::update(first).set(webhook_endpoints::failing_since.eq(at.unix()));
            let updated = Prepared(update).execute(self.writing()?).await;
            self.done(updated)?;
        }
        let query = one!(world, id).select(FailuresRow::as_select());
        let found = query.first(self.writing()?).await.optional();
        self.done(found)?.map(Failures::try_from).transpose()
    }

    async fn note_owner_notified(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
    ) -> StoreResult<bool> {
        let unemitted = one!(world, id)
            .filter(webhook_endpoints::failing_since.is_not_null())
            .filter(webhook_endpoints::failing_emitted.eq(false));
        let update = diesel::update(unemitted).set(webhook_endpoints::failing_emitted.eq(true));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn insert_secret(&mut self, secret: &SealedSecret) -> StoreResult<()> {
        let insert = diesel::insert_into(webhook_secrets::table).values(SecretRow::from(secret));
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted).map(drop)
    }

    async fn secrets(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        now: Timestamp,
    ) -> StoreResult<Vec<SealedSecret>> {
        let query = in_world!(webhook_secrets, world)
            .filter(webhook_secrets::endpoint_id.eq(id.to_string()))
            .filter(living!(now))
            .order(newest_first!())
            .select(SecretRow::as_select());
        load_all!(self, query)
    }

    async fn all_secrets(&mut self, app: AppId, now: Timestamp) -> StoreResult<Vec<SealedSecret>> {
        let query = webhook_secrets::table
            .filter(webhook_secrets::app_id.eq(app.to_string()))
            .filter(living!(now))
            .order(newest_first!())
            .select(SecretRow::as_select());
        load_all!(self, query)
    }

    async fn expire_secrets(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        newest: Timestamp,
        earlier: Timestamp,
    ) -> StoreResult<()> {
        let older = in_world!(webhook_secrets, world)
            .filter(webhook_secrets::endpoint_id.eq(id.to_string()))
            .filter(webhook_secrets::expires_at.gt(earlier.unix()));
        let update = diesel::update(older).set(webhook_secrets::expires_at.eq(earlier.unix()));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated)?;
        let last = in_world!(webhook_secrets, world)
            .filter(webhook_secrets::endpoint_id.eq(id.to_string()))
            .filter(webhook_secrets::expires_at.is_null());
        let update = diesel::update(last).set(webhook_secrets::expires_at.eq(newest.unix()));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated).map(drop)
    }

    async fn sweep_secrets(&mut self, expired_by: Timestamp) -> StoreResult<u64> {
        let old = webhook_secrets::table
            .filter(webhook_secrets::expires_at.le(expired_by.unix()))
            .order(webhook_secrets::expires_at);
        delete_limited!(self, webhook_secrets, old)
    }
}
