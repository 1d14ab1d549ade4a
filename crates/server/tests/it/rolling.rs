//! K6: replicas behind haproxy are restarted one after the other, and no request fails (PR-88).

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::Signal;
use serde_json::json;
use tokio::task::{JoinSet, block_in_place};
use vestry_contract::rng;
use vestry_testkit::lane;

use crate::support::client::{Api, http};
use crate::support::installation::{Installation, Server};
use crate::support::poll::until;
use crate::support::process::PATIENCE;

/// Restarts; `VESTRY_TEST_ROUNDS` sets another number.
const RESTARTS: usize = 10;
/// Concurrent clients.
const CLIENTS: usize = 8;
/// How long a replica may take to stop.
const STOPS_WITHIN: Duration = Duration::from_secs(25);
/// The names of the replicas in `deploy/haproxy.cfg`.
const NAMES: [&str; 2] = ["vestry-1", "vestry-2"];

/// A haproxy with the settings of `deploy/`, except for addresses and the interval of health checks, which is a fifth.
struct Haproxy {
    child: Child,
    control: PathBuf,
    base_url: String,
    certificate: String,
}

impl Haproxy {
    fn program() -> Option<PathBuf> {
        let places = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"];
        places.map(PathBuf::from).into_iter().find(|at| at.exists())
    }

    fn start(program: &Path, installation: &Installation, servers: &[Server; 2]) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let pem = installation.file("vestry.pem");
        fs::write(&pem, cert.pem() + &signing_key.serialize_pem()).unwrap();
        // It gets the listener as its stdin, so that its port was free.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("https://{}", listener.local_addr().unwrap());
        let control = installation.file("haproxy.sock");
        let mut changes = vec![
            ("/etc/haproxy/vestry.pem", pem.display().to_string()),
            ("inter 1s", "inter 200ms".to_owned()),
            (" resolvers docker init-addr none", String::new()),
            ("bind :8443", "bind fd@0".to_owned()),
        ];
        let socket = format!(
            "global\n    stats socket {} level admin\n",
            control.display()
        );
        changes.push(("global\n", socket));
        let addresses = ["vestry-1:8080", "vestry-2:8080"];
        for (address, server) in addresses.into_iter().zip(servers) {
            let to = server.base_url.strip_prefix("http://").unwrap();
            changes.push((address, to.to_owned()));
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut text = fs::read_to_string(root.join("deploy/haproxy.cfg")).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{from} is not in deploy/haproxy.cfg");
            text = text.replacen(from, &to, 1);
        }
        let file = installation.file("haproxy.cfg");
        fs::write(&file, text).unwrap();
        let child = Command::new(program)
            .arg("-db")
            .arg("-f")
            .arg(&file)
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            child,
            control,
            base_url,
            certificate: cert.pem(),
        }
    }

    /// The output of a command; `None` while it does not listen yet.
    fn ask(&self, command: &str) -> Option<String> {
        let mut stream = UnixStream::connect(&self.control).ok()?;
        writeln!(stream, "{command}").ok()?;
        let mut output = String::new();
        stream.read_to_string(&mut output).ok()?;
        Some(output)
    }

    /// Waits until both replicas have passed their health checks.
    async fn until_up(&self) {
        let are_up = until(async || {
            let output = self.ask("show stat").unwrap_or_default();
            let is_up = |name: &str| {
                let prefix = format!("vestry,{name},");
                let mut lines = output.lines();
                let line = lines.find(|line| line.starts_with(&prefix));
                line.and_then(|line| line.split(',').nth(17)) == Some("UP")
            };
            NAMES.into_iter().all(is_up)
        });
        let up = tokio::time::timeout(PATIENCE, are_up).await;
        assert!(up.is_ok(), "{:?}", self.ask("show stat"));
    }

    /// Uses another address for a replica.
    fn lead_to(&self, name: &str, server: &Server) {
        let address = server.base_url.strip_prefix("http://").unwrap();
        let (host, port) = address.split_once(':').unwrap();
        let command = format!("set server vestry/{name} addr {host} port {port}");
        let output = self.ask(&command).unwrap();
        assert!(output.contains("changed"), "{output}");
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        // It may have ended on its own.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// A client that creates users and reads until it is stopped. Returns what failed.
async fn client(
    api: Api,
    number: usize,
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
) -> Vec<String> {
    let mut failures = Vec::new();
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let body = json!({ "email": format!("user-{number}-{round}@example.com") });
        let made = api.try_post("/v1/auth/users/create", &body).await;
        let read = api.try_get("/v1/wallets/list").await;
        for answer in [made, read] {
            match answer {
                Ok(answer) if answer.status == 200 => {}
                Ok(answer) => failures.push(format!("{}: {}", answer.status, answer.text)),
                Err(error) => failures.push(format!("{error:?}")),
            }
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
    failures
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pr_88_k6_a_rolling_restart_fails_no_request() {
    let lacks = "haproxy is not installed: apt-get install haproxy";
    let Some(program) = lane::required("haproxy", Haproxy::program(), lacks) else {
        return;
    };
    let Some(mut installation) = Installation::postgres().await else {
        return;
    };
    installation.set("http.trusted_proxies", "127.0.0.1/32");
    // A fifth of the default, as the interval of health checks.
    installation.set("http.drain_delay", "1");
    let keys = block_in_place(|| installation.set_up());
    let limit = "new_users_per_hour=1000000";
    block_in_place(|| installation.admin(&["app", "set", &keys.app, limit]));
    let mut servers = [installation.serve().await, installation.serve().await];
    let haproxy = Haproxy::start(&program, &installation, &servers);
    haproxy.until_up().await;
    let (stop, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let api = Api::over(http(&[&haproxy.certificate]), &haproxy.base_url, &keys.test);
        let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
        clients.spawn(client(api, number, stop, answered));
    }
    let mut longest = Duration::ZERO;
    let restarts = rng::rounds(RESTARTS);
    for (round, which) in (0..restarts).zip([0, 1].into_iter().cycle()) {
        let before = answered.load(Ordering::Relaxed);
        let replica = &mut servers[which];
        let asked = Instant::now();
        replica.process.signal(Signal::TERM);
        let status = replica.process.ended().await;
        longest = longest.max(asked.elapsed());
        assert_eq!(status.code(), Some(0), "restart {round}");
        assert!(
            answered.load(Ordering::Relaxed) > before,
            "nothing was called"
        );
        *replica = installation.serve().await;
        haproxy.lead_to(NAMES[which], replica);
        haproxy.until_up().await;
    }
    stop.store(true, Ordering::Relaxed);
    let failures: Vec<_> = clients.join_all().await.into_iter().flatten().collect();
    let answered = answered.load(Ordering::Relaxed);
    println!("K6: {restarts} restarts, the slowest stop took {longest:?}, {answered} requests");
    assert!(
        failures.is_empty(),
        "{} of {answered}: {failures:#?}",
        failures.len()
    );
    assert!(longest <= STOPS_WITHIN, "{longest:?}");
    for server in servers {
        server.process.stop().await;
    }
}
