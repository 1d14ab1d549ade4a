//! Statements over lists whose text does not depend on the list length, so that each is parsed and planned once per connection. diesel's
//! own lists have a different text for every length.
//!
//! The lists are wrapped in subselects, which hide their length from the planner. It would replan the statement each time for a list that
//! it can see is short.

use diesel::QueryResult;
use diesel::dsl::{AsSelect, SqlTypeOf};
use diesel::expression::Expression;
use diesel::pg::Pg;
use diesel::prelude::{ExpressionMethods, QueryDsl, Selectable, SelectableHelper};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Array, BigInt, Binary, HasSqlType, Nullable, Text};
use diesel_async::RunQueryDsl;
use futures_util::{FutureExt, try_join};
use vestry_domain::World;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::token::TokenHash;

use super::citus_queries;
use super::connection::Conn;
use vestry_store_rows::add_counts;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::row_chunks::row_chunks;
use vestry_store_rows::rows::activity::ActivityRow;
use vestry_store_rows::rows::audit::{
    AuditEntryColumns, AuditEntryRow, AuditStepColumns, AuditStepRow,
};
use vestry_store_rows::rows::passkeys::PasskeyRow;
use vestry_store_rows::rows::providers::ProviderLinkRow;
use vestry_store_rows::rows::sessions::SessionRow;
use vestry_store_rows::rows::totps::TotpRow;
use vestry_store_rows::rows::users::{UserEmailRow, UserPhoneRow, UserRow};
use vestry_store_rows::rows::wallets::{WalletKeyRow, WalletRow};
use vestry_store_rows::rows::whole_users::{ExternalKeyRow, WholeUserRows};
use vestry_store_rows::schema::{activity, audit_chains, audit_entries};

/// Adds counts to rows.
pub(crate) async fn add_activity(conn: &mut Conn, rows: Vec<ActivityRow>) -> QueryResult<()> {
    add_counts!(rows).execute(conn).await.map(drop)
}

/// Returns the existing wallets among these, with their keys.
pub(crate) async fn wallets_with_keys(
    conn: &mut Conn,
    wanted: Vec<(World, WalletId)>,
    is_distributed: bool,
) -> QueryResult<Vec<(WalletRow, Option<WalletKeyRow>)>> {
    if is_distributed {
        return citus_queries::wallets_with_keys(conn, wanted).await;
    }
    WalletsWithKeys::at(Places::of(wanted)).load(conn).await
}

/// Returns the existing sessions among these, with their token hashes.
pub(crate) async fn sessions_by_tokens(
    conn: &mut Conn,
    wanted: Vec<(World, TokenHash)>,
    is_distributed: bool,
) -> QueryResult<Vec<(SessionRow, Vec<u8>)>> {
    if is_distributed {
        return citus_queries::sessions_by_tokens(conn, wanted).await;
    }
    let places = Places::of(wanted);
    let session = SessionRow::as_select();
    SessionsByTokens { places, session }.load(conn).await
}

/// Returns the existing users among these, with all their rows, in the time of one round trip.
pub(crate) async fn whole_user_rows(
    conn: &mut Conn,
    wanted: Vec<(World, UserId)>,
    is_distributed: bool,
) -> QueryResult<WholeUserRows> {
    if is_distributed {
        return citus_queries::whole_user_rows(conn, wanted).await;
    }
    let places = &Places::of(wanted);
    let conn = conn.flush_deferred().await?;
    // Boxed, because the compiler cannot see that they are `Send`.
    macro_rules! rows {
        ($row:ty) => {{
            let query = RowsOfUsers::<$row>::at(places);
            async move { query.load(&mut &*conn).await }.boxed()
        }};
    }
    let (users, emails, phones, wallets, totps, passkeys, provider_links, external_keys) = try_join!(
        rows!(UserRow),
        rows!(UserEmailRow),
        rows!(UserPhoneRow),
        rows!(WalletRow),
        rows!(TotpRow),
        rows!(PasskeyRow),
        rows!(ProviderLinkRow),
        rows!(ExternalKeyRow),
    )?;
    Ok(WholeUserRows {
        users,
        emails,
        phones,
        wallets,
        totps,
        passkeys,
        provider_links,
        external_keys,
    })
}

