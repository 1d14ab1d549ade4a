//! PR-57: Apps on the servers of a Citus cluster, with two processes of the service.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::task::{JoinHandle, block_in_place};
use vestry_contract::rng::{self, Rng};
use vestry_testkit::lane;

use crate::support::client::Api;
use crate::support::cluster::{Cluster, Programs, only};
use crate::support::flow::{Owner, new_owner, sign_in};
use crate::support::installation::{Installation, Keys, Server, text};
use crate::support::mixed_load::{Client, Load, check_all, check_rows};
use crate::support::process::PATIENCE;

/// In-doubt transactions are resolved within a second after a crash, instead of a minute as by default.
const OPTIONS: &str = "-c listen_addresses= -c fsync=off -c wal_level=logical -c max_connections=200 -c max_prepared_transactions=200 \
    -c shared_preload_libraries=citus -c citus.shard_count=8 -c citus.recover_2pc_interval=1s";

/// A coordinator and servers for Apps.
struct Nodes {
    programs: Arc<Programs>,
    coordinator: Cluster,
    workers: Vec<Cluster>,
}

impl Nodes {
    /// One coordinator and two servers; `None` without Citus, which is then reported.
    async fn start() -> Option<Self> {
        let remedy = "VESTRY_TEST_CITUS is not set: run cargo xtask scale --cluster";
        lane::required("citus", lane::variable("VESTRY_TEST_CITUS"), remedy)?;
        let programs = Programs::find().await?;
        let mut nodes = Self {
            coordinator: node(&programs).await,
            programs,
            workers: Vec::new(),
        };
        let host = nodes.coordinator.host();
        let itself = format!("SELECT citus_set_coordinator_host('{host}', 5432)");
        only(&nodes.coordinator.client().await, &itself).await;
        nodes.add().await;
        nodes.add().await;
        Some(nodes)
    }

    /// Adds a server.
    async fn add(&mut self) {
        let worker = node(&self.programs).await;
        let add = format!("SELECT citus_add_node('{}', 5432)", worker.host());
        only(&self.coordinator.client().await, &add).await;
        self.workers.push(worker);
    }

    /// `database.url` of the service.
    fn url(&self) -> String {
        let host = self.coordinator.host().replace('/', "%2F");
        format!("postgres://postgres@{host}/vestry")
    }

    /// The server of an App.
    async fn place_of(&self, app: &str) -> usize {
        let query = format!(
            "SELECT nodename FROM citus_shards WHERE shardid = get_shard_id_for_distribution_column('users', '{app}')"
        );
        let host = only(&self.coordinator.client().await, &query).await;
        let place = self.workers.iter().position(|worker| worker.host() == host);
        place.expect("it is on one of them")
    }

    /// A new App on each of the first two servers.
    async fn apps(&self, installation: &Installation) -> [Keys; 2] {
        let mut found = [None, None];
        while found.iter().any(Option::is_none) {
            let keys = block_in_place(|| installation.new_app());
            let place = self.place_of(&keys.app).await;
            found[place].get_or_insert(keys);
        }
        found.map(Option::unwrap)
    }
}

/// An empty server of the cluster.
async fn node(programs: &Arc<Programs>) -> Cluster {
    let node = Cluster::with(programs, OPTIONS).await;
    // It listens only on this address; by default it would call itself `localhost`.
    let host = node.host();
    let itself = format!("ALTER DATABASE vestry SET citus.local_hostname = '{host}'");
    let client = node.client().await;
    for statement in ["CREATE EXTENSION citus", &itself] {
        client.batch_execute(statement).await.unwrap();
    }
    node
}

/// Everything up to the first App, with the tables distributed.
fn set_up(nodes: &Nodes) -> Installation {
    let installation = Installation::at(nodes.url());
    installation.admin(&["migrate", "--distribute"]);
    installation.admin(&["vault", "init"]);
    installation
}

