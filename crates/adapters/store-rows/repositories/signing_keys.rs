//! Signing keys of session JWTs.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::signing_key::SigningKey;
use vestry_ports::port;
use vestry_ports::store::{SigningKeys, StoreResult};

use super::{Unit, in_world, read_all};
use vestry_store_rows::rows::apps::SigningKeyRow;
use vestry_store_rows::schema::signing_keys;

#[port]
impl SigningKeys for Unit {
    async fn insert(&mut self, key: &SigningKey) -> StoreResult<()> {
        let insert = diesel::insert_into(signing_keys::table).values(SigningKeyRow::from(key));
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted).map(drop)
    }

    async fn list(&mut self, world: &World) -> StoreResult<Vec<SigningKey>> {
        let query = in_world!(signing_keys, world)
            .order((signing_keys::created_at, signing_keys::id))
            .select(SigningKeyRow::as_select());
        let found = query.load(self.reading()?).await;
        read_all(self.done(found)?)
    }
}
