//! User filters as SQL conditions.

use diesel::pg::Pg;
use vestry_domain::email::Email;
use vestry_domain::ids::{AppId, Id};
use vestry_domain::search::{Combined, Condition, UserFilter};
use vestry_domain::{Environment, Timestamp, World};
use vestry_store_rows::filter_sql::{Deadline, FilterSql, MAX_LISTED, lookups};

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
            let condition = FilterSql::new(&world, filter, now, found, Deadline::NONE);
            diesel::debug_query::<Pg, _>(&condition).to_string()
        };
        let both = filter(vec![email.clone(), number.clone()]);
        let asked: Vec<bool> = lookups(&world, &both, now, Deadline::NONE)
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
        let crowd = vec!["user_1".to_owned(); usize::from(MAX_LISTED) + 1];
        let joined = text(&filter(vec![email.clone()]), &[Some(crowd)]);
        assert!(joined.contains("user_emails"), "{joined}");
    }
}
