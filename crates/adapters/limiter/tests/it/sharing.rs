//! Several replicas with one server.

use std::sync::Arc;

use redis::cmd;
use vestry_contract::race::race;
use vestry_domain::Timestamp;
use vestry_domain::limits::Limit;
use vestry_domain::timestamp::Seconds;
use vestry_ports::limiter::RateLimiter;

use crate::{hit, now, server, world};

const LIMIT: Limit = Limit::per_minute(100);

/// R16: exactly the limit is admitted, `Remaining` decreases one by one, and `Reset` agrees within a second.
#[tokio::test(flavor = "multi_thread")]
async fn r16_three_replicas_admit_exactly_the_limit_together() {
    let Some(url) = server::url() else { return };
    let world = world("r16 redis");
    server::forget(&url, &world).await;
    let mut uses = Vec::new();
    for _ in 0..3 {
        let replica = Arc::new(server::limiter(&url).await);
        uses.extend((0..100).map(|_| {
            let replica = Arc::clone(&replica);
            async move { hit(&*replica, &world, LIMIT).await }
        }));
    }
    let verdicts = race(uses).await;

    let mut remaining: Vec<_> = verdicts
        .iter()
        .filter(|verdict| verdict.admitted)
        .map(|verdict| verdict.remaining)
        .collect();
    remaining.sort_unstable();
    assert_eq!(remaining, (0..100).collect::<Vec<_>>());
    assert!(verdicts.iter().all(|verdict| verdict.limit == 100));
    let resets = || verdicts.iter().map(|verdict| verdict.reset.unix());
    let (earliest, latest) = (resets().min(), resets().max());
    assert!(latest.zip(earliest).is_some_and(|(l, e)| l - e <= 1));
}

/// F8: the window is the server's; a replica with a wrong clock counts in it too, and reports its own time.
#[tokio::test(flavor = "multi_thread")]
async fn f8_replicas_whose_clocks_differ_share_one_window() {
    let Some(url) = server::url() else { return };
    let world = world("f8 redis");
    server::forget(&url, &world).await;
    let replica = server::limiter(&url).await;
    let mut admitted = 0;
    for use_ in 0..30_i64 {
        let clock = now() + Seconds((use_ % 3 - 1) * 3600);
        let verdict = replica
            .hit(&world, Limit::per_minute(10), clock)
            .await
            .expect("an answer");
        admitted += u32::from(verdict.admitted);
        let wait = verdict.reset - clock;
        assert!((50..=61).contains(&wait.0), "{wait:?}");
    }
    assert_eq!(admitted, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_ends_by_the_clock_of_the_server() {
    let Some(url) = server::url() else { return };
    let world = world("the end of a window");
    let key = server::forget(&url, &world).await;
    let limit = Limit::per_minute(1);
    let replica = server::limiter(&url).await;
    assert!(hit(&replica, &world, limit).await.admitted);
    // However late the caller thinks it is.
    let later = now() + Seconds(3600);
    let verdict = replica.hit(&world, limit, later).await.expect("an answer");
    assert!(!verdict.admitted);

    // As if it had opened a minute ago.
    let mut connection = server::connection(&url).await;
    cmd("HINCRBY")
        .arg((&key, "opened", -60))
        .exec_async(&mut connection)
        .await
        .expect("the window is moved");
    let verdict = hit(&replica, &world, limit).await;
    assert!(verdict.admitted);
    assert_eq!(verdict.remaining, 0);
}

/// No keys remain for unused worlds.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_expires_with_its_window() {
    let Some(url) = server::url() else { return };
    let world = world("the end of a key");
    let key = server::forget(&url, &world).await;
    let replica = server::limiter(&url).await;
    for _ in 0..3 {
        hit(&replica, &world, LIMIT).await;
    }
    let left: i64 = cmd("TTL")
        .arg(&key)
        .query_async(&mut server::connection(&url).await)
        .await
        .expect("an answer");
    assert!((1..=60).contains(&left), "{left}");
}

/// A restarted server has forgotten the script.
#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_script_is_reloaded() {
    let Some(url) = server::url() else { return };
    let world = world("a forgotten script");
    server::forget(&url, &world).await;
    let replica = server::limiter(&url).await;
    assert_eq!(hit(&replica, &world, LIMIT).await.remaining, 99);
    cmd("SCRIPT")
        .arg("FLUSH")
        .exec_async(&mut server::connection(&url).await)
        .await
        .expect("the script is forgotten");
    assert_eq!(hit(&replica, &world, LIMIT).await.remaining, 98);
}

/// A disabled limit leaves no trace; when enabled, it starts at zero.
#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_limit_is_not_counted() {
    let Some(url) = server::url() else { return };
    let world = world("a limit that is off");
    let key = server::forget(&url, &world).await;
    let replica = server::limiter(&url).await;
    let verdict = hit(&replica, &world, Limit::per_minute(0)).await;
    assert!(verdict.admitted);
    let known: bool = cmd("EXISTS")
        .arg(&key)
        .query_async(&mut server::connection(&url).await)
        .await
        .expect("an answer");
    assert!(!known);
    let beginning = Timestamp::from_unix(0);
    let verdict = replica
        .hit(&world, LIMIT, beginning)
        .await
        .expect("an answer");
    assert_eq!(verdict.remaining, 99);
}
