//! Shutdown of a process (OPS-6).

use std::time::Instant;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::client::Api;
use crate::support::installation::{Installation, Keys, Server};
use crate::support::process::{PATIENCE, Process, Stream};

async fn start(installation: &Installation) -> (Keys, Server) {
    let keys = installation.set_up();
    (keys, installation.serve().await)
}

/// A call in the middle of its body: the service has accepted it and waits for the rest.
struct UnderWay(TcpStream);

const BODY: &str = r#"{"email":"ada@example.com"}"#;

impl UnderWay {
    /// "100 Continue" confirms that the service reads this request.
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
        let mut response = vec![0; go_on.len()];
        stream.read_exact(&mut response).await.unwrap();
        assert_eq!(String::from_utf8(response).unwrap(), go_on);
        Self(stream)
    }

    /// Sends the rest. Returns everything that comes back.
    async fn finish(mut self) -> String {
        // The service may have closed the connection by now.
        let _hung_up = self.0.write_all(BODY.as_bytes()).await;
        let mut response = Vec::new();
        let _reset = self.0.read_to_end(&mut response).await;
        String::from_utf8(response).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_and_ctrl_c_exit_with_0() {
    let installation = Installation::sqlite();
    installation.set_up();
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = installation.serve().await;
        server.process.signal(signal);
        assert_eq!(server.process.ended().await.code(), Some(0));
        assert!(server.process.output().contains("\"stopped\""));
    }
    let mut dev = installation.dev(&[]).await;
    dev.process.signal(Signal::INT);
    assert_eq!(dev.process.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn running_calls_finish_and_new_ones_are_refused() {
    let installation = Installation::sqlite();
    let (keys, mut server) = start(&installation).await;
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
    let response = running.finish().await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert_closes(&response);
    assert_eq!(server.process.ended().await.code(), Some(0));
}

const LIVEZ: &str = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";

async fn connect(server: &Server) -> TcpStream {
    let address = server.base_url.strip_prefix("http://").unwrap();
    TcpStream::connect(address).await.unwrap()
}

/// Reads one response of a connection that stays open.
async fn livez(stream: &mut TcpStream) -> String {
    stream.write_all(LIVEZ.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    while !response.ends_with(b"}") {
        assert!(stream.read_buf(&mut response).await.unwrap() > 0);
    }
    String::from_utf8(response).unwrap()
}

/// Reads until the service closes the connection.
async fn whole_response(server: &Server, request: &str) -> String {
    let mut stream = connect(server).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    let end = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut response));
    let _reset = end.await.unwrap();
    String::from_utf8(response).unwrap()
}

#[track_caller]
fn assert_closes(response: &str) {
    let (head, _body) = response.split_once("\r\n\r\n").unwrap();
    let head = head.to_ascii_lowercase();
    assert!(head.contains("\r\nconnection: close"), "API-24: {response}");
}

/// API-24: a client that reads this does not send its next request on a closing connection.
#[tokio::test(flavor = "multi_thread")]
async fn api_24_the_last_response_says_that_its_connection_closes() {
    let mut installation = Installation::sqlite();
    installation.set("http.drain_delay", "300");
    let (keys, mut server) = start(&installation).await;
    let key = &keys.test;
    let too_large = format!(
        "POST /v1/auth/users/create HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 100000000\r\n\r\n"
    );
    for request in [
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "NONSENSE\r\n\r\n",
        &too_large,
    ] {
        assert_closes(&whole_response(&server, request).await);
    }
    let mut idle = connect(&server).await;
    let response = livez(&mut idle).await;
    assert!(
        !response.to_ascii_lowercase().contains("close"),
        "{response}"
    );
    server.process.signal(Signal::TERM);
    server.process.logged("stopping").await;
    assert_closes(&whole_response(&server, LIVEZ).await);
    assert_closes(&livez(&mut idle).await);
    assert_eq!(idle.read(&mut [0]).await.unwrap(), 0, "it was closed");
    // The rest of the delay is not needed.
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.ended().await.code(), Some(1));
}

/// API-24: an idle connection stays open for the configured time, and no longer.
#[tokio::test(flavor = "multi_thread")]
async fn api_24_an_idle_connection_stays_for_the_time_that_is_set() {
    let mut installation = Installation::sqlite();
    installation.set("http.keep_alive", "2");
    let (_keys, server) = start(&installation).await;
    let mut idle = connect(&server).await;
    // Before the response: this test may not run for a while after it.
    let asked = Instant::now();
    livez(&mut idle).await;
    let closed = tokio::time::timeout(PATIENCE, idle.read(&mut [0])).await;
    assert_eq!(closed.unwrap().unwrap(), 0);
    // The service reads its clock twice a second.
    assert!(asked.elapsed().as_millis() >= 1_000);
    server.process.stop().await;
}

/// Shutdown does not wait for a connection without a request.
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_do_not_delay_shutdown() {
    let mut installation = Installation::sqlite();
    // Longer than this test waits for the end.
    installation.set("http.shutdown_timeout", "300");
    let (_keys, mut server) = start(&installation).await;
    let mut idle = connect(&server).await;
    livez(&mut idle).await;
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.ended().await.code(), Some(0));
}

/// `/readyz` fails while calls are still answered.
#[tokio::test(flavor = "multi_thread")]
async fn readiness_goes_before_the_listener() {
    let mut installation = Installation::sqlite();
    installation.set("http.drain_delay", "300");
    let (keys, mut server) = start(&installation).await;
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
    // The rest of the delay is not needed.
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.ended().await.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_the_process_at_once() {
    let installation = Installation::sqlite();
    let (keys, mut server) = start(&installation).await;
    let running = UnderWay::begin(&server, &keys.test).await;
    server.process.signal(Signal::TERM);
    server.process.logged("stopping").await;
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.ended().await.code(), Some(1));
    assert_eq!(running.finish().await, "", "the call was cut off");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_do_not_end_are_aborted() {
    let mut installation = Installation::sqlite();
    installation.set("http.shutdown_timeout", "1");
    // Longer than this test waits for the end.
    installation.set("http.request_timeout", "300");
    let (keys, mut server) = start(&installation).await;
    let running = UnderWay::begin(&server, &keys.test).await;
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.ended().await.code(), Some(0));
    assert_eq!(running.finish().await, "");
}

/// `vestry worker` delivers what a service without a worker has queued, and stops gracefully.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_delivers_for_others() {
    use crate::support::flow::{captured_code, send_code};
    let mut installation = Installation::sqlite();
    installation.set("outbox.worker", "false");
    let (keys, server) = start(&installation).await;
    let api = server.api(&keys.test);
    send_code(&api, "ada@example.com").await;
    let none = api
        .get("/v1/test/messages?to=ada@example.com&wait=2")
        .await
        .ok();
    assert_eq!(none["messages"].as_array().unwrap().len(), 0);

    let mut worker = Process::start(&mut installation.command(&["worker"]));
    worker.logged("worker ready").await;
    assert_eq!(captured_code(&api, "ada@example.com").await.len(), 6);
    worker.stop().await;
    server.process.stop().await;
}

/// Logs go to stderr, one JSON object per line; stdout stays empty.
#[tokio::test(flavor = "multi_thread")]
async fn logs_are_json_lines_on_stderr() {
    let installation = Installation::sqlite();
    let (keys, mut server) = start(&installation).await;
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