/// Appends entries to the audit log, and moves the heads of their chains if they are where a step expects them. A chain is written
/// completely or not at all, since this is a single statement. Returns how many entries were written.
pub(crate) async fn append_to_audit_log(
    conn: &mut Conn,
    entries: Vec<AuditEntryRow>,
    steps: Vec<AuditStepRow>,
) -> QueryResult<usize> {
    let query = AppendToAuditLog {
        entries: entries.into_iter().collect(),
        steps: steps.into_iter().collect(),
    };
    query.execute(conn).await
}

/// The same outside of a transaction, as a self-committing statement.
pub(crate) use append_to_audit_log as commit_to_audit_log;

/// The same in several statements, each of which names its App, so that Citus forwards it to the server of that App. Requires a
/// transaction.
pub(crate) async fn append_step_by_step(
    conn: &mut Conn,
    mut entries: Vec<AuditEntryRow>,
    steps: Vec<AuditStepRow>,
) -> QueryResult<usize> {
    for step in steps {
        let is_written = match step.begun() {
            Some(head) => {
                let insert = diesel::insert_into(audit_chains::table)
                    .values(head)
                    .on_conflict_do_nothing();
                Prepared(insert).execute(conn).await?
            }
            None => move_head(conn, &step).await?,
        };
        if is_written == 0 {
            entries.retain(|entry| entry.chain() != step.chain());
        }
    }
    let mut written = 0;
    for of_one_app in entries.chunk_by(|one, next| one.app() == next.app()) {
        for chunk in row_chunks(of_one_app) {
            let insert = diesel::insert_into(audit_entries::table).values(chunk);
            written += Prepared(insert).execute(conn).await?;
        }
    }
    Ok(written)
}

async fn move_head(conn: &mut Conn, step: &AuditStepRow) -> QueryResult<usize> {
    let [app, environment, chain] = step.chain();
    let (after, after_hash) = step.after();
    let head = audit_chains::table
        .filter(audit_chains::app_id.eq(app))
        .filter(audit_chains::environment.eq(environment))
        .filter(audit_chains::chain.eq(chain))
        .filter(audit_chains::sequence.eq(after))
        .filter(audit_chains::hash.eq(after_hash));
    let update = diesel::update(head).set(step.change());
    Prepared(update).execute(conn).await
}

/// Positions of rows, by column: their worlds, and their keys there.
struct Places<K> {
    app_ids: Vec<String>,
    environments: Vec<&'static str>,
    keys: Vec<K>,
}

/// A key within a world.
trait Key {
    /// Its database type.
    type Column;

    fn column(self) -> Self::Column;
}

impl Key for WalletId {
    type Column = String;

    fn column(self) -> String {
        self.to_string()
    }
}

impl Key for UserId {
    type Column = String;

    fn column(self) -> String {
        self.to_string()
    }
}

impl Key for TokenHash {
    type Column = Vec<u8>;

    fn column(self) -> Vec<u8> {
        self.0.to_vec()
    }
}

impl<K> Places<K> {
    fn of<N: Key<Column = K>>(wanted: Vec<(World, N)>) -> Self {
        let mut places = Self {
            app_ids: Vec::with_capacity(wanted.len()),
            environments: Vec::with_capacity(wanted.len()),
            keys: Vec::with_capacity(wanted.len()),
        };
        for (world, key) in wanted {
            places.app_ids.push(world.app_id.to_string());
            places.environments.push(world.environment.as_str());
            places.keys.push(key.column());
        }
        places
    }
}

impl<K> Places<K> {
    /// Writes the three lists as arguments of `unnest`; `KeyType` is the type of the key column.
    fn push<'b, KeyType: 'static>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()>
    where
        Vec<K>: ToSql<Array<KeyType>, Pg>,
        Pg: HasSqlType<Array<KeyType>>,
    {
        out.push_sql("(SELECT ");
        out.push_bind_param::<Array<Text>, _>(&self.app_ids)?;
        out.push_sql("), (SELECT ");
        out.push_bind_param::<Array<Text>, _>(&self.environments)?;
        out.push_sql("), (SELECT ");
        out.push_bind_param::<Array<KeyType>, _>(&self.keys)?;
        out.push_sql(")");
        Ok(())
    }
}

struct WalletsWithKeys {
    places: Places<String>,
    wallet: AsSelect<WalletRow, Pg>,
    key: AsSelect<Option<WalletKeyRow>, Pg>,
}

impl WalletsWithKeys {
    fn at(places: Places<String>) -> Self {
        Self {
            places,
            wallet: WalletRow::as_select(),
            key: Option::<WalletKeyRow>::as_select(),
        }
    }
}

