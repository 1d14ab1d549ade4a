//! F7: a server that is unreachable, silent or unusable. The declared behaviour is `open`: every replica counts separately.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use redis::cmd;
use tokio::time::{Instant, timeout};
use vestry_domain::limits::Limit;

use crate::log::{self, Log};
use crate::proxy::{Proxy, Way};
use crate::{admitted, hit, server, world};

const LIMIT: Limit = Limit::per_minute(10);

/// Longer than in production, for machines that are busy with other tests.
const SHORT: Duration = Duration::from_millis(500);

/// Interval between two requests while waiting for the server.
const TURN: Duration = Duration::from_millis(50);

/// R16: the store is killed halfway.
#[tokio::test(flavor = "multi_thread")]
async fn f7_with_an_unreachable_server_each_replica_has_its_own_limit() {
    alone_and_back("f7 gone", Way::Cut).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f7_with_a_silent_server_each_replica_has_its_own_limit() {
    alone_and_back("f7 silent", Way::Stalled).await;
}

async fn alone_and_back(test: &str, broken: Way) {
    let Some(url) = server::url() else { return };
    let world = world(test);
    server::forget(&url, &world).await;
    let proxy = Proxy::before(&url).await;
    let (one, other) = (
        server::limiter_with(&proxy.url, SHORT).await,
        server::limiter_with(&proxy.url, SHORT).await,
    );
    let shared = admitted(&one, &world, LIMIT, 3).await + admitted(&other, &world, LIMIT, 3).await;
    assert_eq!(shared, 6);

    proxy.make(broken);
    for replica in [&one, &other] {
        assert_eq!(admitted(replica, &world, LIMIT, 30).await, 10);
        assert!(replica.probe().await.is_err());
    }

    proxy.make(Way::Open);
    for replica in [&one, &other] {
        replica.probe().await.expect("the connection is open again");
    }
    // The shared window continued, except for a use that was counted and whose response was lost.
    let left = admitted(&one, &world, LIMIT, 5).await + admitted(&other, &world, LIMIT, 5).await;
    assert!((2..=4).contains(&left), "{left}");
}

/// PR-68: while the store is away, each of several replicas admits its share of the limit, and at least one use.
#[tokio::test(flavor = "multi_thread")]
async fn pr_68_without_the_store_each_replica_admits_its_share() {
    let Some(url) = server::url() else { return };
    let proxy = Proxy::before(&url).await;
    proxy.make(Way::Cut);
    for (replicas, share) in [(1, 10), (3, 3), (10, 1), (50, 1)] {
        let limiter = server::connect_one_of(replicas, &proxy.url, SHORT).await;
        let world = world(&format!("share of {replicas}"));
        assert_eq!(admitted(&limiter, &world, LIMIT, 30).await, share);
        let unlimited = Limit::per_minute(0);
        assert_eq!(admitted(&limiter, &world, unlimited, 5).await, 5);
    }
}

/// F7: an outage adds the latency of one timeout, not of one per request.
#[tokio::test(flavor = "multi_thread")]
async fn f7_requests_do_not_wait_for_a_server_known_to_be_silent() {
    let Some(url) = server::url() else { return };
    let world = world("f7 latency");
    let proxy = Proxy::before(&url).await;
    let replica = server::limiter_with(&proxy.url, Duration::from_secs(1)).await;
    proxy.make(Way::Stalled);
    hit(&replica, &world, LIMIT).await;
    let began = Instant::now();
    admitted(&replica, &world, LIMIT, 1000).await;
    // A thousand timeouts would take far longer; a handful would be the reconnection attempts.
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn f7_a_server_missing_at_startup_is_an_outage_too() {
    log::install();
    let port = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.local_addr().expect("it is bound").port()
    };
    let replica = server::connect(&format!("redis://127.0.0.1:{port}"), SHORT).await;
    assert!(replica.probe().await.is_err());
    let world = world("f7 start");
    assert_eq!(admitted(&replica, &world, LIMIT, 30).await, 10);
}

/// A full server or a replica responds, but counts nothing. Here it is a user with read permission only.
#[tokio::test(flavor = "multi_thread")]
async fn f7_a_server_that_cannot_write_counts_as_an_outage() {
    let Some(url) = server::url() else { return };
    let mut connection = server::connection(&url).await;
    cmd("ACL")
        .arg(&[
            "SETUSER",
            "vestry-reader",
            "on",
            ">secret",
            "~*",
            "+@all",
            "-@write",
        ])
        .exec_async(&mut connection)
        .await
        .expect("a user");
    let proxy = Proxy::before(&url).await;
    let reader = proxy
        .url
        .replace("redis://", "redis://vestry-reader:secret@");
    let replica = server::connect(&reader, SHORT).await;
    assert!(replica.probe().await.is_err());
    let world = world("f7 reader");
    assert_eq!(admitted(&replica, &world, LIMIT, 30).await, 10);
    cmd("ACL")
        .arg(&["DELUSER", "vestry-reader"])
        .exec_async(&mut connection)
        .await
        .expect("the user is gone");
}

/// The log reports the beginning and the end of an outage, and a replica recovers on its own.
#[tokio::test]
async fn f7_an_outage_is_logged_once_and_ends_automatically() {
    let Some(url) = server::url() else { return };
    let world = world("f7 log");
    let log = Log::listen();
    let proxy = Proxy::before(&url).await;
    let replica = server::limiter_with(&proxy.url, Duration::from_secs(20)).await;
    let (before, mut ends) = (log.warnings(), log.notes());
    assert_eq!(ends, 1);
    for outage in 1..=2 {
        proxy.make(Way::Cut);
        admitted(&replica, &world, LIMIT, 50).await;
        assert_eq!(log.warnings() - before, outage);

        proxy.make(Way::Open);
        let back = async {
            // Requests trigger the reconnection attempts; an info event reports success.
            while timeout(TURN, log.notes_beyond(ends)).await.is_err() {
                hit(&replica, &world, LIMIT).await;
            }
        };
        timeout(Duration::from_secs(20), back)
            .await
            .expect("the replica recovers");
        ends += 1;
        assert_eq!(log.notes(), ends);
    }
    assert_eq!(log.warnings() - before, 2);
}
