//! Mapping from keys of other services to imported users.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::UserId;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{ImportedUsers, StoreResult};

use super::{Unit, in_world};
use vestry_store_rows::rows::Table;
use vestry_store_rows::schema::imported_users;

#[port]
impl ImportedUsers for Unit {
    async fn note(
        &mut self,
        world: &World,
        external_key: &str,
        user: UserId,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let insert = diesel::insert_into(imported_users::table)
            .values((
                imported_users::app_id.eq(world.app_id.to_string()),
                imported_users::environment.eq(world.environment.as_str()),
                imported_users::external_key.eq(external_key),
                imported_users::user_id.eq(user.to_string()),
                imported_users::created_at.eq(at.unix()),
            ))
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        Ok(self.done(inserted)? == 1)
    }

    async fn find(&mut self, world: &World, external_key: &str) -> StoreResult<Option<UserId>> {
        let query = in_world!(imported_users, world)
            .filter(imported_users::external_key.eq(external_key))
            .select(imported_users::user_id);
        let found = query.first::<String>(self.reading()?).await.optional();
        let table = Table("imported_users");
        let found = self.done(found)?;
        found.map(|id| table.parse("user_id", &id)).transpose()
    }
}
