//! Properties of the generated test data.

use std::collections::HashSet;

use vestry_contract::samples::{Samples, object};
use vestry_domain::{Environment, World};

#[test]
fn the_same_seed_gives_the_same_records() {
    let records = |seed| {
        let mut samples = Samples::from_seed(seed);
        let world = World::new(samples.app().id, Environment::Test);
        let user = samples.user(world);
        (samples.email(&user), samples.session(&user), user)
    };
    assert_eq!(records(7), records(7));
    assert_ne!(records(7), records(8));
}

#[test]
fn records_come_one_second_after_another_and_their_ids_say_so() {
    let mut samples = Samples::fresh();
    let world = World::new(samples.app().id, Environment::Live);
    let users: Vec<_> = (0..50).map(|_| samples.user(world)).collect();
    assert!(users.is_sorted_by(|a, b| a.id < b.id && a.created_at < b.created_at));
    assert!(
        users
            .iter()
            .all(|user| user.id.timestamp() == user.created_at)
    );
    samples.stop_clock();
    let (one, two) = (samples.user(world), samples.user(world));
    assert_eq!(one.created_at, two.created_at);
    assert_ne!(one.id, two.id);
}

#[test]
fn unique_values_are_unique() {
    let mut samples = Samples::fresh();
    let world = World::new(samples.app().id, Environment::Live);
    let user = samples.user(world);
    let identities: HashSet<_> = (0..500)
        .map(|_| samples.email(&user).email.identity().clone())
        .collect();
    assert_eq!(identities.len(), 500);
    let tokens: HashSet<_> = (0..500).map(|_| samples.token()).collect();
    assert_eq!(tokens.len(), 500);
}

#[test]
fn metadata_survives_json() {
    let mut samples = Samples::fresh();
    for _ in 0..20 {
        let metadata = samples.metadata();
        let text = serde_json::to_string(metadata.as_object()).unwrap();
        let read = object(serde_json::from_str(&text).unwrap());
        assert_eq!(&read, metadata.as_object());
    }
}