/// Checks that no caller stopped on its own.
#[track_caller]
fn assert_undisturbed(clients: &[Client]) {
    let gave_up = clients.iter().filter(|client| client.gave_up).count();
    assert_eq!(gave_up, 0, "of {} clients", clients.len());
}

async fn until_it_answers(api: &Api) {
    let answers = async {
        let mut number = 0;
        loop {
            number += 1;
            let body = json!({ "email": format!("again{number}@example.com") });
            if api.post("/v1/auth/users/create", &body).await.status == 200 {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, answers).await.unwrap();
}

/// Callers of one App that continue whatever the responses, and count them.
struct Poll {
    stop: Arc<AtomicBool>,
    callers: Vec<JoinHandle<Counted>>,
}

/// How often each call got which response.
type Counted = BTreeMap<(&'static str, String), usize>;

/// Callers at each process.
const CALLERS: usize = 12;

impl Poll {
    async fn start(servers: &[Server], key: &str, round: usize) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let mut callers = Vec::new();
        for (place, server) in servers.iter().enumerate() {
            for number in 0..CALLERS {
                let name = format!("poll{round}-{place}-{number}");
                let api = server.api(key);
                let owner = new_owner(&api, &format!("{name}@example.com")).await;
                let session = sign_in(&api, &format!("{name}-in@example.com")).await;
                let token = text(&session, "session_token");
                let caller = poll(api, name, owner, token, Arc::clone(&stop));
                callers.push(tokio::spawn(caller));
            }
        }
        Self { stop, callers }
    }

    /// Returns all counts. The service must be whole again, so that each caller can end.
    async fn end(self) -> Counted {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Counted::new();
        for caller in self.callers {
            for (answer, count) in caller.await.unwrap() {
                *all.entry(answer).or_default() += count;
            }
        }
        all
    }
}

/// Reads and writes of every kind in turn: single statements, shared reads, transactions, and calls that write an audit entry.
async fn poll(
    api: Api,
    name: String,
    owner: Owner,
    session: String,
    stop: Arc<AtomicBool>,
) -> Counted {
    let mut counted = Counted::new();
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let user = format!("/v1/auth/users/{}", owner.user_id);
        let sign = format!("/v1/wallets/{}/sign_message", owner.wallet_id);
        let new = json!({ "email": format!("{name}-{number}@example.com") });
        let answers = [
            ("users/get", api.try_get(&user).await),
            (
                "users/create",
                api.try_post("/v1/auth/users/create", &new).await,
            ),
            ("users/update", {
                let metadata = json!({ "trusted_metadata": { "number": number } });
                Ok(api.put(&format!("{user}/update"), &metadata).await)
            }),
            ("sessions/verify", {
                let named = json!({ "session_token": session });
                api.try_post("/v1/auth/sessions/verify", &named).await
            }),
            ("login_or_create", {
                let new = json!({ "email": format!("{name}-{number}-in@example.com") });
                let path = "/v1/auth/otps/email/login_or_create";
                api.try_post(path, &new).await
            }),
            ("sign_message", {
                let message = json!({ "message": "test" });
                api.try_post(&sign, &message).await
            }),
            ("events", api.try_get("/v1/events?order=desc").await),
            (
                "messages",
                api.try_get("/v1/test/messages?wait=1&to=nobody@example.com")
                    .await,
            ),
        ];
        for (call, answer) in answers {
            let answer = match answer {
                Ok(answer) if answer.status < 300 => "2xx".to_owned(),
                Ok(answer) if answer.status == 503 => {
                    let has_wait = answer.headers.contains_key("retry-after");
                    let kind = if has_wait {
                        "503"
                    } else {
                        "503 without Retry-After"
                    };
                    kind.to_owned()
                }
                Ok(answer) => format!("{}: {}", answer.status, answer.text),
                Err(error) => format!("no response: {error}"),
            };
            *counted.entry((call, answer)).or_default() += 1;
        }
    }
    counted
}

/// A server fails under load and comes back. Apps on the other server see no errors, mail included. Calls of its own Apps get 503 with
/// `Retry-After`, and nothing acknowledged is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pr_57_a_server_that_dies_fails_its_own_apps_alone() {
    let Some(nodes) = Nodes::start().await else {
        return;
    };
    let mut rng = Rng::from_seed(rng::seed());
    let installation = block_in_place(|| set_up(&nodes));
    let [near, far] = nodes.apps(&installation).await;
    let servers = [installation.serve().await, installation.serve().await];
    for round in 0..2 {
        let (here, there) = (&servers[round], &servers[1 - round]);
        let steady = Load::start_undisturbed(&here.api(&near.test), 2 * round, &mut rng);
        let struck = Load::start(&there.api(&far.test), 2 * round + 1, &mut rng);
        let poll = Poll::start(&servers, &far.test, round).await;
        steady.go_on(&mut rng).await;
        nodes.workers[1].stop();
        for (server, email) in [(here, "one@example.com"), (there, "two@example.com")] {
            let body = json!({ "email": email });
            let api = server.api(&far.test);
            let refused = api.post("/v1/auth/users/create", &body).await;
            assert_eq!(refused.error(503), "unavailable");
            assert!(refused.headers.contains_key("retry-after"));
            let sent = api.post("/v1/auth/otps/email/login_or_create", &body).await;
            assert_eq!(sent.error(503), "unavailable");
        }
        steady.go_on(&mut rng).await;
        nodes.workers[1].start();
        until_it_answers(&here.api(&far.test)).await;
        steady.go_on(&mut rng).await;
        let counted = poll.end().await;
        for ((call, answer), count) in &counted {
            println!("round {round}: {call}: {count} × {answer}");
        }
        let others = counted
            .keys()
            .filter(|(_, answer)| !["2xx", "503"].contains(&&**answer));
        assert_eq!(
            others.count(),
            0,
            "PR-57: neither a success nor 503 with Retry-After"
        );
        let steady = steady.end().await;
        assert_undisturbed(&steady);
        let struck = struck.end().await;
        for refused in struck.iter().filter_map(|client| client.refused.as_ref()) {
            assert_eq!(refused.error(503), "unavailable", "PR-57");
            assert!(refused.headers.contains_key("retry-after"), "PR-57");
        }
        check_rows(&installation).await;
        let writes: usize = steady
            .iter()
            .map(|client| client.history.acknowledged_writes)
            .sum();
        println!("round {round}: {writes} acknowledged writes beside the dead server");
        check_all(&there.api(&near.test), &installation, steady).await;
        check_all(&here.api(&far.test), &installation, struck).await;
    }
    let checked = block_in_place(|| installation.run(&["check", "--json"]));
    let checked: Value = serde_json::from_str(&checked.stdout).unwrap();
    let findings = checked["checks"].as_array().unwrap();
    let cluster = findings.iter().find(|one| one["name"] == "cluster");
    let output = cluster.unwrap()["detail"].as_str().unwrap();
    assert!(
        output.starts_with("Apps are distributed over 2 nodes in 8 shards; largest App: app_"),
        "{output}"
    );
    stop(&installation, servers).await;
}

