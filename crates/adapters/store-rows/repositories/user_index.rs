//! Derived data that makes users searchable and countable.

use std::collections::HashSet;

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_domain::search::MetadataDigest;
use vestry_domain::user::{User, UserStatus};
use vestry_ports::store::StoreResult;

use super::{Unit, dialect, in_world};
use vestry_store_rows::lock_order::Rank;
use vestry_store_rows::schema::user_metadata;
use vestry_store_rows::status_counters::StatusCounters;

/// Number of rows that count the users of a world with the same status: as many sign-ups can commit concurrently.
const SHARDS: u8 = 16;

/// Returns the row that counts this user; always the same one. Ids end in random characters.
fn shard(id: UserId) -> i64 {
    let last = id.to_string().bytes().last().unwrap_or_default();
    (last % SHARDS).into()
}

impl Unit {
    /// Adds to the user counts per status, in the transaction that creates, deletes or activates the user. Their rows are locked in the
    /// given order.
    pub(super) async fn count_user<const N: usize>(
        &mut self,
        world: &World,
        id: UserId,
        changes: [(UserStatus, i64); N],
    ) -> StoreResult<()> {
        let counters = StatusCounters {
            app_id: world.app_id.to_string(),
            environment: world.environment.as_str(),
            shard: shard(id),
            changes: changes.map(|(status, by)| (status.as_str(), by)),
        };
        let rank = Rank::Users {
            shard: counters.shard,
            is_active: (changes.as_slice().first())
                .is_some_and(|(status, _)| *status == UserStatus::Active),
        };
        let counted = dialect::defer_to_commit!(self.writing()?, rank, counters).await;
        self.done(counted)
    }

    /// Updates the search index of the user's metadata.
    pub(super) async fn index_metadata(&mut self, user: &User) -> StoreResult<()> {
        let id = user.id.to_string();
        let query = in_world!(user_metadata, user.world)
            .filter(user_metadata::user_id.eq(&id))
            .select(user_metadata::digest);
        let found = query.load(self.reading()?).await;
        let known: Vec<Vec<u8>> = self.done(found)?;
        let wanted = digests(user);
        let (kept, gone): (HashSet<_>, Vec<_>) = {
            let (kept, gone): (Vec<_>, Vec<_>) = known
                .into_iter()
                .partition(|digest| wanted.contains(digest));
            (kept.into_iter().collect(), gone)
        };
        if !gone.is_empty() {
            let rows = in_world!(user_metadata, user.world)
                .filter(user_metadata::user_id.eq(&id))
                .filter(user_metadata::digest.eq_any(gone));
            let deleted = diesel::delete(rows).execute(self.writing()?).await;
            self.done(deleted)?;
        }
        let new = wanted.into_iter().filter(|digest| !kept.contains(digest));
        self.add_digests(user, new).await
    }

    /// Adds a new user's metadata to the search index.
    pub(super) async fn index_new_metadata(&mut self, user: &User) -> StoreResult<()> {
        self.add_digests(user, digests(user).into_iter()).await
    }

    async fn add_digests(
        &mut self,
        user: &User,
        digests: impl Iterator<Item = Vec<u8>> + Send,
    ) -> StoreResult<()> {
        for digest in digests {
            let insert = diesel::insert_into(user_metadata::table).values((
                user_metadata::app_id.eq(user.world.app_id.to_string()),
                user_metadata::environment.eq(user.world.environment.as_str()),
                user_metadata::user_id.eq(user.id.to_string()),
                user_metadata::digest.eq(digest),
            ));
            let inserted = dialect::defer!(self.writing()?, insert).await;
            self.done(inserted)?;
        }
        Ok(())
    }
}

fn digests(user: &User) -> HashSet<Vec<u8>> {
    let fields = user.metadata.as_object().iter();
    let digests = fields.filter_map(|(key, value)| MetadataDigest::of(key, value));
    digests.map(|digest| digest.0.to_vec()).collect()
}
