//! Signing keys of session JWTs.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::SigningKey;
use vestry_ports::port;
use vestry_ports::store::{SigningKeys, StoreResult};

use super::{Unit, in_world, load_all};
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
        load_all!(self, query)
    }

    async fn remove(&mut self, world: &World, id: SigningKeyId) -> StoreResult<bool> {
        let row = in_world!(signing_keys, world).filter(signing_keys::id.eq(id.to_string()));
        let deleted = diesel::delete(row).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }
}
