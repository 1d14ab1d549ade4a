//! Settings that change while the service runs (PR-89).

use std::fs;

use rustix::process::Signal;
use tokio::task::{JoinSet, block_in_place};

use crate::support::client::http;
use crate::support::installation::Installation;

/// Clients, and signals that the process gets while they call.
const CLIENTS: usize = 4;
const SIGNALS: usize = 100;

/// PR-89: SIGHUP reloads what can change, all or nothing, and the log names the rest. A hundred signals under load fail no request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pr_89_sighup_reloads_all_or_nothing() {
    let installation = Installation::sqlite();
    let keys = block_in_place(|| installation.set_up());
    // Replaced as a whole, because the service reads it at any moment.
    let write = |text: &str| {
        let fresh = installation.file("fresh.toml");
        fs::write(&fresh, text).unwrap();
        fs::rename(fresh, installation.file("vestry.toml")).unwrap();
    };
    write("[log]\nlevel = \"debug\"\n");
    let mut server = installation.serve().await;
    let client = http(&[]);
    let url = format!("{}/v1/wallets/list", server.base_url);
    // A header that only trusted proxies may send.
    let in_the_clear = async || {
        let request = client.get(&url).bearer_auth(&keys.test);
        let request = request.header("x-forwarded-proto", "http");
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(in_the_clear().await, 200);
    let trusting = "[http]\ntrusted_proxies = [\"127.0.0.1/32\"]\n";
    write(&format!(
        "{trusting}[log]\nlevel = \"warn\"\nrequests = \"off\"\n"
    ));
    server.process.signal(Signal::HUP);
    let reloaded = "settings reloaded: http.trusted_proxies, log.level, log.requests";
    server.process.logged(reloaded).await;
    assert_eq!(in_the_clear().await, 400);

    write("[log]\nlevel = \"loud\"\nrequests = \"all\"\n");
    server.process.signal(Signal::HUP);
    let why = r#"log.level in vestry.toml: must be "error", "warn", "info", "debug" or "trace""#;
    let refused = format!("settings not reloaded: {why}; the old ones stay");
    server.process.logged(&refused).await;
    assert_eq!(in_the_clear().await, 400);

    let slow = "[limits]\nfailed_auth_per_minute = 5\n";
    write(&format!("{trusting}{slow}[log]\nrequests = \"off\"\n"));
    server.process.signal(Signal::HUP);
    server.process.shows("settings reloaded: log.level\"").await;
    let restart = "restart needed for: limits.failed_auth_per_minute";
    server.process.shows(restart).await;

    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let api = server.api(&keys.test);
        clients.spawn(async move {
            for _ in 0..SIGNALS {
                api.get("/v1/wallets/list").await.ok();
            }
        });
    }
    let api = server.api(&keys.test);
    for number in 0..SIGNALS {
        let requests = ["off", "errors"][number % 2];
        write(&format!("{trusting}[log]\nrequests = \"{requests}\"\n"));
        server.process.signal(Signal::HUP);
        api.get("/v1/wallets/list").await.ok();
    }
    clients.join_all().await;
    let log = server.process.stop().await;
    // Only the first request was logged.
    assert_eq!(log.matches("\"request\"").count(), 1, "{log}");
}
