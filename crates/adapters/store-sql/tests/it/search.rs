//! Searches among many users: which ones are fast, and when slow ones time out.

use std::time::{Duration, Instant};

use vestry_contract::samples::Samples;
use vestry_domain::search::{Combined, Condition, UserFilter};
use vestry_domain::user::UserEmail;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::{Store, StoreError, StoreResult, UserPage};
use vestry_store_sql::SqlStore;

use crate::places::{Ground, Place, on_both};

const NOW: Timestamp = Timestamp::from_unix(1_900_000_000);
/// Number of users in addition to the one searched for.
const MANY: u32 = 10_000;
/// Enough time for any search here.
const LONG: Duration = Duration::from_secs(60);

on_both! { migrated_sqlite, migrated_postgres:
    m_31_a_slow_search_times_out
    m_31_a_search_by_address_is_fast_in_a_new_database
}

/// Creates a world with many users, each with an address, without statistics in the database. Returns it with one more address.
async fn crowded(place: &Place, store: &SqlStore) -> (World, UserEmail) {
    let mut samples = Samples::fresh();
    let world = World::new(samples.app().id, Environment::Test);
    let user = samples.user(world);
    let email = samples.email(&user);
    let mut tx = store.begin().await.unwrap();
    tx.users().insert(&user).await.unwrap();
    tx.identifiers().attach_email(&world, &email).await.unwrap();
    tx.commit().await.unwrap();
    // Slow to search: text that begins like the pattern is compared again from each following character.
    let folded = "0".repeat(2_000);
    let app = world.app_id;
    let numbers = format!(
        "WITH RECURSIVE n(i) AS (SELECT 100000000 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000 + {MANY})"
    );
    let copied = "app_id, environment, status, metadata, created_at, updated_at, is_owned";
    let users = format!(
        "INSERT INTO users (id, first_name, middle_name, last_name, folded_name, {copied}) {numbers} \
         SELECT 'user_000000000000000000' || n.i, '', '', '', '{folded}', {copied} FROM users, n WHERE app_id = '{app}'"
    );
    let copied = "app_id, environment, verified, created_at, updated_at, of_owned";
    let emails = format!(
        "INSERT INTO user_emails (id, user_id, address, identity, folded, {copied}) {numbers} \
         SELECT 'email_000000000000000000' || n.i, 'user_000000000000000000' || n.i, \
             n.i || '@crowd.example', n.i || '@crowd.example', '{folded}', {copied} FROM user_emails, n WHERE app_id = '{app}'"
    );
    place.execute(&format!("{users}; {emails}")).await;
    (world, email)
}

async fn search(
    store: &SqlStore,
    world: &World,
    filter: &UserFilter,
    within: Duration,
) -> StoreResult<UserPage> {
    let mut view = store.read().await.unwrap();
    let users = view.users();
    users
        .search(world, Some(filter), None, 10, NOW, within)
        .await
}

/// The database itself stops. A process that merely gave up would leave it working on an abandoned search. There is only one connection,
/// and it serves the next statement.
async fn m_31_a_slow_search_times_out(place: &Place) {
    let mut settings = place.settings.clone();
    (settings.connections, settings.readers) = (1, 1);
    let store = SqlStore::connect(&settings).await.unwrap();
    let (world, email) = crowded(place, &store).await;
    if matches!(place.ground, Ground::Server(_)) {
        // Without statistics, Postgres could scan every address again for each user. The complete search, whose duration is the basis of
        // the comparison, would then take minutes.
        place.execute("ANALYZE users; ANALYZE user_emails").await;
    }
    let part = format!("{}1", "0".repeat(20));
    let name = Condition::FullNameMatch(part.clone());
    let address = Condition::EmailMatch(part.clone());
    let number = Condition::PhoneNumberMatch("0".to_owned());
    let filters = [
        (Combined::All, vec![name.clone()]),
        (Combined::All, vec![address.clone()]),
        (Combined::Any, vec![number.clone(), address]),
        (Combined::Any, vec![number, name]),
    ]
    .map(|(combined, conditions)| UserFilter {
        combined,
        conditions,
    });
    let known = UserFilter {
        combined: Combined::All,
        conditions: vec![Condition::Email(vec![email.email.identity().clone()])],
    };
    for filter in &filters {
        let started = Instant::now();
        let whole = search(&store, &world, filter, LONG).await.unwrap();
        let whole_took = started.elapsed();
        assert_eq!((whole.users.len(), whole.total), (0, 0));
        let within = whole_took / 8;
        let given_up = search(&store, &world, filter, within).await;
        assert!(
            matches!(given_up, Err(StoreError::TooLong)),
            "{filter:?}, which takes {whole_took:?}, within {within:?}: {given_up:?}"
        );
        // The connection is idle again, and the limit does not stay with it.
        let found = search(&store, &world, &known, LONG).await.unwrap();
        assert_eq!(found.total, 1);
        if matches!(place.ground, Ground::Server(_)) {
            place.execute(NO_TRANSACTION_IS_OPEN).await;
        }
    }
}

/// Fails if a finished search left its transaction open.
const NO_TRANSACTION_IS_OPEN: &str = "DO $$ BEGIN IF EXISTS ( \
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'vestry' \
        AND state = 'idle in transaction' \
    ) THEN RAISE 'a transaction is open'; END IF; END $$";

/// The tables have no statistics yet, so nothing says that few rows share an address.
async fn m_31_a_search_by_address_is_fast_in_a_new_database(place: &Place) {
    let store = place.connect().await;
    let (world, email) = crowded(place, &store).await;
    let identity = email.email.identity().clone();
    let by_address = Condition::Email(vec![identity]);
    let by_id = Condition::EmailId(vec![email.id]);
    for (combined, conditions) in [
        (Combined::All, vec![by_address.clone()]),
        (Combined::All, vec![by_address.clone(), by_id.clone()]),
        (Combined::Any, vec![by_address, by_id]),
    ] {
        let filter = UserFilter {
            combined,
            conditions,
        };
        // The limit that a service would set.
        let found = search(&store, &world, &filter, Duration::from_secs(2)).await;
        let found = found.unwrap();
        assert_eq!((found.users.len(), found.total), (1, 1));
        assert_eq!(found.users[0], email.user_id);
    }
}
