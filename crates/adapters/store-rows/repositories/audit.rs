//! The audit log.

use diesel::dsl::{exists, not, sql};
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel::sql_types::{Bool, Text};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::audit::{AuditAction, AuditEntry, AuditHead, AuditMarker, AuditStep};
use vestry_domain::ids::{AuditChainId, AuditEntryId, WalletId};
use vestry_ports::port;
use vestry_ports::store::{AuditLog, Repositories, StoreResult};

use super::dialect::{append_step_by_step, append_to_audit_log, commit_to_audit_log};
use super::{Unit, in_world, read_all};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::Table;
use vestry_store_rows::rows::audit::{AuditEntryRow, AuditHeadRow, AuditMarkerRow, AuditStepRow};
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
                let behind = sql::<Bool>("(app_id, environment) > (")
                    .bind::<Text, _>(after.app_id.to_string())
                    .sql(", ")
                    .bind::<Text, _>(after.environment.as_str())
                    .sql(")");
                query = query.filter(behind);
            }
            let first = query.first($unit.reading()?).await.optional();
            found.extend($unit.done(first)?);
        })*
        found
    }};
}

fn rows(entries: &[AuditEntry], steps: &[AuditStep]) -> (Vec<AuditEntryRow>, Vec<AuditStepRow>) {
    (
        entries.iter().map(AuditEntryRow::from).collect(),
        steps.iter().map(AuditStepRow::from).collect(),
    )
}

impl Unit {
    /// [`vestry_ports::store::Store::append_to_audit_log`], on a connection without a transaction; not for a distributed database.
    pub(crate) async fn append_to_audit_log(
        mut self,
        entries: &[AuditEntry],
        steps: &[AuditStep],
    ) -> StoreResult<Vec<AuditChainId>> {
        let (rows, step_rows) = rows(entries, steps);
        let committed = commit_to_audit_log(self.writing()?, rows, step_rows).await;
        let written = self.done(committed)?;
        self.left_behind(entries, steps, written).await
    }

    /// Returns the chains to which nothing was written, if any.
    async fn left_behind(
        &mut self,
        entries: &[AuditEntry],
        steps: &[AuditStep],
        written: usize,
    ) -> StoreResult<Vec<AuditChainId>> {
        if written == entries.len() {
            return Ok(Vec::new());
        }
        let mut left = Vec::new();
        for AuditStep { head, .. } in steps {
            // No other process writes to this chain.
            let now = self.audit_log().head(&head.world, head.chain).await?;
            if now.as_ref() != Some(head) {
                left.push(head.chain);
            }
        }
        Ok(left)
    }
}

#[port]
impl AuditLog for Unit {
    async fn append(
        &mut self,
        entries: &[AuditEntry],
        steps: &[AuditStep],
    ) -> StoreResult<Vec<AuditChainId>> {
        let (rows, step_rows) = rows(entries, steps);
        let is_distributed = self.is_distributed();
        let conn = self.writing()?;
        let appended = if is_distributed {
            append_step_by_step(conn, rows, step_rows).await
        } else {
            append_to_audit_log(conn, rows, step_rows).await
        };
        let written = self.done(appended)?;
        self.left_behind(entries, steps, written).await
    }

    async fn of_wallet(
        &mut self,
        world: &World,
        wallet: WalletId,
        after: Option<AuditEntryId>,
        limit: i64,
    ) -> StoreResult<Vec<AuditEntry>> {
        let mut query = in_world!(audit_entries, world)
            .filter(audit_entries::wallet_id.eq(wallet.to_string()))
            .order(audit_entries::id.desc())
            .limit(limit)
            .select(AuditEntryRow::as_select())
            .into_boxed();
        if let Some(after) = after {
            query = query.filter(audit_entries::id.lt(after.to_string()));
        }
        let found = query.load(self.reading()?).await;
        read_all(self.done(found)?)
    }

