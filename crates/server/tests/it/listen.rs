//! `vestry listen` and `vestry events resend`.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_lc_rs::hmac;
use data_encoding::BASE64;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use vestry_contract::rng::Rng;

use crate::on_both_databases;
use crate::support::client::Api;
use crate::support::installation::{CommandOutput, Installation, Keys, Server, text};
use crate::support::process::{Process, Stream};
use crate::support::receiver::{Arrived, Manner, Receiver};

on_both_databases! {
    /// A kill loses no event (WH-1), and a follower of the cursor gets every event once, in order (E-3).
    wh_1_e_3_every_event_is_forwarded_once_and_in_order_across_kills => super::every_event_is_forwarded_once_and_in_order_across_kills;
}

const ROUNDS: usize = 10;
/// The time from one user to the next. Without pauses thousands are created while a process starts, and each is read several times.
const PACE: Duration = Duration::from_millis(10);
/// Event types that are not sent to webhook receivers.
const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A stable address for a service that is killed and restarted.
struct Proxy {
    base_url: String,
    target: watch::Sender<Option<String>>,
}

impl Proxy {
    async fn open(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let (target, behind) = watch::channel(None);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let behind = behind.borrow().clone();
                tokio::spawn(lead(client, behind));
            }
        });
        let proxy = Self { base_url, target };
        proxy.route_to(server);
        proxy
    }

    fn route_to(&self, server: &Server) {
        let address = server.base_url.strip_prefix("http://").unwrap();
        self.target.send_replace(Some(address.to_owned()));
    }

    fn close(&self) {
        self.target.send_replace(None);
    }
}

async fn lead(mut client: TcpStream, behind: Option<String>) {
    let Some(address) = behind else { return };
    let Ok(mut server) = TcpStream::connect(address).await else {
        return;
    };
    // The connection ends when either side closes it.
    let _ended = copy_bidirectional(&mut client, &mut server).await;
}

fn rng() -> Rng {
    Rng::from_seed(vestry_contract::rng::seed())
}

/// Starts listening, and waits until the position in the log is known.
async fn listen(installation: &Installation, key: &str, base_url: &str, more: &[&str]) -> Process {
    let arguments = ["listen", "--url", base_url, "--secret", SECRET];
    let arguments: Vec<&str> = arguments.iter().chain(more).copied().collect();
    let mut command = installation.command(&arguments);
    begun(Process::start(command.env("VESTRY_KEY", key))).await
}

async fn begun(mut process: Process) -> Process {
    let begins = |line: &str| line.starts_with("Signed with ") || line.contains("\"listening\"");
    let found =
        process.find(|stream, line| (stream == Stream::Stdout && begins(line)).then_some(()));
    let found = found.await;
    assert!(found.is_some(), "output:\n{}", process.output());
    process
}

/// The next line that contains all of these words.
async fn line_with(process: &mut Process, words: &[&str]) -> String {
    let has = |line: &str| words.iter().all(|word| line.contains(word));
    let found = process.find(|_, line| has(line).then(|| line.to_owned()));
    let found = found.await;
    found.unwrap_or_else(|| panic!("it ended; output:\n{}", process.output()))
}

