//! App keys, wrapped by the root key.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::envelope::{AppKey, KeyPurpose, WrappedKey};
use vestry_ports::port;
use vestry_ports::store::{AppKeys, KeyUsage, StoreResult};

use super::dialect::{for_key_share, for_share, for_update};
use super::{Unit, in_world, load_all, load_first, read_all};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::apps::AppKeyRow;
use vestry_store_rows::schema::app_keys;

#[port]
impl AppKeys for Unit {
    async fn insert(&mut self, key: &AppKey) -> StoreResult<()> {
        let insert = diesel::insert_into(app_keys::table).values(AppKeyRow::from(key));
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted).map(drop)
    }

    async fn add(&mut self, key: &AppKey) -> StoreResult<bool> {
        let insert = diesel::insert_into(app_keys::table)
            .values(AppKeyRow::from(key))
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        Ok(self.done(inserted)? == 1)
    }

    async fn lock_below(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Vec<AppKey>> {
        let below = in_world!(app_keys, world)
            .filter(app_keys::purpose.eq(purpose.as_str()))
            .filter(app_keys::version.lt(i64::from(version)))
            .order(app_keys::version)
            .select(AppKeyRow::as_select());
        let locked = for_update!(below).load(self.writing()?).await;
        read_all(self.done(locked)?)
    }

    async fn references_below(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Vec<KeyUsage>> {
        match purpose {
            KeyPurpose::Wallets => self.references_by_wallets(world, version).await,
            KeyPurpose::Secrets => {
                let mut standing = self
                    .references_by_persistent_secrets(world, version)
                    .await?;
                standing.extend(self.references_by_expiring_rows(world, version).await?);
                Ok(standing)
            }
            // These keys protect nothing that the check of this purpose would have to wait for.
            KeyPurpose::PastAudit | KeyPurpose::Decoys | KeyPurpose::Audit => Ok(Vec::new()),
        }
    }

    async fn remove(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<bool> {
        let key = in_world!(app_keys, world)
            .filter(app_keys::purpose.eq(purpose.as_str()))
            .filter(app_keys::version.eq(i64::from(version)));
        let removed = diesel::delete(key).execute(self.writing()?).await;
        Ok(self.done(removed)? == 1)
    }

    async fn hold(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<bool> {
        let query = in_world!(app_keys, world)
            .filter(app_keys::purpose.eq(purpose.as_str()))
            .filter(app_keys::version.eq(i64::from(version)))
            .select(app_keys::version);
        let held = for_key_share!(query).load::<i64>(self.writing()?).await;
        Ok(!self.done(held)?.is_empty())
    }

    async fn hold_root(&mut self, purpose: KeyPurpose, root_version: u32) -> StoreResult<bool> {
        let of_purpose = || app_keys::table.filter(app_keys::purpose.eq(purpose.as_str()));
        let root_version = i64::from(root_version);
        // Find a row first, then lock it by its key: on a cluster no statement can lock rows of several Apps.
        loop {
            let under_it = of_purpose()
                .filter(app_keys::root_version.eq(root_version))
                .select((app_keys::app_id, app_keys::environment, app_keys::version))
                .limit(1);
            let found = under_it
                .first::<(String, String, i64)>(self.writing()?)
                .await;
            let Some((app, environment, version)) = self.done(found.optional())? else {
                break;
            };
            let it = of_purpose()
                .filter(app_keys::app_id.eq(app))
                .filter(app_keys::environment.eq(environment))
                .filter(app_keys::version.eq(version))
                .filter(app_keys::root_version.eq(root_version))
                .select(app_keys::version);
            let held = for_share!(it).load::<i64>(self.writing()?).await;
            if !self.done(held)?.is_empty() {
                return Ok(true);
            }
            // The key was rewrapped in between.
        }
        let any = of_purpose().select(app_keys::version).limit(1);
        let any = any.load::<i64>(self.writing()?).await;
        Ok(self.done(any)?.is_empty())
    }

    async fn find(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Option<AppKey>> {
        let query = in_world!(app_keys, world)
            .filter(app_keys::purpose.eq(purpose.as_str()))
            .filter(app_keys::version.eq(i64::from(version)))
            .select(AppKeyRow::as_select());
        load_first!(self, query)
    }

    async fn newest(&mut self, world: &World, purpose: KeyPurpose) -> StoreResult<Option<AppKey>> {
        let query = in_world!(app_keys, world)
            .filter(app_keys::purpose.eq(purpose.as_str()))
            .order(app_keys::version.desc())
            .select(AppKeyRow::as_select());
        load_first!(self, query)
    }

    async fn all(&mut self) -> StoreResult<Vec<AppKey>> {
        let query = app_keys::table
            .order((
                app_keys::app_id,
                app_keys::environment,
                app_keys::purpose,
                app_keys::version,
            ))
            .select(AppKeyRow::as_select());
        load_all!(self, query)
    }

    async fn rewrap(&mut self, key: &AppKey, from: u32, to: &WrappedKey) -> StoreResult<bool> {
        let wrapped_by_it = in_world!(app_keys, key.world)
            .filter(app_keys::purpose.eq(key.purpose.as_str()))
            .filter(app_keys::version.eq(i64::from(key.version)))
            .filter(app_keys::root_version.eq(i64::from(from)));
        let update = diesel::update(wrapped_by_it).set((
            app_keys::root_version.eq(i64::from(to.root_version)),
            app_keys::wrapped.eq(&to.bytes),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }
}
