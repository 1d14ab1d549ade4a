//! The rate limit over several processes.

use std::sync::Arc;

use vestry_contract::race::race;
use vestry_contract::samples::Samples;
use vestry_domain::limits::Limit;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::limiter::RateLimiter;

use crate::places::{Place, on_both};

on_both! { migrated_sqlite, migrated_postgres:
    two_processes_together_admit_exactly_the_limit
}

/// R16: 300 concurrent hits on two replicas with a limit of 100. Exactly 100 are admitted, all get the same reset time, and every remaining
/// count is returned once.
async fn two_processes_together_admit_exactly_the_limit(place: &Place) {
    let limiters = [
        Arc::new(place.connect().await.rate_limiter()),
        Arc::new(place.connect().await.rate_limiter()),
    ];
    let world = World::new(Samples::fresh().app().id, Environment::Live);
    let now = Timestamp::from_unix(1_800_000_000);
    let limit = Limit::per_minute(100);
    let verdicts = race((0..300).map(|number| {
        let limiter = Arc::clone(&limiters[number % 2]);
        async move { limiter.hit(&world, limit, now).await.unwrap() }
    }))
    .await;
    let mut remaining: Vec<_> = verdicts
        .iter()
        .filter(|verdict| verdict.admitted)
        .map(|verdict| verdict.remaining)
        .collect();
    remaining.sort_unstable();
    assert_eq!(remaining, (0..100).collect::<Vec<_>>());
    assert!(
        verdicts
            .iter()
            .all(|verdict| verdict.reset == now + limit.window)
    );
}