/// Runs a command with a key to completion.
fn run_with(installation: &Installation, key: &str, arguments: &[&str]) -> CommandOutput {
    let output = installation
        .command(arguments)
        .env("VESTRY_KEY", key)
        .output();
    let output = output.unwrap();
    CommandOutput {
        code: output.status.code().expect("exited without a signal"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Creates a user and returns its ID.
async fn user(api: &Api, name: &str) -> String {
    let body = json!({ "email": format!("{name}@example.com") });
    text(
        &api.post("/v1/auth/users/create", &body).await.ok(),
        "user_id",
    )
}

/// A client that creates users, whether or not the service is running.
struct Maker {
    stop: watch::Sender<bool>,
    /// The number of users created so far.
    made: watch::Receiver<usize>,
    task: JoinHandle<Vec<String>>,
}

impl Maker {
    fn start(api: Api, proxy: &Proxy) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (count, made) = watch::channel(0);
        let mut proxy = proxy.target.subscribe();
        let task = tokio::spawn(async move {
            let mut users = Vec::new();
            let mut pace = tokio::time::interval(PACE);
            for number in 0.. {
                pace.tick().await;
                if *stopped.borrow() {
                    break;
                }
                let body = json!({ "email": format!("user{number}@example.com") });
                proxy.mark_unchanged();
                match api.try_post("/v1/auth/users/create", &body).await {
                    Ok(answer) if answer.status == 200 => users.push(text(&answer.body, "user_id")),
                    // Interrupted, or no service: retry.
                    _ => proxy.wait_for(Option::is_some).await.map(drop).unwrap(),
                }
                count.send_replace(users.len());
            }
            users
        });
        Self { stop, made, task }
    }

    /// Waits for a number of further users.
    async fn make(&mut self, more: usize) {
        let wanted = *self.made.borrow() + more;
        self.made.wait_for(|made| *made >= wanted).await.unwrap();
    }

    async fn end(self) -> Vec<String> {
        self.stop.send_replace(true);
        self.task.await.unwrap()
    }
}

/// The log from an event up to the one of this user, and the pages that it came in.
async fn log_until(api: &Api, after: Option<&str>, last_user: &str) -> (Vec<Value>, String) {
    let (mut log, mut pages, mut after) = (Vec::new(), String::new(), after.map(str::to_owned));
    loop {
        let mut path = "/v1/events?limit=1000&wait=30".to_owned();
        if let Some(after) = &after {
            path.push_str(&format!("&after={after}"));
        }
        let page = api.get(&path).await;
        pages.push_str(&page.text);
        let page = page.ok();
        let events = page["events"].as_array().unwrap().clone();
        let is_last = |event: &Value| {
            event["type"] == "user.created" && event["data"]["user_id"] == last_user
        };
        let is_over = events.iter().any(is_last);
        log.extend(events);
        after = page["next_after"].as_str().map(str::to_owned);
        if is_over {
            return (log, pages);
        }
    }
}

/// HMAC-SHA256 of `id.timestamp.body`, according to Standard Webhooks 1.0.
fn check_signature(request: &Arrived) {
    let key = SECRET.strip_prefix("whsec_").unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &BASE64.decode(key.as_bytes()).unwrap());
    let [id, at] = ["webhook-id", "webhook-timestamp"].map(|name| request.header(name));
    let mut signed = format!("{id}.{at}.").into_bytes();
    signed.extend_from_slice(&request.body);
    let signature = request.header("webhook-signature");
    let signature = signature.strip_prefix("v1,").unwrap();
    let signature = BASE64.decode(signature.as_bytes()).unwrap();
    hmac::verify(&key, &signed, &signature).expect("the signature is right");
    assert_eq!(request.event()["id"], id);
    assert_eq!(request.header("content-type"), "application/json");
}

async fn every_event_is_forwarded_once_and_in_order_across_kills(installation: Installation) {
    let keys = installation.set_up();
    let mut rng = rng();
    let receiver = Receiver::start(Manner::Sound, &mut rng).await;
    let mut server = installation.serve().await;
    let proxy = Proxy::open(&server).await;
    let api = Api::new(&proxy.base_url, &keys.test);
    let before = user(&api, "before").await;
    let (log, _) = log_until(&api, None, &before).await;
    let since = text(log.last().unwrap(), "id");
    let to = ["--forward-to", &receiver.url, "--since", &since];
    let mut listener = listen(&installation, &keys.test, &proxy.base_url, &to).await;
    let mut maker = Maker::start(api.clone(), &proxy);
    let mut read = since.clone();
    for round in 0..ROUNDS {
        // Each kill then finds it reading, and none falls into the pause after another.
        let seen = user(&server.api(&keys.test), &format!("round{round}")).await;
        let (log, _) = log_until(&server.api(&keys.test), Some(&read), &seen).await;
        read = text(log.last().unwrap(), "id");
        line_with(&mut listener, &[&read]).await;
        maker.make(1 + rng.below(20)).await;
        proxy.close();
        server.process.kill().await;
        server = installation.serve().await;
        proxy.route_to(&server);
    }
    maker.make(1).await;
    let users = maker.end().await;
    let last = user(&api, "last").await;
    let (log, pages) = log_until(&api, Some(&since), &last).await;
    let end = text(log.last().unwrap(), "id");
    line_with(&mut listener, &[&end]).await;
    let arrived = receiver.arrived();
    for request in &arrived {
        check_signature(request);
        let body = std::str::from_utf8(&request.body).unwrap();
        assert!(pages.contains(body), "differs from the log: {body}");
    }
    let arrived: Vec<Value> = arrived.iter().map(Arrived::event).collect();
    let places = |events: &[Value]| -> Vec<i64> {
        let places = events.iter().map(|event| event["position"].as_i64());
        places.map(Option::unwrap).collect()
    };
    assert_eq!(places(&arrived), places(&log));
    assert_eq!(arrived, log);
    let forwarded: BTreeSet<&str> = log
        .iter()
        .filter_map(|event| event["data"]["user_id"].as_str())
        .collect();
    assert!(users.iter().all(|user| forwarded.contains(user.as_str())));
    println!(
        "{} events of {} users, {ROUNDS} kills",
        log.len(),
        users.len()
    );
    listener.stop().await;
    server.process.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_and_its_end_are_each_reported_once() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let receiver = Receiver::start(Manner::Sound, &mut rng()).await;
    let mut server = installation.serve().await;
    let proxy = Proxy::open(&server).await;
    let to = ["--forward-to", &receiver.url, "--types", "user.created"];
    let mut listener = listen(&installation, &keys.test, &proxy.base_url, &to).await;
    proxy.close();
    server.process.kill().await;
    line_with(&mut listener, &["service is unreachable"]).await;
    let server = installation.serve().await;
    proxy.route_to(&server);
    line_with(&mut listener, &["service is reachable again"]).await;
    user(&server.api(&keys.test), "again").await;
    line_with(&mut listener, &["user.created", "204"]).await;
    listener.signal(Signal::INT);
    assert_eq!(listener.ended().await.code(), Some(0));
    let output = listener.output_of(Stream::Stderr);
    for words in [
        "is unreachable",
        "is reachable again",
        "to resume from here",
    ] {
        assert_eq!(output.matches(words).count(), 1, "{output}");
    }
    server.process.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_refused_three_times_is_skipped() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let receiver = Receiver::start(Manner::Says(500), &mut rng()).await;
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let to = ["--forward-to", &receiver.url, "--types", "user.created"];
    let mut listener = listen(&installation, &keys.test, &server.base_url, &to).await;
    let refused = user(&api, "refused").await;
    let line = line_with(&mut listener, &["user.created"]).await;
    assert!(
        line.contains("500") && line.ends_with("failed 3 times"),
        "{line}"
    );
    receiver.be(Manner::Sound);
    let mut expected = vec![refused.clone(), refused.clone(), refused];
    for name in ["one", "two"] {
        expected.push(user(&api, name).await);
        let line = line_with(&mut listener, &["user.created", "204"]).await;
        assert!(line.ends_with(" ms"), "{line}");
    }
    let arrived = receiver.arrived();
    let users = arrived
        .iter()
        .map(|request| text(&request.event()["data"], "user_id"));
    assert_eq!(users.collect::<Vec<_>>(), expected);
    for request in &arrived {
        check_signature(request);
    }
    listener.stop().await;
    server.process.stop().await;
}

/// An unreachable receiver is no reason to stop, and the line reports the reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_output_has_one_document_per_line() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    // No other test gets the port of a socket that is bound and does not listen.
    let closed = TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/", closed.local_addr().unwrap());
    let to = ["--forward-to", &url, "--types", "user.*", "--json"];
    let mut listener = listen(&installation, &keys.test, &server.base_url, &to).await;
    user(&api, "unheard").await;
    line_with(&mut listener, &["user.created"]).await;
    listener.signal(Signal::TERM);
    assert_eq!(listener.ended().await.code(), Some(0));
    let output = listener.output_of(Stream::Stdout);
    let lines: Vec<Value> = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let listening = &lines[0]["listening"];
    assert_eq!(listening["secret"], SECRET);
    assert_eq!(listening["forward_to"], url.as_str());
    assert_eq!(lines[1]["type"], "user.created");
    assert_eq!(lines[1]["delivered"], false);
    assert_eq!(lines[1]["status"], Value::Null);
    assert_eq!(lines[1]["tries"], 3);
    assert!(
        text(&lines[1], "error").starts_with("no connection"),
        "{output}"
    );
    server.process.stop().await;
}