/// Adds a server and moves Apps to it under load, without a failed request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pr_57_apps_move_while_they_are_used() {
    let Some(mut nodes) = Nodes::start().await else {
        return;
    };
    let mut rng = Rng::from_seed(rng::seed());
    let installation = block_in_place(|| set_up(&nodes));
    let apps = nodes.apps(&installation).await;
    let servers = [installation.serve().await, installation.serve().await];
    let loads = [0, 1].map(|number| {
        Load::start_undisturbed(&servers[number].api(&apps[number].test), number, &mut rng)
    });
    loads[0].go_on(&mut rng).await;
    nodes.add().await;
    let client = nodes.coordinator.client().await;
    let copy = "SELECT replicate_reference_tables('force_logical')";
    client.batch_execute(copy).await.unwrap();
    let target = nodes.workers[2].host();
    for keys in &apps {
        let source = nodes.workers[nodes.place_of(&keys.app).await].host();
        let move_it = format!(
            "SELECT citus_move_shard_placement(get_shard_id_for_distribution_column('users', '{}'), '{source}', 5432, \
             '{target}', 5432, 'force_logical')",
            keys.app
        );
        client.batch_execute(&move_it).await.unwrap();
        assert_eq!(nodes.place_of(&keys.app).await, 2);
    }
    loads[0].go_on(&mut rng).await;
    for (number, load) in loads.into_iter().enumerate() {
        let clients = load.end().await;
        assert_undisturbed(&clients);
        let api = servers[1 - number].api(&apps[number].test);
        check_all(&api, &installation, clients).await;
    }
    check_rows(&installation).await;
    stop(&installation, servers).await;
}