impl QueryId for WalletsWithKeys {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl Query for WalletsWithKeys {
    type SqlType = (
        SqlTypeOf<AsSelect<WalletRow, Pg>>,
        SqlTypeOf<AsSelect<Option<WalletKeyRow>, Pg>>,
    );
}

impl QueryFragment<Pg> for WalletsWithKeys {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        self.wallet.walk_ast(out.reborrow())?;
        out.push_sql(", ");
        self.key.walk_ast(out.reborrow())?;
        out.push_sql(" FROM unnest(");
        self.places.push::<Text>(&mut out)?;
        // `LIMIT` forces the planner to look up each wallet separately: without statistics it would read all wallets of a world.
        out.push_sql(
            ") AS wanted (app_id, environment, id) \
             LEFT JOIN LATERAL (SELECT * FROM wallets WHERE app_id = wanted.app_id AND environment = wanted.environment \
                 AND id = wanted.id LIMIT 1) AS wallets ON TRUE \
             LEFT JOIN LATERAL (SELECT * FROM wallet_keys WHERE app_id = wanted.app_id AND environment = wanted.environment \
                 AND wallet_id = wanted.id LIMIT 1) AS wallet_keys ON TRUE \
             WHERE wallets.id IS NOT NULL",
        );
        Ok(())
    }
}

struct SessionsByTokens {
    places: Places<Vec<u8>>,
    session: AsSelect<SessionRow, Pg>,
}

impl QueryId for SessionsByTokens {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl Query for SessionsByTokens {
    type SqlType = (SqlTypeOf<AsSelect<SessionRow, Pg>>, Binary);
}

impl QueryFragment<Pg> for SessionsByTokens {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        self.session.walk_ast(out.reborrow())?;
        out.push_sql(", sessions.token_hash FROM unnest(");
        self.places.push::<Binary>(&mut out)?;
        // `LIMIT` for the same reason as for wallets.
        out.push_sql(
            ") AS wanted (app_id, environment, token_hash) \
             CROSS JOIN LATERAL (SELECT * FROM sessions WHERE app_id = wanted.app_id AND environment = wanted.environment \
                 AND token_hash = wanted.token_hash LIMIT 1) AS sessions",
        );
        Ok(())
    }
}

/// A table whose rows belong to users.
trait OfUsers: Selectable<Pg> + 'static {
    /// Selects the rows of each `wanted` user. `OFFSET 0` forces the planner to look up each user separately: without statistics it would
    /// read all rows of a world.
    const OWNED: &'static str;
}

macro_rules! of_users {
    ($row:ty, $table:literal, $owner:literal, $order:literal) => {
        impl OfUsers for $row {
            const OWNED: &'static str = concat!(
                ") AS wanted (app_id, environment, id) CROSS JOIN LATERAL (SELECT * FROM ",
                $table,
                " WHERE app_id = wanted.app_id AND environment = wanted.environment AND ",
                $owner,
                " = wanted.id OFFSET 0) AS ",
                $table,
                " ORDER BY ",
                $order,
            );
        }
    };
}

of_users!(UserRow, "users", "id", "users.id");
of_users!(
    UserEmailRow,
    "user_emails",
    "user_id",
    "user_emails.created_at, user_emails.id"
);
of_users!(
    UserPhoneRow,
    "user_phones",
    "user_id",
    "user_phones.created_at, user_phones.id"
);
of_users!(
    WalletRow,
    "wallets",
    "user_id",
    "wallets.created_at, wallets.id"
);
of_users!(TotpRow, "totps", "user_id", "totps.id");
of_users!(PasskeyRow, "passkeys", "user_id", "passkeys.id");
of_users!(
    ProviderLinkRow,
    "provider_links",
    "user_id",
    "provider_links.id"
);
of_users!(
    ExternalKeyRow,
    "imported_users",
    "user_id",
    "imported_users.user_id"
);

struct RowsOfUsers<'a, R: OfUsers> {
    places: &'a Places<String>,
    row: AsSelect<R, Pg>,
}

impl<'a, R: OfUsers> RowsOfUsers<'a, R> {
    fn at(places: &'a Places<String>) -> Self {
        Self {
            places,
            row: R::as_select(),
        }
    }
}

impl<R: OfUsers> QueryId for RowsOfUsers<'_, R> {
    type QueryId = RowsOfUsers<'static, R>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<R: OfUsers> Query for RowsOfUsers<'_, R>
