//! Statements over lists, executed in one call on the connection's thread. Items are processed one at a time, since there is no round trip
//! to save, and a statement of varying length would be prepared again each time. Users are the exception: pages have many of them, so they
//! are read in batches of a few sizes.

use std::collections::{BTreeMap, HashSet};

use diesel::connection::SimpleConnection;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, OptionalExtension, QueryDsl, RunQueryDsl,
    SelectableHelper,
};
use diesel::{QueryResult, SqliteConnection};
use vestry_domain::World;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::token::TokenHash;

use super::connection::Conn;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::activity::ActivityRow;
use vestry_store_rows::rows::audit::{AuditEntryRow, AuditStepRow};
use vestry_store_rows::rows::passkeys::PasskeyRow;
use vestry_store_rows::rows::providers::ProviderLinkRow;
use vestry_store_rows::rows::sessions::SessionRow;
use vestry_store_rows::rows::totps::TotpRow;
use vestry_store_rows::rows::users::{UserEmailRow, UserPhoneRow, UserRow};
use vestry_store_rows::rows::wallets::{WalletKeyRow, WalletRow};
use vestry_store_rows::rows::whole_users::{ExternalKeyRow, WholeUserRows};
use vestry_store_rows::schema::{
    activity, audit_chains, audit_entries, imported_users, passkeys, provider_links, sessions,
    totps, user_emails, user_phones, users, wallet_keys, wallets,
};
use vestry_store_rows::{add_counts, in_world, its_key};

/// Adds counts to rows.
pub(crate) async fn add_activity(conn: &mut Conn, rows: Vec<ActivityRow>) -> QueryResult<()> {
    let all = move |conn: &mut SqliteConnection| {
        for row in rows {
            add_counts!(row).execute(conn)?;
        }
        Ok(())
    };
    conn.spawn_blocking(all).await
}

/// Returns the existing wallets among these, with their keys.
pub(crate) async fn wallets_with_keys(
    conn: &mut Conn,
    wanted: Vec<(World, WalletId)>,
    _is_distributed: bool,
) -> QueryResult<Vec<(WalletRow, Option<WalletKeyRow>)>> {
    let all = move |conn: &mut SqliteConnection| {
        let mut found = Vec::with_capacity(wanted.len());
        for (world, id) in &wanted {
            let query = in_world!(wallets, world)
                .filter(wallets::id.eq(id.to_string()))
                .left_join(wallet_keys::table.on(its_key!()))
                .select((WalletRow::as_select(), Option::<WalletKeyRow>::as_select()));
            found.extend(query.first(conn).optional()?);
        }
        Ok(found)
    };
    conn.spawn_blocking(all).await
}

/// Returns the existing sessions among these, with their token hashes.
pub(crate) async fn sessions_by_tokens(
    conn: &mut Conn,
    wanted: Vec<(World, TokenHash)>,
    _is_distributed: bool,
) -> QueryResult<Vec<(SessionRow, Vec<u8>)>> {
    let all = move |conn: &mut SqliteConnection| {
        let mut found = Vec::with_capacity(wanted.len());
        for (world, token) in &wanted {
            let query = in_world!(sessions, world)
                .filter(sessions::token_hash.eq(token.0.as_slice()))
                .select((SessionRow::as_select(), sessions::token_hash));
            found.extend(query.first(conn).optional()?);
        }
        Ok(found)
    };
    conn.spawn_blocking(all).await
}

/// Returns the existing users among these, with all their rows.
pub(crate) async fn whole_user_rows(
    conn: &mut Conn,
    wanted: Vec<(World, UserId)>,
    _is_distributed: bool,
) -> QueryResult<WholeUserRows> {
    let all = move |conn: &mut SqliteConnection| {
        let mut worlds = BTreeMap::<World, Vec<String>>::new();
        for (world, id) in wanted {
            worlds.entry(world).or_default().push(id.to_string());
        }
        let mut rows = WholeUserRows::default();
        for (world, mut ids) in worlds {
            pad(&mut ids);
            for chunk in ids.chunks(MOST) {
                add_whole_users(conn, &world, chunk, &mut rows)?;
            }
        }
        Ok(rows)
    };
    conn.spawn_blocking(all).await
}

/// The most users that one statement reads.
const MOST: usize = 64;

