//! `vestry users import`, `export` and `unlock`: a thousand people who keep their passwords, and one who is kept out.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::block_in_place;
use vestry_contract::fakes::SeededEntropy;
use vestry_domain::Secret;
use vestry_domain::password::Password;
use vestry_password_argon2::{Argon2Hasher, Settings};
use vestry_ports::passwords::PasswordHasher;

use crate::on_both_databases;
use crate::support::client::Api;
use crate::support::journey::sign_in;
use crate::support::site::{Site, text};

on_both_databases! {
    /// Issue 3: "1,000 users exported and imported into an empty service all sign in with their old passwords."
    a_thousand_users_keep_their_passwords => super::a_thousand_users_keep_their_passwords;
}

/// How many there are, and how many sign in at the same time.
const USERS: usize = 1_000;
const AT_ONCE: usize = 8;

/// Hashes of one password that other programs made (libxcrypt, Python's hashlib).
const PHRASE: &str = "correct horse battery staple é";
const FOREIGN: &[&str] = &[
    "$2b$04$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi",
    "$2y$04$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi",
    "$scrypt$ln=10,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$nMXeiksZNDF6kt9MBZQF+kudDabT6b3x01jcWbxSlJg",
    "$pbkdf2-sha256$i=1000,l=32$MDEyMzQ1Njc4OWFiY2RlZg$u7E/u6S0nYfcBPOuT45rLcIC9YWuIkITunzFCq1Akow",
    "pbkdf2_sha256$1000$0123456789abcdef$u7E/u6S0nYfcBPOuT45rLcIC9YWuIkITunzFCq1Akow=",
];

/// A line of the file, and the password of its user.
async fn person(hasher: &Argon2Hasher, number: usize) -> (Value, String) {
    let (hash, password) = if number.is_multiple_of(4) {
        let hash = FOREIGN[number / 4 % FOREIGN.len()];
        (hash.to_owned(), PHRASE.to_owned())
    } else {
        let text = format!("the password of number {number}");
        let password = Password::presented("password", Secret::new(text.clone())).unwrap();
        (
            hasher.hash(&password).await.unwrap().text.expose().clone(),
            text,
        )
    };
    let line = json!({
        "external_key": format!("old-{number}"),
        "emails": [{"email": format!("user{number}@example.com"), "verified": true}],
        "first_name": format!("Number {number}"),
        "password_hash": hash,
        "metadata": {"number": number},
    });
    (line, password)
}

/// How many of these can sign in; everybody tries once.
async fn sign_in_all(api: &Api, people: &[(String, String)]) -> usize {
    let people = Arc::new(people.to_vec());
    let workers = (0..AT_ONCE).map(|worker| {
        let (api, people) = (api.clone(), Arc::clone(&people));
        tokio::spawn(async move {
            let mut right = 0;
            for (user_id, password) in people.iter().skip(worker).step_by(AT_ONCE) {
                let body =
                    json!({"user_id": user_id, "password": password, "session_expires_in": 60});
                let answer = api.post("/v1/auth/passwords/verify", &body).await;
                assert_eq!(answer.status, 200, "{user_id}: {}", answer.body);
                right += 1;
            }
            right
        })
    });
    let mut right = 0;
    for worker in workers.collect::<Vec<_>>() {
        right += worker.await.unwrap();
    }
    right
}

fn command<'a>(
    verb: &'a str,
    file: Option<&'a str>,
    app: &'a str,
    more: &[&'a str],
) -> Vec<&'a str> {
    let mut arguments = vec!["users", verb, app, "test"];
    arguments.extend(file);
    arguments.extend(more);
    arguments
}

async fn a_thousand_users_keep_their_passwords(site: Site) {
    let hasher = Argon2Hasher::new(Settings::weakest(), Arc::new(SeededEntropy::fresh())).unwrap();
    let (mut lines, mut passwords) = (String::new(), Vec::new());
    for number in 0..USERS {
        let (line, password) = person(&hasher, number).await;
        lines.push_str(&format!("{line}\n"));
        passwords.push(password);
    }
    let exported = block_in_place(|| {
        let keys = site.set_up();
        fs::write(site.file("users.jsonl"), &lines).unwrap();
        let rehearsed = site.admin(&command(
            "import",
            Some("users.jsonl"),
            &keys.app,
            &["--dry-run"],
        ));
        assert_eq!(rehearsed["imported"], USERS);
        let imported = site.admin(&command("import", Some("users.jsonl"), &keys.app, &[]));
        let expected = json!({"dry_run": false, "lines": USERS, "imported": USERS, "existing": 0, "refused": []});
        assert_eq!(imported, expected);
        // Once more: everybody is there.
        let again = site.admin(&command("import", Some("users.jsonl"), &keys.app, &[]));
        assert_eq!(
            (&again["imported"], &again["existing"]),
            (&json!(0), &json!(USERS))
        );
        site.run(&command(
            "export",
            None,
            &keys.app,
            &["--with-password-hashes"],
        ))
        .done()
        .stdout
    });
    assert_eq!(exported.lines().count(), USERS);

    let mut empty = Site::sqlite();
    empty.set("limits.test_per_minute", "0");
    let keys = block_in_place(|| {
        let keys = empty.set_up();
        fs::write(empty.file("users.jsonl"), &exported).unwrap();
        let imported = empty.admin(&command("import", Some("users.jsonl"), &keys.app, &[]));
        assert_eq!(imported["imported"], USERS, "{imported}");
        keys
    });
    let people: Vec<_> = exported
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let number = line["metadata"]["number"].as_u64().unwrap();
            let password = passwords[usize::try_from(number).unwrap()].clone();
            (text(&line, "id"), password)
        })
        .collect();
    let server = empty.serve().await;
    let api = server.api(&keys.test);
    assert_eq!(sign_in_all(&api, &people).await, USERS);
    server.process.stop().await;
}

