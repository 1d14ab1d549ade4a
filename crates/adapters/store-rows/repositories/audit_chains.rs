//! The chains of both audit logs.

use diesel::dsl::{exists, not};
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::audit::control::ControlEntry;
use vestry_domain::audit::{AuditAction, AuditEntry, AuditMarker};
use vestry_domain::ids::AuditChainId;
use vestry_ports::port;
use vestry_ports::store::{AuditChains, ChainEntry, ChainLog, StoreResult};

use super::{Unit, after, in_world, load_first, read_all};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::Table;
use vestry_store_rows::rows::audit::{AuditEntryRow, AuditMarkerRow};
use vestry_store_rows::rows::control::ControlEntryRow;
use vestry_store_rows::schema::{
    audit_chains, audit_entries, audit_markers, control_chains, control_entries, event_heads,
    events,
};

/// The first App and environment after a world in each of these tables, with one statement per table.
macro_rules! first_worlds {
    ($unit:ident, $after:ident, $($table:ident),*) => {{
        let mut found: Vec<(String, String)> = Vec::new();
        $({
            let mut query = $table::table
                .order(($table::app_id, $table::environment))
                .limit(1)
                .select(($table::app_id, $table::environment))
                .into_boxed();
            if let Some(after) = &$after {
                query = query.filter(after!(after));
            }
            let first = query.first($unit.reading()?).await.optional();
            found.extend($unit.done(first)?);
        })*
        found
    }};
}

/// The chains of a world in a table of entries that are missing in the table of heads.
macro_rules! headless {
    ($unit:ident, $world:expr, $entries:ident, $heads:ident) => {{
        let head = $heads::table
            .filter($heads::app_id.eq($entries::app_id))
            .filter($heads::environment.eq($entries::environment))
            .filter($heads::chain.eq($entries::chain));
        let query = in_world!($entries, $world)
            .filter(not(exists(head)))
            .order($entries::chain)
            .select($entries::chain)
            .distinct();
        let found = query.load::<String>($unit.reading()?).await;
        let found = $unit.done(found)?.into_iter();
        let table = Table(stringify!($entries));
        found.map(|chain| table.parse("chain", &chain)).collect()
    }};
}

/// The entries of a chain after a position.
macro_rules! entries {
    ($unit:ident, $world:expr, $table:ident, $row:ident, $entry:ident, $chain:expr, $after:expr, $limit:expr) => {{
        let query = in_world!($table, $world)
            .filter($table::chain.eq($chain.to_string()))
            .filter($table::sequence.gt($after))
            .order($table::sequence)
            .limit($limit)
            .select($row::as_select());
        let found = query.load($unit.reading()?).await;
        read_all::<$row, $entry>($unit.done(found)?)?.into_iter()
    }};
}

#[port]
impl AuditChains for Unit {
    async fn next_world(&mut self, after: Option<World>) -> StoreResult<Option<World>> {
        let found = first_worlds!(
            self,
            after,
            audit_entries,
            audit_chains,
            audit_markers,
            control_entries,
            control_chains,
            events,
            event_heads
        );
        let first = found.into_iter().min();
        let table = Table("audit_entries");
        first
            .map(|(app, environment)| table.world(&app, &environment))
            .transpose()
    }

    async fn headless(&mut self, world: &World, log: ChainLog) -> StoreResult<Vec<AuditChainId>> {
        match log {
            ChainLog::Wallets => headless!(self, world, audit_entries, audit_chains),
            ChainLog::Control => headless!(self, world, control_entries, control_chains),
        }
    }

    async fn entries(
        &mut self,
        world: &World,
        log: ChainLog,
        chain: AuditChainId,
        after: i64,
        limit: i64,
    ) -> StoreResult<Vec<ChainEntry>> {
        Ok(match log {
            ChainLog::Wallets => entries!(
                self,
                world,
                audit_entries,
                AuditEntryRow,
                AuditEntry,
                chain,
                after,
                limit
            )
            .map(ChainEntry::Use)
            .collect(),
            ChainLog::Control => entries!(
                self,
                world,
                control_entries,
                ControlEntryRow,
                ControlEntry,
                chain,
                after,
                limit
            )
            .map(ChainEntry::Change)
            .collect(),
        })
    }

    async fn marked_chains(&mut self, world: &World) -> StoreResult<Vec<AuditChainId>> {
        let query = in_world!(audit_markers, world)
            .order(audit_markers::chain)
            .select(audit_markers::chain);
        let found = query.load::<String>(self.reading()?).await;
        let found = self.done(found)?.into_iter();
        // A row of no chain is no marker. The chain that it was about lacks its own then.
        Ok(found.filter_map(|chain| chain.parse().ok()).collect())
    }

    async fn marker(
        &mut self,
        world: &World,
        chain: AuditChainId,
    ) -> StoreResult<Option<AuditMarker>> {
        let query = in_world!(audit_markers, world)
            .filter(audit_markers::chain.eq(chain.to_string()))
            .select(AuditMarkerRow::as_select());
        load_first!(self, query)
    }

    async fn move_marker(
        &mut self,
        before: Option<&AuditMarker>,
        marker: &AuditMarker,
    ) -> StoreResult<bool> {
        let Some(before) = before else {
            let insert = diesel::insert_into(audit_markers::table)
                .values(AuditMarkerRow::from(marker))
                .on_conflict_do_nothing();
            let inserted = Prepared(insert).execute(self.writing()?).await;
            return Ok(self.done(inserted)? == 1);
        };
        let unmoved = in_world!(audit_markers, marker.world)
            .filter(audit_markers::chain.eq(marker.chain.to_string()))
            .filter(audit_markers::sequence.eq(before.sequence))
            .filter(audit_markers::hash.eq(before.hash.as_slice()));
        let update = diesel::update(unmoved).set((
            audit_markers::sequence.eq(marker.sequence),
            audit_markers::hash.eq(marker.hash.as_slice()),
            audit_markers::mac_key_version.eq(i64::from(marker.mac.key_version)),
            audit_markers::mac.eq(marker.mac.tag.as_slice()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn prune(&mut self, marker: &AuditMarker) -> StoreResult<()> {
        let chain = marker.chain.to_string();
        let uses = in_world!(audit_entries, marker.world)
            .filter(audit_entries::chain.eq(&chain))
            .filter(audit_entries::sequence.le(marker.sequence))
            .filter(audit_entries::action.ne(AuditAction::Export.as_str()));
        let deleted = diesel::delete(uses).execute(self.writing()?).await;
        self.done(deleted)?;
        let changes = in_world!(control_entries, marker.world)
            .filter(control_entries::chain.eq(&chain))
            .filter(control_entries::sequence.le(marker.sequence));
        let deleted = diesel::delete(changes).execute(self.writing()?).await;
        self.done(deleted).map(drop)
    }
}