    async fn has(
        &mut self,
        world: &World,
        wallet: WalletId,
        action: AuditAction,
    ) -> StoreResult<bool> {
        let entries = in_world!(audit_entries, world)
            .filter(audit_entries::wallet_id.eq(wallet.to_string()))
            .filter(audit_entries::action.eq(action.as_str()))
            .select(audit_entries::id)
            .limit(1);
        let found = entries.load::<String>(self.reading()?).await;
        Ok(!self.done(found)?.is_empty())
    }

    async fn heads(&mut self, world: &World) -> StoreResult<Vec<AuditHead>> {
        let query = in_world!(audit_chains, world)
            .order(audit_chains::chain)
            .select(AuditHeadRow::as_select());
        let found = query.load(self.reading()?).await;
        read_all(self.done(found)?)
    }

    async fn all_heads(
        &mut self,
        after: Option<(World, AuditChainId)>,
        limit: i64,
    ) -> StoreResult<Vec<AuditHead>> {
        let mut query = audit_chains::table
            .order((
                audit_chains::app_id,
                audit_chains::environment,
                audit_chains::chain,
            ))
            .limit(limit)
            .select(AuditHeadRow::as_select())
            .into_boxed();
        if let Some((world, chain)) = after {
            let behind = sql::<Bool>("(app_id, environment, chain) > (")
                .bind::<Text, _>(world.app_id.to_string())
                .sql(", ")
                .bind::<Text, _>(world.environment.as_str())
                .sql(", ")
                .bind::<Text, _>(chain.to_string())
                .sql(")");
            query = query.filter(behind);
        }
        let found = query.load(self.reading()?).await;
        read_all(self.done(found)?)
    }

    async fn head(&mut self, world: &World, chain: AuditChainId) -> StoreResult<Option<AuditHead>> {
        let query = in_world!(audit_chains, world)
            .filter(audit_chains::chain.eq(chain.to_string()))
            .select(AuditHeadRow::as_select());
        let found = query.first(self.reading()?).await.optional();
        self.done(found)?.map(AuditHead::try_from).transpose()
    }

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

    async fn headless(&mut self, world: &World) -> StoreResult<Vec<AuditChainId>> {
        let head = audit_chains::table
            .filter(audit_chains::app_id.eq(audit_entries::app_id))
            .filter(audit_chains::environment.eq(audit_entries::environment))
            .filter(audit_chains::chain.eq(audit_entries::chain));
        let query = in_world!(audit_entries, world)
            .filter(not(exists(head)))
            .order(audit_entries::chain)
            .select(audit_entries::chain)
            .distinct();
        let found = query.load::<String>(self.reading()?).await;
        let table = Table("audit_entries");
        let found = self.done(found)?;
        found
            .iter()
            .map(|chain| table.parse("chain", chain))
            .collect()
    }

    async fn of_chain(
        &mut self,
        world: &World,
        chain: AuditChainId,
        after: i64,
        limit: i64,
    ) -> StoreResult<Vec<AuditEntry>> {
        let query = in_world!(audit_entries, world)
            .filter(audit_entries::chain.eq(chain.to_string()))
            .filter(audit_entries::sequence.gt(after))
            .order(audit_entries::sequence)
            .limit(limit)
            .select(AuditEntryRow::as_select());
        let found = query.load(self.reading()?).await;
        read_all(self.done(found)?)
    }

    async fn markers(&mut self, world: &World) -> StoreResult<Vec<AuditMarker>> {
        let query = in_world!(audit_markers, world)
            .order(audit_markers::chain)
            .select(AuditMarkerRow::as_select());
        let found = query.load(self.reading()?).await;
        read_all(self.done(found)?)
    }

    async fn marker(
        &mut self,
        world: &World,
        chain: AuditChainId,
    ) -> StoreResult<Option<AuditMarker>> {
        let query = in_world!(audit_markers, world)
            .filter(audit_markers::chain.eq(chain.to_string()))
            .select(AuditMarkerRow::as_select());
        let found = query.first(self.reading()?).await.optional();
        self.done(found)?.map(AuditMarker::try_from).transpose()
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