/// Every bad line is named with its number and reason, the others are taken, and the exit code is 1.
#[test]
fn bad_lines_are_reported_by_number() {
    let site = Site::sqlite();
    let keys = site.set_up();
    let lines = [
        r#"{"emails":[{"email":"ada@example.com"}]}"#,
        "hunter2 is no JSON",
        r#"{"emails":[{"email":"bob@example.com"}],"pasword_hash":"$2b$04$x"}"#,
        "",
        r#"{"emails":[{"email":"nobody"}]}"#,
        r#"{"emails":[{"email":"cyd@example.com"}],"password_hash":"secret-hash-value"}"#,
        r#"{"emails":"dan@example.com"}"#,
        r#"{"emails":[{"email":"eve@example.com"}]}"#,
    ];
    fs::write(site.file("users.jsonl"), lines.join("\n")).unwrap();
    let said = site.run(&command(
        "import",
        Some("users.jsonl"),
        &keys.app,
        &["--json"],
    ));
    assert_eq!(said.code, 1);
    let report = said.json();
    assert_eq!(
        (&report["lines"], &report["imported"]),
        (&json!(8), &json!(2)),
        "{report}"
    );
    let refused: Vec<_> = report["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|refusal| (refusal["line"].as_u64().unwrap(), text(refusal, "reason")))
        .collect();
    let numbers: Vec<_> = refused.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [2, 3, 5, 6, 7]);
    assert!(refused[1].1.contains("pasword_hash"), "{refused:?}");
    for value in ["hunter2", "secret-hash-value", "dan@example.com"] {
        assert!(
            !said.stdout.contains(value) && !said.stderr.contains(value),
            "{said:?}"
        );
    }
    let said = site.run(&command("import", Some("nothing.jsonl"), &keys.app, &[]));
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("nothing.jsonl"), "{said:?}");
}

/// JSON that is no object is told from an object with a wrong field, and none of it is an array of the fields in their order.
#[test]
fn m_19_a_line_that_is_no_object_is_told_so() {
    let site = Site::sqlite();
    let keys = site.set_up();
    let lines = [
        r#"["user", "old-1", [], []]"#,
        "[]",
        r#""ada@example.com""#,
        "5",
        "null",
        "true",
        "ada@example.com,Ada",
        r#"{"emails":[{"email":"ada@example.com"}]"#,
        r#"{"emails":"ada@example.com"}"#,
        r#"{"emails":[{"email":"ada@example.com"}],"created_at":1.5}"#,
        r#"  {"emails":[{"email":"bob@example.com"}],"created_at":1600000000.0}"#,
    ];
    fs::write(site.file("users.jsonl"), lines.join("\n")).unwrap();
    let arguments = command("import", Some("users.jsonl"), &keys.app, &["--json"]);
    let said = site.run(&arguments);
    assert_eq!(said.code, 1);
    let report = said.json();
    assert_eq!(report["imported"], 1, "{report}");
    let refused = report["refused"].as_array().unwrap();
    let is_no_object =
        |refusal: &Value| text(refusal, "reason").starts_with("this is no JSON object");
    let told: Vec<_> = refused
        .iter()
        .map(|refusal| (refusal["line"].as_u64().unwrap(), is_no_object(refusal)))
        .collect();
    let mut expected: Vec<_> = (1..=8).map(|line| (line, true)).collect();
    expected.extend([(9, false), (10, false)]);
    assert_eq!(told, expected, "{report}");
    assert!(!report.to_string().contains("example.com"), "{report}");
}

/// Hashes leave only when they are asked for by name.
#[test]
fn an_export_has_no_hashes_unless_it_is_told_to() {
    let site = Site::sqlite();
    let keys = site.set_up();
    let line = json!({"emails": [{"email": "ada@example.com"}], "password_hash": FOREIGN[0]});
    fs::write(site.file("users.jsonl"), line.to_string()).unwrap();
    site.admin(&command("import", Some("users.jsonl"), &keys.app, &[]));
    let plain = site
        .run(&command("export", None, &keys.app, &[]))
        .done()
        .stdout;
    assert!(
        plain.contains("ada@example.com") && !plain.contains("password"),
        "{plain}"
    );
    let whole = site.run(&command(
        "export",
        None,
        &keys.app,
        &["--with-password-hashes"],
    ));
    assert!(whole.done().stdout.contains("$2b$04$"));
}

/// Guesses keep a user out until an operator ends his wait, on a service that runs.
#[tokio::test(flavor = "multi_thread")]
async fn attack_24_an_operator_unlocks_a_user() {
    const PASSWORD: &str = "correct horse battery";
    let mut site = Site::sqlite();
    site.set("limits.test_per_minute", "0");
    let keys = block_in_place(|| site.set_up());
    let server = site.serve().await;
    let api = server.api(&keys.test);
    let session = sign_in(&api, "ada@example.com").await;
    let user = text(&session, "user_id");
    let body = json!({"session_token": text(&session, "session_token"), "password": PASSWORD});
    let set = api.post("/v1/auth/passwords/session/update", &body).await;
    set.ok();
    let verify = async |password: &str| {
        let body = json!({"user_id": user, "password": password});
        api.post("/v1/auth/passwords/verify", &body).await
    };
    for _ in 0..20 {
        assert_eq!(verify("guess").await.error(401), "invalid_credentials");
    }
    assert_eq!(verify(PASSWORD).await.error(429), "too_many_attempts");
    let unlocked = block_in_place(|| site.admin(&command("unlock", Some(&user), &keys.app, &[])));
    assert_eq!(unlocked, json!({"id": user, "unlocked": true}));
    verify(PASSWORD).await.ok();
    server.process.stop().await;
}
