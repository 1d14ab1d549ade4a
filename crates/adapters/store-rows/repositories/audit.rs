//! The audit log of wallets.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::audit::{AuditAction, AuditEntry, AuditHead, AuditStep};
use vestry_domain::ids::{AuditChainId, AuditEntryId, WalletId};
use vestry_ports::port;
use vestry_ports::store::{AuditLog, Repositories, StoreResult};

use super::dialect::{append_step_by_step, append_to_audit_log, commit_to_audit_log};
use super::{Unit, after, in_world, load_all, load_first};
use vestry_store_rows::rows::audit::{AuditEntryRow, AuditHeadRow, AuditStepRow};
use vestry_store_rows::schema::{audit_chains, audit_entries};

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
        load_all!(self, query)
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
        load_all!(self, query)
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
            query = query.filter(after!(world, chain: Text = chain.to_string()));
        }
        load_all!(self, query)
    }

    async fn head(&mut self, world: &World, chain: AuditChainId) -> StoreResult<Option<AuditHead>> {
        let query = in_world!(audit_chains, world)
            .filter(audit_chains::chain.eq(chain.to_string()))
            .select(AuditHeadRow::as_select());
        load_first!(self, query)
    }
}