/// Without options: the key and the address are in `dev.json`, and the log is followed from now on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_options_are_needed_next_to_vestry_dev() {
    let mut installation = Installation::sqlite();
    installation.unset("http.base_url");
    let server = installation.dev(&[]).await;
    let record = std::fs::read_to_string(installation.file(".vestry/dev.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let api = server.api(&text(&record["test"], "secret_key"));
    let before = user(&api, "before").await;
    log_until(&api, None, &before).await;
    let receiver = Receiver::start(Manner::Sound, &mut rng()).await;
    let arguments = ["listen", "--forward-to", &receiver.url];
    let mut listener = begun(Process::start(&mut installation.command(&arguments))).await;
    let secret = listener.output_of(Stream::Stdout);
    let secret = secret
        .lines()
        .find_map(|line| line.strip_prefix("Signed with "));
    assert!(secret.unwrap().starts_with("whsec_"));
    let after = user(&api, "after").await;
    line_with(&mut listener, &["user.created", "204"]).await;
    let users: Vec<_> = receiver.arrived().iter().map(Arrived::event).collect();
    let is_received = |user: &str| users.iter().any(|event| event["data"]["user_id"] == user);
    assert!(is_received(&after) && !is_received(&before));
    listener.stop().await;
    server.process.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e_9_an_unknown_position_is_reported() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let receiver = Receiver::start(Manner::Sound, &mut rng()).await;
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let before = user(&api, "before").await;
    let (log, _) = log_until(&api, None, &before).await;
    let unknown = "event_000000000000000000000000000";
    let to = ["--forward-to", &receiver.url, "--since", unknown];
    let mut listener = listen(&installation, &keys.test, &server.base_url, &to).await;
    let end = text(log.last().unwrap(), "id");
    line_with(
        &mut listener,
        &["unknown position", unknown, "may be missing"],
    )
    .await;
    let after = user(&api, "after").await;
    let (behind, _) = log_until(&api, Some(&end), &after).await;
    let last = text(behind.last().unwrap(), "id");
    line_with(&mut listener, &[&last]).await;
    let arrived: Vec<_> = receiver.arrived().iter().map(Arrived::event).collect();
    assert!(
        arrived
            .iter()
            .any(|event| event["data"]["user_id"] == after)
    );
    assert!(
        !arrived
            .iter()
            .any(|event| event["data"]["user_id"] == before)
    );
    listener.stop().await;
    server.process.stop().await;
}

/// Key and secret can also come from files or variables, and are then not on the command line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_and_secret_come_from_files_or_variables() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let [key, secret, empty, live] = ["app.key", "hook.secret", "empty", "live.key"]
        .map(|name| installation.file(name).to_str().unwrap().to_owned());
    for (file, text) in [(&key, &keys.test), (&secret, &SECRET.to_owned())] {
        std::fs::write(file, format!("{text}\n")).unwrap();
    }
    std::fs::write(&empty, "\n").unwrap();
    std::fs::write(&live, &keys.live).unwrap();
    let receiver = Receiver::start(Manner::Sound, &mut rng()).await;
    let to = [
        "listen",
        "--url",
        &server.base_url,
        "--forward-to",
        &receiver.url,
    ];
    for (number, (arguments, variables)) in [
        (vec!["--key-file", &key, "--secret-file", &secret], vec![]),
        // The command line takes precedence.
        (
            vec!["--key-file", &key, "--secret-file", &secret],
            vec![
                ("VESTRY_KEY", "sk_test_other"),
                ("VESTRY_WEBHOOK_SECRET", "other"),
            ],
        ),
        (
            vec![],
            vec![
                ("VESTRY_KEY", keys.test.as_str()),
                ("VESTRY_WEBHOOK_SECRET", SECRET),
            ],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let mut command =
            installation.command(&[&to[..], &arguments, &["--types", "user.created"]].concat());
        let mut listener = begun(Process::start(command.envs(variables))).await;
        user(&api, &format!("user{number}")).await;
        line_with(&mut listener, &["user.created", "204"]).await;
        listener.stop().await;
    }
    let arrived = receiver.arrived();
    assert_eq!(arrived.len(), 3);
    arrived.iter().for_each(check_signature);
    let missing = format!("{key}.gone");
    for (arguments, expected) in [
        (vec!["--key-file", &missing], "cannot read"),
        (vec!["--key-file", &empty], "is empty"),
        (vec!["--key-file", &live], "pass --live"),
        (
            vec!["--key-file", &key, "--key", "sk_test_x"],
            "cannot be used with",
        ),
        (
            vec!["--key-file", &key, "--secret-file", &key],
            "secret must be whsec_",
        ),
        (
            vec!["--secret-file", &secret, "--secret", SECRET],
            "cannot be used with",
        ),
    ] {
        let output = run_with(&installation, "", &[&to[..], &arguments].concat());
        assert_ne!(output.code, 0, "{arguments:?}: {output:?}");
        assert!(
            output.stderr.contains(expected),
            "{arguments:?}: {output:?}"
        );
        for secret in [&keys.test, &keys.live] {
            assert!(!output.stderr.contains(secret), "{arguments:?}: {output:?}");
        }
    }
    server.process.stop().await;
}

/// An invalid key, or one without the required scope, ends the command with exit code 1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_key_ends_the_command() {
    let installation = Installation::sqlite();
    let Keys { app, .. } = installation.set_up();
    let server = installation.serve().await;
    let new = |more: &[&str]| {
        let create = ["key", "create", &app, "test"];
        installation.admin(&[&create, more].concat())
    };
    let revoked = new(&[]);
    installation.admin(&["key", "revoke", &app, &text(&revoked, "id")]);
    let other_scope = new(&["--scope", "users:read"]);
    for (key, expected) in [
        ("sk_test_wrong".to_owned(), "key create"),
        (text(&revoked, "key"), "from VESTRY_KEY"),
        (text(&other_scope, "key"), "events:read"),
    ] {
        let to = [
            "listen",
            "--forward-to",
            "http://127.0.0.1:9/",
            "--url",
            &server.base_url,
        ];
        let output = run_with(&installation, &key, &to);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(
            output.stderr.contains(expected) && !output.stderr.contains(&key),
            "{output:?}"
        );
        let output = run_with(&installation, &key, &[&to[..], &["--json"]].concat());
        assert_eq!(output.code, 1, "{output:?}");
        assert_eq!(output.stdout.lines().count(), 1, "{output:?}");
        assert!(
            text(&output.json()["error"], "message").contains(expected),
            "{output:?}"
        );
    }
    server.process.stop().await;
}

