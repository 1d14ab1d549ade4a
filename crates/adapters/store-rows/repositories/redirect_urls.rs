//! Registered redirect URLs.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{AppId, RedirectUrlId};
use vestry_ports::port;
use vestry_ports::store::{RedirectUrl, RedirectUrls, StoreError, StoreResult};

use super::{Unit, in_world, load_all};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::apps::RedirectUrlRow;
use vestry_store_rows::schema::redirect_urls;

#[port]
impl RedirectUrls for Unit {
    async fn insert(&mut self, url: &RedirectUrl) -> StoreResult<bool> {
        let insert = diesel::insert_into(redirect_urls::table)
            .values(RedirectUrlRow::not_default(url))
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        if self.done(inserted)? == 0 {
            return Ok(false);
        }
        if url.is_default {
            self.make_default(url).await?;
        }
        Ok(true)
    }

    async fn list(&mut self, app: AppId) -> StoreResult<Vec<RedirectUrl>> {
        let query = redirect_urls::table
            .filter(redirect_urls::app_id.eq(app.to_string()))
            .order((redirect_urls::created_at, redirect_urls::id))
            .select(RedirectUrlRow::as_select());
        load_all!(self, query)
    }

    async fn remove(&mut self, app: AppId, id: RedirectUrlId) -> StoreResult<bool> {
        let url = redirect_urls::table.filter(
            (redirect_urls::app_id.eq(app.to_string())).and(redirect_urls::id.eq(id.to_string())),
        );
        let deleted = diesel::delete(url).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }
}

impl Unit {
    /// Makes a stored URL the default, replacing the previous one.
    async fn make_default(&mut self, url: &RedirectUrl) -> StoreResult<()> {
        let of_kind =
            in_world!(redirect_urls, url.world).filter(redirect_urls::kind.eq(url.kind.as_str()));
        let earlier = of_kind.clone().filter(redirect_urls::is_default);
        let update = diesel::update(earlier).set(redirect_urls::is_default.eq(false));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated)?;

        let this = of_kind.filter(redirect_urls::id.eq(url.id.to_string()));
        let update = diesel::update(this).set(redirect_urls::is_default.eq(true));
        let updated = Prepared(update).execute(self.writing()?).await;
        // A concurrent transaction has made another URL the first default of this kind.
        let lost = matches!(
            updated,
            Err(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _))
        );
        match self.done(updated) {
            Err(_) if lost => Err(StoreError::Retry),
            outcome => outcome.map(drop),
        }
    }
}
