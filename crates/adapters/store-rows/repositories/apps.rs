//! Apps.

use diesel::prelude::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::Timestamp;
use vestry_domain::app::{App, NamedEvents};
use vestry_domain::ids::AppId;
use vestry_domain::test_clock::TestClock;
use vestry_ports::port;
use vestry_ports::store::{Apps, StoreResult};

use super::{Unit, dialect, load_all, load_first};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::apps::AppRow;
use vestry_store_rows::rows::to_json;
use vestry_store_rows::schema::apps;

#[port]
impl Apps for Unit {
    async fn insert(&mut self, app: &App) -> StoreResult<()> {
        let row = AppRow::try_from(app)?;
        let insert = diesel::insert_into(apps::table).values(row);
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted).map(drop)
    }

    async fn find(&mut self, id: AppId) -> StoreResult<Option<App>> {
        let query = apps::table
            .filter(apps::id.eq(id.to_string()))
            .select(AppRow::as_select());
        load_first!(self, query)
    }

    async fn list(&mut self) -> StoreResult<Vec<App>> {
        let query = apps::table
            .filter(apps::id.ne(AppId::BUILT_IN.to_string()))
            .order((apps::created_at, apps::id))
            .select(AppRow::as_select());
        load_all!(self, query)
    }

    async fn update(&mut self, app: &App) -> StoreResult<bool> {
        let changes = (
            apps::name.eq(&app.name),
            apps::settings.eq(to_json(&app.settings)?),
            apps::disabled_at.eq(app.disabled_at.map(Timestamp::unix)),
            apps::updated_at.eq(app.updated_at.unix()),
        );
        let update =
            diesel::update(apps::table.filter(apps::id.eq(app.id.to_string()))).set(changes);
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn lock(&mut self, id: AppId) -> StoreResult<Option<App>> {
        let query = apps::table
            .filter(apps::id.eq(id.to_string()))
            .select(AppRow::as_select());
        let found = dialect::for_update!(query)
            .first(self.writing()?)
            .await
            .optional();
        self.done(found)?.map(App::try_from).transpose()
    }

    async fn name_events(&mut self, id: AppId, named: &NamedEvents) -> StoreResult<()> {
        let app = apps::table.filter(apps::id.eq(id.to_string()));
        let update = diesel::update(app).set(apps::named_events.eq(to_json(named)?));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated).map(drop)
    }

    async fn swap_test_clock(
        &mut self,
        app: AppId,
        from: &TestClock,
        to: &TestClock,
    ) -> StoreResult<bool> {
        let unchanged = apps::table
            .filter(apps::id.eq(app.to_string()))
            .filter(apps::test_clock.eq(to_json(from)?));
        let update = diesel::update(unchanged).set(apps::test_clock.eq(to_json(to)?));
        let swapped = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(swapped)? == 1)
    }
}
