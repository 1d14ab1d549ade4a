//! Checkpoints of the audit log, and the progress of the sinks.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use vestry_domain::envelope::Mac;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Checkpoints, SinkProgress, StoreResult, StoredCheckpoint};

use super::{Unit, count, in_world};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::Table;
use vestry_store_rows::schema::{checkpoint_sinks, checkpoints};

type Row = (i64, i64, String);
type SinkRow = (String, i64, i64, i64, Vec<u8>);

fn kept((number, made_at, note): Row) -> StoredCheckpoint {
    StoredCheckpoint {
        number,
        at: Timestamp::from_unix(made_at),
        note,
    }
}

#[port]
impl Checkpoints for Unit {
    async fn newest(&mut self, world: &World) -> StoreResult<Option<StoredCheckpoint>> {
        let query = in_world!(checkpoints, world)
            .order(checkpoints::number.desc())
            .limit(1)
            .select((checkpoints::number, checkpoints::made_at, checkpoints::note));
        let found = query.first::<Row>(self.reading()?).await.optional();
        Ok(self.done(found)?.map(kept))
    }

    async fn add(&mut self, world: &World, checkpoint: &StoredCheckpoint) -> StoreResult<bool> {
        let row = (
            checkpoints::app_id.eq(world.app_id.to_string()),
            checkpoints::environment.eq(world.environment.as_str()),
            checkpoints::number.eq(checkpoint.number),
            checkpoints::made_at.eq(checkpoint.at.unix()),
            checkpoints::note.eq(&checkpoint.note),
        );
        let insert = diesel::insert_into(checkpoints::table)
            .values(row)
            .on_conflict_do_nothing();
        let inserted = Prepared(insert).execute(self.writing()?).await;
        Ok(self.done(inserted)? == 1)
    }

    async fn after(
        &mut self,
        world: &World,
        number: i64,
        limit: i64,
    ) -> StoreResult<Vec<StoredCheckpoint>> {
        let query = in_world!(checkpoints, world)
            .filter(checkpoints::number.gt(number))
            .order(checkpoints::number)
            .limit(limit)
            .select((checkpoints::number, checkpoints::made_at, checkpoints::note));
        let found = query.load::<Row>(self.reading()?).await;
        Ok(self.done(found)?.into_iter().map(kept).collect())
    }

    async fn sinks(&mut self, world: &World) -> StoreResult<Vec<SinkProgress>> {
        let query = in_world!(checkpoint_sinks, world)
            .order(checkpoint_sinks::sink)
            .select((
                checkpoint_sinks::sink,
                checkpoint_sinks::number,
                checkpoint_sinks::taken_at,
                checkpoint_sinks::mac_key_version,
                checkpoint_sinks::mac,
            ));
        let found = query.load::<SinkRow>(self.reading()?).await;
        let found = self.done(found)?.into_iter();
        let table = Table("checkpoint_sinks");
        let progress = found.map(|(sink, number, taken_at, key_version, tag)| {
            Ok(SinkProgress {
                sink,
                number,
                at: Timestamp::from_unix(taken_at),
                mac: Mac {
                    key_version: table.small("mac_key_version", key_version)?,
                    tag,
                },
            })
        });
        progress.collect()
    }

    async fn note_sink(&mut self, world: &World, progress: &SinkProgress) -> StoreResult<()> {
        let row = (
            checkpoint_sinks::app_id.eq(world.app_id.to_string()),
            checkpoint_sinks::environment.eq(world.environment.as_str()),
            checkpoint_sinks::sink.eq(&progress.sink),
            checkpoint_sinks::number.eq(progress.number),
            checkpoint_sinks::taken_at.eq(progress.at.unix()),
            checkpoint_sinks::mac_key_version.eq(i64::from(progress.mac.key_version)),
            checkpoint_sinks::mac.eq(progress.mac.tag.as_slice()),
        );
        let upsert = diesel::insert_into(checkpoint_sinks::table)
            .values(row)
            .on_conflict((
                checkpoint_sinks::app_id,
                checkpoint_sinks::environment,
                checkpoint_sinks::sink,
            ))
            .do_update()
            .set((
                checkpoint_sinks::number.eq(excluded(checkpoint_sinks::number)),
                checkpoint_sinks::taken_at.eq(excluded(checkpoint_sinks::taken_at)),
                checkpoint_sinks::mac_key_version.eq(excluded(checkpoint_sinks::mac_key_version)),
                checkpoint_sinks::mac.eq(excluded(checkpoint_sinks::mac)),
            ));
        let noted = Prepared(upsert).execute(self.writing()?).await;
        self.done(noted).map(drop)
    }

    async fn sweep(
        &mut self,
        world: &World,
        below: i64,
        before: Timestamp,
        limit: i64,
    ) -> StoreResult<u64> {
        let oldest = in_world!(checkpoints, world)
            .filter(checkpoints::number.lt(below))
            .order(checkpoints::number)
            .limit(limit)
            .select((checkpoints::number, checkpoints::made_at));
        let oldest = oldest.load::<(i64, i64)>(self.writing()?).await;
        let oldest = self.done(oldest)?;
        let old = oldest.iter();
        let old = old.take_while(|(_, made_at)| *made_at < before.unix());
        let Some((last, _)) = old.last() else {
            return Ok(0);
        };
        let gone = in_world!(checkpoints, world).filter(checkpoints::number.le(*last));
        let deleted = diesel::delete(gone).execute(self.writing()?).await;
        self.done(deleted).map(count)
    }
}