where
    AsSelect<R, Pg>: Expression,
{
    type SqlType = SqlTypeOf<AsSelect<R, Pg>>;
}

impl<R: OfUsers> QueryFragment<Pg> for RowsOfUsers<'_, R>
where
    AsSelect<R, Pg>: QueryFragment<Pg>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        self.row.walk_ast(out.reborrow())?;
        out.push_sql(" FROM unnest(");
        self.places.push::<Text>(&mut out)?;
        out.push_sql(R::OWNED);
        Ok(())
    }
}

struct AppendToAuditLog {
    entries: AuditEntryColumns,
    steps: AuditStepColumns,
}

impl QueryId for AppendToAuditLog {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryFragment<Pg> for AppendToAuditLog {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Self { entries, steps } = self;
        out.push_sql("WITH steps AS MATERIALIZED (SELECT unnest((SELECT ");
        push_columns(&steps.texts, &steps.numbers, &steps.bytes, &mut out)?;
        out.push_sql(STEPPED);
        push_columns(&entries.texts, &entries.numbers, &entries.bytes, &mut out)?;
        for hashes in &entries.hashes {
            out.push_sql(BETWEEN);
            out.push_bind_param::<Array<Nullable<Binary>>, _>(hashes)?;
        }
        out.push_sql(BETWEEN);
        out.push_bind_param::<Array<Nullable<Text>>, _>(&entries.requests)?;
        out.push_sql(APPENDED);
        Ok(())
    }
}

/// Separates the columns of steps from those of entries.
const STEPPED: &str = "))), wanted (app_id, environment, chain, sequence, mac_key_version, after, hash, mac, after_hash) AS ( \
         SELECT * FROM steps), \
     moved AS (UPDATE audit_chains SET sequence = wanted.sequence, mac_key_version = wanted.mac_key_version, \
             hash = wanted.hash, mac = wanted.mac \
         FROM wanted WHERE wanted.after > 0 AND audit_chains.app_id = wanted.app_id \
             AND audit_chains.environment = wanted.environment AND audit_chains.chain = wanted.chain \
             AND audit_chains.sequence = wanted.after AND audit_chains.hash = wanted.after_hash \
         RETURNING audit_chains.app_id, audit_chains.environment, audit_chains.chain), \
     begun AS (INSERT INTO audit_chains (app_id, environment, chain, sequence, mac_key_version, hash, mac) \
         SELECT app_id, environment, chain, sequence, mac_key_version, hash, mac FROM wanted WHERE after = 0 \
         ON CONFLICT DO NOTHING RETURNING app_id, environment, chain), \
     lost AS MATERIALIZED (SELECT app_id, environment, chain FROM wanted \
         EXCEPT SELECT app_id, environment, chain FROM moved EXCEPT SELECT app_id, environment, chain FROM begun), \
     entries (app_id, environment, chain, id, wallet_id, action, detail, actor, sequence, happened_at, \
         mac_key_version, format, previous, hash, mac, result, payload, request_id) AS (SELECT unnest((SELECT ";

/// Follows the columns of entries.
const APPENDED: &str = "))) INSERT INTO audit_entries (app_id, environment, chain, id, wallet_id, action, detail, actor, \
         sequence, happened_at, mac_key_version, format, previous, hash, mac, result, payload, request_id) \
     SELECT * FROM entries WHERE (app_id, environment, chain) NOT IN (SELECT app_id, environment, chain FROM lost)";

/// Separates two lists. One `unnest` call per list is cheaper than one for all: rows are then assembled
/// one by one, not list by list.
const BETWEEN: &str = ")), unnest((SELECT ";

/// Writes lists of three types.
fn push_columns<'b>(
    texts: &'b [Vec<String>],
    numbers: &'b [Vec<i64>],
    bytes: &'b [Vec<Vec<u8>>],
    out: &mut AstPass<'_, 'b, Pg>,
) -> QueryResult<()> {
    let mut between = "";
    for column in texts {
        out.push_sql(between);
        out.push_bind_param::<Array<Text>, _>(column)?;
        between = BETWEEN;
    }
    for column in numbers {
        out.push_sql(between);
        out.push_bind_param::<Array<BigInt>, _>(column)?;
    }
    for column in bytes {
        out.push_sql(between);
        out.push_bind_param::<Array<Binary>, _>(column)?;
    }
    Ok(())
}
