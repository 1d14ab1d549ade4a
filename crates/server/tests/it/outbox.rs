//! Messages that cannot be handled (PR-73), and too many of them (PR-142).

use serde_json::{Value, json};

use crate::support::flow::send_code;
use crate::support::installation::Installation;
use crate::support::process::{PATIENCE, Process};

/// Another id than that for which the message was sealed.
const MOVED: &str = "evt_000000000000000000000000001";

/// Makes the only message fail once more, for the third time.
async fn die(installation: &Installation) {
    let spoil = format!("UPDATE outbox SET failures = 2, id = '{MOVED}'");
    installation.database.execute(&spoil).await;
    let mut worker = Process::start(&mut installation.command(&["worker"]));
    worker
        .logged("message cannot be handled and is set aside for seven days; see `vestry outbox dead list`")
        .await;
    worker.stop().await;
}

/// PR-73: a message that cannot be decoded is set aside. Operators see everything but its content, queue it again before it expires, and
/// delete it.
#[tokio::test(flavor = "multi_thread")]
async fn pr_73_dead_messages_are_shown_retried_and_dropped() {
    let mut installation = Installation::sqlite();
    installation.set("outbox.worker", "false");
    let keys = installation.set_up();
    let server = installation.serve().await;
    send_code(&server.api(&keys.test), "ada@example.com").await;
    server.process.stop().await;
    let arguments = |verb, rest: &[&'static str]| {
        let first = ["outbox", "dead", verb, &keys.app, "test"];
        [&first, rest]
            .concat()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let run = |verb, rest: &[&'static str]| {
        let arguments = arguments(verb, rest);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        installation.run(&arguments)
    };
    let json = |verb, rest: &[&'static str]| -> Value {
        let json: Vec<_> = rest.iter().copied().chain(["--json"]).collect();
        run(verb, &json).done().json()
    };
    assert_eq!(run("list", &[]).done().stdout, "No messages.\n");

    die(&installation).await;
    let listed = json("list", &[]);
    let message = &listed["messages"][0];
    let seen = ["id", "channel", "priority", "error"].map(|field| message[field].clone());
    assert_eq!(json!(seen), json!([MOVED, "email", "sign_in", "tampered"]));
    assert_eq!(&json("show", &[MOVED]), message);
    for shown in [run("list", &[]), run("show", &[MOVED])] {
        let shown = shown.done().stdout;
        assert!(shown.contains("tampered"), "{shown}");
        assert!(!shown.contains("ada") && !shown.contains("code"), "{shown}");
    }

    assert_eq!(json("retry", &[MOVED])["retried"], json!([MOVED]));
    assert_eq!(json("list", &[])["messages"], json!([]));
    let missing = run("retry", &[MOVED]);
    assert_eq!(missing.code, 1);
    assert!(
        missing.stderr.contains("no such dead message"),
        "{}",
        missing.stderr
    );

    die(&installation).await;
    let expire = "UPDATE outbox SET deliver_before = 1764558840";
    installation.database.execute(expire).await;
    let refused = run("retry", &[MOVED]);
    assert_eq!(refused.code, 1);
    let why = "message expired at 2025-12-01T03:14:00Z; ask the App to send it again";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    assert_eq!(json("retry", &[]), json!({ "retried": [], "expired": 1 }));
    assert_eq!(json("drop", &[]), json!({ "dropped": [MOVED] }));
    assert_eq!(json("list", &[])["messages"], json!([]));
}

/// PR-142: while too many messages wait, a call that sends another one gets 503 with the time of the next count. The call does not depend on
/// the address. A new process counts when it starts.
#[tokio::test(flavor = "multi_thread")]
async fn pr_142_sends_are_refused_while_too_many_messages_wait() {
    let mut installation = Installation::sqlite();
    installation.set("outbox.worker", "false");
    installation.set("outbox.max_waiting", "1");
    let keys = installation.set_up();
    let server = installation.serve().await;
    for email in ["ada@example.com", "bob@example.com"] {
        send_code(&server.api(&keys.test), email).await;
    }
    server.process.stop().await;
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let send = async |number: u32| {
        let body = json!({ "email": format!("u{number}@example.com"), "expires_in": 10 });
        api.post("/v1/auth/otps/email/login_or_create", &body).await
    };
    let refused = async {
        let mut number = 0;
        loop {
            let answer = send(number).await;
            if answer.status != 200 {
                return answer;
            }
            number += 1;
        }
    };
    let refused = tokio::time::timeout(PATIENCE, refused).await.unwrap();
    assert_eq!(refused.headers["retry-after"], "15");
    let why = "too many messages of this App are waiting; try again later";
    assert!(refused.text.contains(why), "{}", refused.text);
    assert_eq!(refused.error(503), "unavailable");
    // The other environment has its own count. Without a transport it has its own refusal.
    let live = server.api(&keys.live);
    let body = json!({ "email": "ada@example.com", "expires_in": 10 });
    let other = live
        .post("/v1/auth/otps/email/login_or_create", &body)
        .await;
    assert!(!other.text.contains(why), "{}", other.text);
    server.process.stop().await;
}