/// Distributes an existing database. This is refused while it is in use. After a kill halfway, the service does not start until it is
/// finished, and then all data is unchanged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pr_57_a_database_with_data_is_distributed() {
    let Some(nodes) = Nodes::start().await else {
        return;
    };
    let mut rng = Rng::from_seed(rng::seed());
    let installation = Installation::at(nodes.url());
    let keys = block_in_place(|| installation.set_up());
    let server = installation.serve().await;
    let load = Load::start_undisturbed(&server.api(&keys.test), 0, &mut rng);
    load.go_on(&mut rng).await;
    let clients = load.end().await;
    let distribute = ["migrate", "--distribute", "--json"];
    let in_use = block_in_place(|| installation.run(&distribute));
    assert_eq!(in_use.code, 1);
    assert!(in_use.stdout.contains("stop every"), "{}", in_use.stdout);
    server.process.stop().await;

    // Killed once it has reported the middle table.
    let mut half = installation.command(&distribute);
    let mut half = half.stderr(Stdio::piped()).spawn().unwrap();
    let progress = BufReader::new(half.stderr.take().unwrap());
    let progress = progress.lines().map(Result::unwrap);
    let named = block_in_place(|| {
        progress
            .filter(|line| line.contains("distributing"))
            .nth(17)
    });
    assert!(named.is_some(), "there are more tables than that");
    half.kill().unwrap();
    block_in_place(|| half.wait()).unwrap();
    let refused = block_in_place(|| installation.run(&["serve"]));
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("migrate --distribute"),
        "{}",
        refused.stderr
    );

    // Its lock's lease has to expire first.
    let rest = block_in_place(|| installation.admin(&["migrate", "--distribute"]));
    let rest = rest["distributed"].as_array().unwrap().len();
    let again = block_in_place(|| installation.admin(&["migrate", "--distribute"]));
    assert_eq!(again, json!({ "applied": [], "distributed": [] }));
    let here = nodes.coordinator.client().await;
    let all = only(&here, "SELECT count(*) FROM citus_tables").await;
    let all: usize = all.parse().unwrap();
    // The 17 tables before the reported one were done.
    assert!((1..=all - 17).contains(&rest), "{rest} of {all} were left");
    let left = "SELECT pg_relation_size('users') + pg_relation_size('wallet_keys')";
    assert_eq!(only(&here, left).await, "0");
    let servers = [installation.serve().await, installation.serve().await];
    assert_undisturbed(&clients);
    check_rows(&installation).await;
    check_all(&servers[0].api(&keys.test), &installation, clients).await;
    let load = Load::start_undisturbed(&servers[1].api(&keys.test), 1, &mut rng);
    load.go_on(&mut rng).await;
    let clients = load.end().await;
    assert_undisturbed(&clients);
    check_all(&servers[0].api(&keys.test), &installation, clients).await;
    stop(&installation, servers).await;
}

/// Stops both processes, and verifies everything that is encrypted or chained.
async fn stop(installation: &Installation, servers: [Server; 2]) {
    for server in servers {
        server.process.stop().await;
    }
    for what in ["vault", "audit"] {
        let verified = block_in_place(|| installation.admin(&[what, "verify"]));
        assert_eq!(verified["ok"], true, "{what}: {verified}");
    }
}