/// Repeats the last id until their number is a power of two, and above [`MOST`] a multiple of it. Otherwise there would be a statement text
/// for each possible number.
fn pad(ids: &mut Vec<String>) {
    let padded = match ids.len() {
        few @ 0..MOST => few.next_power_of_two(),
        many => many.next_multiple_of(MOST),
    };
    if let Some(last) = ids.last() {
        ids.resize(padded, last.clone());
    }
}

/// Adds the rows of users.
fn add_whole_users(
    conn: &mut SqliteConnection,
    world: &World,
    ids: &[String],
    rows: &mut WholeUserRows,
) -> QueryResult<()> {
    macro_rules! add {
        ($rows:ident, $row:ty, $table:ident, $owner:ident, $order:expr) => {
            let query = in_world!($table, world)
                .filter($table::$owner.eq_any(ids))
                .order($order)
                .select(<$row>::as_select());
            rows.$rows.extend(Prepared(query).load(conn)?);
        };
    }
    add!(users, UserRow, users, id, users::id);
    let order = (user_emails::created_at, user_emails::id);
    add!(emails, UserEmailRow, user_emails, user_id, order);
    let order = (user_phones::created_at, user_phones::id);
    add!(phones, UserPhoneRow, user_phones, user_id, order);
    let order = (wallets::created_at, wallets::id);
    add!(wallets, WalletRow, wallets, user_id, order);
    add!(totps, TotpRow, totps, user_id, totps::id);
    add!(passkeys, PasskeyRow, passkeys, user_id, passkeys::id);
    let order = provider_links::id;
    add!(
        provider_links,
        ProviderLinkRow,
        provider_links,
        user_id,
        order
    );
    let order = imported_users::user_id;
    add!(
        external_keys,
        ExternalKeyRow,
        imported_users,
        user_id,
        order
    );
    Ok(())
}

/// Appends entries to the audit log, and moves the heads of their chains if they are where a step expects them. A chain is written
/// completely or not at all. Returns how many entries were written.
pub(crate) async fn append_to_audit_log(
    conn: &mut Conn,
    entries: Vec<AuditEntryRow>,
    steps: Vec<AuditStepRow>,
) -> QueryResult<usize> {
    conn.spawn_blocking(move |conn| append(conn, entries, steps))
        .await
}

/// The same in its own transaction.
pub(crate) async fn commit_to_audit_log(
    conn: &mut Conn,
    entries: Vec<AuditEntryRow>,
    steps: Vec<AuditStepRow>,
) -> QueryResult<usize> {
    conn.spawn_blocking(move |conn| {
        conn.batch_execute("BEGIN IMMEDIATE")?;
        let written = append(conn, entries, steps).and_then(|written| {
            conn.batch_execute("COMMIT")?;
            Ok(written)
        });
        if written.is_err() {
            // A full disk has already rolled the transaction back, and the error of this statement is not the cause.
            drop(conn.batch_execute("ROLLBACK"));
        }
        written
    })
    .await
}

fn append(
    conn: &mut SqliteConnection,
    entries: Vec<AuditEntryRow>,
    steps: Vec<AuditStepRow>,
) -> QueryResult<usize> {
    let mut lost = HashSet::new();
    for step in steps {
        let is_written = match step.begun() {
            Some(head) => {
                let insert = diesel::insert_into(audit_chains::table)
                    .values(head)
                    .on_conflict_do_nothing();
                Prepared(insert).execute(conn)?
            }
            None => move_head(conn, &step)?,
        };
        if is_written == 0 {
            lost.insert(step.chain().map(str::to_owned));
        }
    }
    let mut written = 0;
    for entry in entries {
        if !lost.contains(&entry.chain().map(str::to_owned)) {
            let insert = diesel::insert_into(audit_entries::table).values(entry);
            written += insert.execute(conn)?;
        }
    }
    Ok(written)
}

fn move_head(conn: &mut SqliteConnection, step: &AuditStepRow) -> QueryResult<usize> {
    let [app, environment, chain] = step.chain();
    let (after, after_hash) = step.after();
    let head = audit_chains::table
        .filter(audit_chains::app_id.eq(app))
        .filter(audit_chains::environment.eq(environment))
        .filter(audit_chains::chain.eq(chain))
        .filter(audit_chains::sequence.eq(after))
        .filter(audit_chains::hash.eq(after_hash));
    // diesel loses the prepared state of statements that it executes by reference, but not of those that it loads.
    let moved = diesel::update(head).set(step.change());
    let moved: Vec<i64> = Prepared(moved.returning(audit_chains::sequence)).load(conn)?;
    Ok(moved.len())
}
