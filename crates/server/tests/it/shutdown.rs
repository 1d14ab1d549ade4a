//! How a process stops (OPS-6).

use std::time::Instant;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::client::Api;
use crate::support::process::{PATIENCE, Process, Stream};
use crate::support::site::{Keys, Server, Site};

async fn start(site: &Site) -> (Keys, Server) {
    let keys = site.set_up();
    (keys, site.serve().await)
}

/// A call in the middle of its body: the service has taken it and waits for the rest.
struct UnderWay(TcpStream);

const BODY: &str = r#"{"email":"ada@example.com"}"#;

impl UnderWay {
    /// "100 Continue" is the service's word that it reads this request.
    async fn begin(server: &Server, key: &str) -> Self {
        let address = server.base_url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST /v1/auth/users/create HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
            BODY.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        let mut said = vec![0; go_on.len()];
        stream.read_exact(&mut said).await.unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), go_on);
        Self(stream)
    }

    /// Sends the rest; answers with everything that comes back.
    async fn finish(mut self) -> String {
        // The service may have hung up by now.
        let _hung_up = self.0.write_all(BODY.as_bytes()).await;
        let mut said = Vec::new();
        let _reset = self.0.read_to_end(&mut said).await;
        String::from_utf8(said).unwrap()
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
    let running = UnderWay::begin(&server, &keys.test).await;
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
    let said = running.finish().await;
    assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
    assert_eq!(server.process.ended().await.code(), Some(0));
}

/// The load balancer sees `/readyz` say no while calls are still answered.
#[tokio::test(flavor = "multi_thread")]
async fn readiness_goes_before_the_listener() {
    let mut site = Site::sqlite();
    site.set("http.drain_delay", "6");
    let (keys, mut server) = start(&site).await;
    let api = server.api(&keys.test);
    api.until_ready().await;
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
    let running = UnderWay::begin(&server, &keys.test).await;
    server.process.signal(Signal::TERM);
    server.process.logged("stopping").await;
    let second = Instant::now();
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.ended().await.code(), Some(1));
    assert!(second.elapsed().as_secs() < 5);
    assert_eq!(running.finish().await, "", "the call was cut off");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_end_is_cut_off() {
    let mut site = Site::sqlite();
    site.set("http.shutdown_timeout", "1");
    let (keys, mut server) = start(&site).await;
    let running = UnderWay::begin(&server, &keys.test).await;
    let asked = Instant::now();
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.ended().await.code(), Some(0));
    assert!(asked.elapsed().as_secs() < 15, "{:?}", asked.elapsed());
    assert_eq!(running.finish().await, "");
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
