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
pub struct Wanted(Vec<Piece>);

#[derive(Clone)]
enum Piece {
    Sql(&'static str),
    Text(String),
    Number(i64),
    Bytes(Vec<u8>),
}

/// Where the data of a condition is stored.
enum Test {
    /// In the user's own row.
    Own(Vec<Piece>),
    /// In rows of this table that refer to the user, with an index that begins with the filtered columns.
    Indexed(&'static str, Vec<Piece>),
    /// In rows of this table that refer to the user.
    Others(&'static str, Vec<Piece>),
    /// Nowhere: no user matches.
    Nobody,
}

/// Maximum number of users listed by id. A condition that matches more stays in its SQL form.
const FEW: u16 = 1000;

/// A query for the users that match a condition, limited to one more than `FEW`.
#[derive(Clone)]
pub struct Lookup(Vec<Piece>);

/// Returns the queries to run before the statement itself, one per condition; `None` where no index helps.
pub fn lookups(
    world: &World,
    filter: &UserFilter,
    now: Timestamp,
    until: Until,
) -> Vec<Option<Lookup>> {
    let conditions = filter.conditions.iter();
    let lookup = |condition| match test(condition, now) {
        indexed @ Test::Indexed(..) => {
            let mut pieces = indexed.listed(world, until);
            pieces.push(Piece::Sql(" LIMIT "));
            pieces.push(Piece::Number(i64::from(FEW) + 1));
            Some(Lookup(pieces))
        }
        Test::Own(_) | Test::Others(..) | Test::Nobody => None,
    };
    conditions.map(lookup).collect()
}

impl Wanted {
    /// Builds the condition. `found` holds the results of the [`lookups`] of the same filter.
    pub fn new(
        world: &World,
        filter: &UserFilter,
        now: Timestamp,
        found: &[Option<Vec<String>>],
        until: Until,
    ) -> Self {
        let tests = tests(filter, now, found);
        let several = tests.len() > 1;
        let tests = tests.into_iter();
        let mut pieces = until.pieces();
        pieces.push(Piece::Sql("("));
        match filter.combined {
            Combined::Any if several => {
                pieces.push(Piece::Sql("users.id IN ("));
                joined(
                    &mut pieces,
                    " UNION ",
                    tests.map(|test| test.listed(world, until)),
                );
                pieces.push(Piece::Sql(")"));
            }
            Combined::Any | Combined::All => {
                joined(
                    &mut pieces,
                    " AND ",
                    tests.map(|test| test.alone(world, until)),
                );
            }
        }
        pieces.push(Piece::Sql(")"));
        Self(pieces)
    }

    /// Matches every user, until the deadline.
    pub fn anybody(until: Until) -> Self {
        let mut pieces = until.pieces();
        pieces.push(Piece::Sql("1 = 1"));
        Self(pieces)
    }
}

/// The deadline of a statement, for a database that does not enforce one: each row is first passed to a function of ours, which fails after
/// the deadline.
#[derive(Clone, Copy)]
pub struct Until(Option<(&'static str, i64)>);

impl Until {
    /// No deadline in the SQL: the database ends the statement.
    pub const UNSAID: Self = Self(None);

    /// Checks the deadline with a function. `opening` begins its call, `moment` is its first argument.
    pub const fn asking(opening: &'static str, moment: i64) -> Self {
        Self(Some((opening, moment)))
    }

    /// Comes first in a condition, because SQLite evaluates conditions in the order in which they are written.
    fn pieces(self) -> Vec<Piece> {
        let Some((opening, moment)) = self.0 else {
            return Vec::new();
        };
        vec![
            Piece::Sql(opening),
            Piece::Number(moment),
            Piece::Sql(", rowid) AND "),
        ]
    }
}

/// Returns the conditions, with known users replacing those that lookups have answered.
fn tests(filter: &UserFilter, now: Timestamp, found: &[Option<Vec<String>>]) -> Vec<Test> {
    let mut open = Vec::new();
    let mut known: Vec<&[String]> = Vec::new();
    for (index, condition) in filter.conditions.iter().enumerate() {
        match found.get(index).and_then(Option::as_deref) {
            Some(users) if users.len() <= usize::from(FEW) => known.push(users),
            _ => open.push(test(condition, now)),
        }
    }
    match filter.combined {
        Combined::All => open.extend(known.into_iter().map(these)),
        // One list: several lists would be joined with the users again.
        Combined::Any if !known.is_empty() => open.push(these(&known.concat())),
        Combined::Any => {}
    }
    open
}

/// Matches exactly these users.
fn these(users: &[String]) -> Test {
    if users.is_empty() {
        return Test::Nobody;
    }
    Test::Own(among("id IN (", users.iter().map(|id| text(id))))
}

fn joined(pieces: &mut Vec<Piece>, by: &'static str, parts: impl Iterator<Item = Vec<Piece>>) {
    for (index, part) in parts.enumerate() {
        if index > 0 {
            pieces.push(Piece::Sql(by));
        }
        pieces.extend(part);
    }
}

impl Test {
    /// Renders the test as a condition on the user's row.
    fn alone(self, world: &World, until: Until) -> Vec<Piece> {
        match self {
            Self::Own(condition) => condition,
            listed @ (Self::Indexed(..) | Self::Others(..)) => {
                let mut pieces = vec![Piece::Sql("users.id IN (")];
                pieces.extend(listed.listed(world, until));
                pieces.push(Piece::Sql(")"));
                pieces
            }
            Self::Nobody => vec![Piece::Sql("1 = 0")],
        }
    }

    /// Renders the test as a query for the matching users.
    fn listed(self, world: &World, until: Until) -> Vec<Piece> {
        let (from, condition) = match self {
            Self::Own(condition) => ("SELECT id FROM users WHERE app_id = ", condition),
            Self::Indexed(from, condition) | Self::Others(from, condition) => (from, condition),
            Self::Nobody => (
                "SELECT id FROM users WHERE app_id = ",
                vec![Piece::Sql("1 = 0")],
            ),
        };
        let mut pieces = vec![
            Piece::Sql(from),
            Piece::Text(world.app_id.to_string()),
            Piece::Sql(" AND environment = "),
            Piece::Text(world.environment.to_string()),
            Piece::Sql(" AND "),
        ];
        pieces.extend(until.pieces());
        pieces.extend(condition);
        pieces
    }
}

const IMPORTED: &str = "SELECT user_id FROM imported_users WHERE app_id = ";
const EMAILS: &str = "SELECT user_id FROM user_emails WHERE app_id = ";
const PHONES: &str = "SELECT user_id FROM user_phones WHERE app_id = ";
const WALLETS: &str = "SELECT user_id FROM wallets WHERE app_id = ";
const TOTPS: &str = "SELECT user_id FROM totps WHERE app_id = ";
const LINKS: &str = "SELECT user_id FROM provider_links WHERE app_id = ";
const METADATA: &str = "SELECT user_id FROM user_metadata WHERE app_id = ";

fn test(condition: &Condition, now: Timestamp) -> Test {
    match condition {
        Condition::Nobody => Test::Nobody,
        Condition::UserId(ids) => Test::Own(among("id IN (", texts(ids))),
        Condition::ExternalKey(keys) => {
            let keys = keys.iter().map(|key| text(key));
            Test::Indexed(IMPORTED, among("external_key IN (", keys))
        }
        Condition::Status(statuses) => Test::Own(shown_as(statuses)),
        Condition::FullNameMatch(part) => Test::Own(like("folded_name LIKE ", part)),
        Condition::CreatedAt(period) => {
            // The id contains the creation time, and pages are read in id order. The exception are times before the first possible id,
            // which imported users can have.
            let (first, last) = period.ids::<vestry_domain::ids::UserId>();
            Test::Own(vec![
                Piece::Sql("id >= "),
                Piece::Text(first.to_string()),
                Piece::Sql(" AND id <= "),
                Piece::Text(last.to_string()),
                Piece::Sql(" AND created_at >= "),
                Piece::Number(period.from.unix()),
                Piece::Sql(" AND created_at <= "),
                Piece::Number(period.to.unix()),
            ])
        }
        Condition::PhoneNumber(numbers) => {
            let numbers = numbers.iter().map(|number| text(number.as_str()));
            Test::Indexed(PHONES, among("number IN (", numbers))
        }
        Condition::PhoneNumberId(ids) => Test::Indexed(PHONES, among("id IN (", texts(ids))),
        Condition::PhoneNumberMatch(digits) => Test::Others(PHONES, like("number LIKE ", digits)),
        Condition::PhoneNumberVerified(verified) => Test::Others(PHONES, is_verified(*verified)),
        Condition::Email(identities) => {
            let identities = identities.iter().map(|identity| text(identity.as_str()));
            Test::Indexed(EMAILS, among("identity IN (", identities))
        }
        Condition::EmailId(ids) => Test::Indexed(EMAILS, among("id IN (", texts(ids))),
        Condition::EmailMatch(part) => Test::Others(EMAILS, like("folded LIKE ", part)),
        Condition::EmailVerified(verified) => Test::Others(EMAILS, is_verified(*verified)),
        Condition::WalletPublicAddress(addresses) => {
            // The index on addresses begins with the wallet type.
            let types = WalletType::ALL.into_iter().map(WalletType::as_str);
            let mut condition = among("wallet_type IN (", types.map(text));
            condition.extend(among(
                " AND public_address IN (",
                addresses.iter().map(|address| text(address)),
            ));
            Test::Indexed(WALLETS, condition)
        }
        Condition::WalletId(ids) => Test::Indexed(WALLETS, among("id IN (", texts(ids))),
        Condition::Metadata(digests) => {
            let digests = digests.iter().map(|digest| Piece::Bytes(digest.0.to_vec()));
            Test::Indexed(METADATA, among("digest IN (", digests))
        }
        Condition::TotpId(ids) => {
            let mut condition = among("id IN (", texts(ids));
            condition.extend([
                Piece::Sql(" AND (verified OR expires_at > "),
                Piece::Number(now.unix()),
                Piece::Sql(")"),
            ]);
            Test::Indexed(TOTPS, condition)
        }
        Condition::TotpVerified(true) => Test::Others(TOTPS, is_verified(true)),
        Condition::TotpVerified(false) => {
            let mut condition = is_verified(false);
            condition.extend([Piece::Sql(" AND expires_at > "), Piece::Number(now.unix())]);
            Test::Others(TOTPS, condition)
        }
        Condition::IdpProvider(names) => {
            let names = names.iter().map(|name| text(name));
            Test::Indexed(LINKS, among("provider IN (", names))
        }
    }
}

fn text(value: &str) -> Piece {
    Piece::Text(value.to_owned())
}

fn texts<T: ToString>(values: &[T]) -> impl Iterator<Item = Piece> {
    values.iter().map(|value| Piece::Text(value.to_string()))
}

fn among(opening: &'static str, values: impl Iterator<Item = Piece>) -> Vec<Piece> {
    let mut pieces = vec![Piece::Sql(opening)];
    joined(&mut pieces, ", ", values.map(|value| vec![value]));
    pieces.push(Piece::Sql(")"));
    pieces
}

/// The row of a disabled user keeps the earlier status, which applies again once the user is enabled.
fn shown_as(statuses: &[ShownStatus]) -> Vec<Piece> {
    let kept = statuses
        .iter()
        .filter(|status| **status != ShownStatus::Disabled);
    let kept: Vec<_> = kept.map(|status| text(status.as_str())).collect();
    match (kept.is_empty(), statuses.contains(&ShownStatus::Disabled)) {
        (true, _) => vec![Piece::Sql("disabled_at IS NOT NULL")],
        (false, false) => among("disabled_at IS NULL AND status IN (", kept.into_iter()),
        (false, true) => {
            let mut either = among("(disabled_at IS NOT NULL OR status IN (", kept.into_iter());
            either.push(Piece::Sql(")"));
            either
        }
    }
}

/// Matches a part of a text. Special characters of LIKE are escaped.
fn like(opening: &'static str, part: &str) -> Vec<Piece> {
    let mut pattern = String::from("%");
    for character in part.chars() {
        if matches!(character, '!' | '%' | '_') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    vec![
        Piece::Sql(opening),
        Piece::Text(pattern),
        Piece::Sql(" ESCAPE '!'"),
    ]
}

fn is_verified(verified: bool) -> Vec<Piece> {
    vec![Piece::Sql(if verified {
        "verified"
    } else {
        "NOT verified"
    })]
}

impl Expression for Wanted {
    type SqlType = Bool;
}

impl AppearsOnTable<users::table> for Wanted {}

impl SelectableExpression<users::table> for Wanted {}

impl<GroupBy> ValidGrouping<GroupBy> for Wanted {
    type IsAggregate = is_aggregate::No;
}

impl QueryId for Wanted {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB> QueryFragment<DB> for Wanted
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

impl Query for Lookup {
    type SqlType = Text;
}

impl QueryId for Lookup {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB> QueryFragment<DB> for Lookup
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

fn write<'b, DB>(pieces: &'b [Piece], mut out: AstPass<'_, 'b, DB>) -> QueryResult<()>
where
    DB: Backend + HasSqlType<Text> + HasSqlType<BigInt> + HasSqlType<Binary>,
    String: ToSql<Text, DB>,
    i64: ToSql<BigInt, DB>,
    Vec<u8>: ToSql<Binary, DB>,
{
    // On Postgres the right plan depends on the values, that is on how many users match.
    out.unsafe_to_cache_prepared();
    for piece in pieces {
        match piece {
            Piece::Sql(sql) => out.push_sql(sql),
            Piece::Text(text) => out.push_bind_param::<Text, _>(text)?,
            Piece::Number(number) => out.push_bind_param::<BigInt, _>(number)?,
            Piece::Bytes(bytes) => out.push_bind_param::<Binary, _>(bytes)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use diesel::pg::Pg;
    use vestry_domain::Environment;
    use vestry_domain::email::Email;
    use vestry_domain::ids::{AppId, Id};

    use super::*;

    /// Without this, PostgreSQL compares each user with each address as long as it has no statistics.
    #[test]
    fn conditions_answered_by_an_index_are_not_joined_with_users() {
        let world = World {
            app_id: AppId::new(Timestamp::from_unix(1_900_000_000), [1; 16]),
            environment: Environment::Test,
        };
        let now = Timestamp::from_unix(1_900_000_000);
        let email = Email::parse("one@example.com").expect("an address");
        let email = Condition::Email(vec![email.identity().clone()]);
        let number = Condition::PhoneNumberMatch("555".to_owned());
        for combined in [Combined::All, Combined::Any] {
            let filter = |conditions: Vec<Condition>| UserFilter {
                combined,
                conditions,
            };
            let text = |filter: &UserFilter, found: &[Option<Vec<String>>]| {
                let wanted = Wanted::new(&world, filter, now, found, Until::UNSAID);
                diesel::debug_query::<Pg, _>(&wanted).to_string()
            };
            let both = filter(vec![email.clone(), number.clone()]);
            let asked: Vec<bool> = lookups(&world, &both, now, Until::UNSAID)
                .iter()
                .map(Option::is_some)
                .collect();
            assert_eq!(asked, [true, false]);
            let found = [Some(vec!["user_1".to_owned()]), None];
            let alone = text(&filter(vec![email.clone()]), &found);
            assert!(!alone.contains("user_emails"), "{alone}");
            let beside = text(&both, &found);
            assert!(!beside.contains("user_emails"), "{beside}");
            assert!(beside.contains("user_phones"), "{beside}");
            // Too many to list by id.
            let crowd = vec!["user_1".to_owned(); usize::from(FEW) + 1];
            let joined = text(&filter(vec![email.clone()]), &[Some(crowd)]);
            assert!(joined.contains("user_emails"), "{joined}");
        }
    }
}