/// Usage errors come first, and do not repeat secrets.
#[test]
fn usage_errors_come_before_any_request() {
    let installation = Installation::sqlite();
    let to = ["listen", "--forward-to", "http://127.0.0.1:9/"];
    let with = |more: &[&'static str]| [&to[..], more].concat();
    for (arguments, key, expected) in [
        (with(&[]), "", "no key: set VESTRY_KEY"),
        (with(&[]), "sk_live_abc", "pass --live"),
        (with(&["--key", "sk_live_abc"]), "", "pass --live"),
        (with(&[]), "pk_test_abc", "not a secret key"),
        (
            with(&["--secret", "abc"]),
            "sk_test_x",
            "--secret: secret must be whsec_",
        ),
        (
            with(&["--types", "nothing.*"]),
            "sk_test_x",
            "unknown group of event types",
        ),
        (
            with(&["--since", "yesterday"]),
            "sk_test_x",
            "event_… or now",
        ),
        (
            with(&["--url", "ftp://x"]),
            "sk_test_x",
            "https://id.example.com",
        ),
        (
            vec!["listen", "--forward-to", "mailto:x"],
            "sk_test_x",
            "http://",
        ),
        (vec!["listen"], "sk_test_x", "--forward-to"),
        (vec!["events", "resend", "event_1"], "sk_test_x", "event_1"),
    ] {
        let output = run_with(&installation, key, &arguments);
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        assert!(
            output.stderr.contains(expected),
            "{arguments:?}: {output:?}"
        );
        assert!(!output.stderr.contains("abc"), "{arguments:?}: {output:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_key_requires_the_live_flag() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let receiver = Receiver::start(Manner::Sound, &mut rng()).await;
    let server = installation.serve().await;
    let to = ["--forward-to", &receiver.url, "--live"];
    let mut listener = listen(&installation, &keys.live, &server.base_url, &to).await;
    user(&server.api(&keys.live), "real").await;
    line_with(&mut listener, &["user.created", "204"]).await;
    listener.stop().await;
    server.process.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_event_is_sent_again() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let receiver = Receiver::start(Manner::Sound, &mut rng()).await;
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let user = user(&api, "again").await;
    let (log, _) = log_until(&api, None, &user).await;
    let id = text(log.last().unwrap(), "id");
    let to = [
        "--forward-to",
        &receiver.url,
        "--url",
        &server.base_url,
        "--secret",
        SECRET,
    ];
    let resend = |id: &str, more: &[&str]| {
        run_with(
            &installation,
            &keys.test,
            &[&["events", "resend", id], &to[..], more].concat(),
        )
    };
    let output = resend(&id, &[]).done();
    let line = output.stdout.lines().last().unwrap();
    assert!(line.contains(&id) && line.contains("204"), "{output:?}");
    receiver.be(Manner::Says(503));
    let output = resend(&id, &["--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let document = output.json();
    assert_eq!(
        (&document["status"], &document["tries"]),
        (&json!(503), &json!(1))
    );
    assert_eq!(document["delivered"], false);
    let unknown = resend("event_000000000000000000000000000", &[]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.stderr.contains("404"), "{unknown:?}");
    let arrived = receiver.arrived();
    assert_eq!(arrived.len(), 2);
    for request in &arrived {
        check_signature(request);
        assert_eq!(&request.event(), log.last().unwrap());
    }
    server.process.stop().await;
}
