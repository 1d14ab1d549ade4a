//! The control chains of the audit log.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::audit::control::{
    ControlAction, ControlEntry, ControlFilter, ControlHead, Party,
};
use vestry_domain::ids::{AuditChainId, AuditEntryId};
use vestry_ports::port;
use vestry_ports::store::{ControlLog, StoreResult};

use super::{Unit, after, dialect, in_world, load_all};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::row_chunks::row_chunks;
use vestry_store_rows::rows::Table;
use vestry_store_rows::rows::control::{ControlEntryRow, ControlHeadRow};
use vestry_store_rows::schema::{control_chains, control_entries};

impl Unit {
    /// Moves a head that has not been moved since it was read.
    async fn move_control_head(
        &mut self,
        after: &ControlHead,
        head: &ControlHead,
    ) -> StoreResult<bool> {
        let unmoved = in_world!(control_chains, head.world)
            .filter(control_chains::number.eq(head.number))
            .filter(control_chains::chain.eq(head.chain.to_string()))
            .filter(control_chains::sequence.eq(after.sequence))
            .filter(control_chains::hash.eq(after.hash.as_slice()));
        // The key is left out: on a cluster it determines where the row is stored, and cannot be set even to its present value.
        let update = diesel::update(unmoved).set((
            control_chains::sequence.eq(head.sequence),
            control_chains::hash.eq(head.hash.as_slice()),
            control_chains::mac_key_version.eq(i64::from(head.mac.key_version)),
            control_chains::mac.eq(head.mac.tag.as_slice()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    /// Inserts the head of another chain, unless a chain with this number exists.
    async fn begin_control_chain(&mut self, head: &ControlHead) -> StoreResult<bool> {
        let insert = diesel::insert_into(control_chains::table)
            .values(ControlHeadRow::from(head))
            .on_conflict_do_nothing();
        let inserted = Prepared(insert).execute(self.writing()?).await;
        Ok(self.done(inserted)? == 1)
    }
}

#[port]
impl ControlLog for Unit {
    async fn lock_head(&mut self, world: &World) -> StoreResult<Option<ControlHead>> {
        // All callers lock the same row, even while another chain is begun: it represents the world.
        let lowest = in_world!(control_chains, world)
            .order(control_chains::number)
            .limit(1)
            .select(control_chains::number);
        let lowest = dialect::for_update!(lowest)
            .first::<i64>(self.writing()?)
            .await
            .optional();
        if self.done(lowest)?.is_none() {
            return Ok(None);
        }
        // A separate statement, so that it sees what the previous lock holder committed.
        let highest = in_world!(control_chains, world)
            .order(control_chains::number.desc())
            .limit(1)
            .select(ControlHeadRow::as_select());
        let highest = highest.first(self.writing()?).await.optional();
        self.done(highest)?.map(ControlHead::try_from).transpose()
    }

    async fn append(
        &mut self,
        after: Option<&ControlHead>,
        entries: &[ControlEntry],
        head: &ControlHead,
    ) -> StoreResult<bool> {
        let is_written = match after.filter(|after| after.number == head.number) {
            Some(after) => self.move_control_head(after, head).await?,
            None => self.begin_control_chain(head).await?,
        };
        if !is_written {
            return Ok(false);
        }
        for chunk in row_chunks(entries) {
            let rows: Vec<_> = chunk.iter().map(ControlEntryRow::from).collect();
            let conn = self.writing()?;
            let inserted = dialect::insert_all!(conn, control_entries::table, rows).await;
            self.done(inserted)?;
        }
        Ok(true)
    }

    async fn mark_at(
        &mut self,
        world: &World,
        chain: AuditChainId,
        sequence: i64,
    ) -> StoreResult<Option<(AuditEntryId, [u8; 32])>> {
        let query = in_world!(control_entries, world)
            .filter(control_entries::chain.eq(chain.to_string()))
            .filter(control_entries::sequence.eq(sequence))
            .select((control_entries::id, control_entries::hash));
        let found = query
            .first::<(String, Vec<u8>)>(self.reading()?)
            .await
            .optional();
        let table = Table("control_entries");
        let found = self.done(found)?;
        found
            .map(|(id, hash)| Ok((table.parse("id", &id)?, table.digest("hash", &hash)?)))
            .transpose()
    }

    async fn heads(&mut self, world: &World) -> StoreResult<Vec<ControlHead>> {
        let query = in_world!(control_chains, world)
            .order(control_chains::number)
            .select(ControlHeadRow::as_select());
        load_all!(self, query)
    }

    async fn all_heads(
        &mut self,
        after: Option<(World, i64)>,
        limit: i64,
    ) -> StoreResult<Vec<ControlHead>> {
        let mut query = control_chains::table
            .order((
                control_chains::app_id,
                control_chains::environment,
                control_chains::number,
            ))
            .limit(limit)
            .select(ControlHeadRow::as_select())
            .into_boxed();
        if let Some((world, number)) = after {
            query = query.filter(after!(world, number: BigInt = number));
        }
        load_all!(self, query)
    }

    async fn page(
        &mut self,
        world: &World,
        filter: &ControlFilter,
        after: Option<AuditEntryId>,
        limit: i64,
    ) -> StoreResult<Vec<ControlEntry>> {
        let mut query = in_world!(control_entries, world)
            .order(control_entries::id.desc())
            .limit(limit)
            .select(ControlEntryRow::as_select())
            .into_boxed();
        if let Some(after) = after {
            query = query.filter(control_entries::id.lt(after.to_string()));
        }
        query = match &filter.actor {
            None => query,
            Some(Party::Kind(kind)) => query.filter(control_entries::actor_kind.eq(kind)),
            Some(Party::Id(id)) => query.filter(control_entries::actor_id.eq(id)),
        };
        if !filter.actions.is_empty() {
            let actions = filter.actions.iter().copied().map(ControlAction::as_str);
            query = query.filter(control_entries::action.eq_any(actions.collect::<Vec<_>>()));
        }
        query = match &filter.subject {
            None => query,
            Some(Party::Kind(kind)) => {
                query.filter(control_entries::subject_kind.eq(kind.as_str()))
            }
            Some(Party::Id(id)) => query.filter(control_entries::subject_id.eq(id)),
        };
        if let Some(outcome) = filter.outcome {
            query = query.filter(control_entries::outcome.eq(outcome.as_str()));
        }
        if let Some(from) = filter.from {
            query = query.filter(control_entries::happened_at.ge(from.unix()));
        }
        if let Some(until) = filter.until {
            query = query.filter(control_entries::happened_at.lt(until.unix()));
        }
        load_all!(self, query)
    }
}
