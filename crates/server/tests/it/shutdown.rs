//! faults.md section 6: how a process stops.

use std::time::Instant;

use rustix::process::Signal;

use crate::support::client::Api;
use crate::support::process::{PATIENCE, Process, Stream};
use crate::support::site::{Keys, Server, Site};

async fn start(site: &Site) -> (Keys, Server) {
    let keys = site.set_up();
    (keys, site.serve().await)
}

/// A call that runs until `seconds` have passed, because the message it waits for never comes.
fn long_call(api: &Api, seconds: u32) -> tokio::task::JoinHandle<u16> {
    let api = api.clone();
    let path = format!("/v1/test/messages?to=nobody@example.com&wait={seconds}");
    tokio::spawn(async move { api.get(&path).await.status })
}

/// Waits until the call has reached its handler: another call on a second connection that was sent later is answered.
async fn is_under_way(api: &Api) {
    for _ in 0..3 {
        api.get("/v1/wallets/list").await.ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_and_ctrl_c_end_with_0() {
    let site = Site::sqlite();
    site.set_up();
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = site.serve().await;
        server.process.signal(signal);
        assert_eq!(server.process.ended().await.code(), Some(0));
        assert!(server.process.output().contains("\"stopped\""));
    }
    let mut dev = site.dev(&[]).await;
    dev.process.signal(Signal::INT);
    assert_eq!(dev.process.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_finished_and_nothing_new_is_accepted() {
    let site = Site::sqlite();
    let (keys, mut server) = start(&site).await;
    let api = server.api(&keys.test);
    let running = long_call(&api, 3);
    is_under_way(&api).await;
    server.process.signal(Signal::TERM);
    server.process.logged("stopping").await;
    // New connections are refused while the call still runs.
    let refused = async {
        loop {
            if Api::new(&server.base_url, "")
                .try_get("/livez")
                .await
                .is_err()
            {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.unwrap();
    assert!(!running.is_finished());
    assert_eq!(running.await.unwrap(), 200);
    assert_eq!(server.process.ended().await.code(), Some(0));
}

/// The load balancer sees `/readyz` say no while calls are still answered.
#[tokio::test(flavor = "multi_thread")]
async fn readiness_goes_before_the_listener() {
    let mut site = Site::sqlite();
    site.set("http.drain_delay", "2");
    let (keys, mut server) = start(&site).await;
    let api = server.api(&keys.test);
    assert_eq!(api.get("/readyz").await.status, 200);
    server.process.signal(Signal::TERM);
    server.process.logged("stopping").await;
    tokio::time::timeout(PATIENCE, async {
        while api.get("/readyz").await.status != 503 {}
    })
    .await
    .unwrap();
    assert_eq!(api.get("/livez").await.status, 200);
    api.get("/v1/wallets/list").await.ok();
    assert_eq!(server.process.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    let site = Site::sqlite();
    let (keys, mut server) = start(&site).await;
    let api = server.api(&keys.test);
    let running = long_call(&api, 30);
    is_under_way(&api).await;
    server.process.signal(Signal::TERM);
    server.process.logged("stopping").await;
    let second = Instant::now();
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.ended().await.code(), Some(1));
    assert!(second.elapsed().as_secs() < 5);
    assert!(running.await.is_err(), "the call was cut off");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_end_is_cut_off() {
    let mut site = Site::sqlite();
    site.set("http.shutdown_timeout", "1");
    let (keys, mut server) = start(&site).await;
    let api = server.api(&keys.test);
    let running = long_call(&api, 30);
    is_under_way(&api).await;
    let asked = Instant::now();
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.ended().await.code(), Some(0));
    assert!(asked.elapsed().as_secs() < 15, "{:?}", asked.elapsed());
    assert!(running.await.is_err());
}

/// `vestry worker` delivers what a service without a worker has left, and stops in order.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_delivers_for_others() {
    use crate::support::journey::{captured_code, send_code};
    let mut site = Site::sqlite();
    site.set("outbox.worker", "false");
    let (keys, server) = start(&site).await;
    let api = server.api(&keys.test);
    send_code(&api, "ada@example.com").await;
    let none = api
        .get("/v1/test/messages?to=ada@example.com&wait=2")
        .await
        .ok();
    assert_eq!(none["messages"].as_array().unwrap().len(), 0);

    let mut worker = Process::start(&mut site.command(&["worker"]));
    worker.logged("worker ready").await;
    assert_eq!(captured_code(&api, "ada@example.com").await.len(), 6);
    worker.stop().await;
    server.process.stop().await;
}

/// Logs go to stderr, one JSON object a line; stdout stays empty.
#[tokio::test(flavor = "multi_thread")]
async fn logs_are_json_lines_on_stderr() {
    let site = Site::sqlite();
    let (keys, mut server) = start(&site).await;
    server.api(&keys.test).get("/v1/wallets/list").await.ok();
    server.process.signal(Signal::TERM);
    server.process.ended().await;
    assert_eq!(server.process.output_of(Stream::Stdout), "");
    let lines = server.process.output_of(Stream::Stderr);
    let mut requests = 0;
    for line in lines.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        if event["route"] == "/v1/wallets/list" {
            requests += 1;
            for field in [
                "request_id",
                "app_id",
                "environment",
                "status",
                "duration_ms",
            ] {
                assert!(!event[field].is_null(), "{field} in {event}");
            }
        }
    }
    assert_eq!(requests, 1, "{lines}");
    assert!(!lines.contains(&keys.test));
}
