//! User filters as SQL conditions. Both databases use the same text.
//!
//! Data in other tables is queried as `id IN (SELECT user_id …)`. Both databases evaluate that from the other table's side if its index
//! says that few rows match. Under `OR`, all conditions become one such list, because a plain `OR` of lists would scan every user.
//!
//! Where an index identifies the matching rows, they are queried first ([`lookups`]), and a short result replaces the condition. The join
//! form relies on the planner's knowing that few rows match. PostgreSQL has no statistics for a table until autovacuum has analysed it. In
//! the first minute of a service, or after a large import, it therefore scanned all addresses for each user.

use diesel::backend::Backend;
use diesel::expression::{AppearsOnTable, Expression, ValidGrouping, is_aggregate};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Binary, Bool, HasSqlType, Text};
use diesel::{QueryResult, SelectableExpression};
use vestry_domain::search::{Combined, Condition, UserFilter};
use vestry_domain::user::ShownStatus;
use vestry_domain::wallet::WalletType;
use vestry_domain::{Timestamp, World};

use crate::schema::users;

/// A condition on a row of `users`.
#[derive(Clone)]
pub struct FilterSql(Vec<SqlPart>);

#[derive(Clone)]
enum SqlPart {
    Sql(&'static str),
    Text(String),
    Number(i64),
    Bytes(Vec<u8>),
}

/// Where the data of a condition is stored.
enum Predicate {
    /// In the user's own row.
    Own(Vec<SqlPart>),
    /// In rows of this table that refer to the user, with an index that begins with the filtered columns.
    Indexed(&'static str, Vec<SqlPart>),
    /// In rows of this table that refer to the user.
    Others(&'static str, Vec<SqlPart>),
    /// Nowhere: no user matches.
    NoUser,
}

/// Maximum number of users listed by id. A condition that matches more stays in its SQL form.
pub const MAX_LISTED: u16 = 1000;

/// A query for the users that match a condition, limited to one more than `MAX_LISTED`.
#[derive(Clone)]
pub struct IndexLookup(Vec<SqlPart>);

/// Returns the queries to run before the statement itself, one per condition; `None` where no index helps.
pub fn lookups(
    world: &World,
    filter: &UserFilter,
    now: Timestamp,
    deadline: Deadline,
) -> Vec<Option<IndexLookup>> {
    let conditions = filter.conditions.iter();
    let lookup = |condition| match predicate(condition, now) {
        indexed @ Predicate::Indexed(..) => {
            let mut parts = indexed.into_query(world, deadline);
            parts.push(SqlPart::Sql(" LIMIT "));
            parts.push(SqlPart::Number(i64::from(MAX_LISTED) + 1));
            Some(IndexLookup(parts))
        }
        Predicate::Own(_) | Predicate::Others(..) | Predicate::NoUser => None,
    };
    conditions.map(lookup).collect()
}

impl FilterSql {
    /// Builds the condition. `found` holds the results of the [`lookups`] of the same filter.
    pub fn new(
        world: &World,
        filter: &UserFilter,
        now: Timestamp,
        found: &[Option<Vec<String>>],
        deadline: Deadline,
    ) -> Self {
        let predicates = predicates(filter, now, found);
        let several = predicates.len() > 1;
        let predicates = predicates.into_iter();
        let mut parts = deadline.parts();
        parts.push(SqlPart::Sql("("));
        match filter.combined {
            Combined::Any if several => {
                parts.push(SqlPart::Sql("users.id IN ("));
                joined(
                    &mut parts,
                    " UNION ",
                    predicates.map(|predicate| predicate.into_query(world, deadline)),
                );
                parts.push(SqlPart::Sql(")"));
            }
            Combined::Any | Combined::All => {
                joined(
                    &mut parts,
                    " AND ",
                    predicates.map(|predicate| predicate.into_condition(world, deadline)),
                );
            }
        }
        parts.push(SqlPart::Sql(")"));
        Self(parts)
    }

    /// Matches every user, until the deadline.
    pub fn every_user(deadline: Deadline) -> Self {
        let mut parts = deadline.parts();
        parts.push(SqlPart::Sql("1 = 1"));
        Self(parts)
    }
}

/// The deadline of a statement, for a database that does not enforce one: each row is first passed to a function of ours, which fails after
/// the deadline.
#[derive(Clone, Copy)]
pub struct Deadline(Option<(&'static str, i64)>);

impl Deadline {
    /// No deadline in the SQL: the database ends the statement.
    pub const NONE: Self = Self(None);

    /// Checks the deadline with a function. `opening` begins its call, `moment` is its first argument.
    pub const fn checked_by(opening: &'static str, moment: i64) -> Self {
        Self(Some((opening, moment)))
    }

    /// Comes first in a condition, because SQLite evaluates conditions in the order in which they are written.
    fn parts(self) -> Vec<SqlPart> {
        let Some((opening, moment)) = self.0 else {
            return Vec::new();
        };
        vec![
            SqlPart::Sql(opening),
            SqlPart::Number(moment),
            SqlPart::Sql(", rowid) AND "),
        ]
    }
}

/// Returns the conditions, with known users replacing those that lookups have answered.
fn predicates(
    filter: &UserFilter,
    now: Timestamp,
    found: &[Option<Vec<String>>],
) -> Vec<Predicate> {
    let mut open = Vec::new();
    let mut known: Vec<&[String]> = Vec::new();
    for (index, condition) in filter.conditions.iter().enumerate() {
        match found.get(index).and_then(Option::as_deref) {
            Some(users) if users.len() <= usize::from(MAX_LISTED) => known.push(users),
            _ => open.push(predicate(condition, now)),
        }
    }
    match filter.combined {
        Combined::All => open.extend(known.into_iter().map(among_users)),
        // One list: several lists would be joined with the users again.
        Combined::Any if !known.is_empty() => open.push(among_users(&known.concat())),
        Combined::Any => {}
    }
    open
}

/// Matches exactly these users.
fn among_users(users: &[String]) -> Predicate {
    if users.is_empty() {
        return Predicate::NoUser;
    }
    Predicate::Own(among("id IN (", users.iter().map(|id| text(id))))
}

fn joined(parts: &mut Vec<SqlPart>, by: &'static str, groups: impl Iterator<Item = Vec<SqlPart>>) {
    for (index, group) in groups.enumerate() {
        if index > 0 {
            parts.push(SqlPart::Sql(by));
        }
        parts.extend(group);
    }
}

impl Predicate {
    /// Renders the predicate as a condition on the user's row.
    fn into_condition(self, world: &World, deadline: Deadline) -> Vec<SqlPart> {
        match self {
            Self::Own(condition) => condition,
            listed @ (Self::Indexed(..) | Self::Others(..)) => {
                let mut parts = vec![SqlPart::Sql("users.id IN (")];
                parts.extend(listed.into_query(world, deadline));
                parts.push(SqlPart::Sql(")"));
                parts
            }
            Self::NoUser => vec![SqlPart::Sql("1 = 0")],
        }
    }

    /// Renders the predicate as a query for the matching users.
    fn into_query(self, world: &World, deadline: Deadline) -> Vec<SqlPart> {
        let (from, condition) = match self {
            Self::Own(condition) => ("SELECT id FROM users WHERE app_id = ", condition),
            Self::Indexed(from, condition) | Self::Others(from, condition) => (from, condition),
            Self::NoUser => (
                "SELECT id FROM users WHERE app_id = ",
                vec![SqlPart::Sql("1 = 0")],
            ),
        };
        let mut parts = vec![
            SqlPart::Sql(from),
            SqlPart::Text(world.app_id.to_string()),
            SqlPart::Sql(" AND environment = "),
            SqlPart::Text(world.environment.to_string()),
            SqlPart::Sql(" AND "),
        ];
        parts.extend(deadline.parts());
        parts.extend(condition);
        parts
    }
}

const IMPORTED: &str = "SELECT user_id FROM imported_users WHERE app_id = ";
const EMAILS: &str = "SELECT user_id FROM user_emails WHERE app_id = ";
const PHONES: &str = "SELECT user_id FROM user_phones WHERE app_id = ";
const WALLETS: &str = "SELECT user_id FROM wallets WHERE app_id = ";
const TOTPS: &str = "SELECT user_id FROM totps WHERE app_id = ";
const LINKS: &str = "SELECT user_id FROM provider_links WHERE app_id = ";
const METADATA: &str = "SELECT user_id FROM user_metadata WHERE app_id = ";

fn predicate(condition: &Condition, now: Timestamp) -> Predicate {
    match condition {
        Condition::NoUser => Predicate::NoUser,
        Condition::UserId(ids) => Predicate::Own(among("id IN (", texts(ids))),
        Condition::ExternalKey(keys) => {
            let keys = keys.iter().map(|key| text(key));
            Predicate::Indexed(IMPORTED, among("external_key IN (", keys))
        }
        Condition::Status(statuses) => Predicate::Own(shown_as(statuses)),
        Condition::FullNameMatch(part) => Predicate::Own(like("folded_name LIKE ", part)),
        Condition::CreatedAt(period) => {
            // The id contains the creation time, and pages are read in id order. The exception are times before the first possible id,
            // which imported users can have.
            let (first, last) = period.ids::<vestry_domain::ids::UserId>();
            Predicate::Own(vec![
                SqlPart::Sql("id >= "),
                SqlPart::Text(first.to_string()),
                SqlPart::Sql(" AND id <= "),
                SqlPart::Text(last.to_string()),
                SqlPart::Sql(" AND created_at >= "),
                SqlPart::Number(period.from.unix()),
                SqlPart::Sql(" AND created_at <= "),
                SqlPart::Number(period.to.unix()),
            ])
        }
        Condition::PhoneNumber(numbers) => {
            let numbers = numbers.iter().map(|number| text(number.as_str()));
            Predicate::Indexed(PHONES, among("number IN (", numbers))
        }
        Condition::PhoneNumberId(ids) => Predicate::Indexed(PHONES, among("id IN (", texts(ids))),
        Condition::PhoneNumberMatch(digits) => {
            Predicate::Others(PHONES, like("number LIKE ", digits))
        }
        Condition::PhoneNumberVerified(verified) => {
            Predicate::Others(PHONES, is_verified(*verified))
        }
        Condition::Email(identities) => {
            let identities = identities.iter().map(|identity| text(identity.as_str()));
            Predicate::Indexed(EMAILS, among("identity IN (", identities))
        }
        Condition::EmailId(ids) => Predicate::Indexed(EMAILS, among("id IN (", texts(ids))),
        Condition::EmailMatch(part) => Predicate::Others(EMAILS, like("folded LIKE ", part)),
        Condition::EmailVerified(verified) => Predicate::Others(EMAILS, is_verified(*verified)),
        Condition::WalletPublicAddress(addresses) => {
            // The index on addresses begins with the wallet type.
            let types = WalletType::ALL.into_iter().map(WalletType::as_str);
            let mut condition = among("wallet_type IN (", types.map(text));
            condition.extend(among(
                " AND public_address IN (",
                addresses.iter().map(|address| text(address)),
            ));
            Predicate::Indexed(WALLETS, condition)
        }
        Condition::WalletId(ids) => Predicate::Indexed(WALLETS, among("id IN (", texts(ids))),
        Condition::Metadata(digests) => {
            let digests = digests
                .iter()
                .map(|digest| SqlPart::Bytes(digest.0.to_vec()));
            Predicate::Indexed(METADATA, among("digest IN (", digests))
        }
        Condition::TotpId(ids) => {
            let mut condition = among("id IN (", texts(ids));
            condition.extend([
                SqlPart::Sql(" AND (verified OR expires_at > "),
                SqlPart::Number(now.unix()),
                SqlPart::Sql(")"),
            ]);
            Predicate::Indexed(TOTPS, condition)
        }
        Condition::TotpVerified(true) => Predicate::Others(TOTPS, is_verified(true)),
        Condition::TotpVerified(false) => {
            let mut condition = is_verified(false);
            condition.extend([
                SqlPart::Sql(" AND expires_at > "),
                SqlPart::Number(now.unix()),
            ]);
            Predicate::Others(TOTPS, condition)
        }
        Condition::IdpProvider(names) => {
            let names = names.iter().map(|name| text(name));
            Predicate::Indexed(LINKS, among("provider IN (", names))
        }
    }
}

fn text(value: &str) -> SqlPart {
    SqlPart::Text(value.to_owned())
}

fn texts<T: ToString>(values: &[T]) -> impl Iterator<Item = SqlPart> {
    values.iter().map(|value| SqlPart::Text(value.to_string()))
}

fn among(opening: &'static str, values: impl Iterator<Item = SqlPart>) -> Vec<SqlPart> {
    let mut parts = vec![SqlPart::Sql(opening)];
    joined(&mut parts, ", ", values.map(|value| vec![value]));
    parts.push(SqlPart::Sql(")"));
    parts
}

/// The row of a disabled user keeps the earlier status, which applies again once the user is enabled.
fn shown_as(statuses: &[ShownStatus]) -> Vec<SqlPart> {
    let kept = statuses
        .iter()
        .filter(|status| **status != ShownStatus::Disabled);
    let kept: Vec<_> = kept.map(|status| text(status.as_str())).collect();
    match (kept.is_empty(), statuses.contains(&ShownStatus::Disabled)) {
        (true, _) => vec![SqlPart::Sql("disabled_at IS NOT NULL")],
        (false, false) => among("disabled_at IS NULL AND status IN (", kept.into_iter()),
        (false, true) => {
            let mut either = among("(disabled_at IS NOT NULL OR status IN (", kept.into_iter());
            either.push(SqlPart::Sql(")"));
            either
        }
    }
}

/// Matches a part of a text. Special characters of LIKE are escaped.
fn like(opening: &'static str, part: &str) -> Vec<SqlPart> {
    let mut pattern = String::from("%");
    for character in part.chars() {
        if matches!(character, '!' | '%' | '_') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    vec![
        SqlPart::Sql(opening),
        SqlPart::Text(pattern),
        SqlPart::Sql(" ESCAPE '!'"),
    ]
}

fn is_verified(verified: bool) -> Vec<SqlPart> {
    vec![SqlPart::Sql(if verified {
        "verified"
    } else {
        "NOT verified"
    })]
}

impl Expression for FilterSql {
    type SqlType = Bool;
}

impl AppearsOnTable<users::table> for FilterSql {}

impl SelectableExpression<users::table> for FilterSql {}

impl<GroupBy> ValidGrouping<GroupBy> for FilterSql {
    type IsAggregate = is_aggregate::No;
}

impl QueryId for FilterSql {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB> QueryFragment<DB> for FilterSql
where
    DB: Backend + HasSqlType<Text> + HasSqlType<BigInt> + HasSqlType<Binary>,
    String: ToSql<Text, DB>,
    i64: ToSql<BigInt, DB>,
    Vec<u8>: ToSql<Binary, DB>,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        write(&self.0, out)
    }
}

impl Query for IndexLookup {
    type SqlType = Text;
}

impl QueryId for IndexLookup {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB> QueryFragment<DB> for IndexLookup
where
    DB: Backend + HasSqlType<Text> + HasSqlType<BigInt> + HasSqlType<Binary>,
    String: ToSql<Text, DB>,
    i64: ToSql<BigInt, DB>,
    Vec<u8>: ToSql<Binary, DB>,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        write(&self.0, out)
    }
}

fn write<'b, DB>(parts: &'b [SqlPart], mut out: AstPass<'_, 'b, DB>) -> QueryResult<()>
where
    DB: Backend + HasSqlType<Text> + HasSqlType<BigInt> + HasSqlType<Binary>,
    String: ToSql<Text, DB>,
    i64: ToSql<BigInt, DB>,
    Vec<u8>: ToSql<Binary, DB>,
{
    // On Postgres the right plan depends on the values, that is on how many users match.
    out.unsafe_to_cache_prepared();
    for part in parts {
        match part {
            SqlPart::Sql(sql) => out.push_sql(sql),
            SqlPart::Text(text) => out.push_bind_param::<Text, _>(text)?,
            SqlPart::Number(number) => out.push_bind_param::<BigInt, _>(number)?,
            SqlPart::Bytes(bytes) => out.push_bind_param::<Binary, _>(bytes)?,
        }
    }
    Ok(())
}
