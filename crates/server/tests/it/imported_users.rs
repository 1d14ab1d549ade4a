//! `vestry users import` and `export`: users keep their passwords.

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
use crate::support::installation::{Installation, text};
use crate::users::command;

on_both_databases! {
    imported_users_keep_their_passwords => super::imported_users_keep_their_passwords;
}

/// The number of users, five for each kind of foreign hash, and of concurrent sign-ins.
const USERS: usize = 100;
const AT_ONCE: usize = 8;

/// Hashes of one password made by other programs (libxcrypt, Python's hashlib).
const PHRASE: &str = "correct horse battery staple é";
const FOREIGN: &[&str] = &[
    "$2b$04$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi",
    "$2y$04$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi",
    "$scrypt$ln=10,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$nMXeiksZNDF6kt9MBZQF+kudDabT6b3x01jcWbxSlJg",
    "$pbkdf2-sha256$i=1000,l=32$MDEyMzQ1Njc4OWFiY2RlZg$u7E/u6S0nYfcBPOuT45rLcIC9YWuIkITunzFCq1Akow",
    "pbkdf2_sha256$1000$0123456789abcdef$u7E/u6S0nYfcBPOuT45rLcIC9YWuIkITunzFCq1Akow=",
];

/// A line of the import file, and the password of its user.
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

/// Returns how many users can sign in; each tries once.
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

async fn imported_users_keep_their_passwords(installation: Installation) {
    let hasher = Argon2Hasher::new(Settings::weakest(), Arc::new(SeededEntropy::fresh())).unwrap();
    let (mut lines, mut passwords) = (String::new(), Vec::new());
    for number in 0..USERS {
        let (line, password) = person(&hasher, number).await;
        lines.push_str(&format!("{line}\n"));
        passwords.push(password);
    }
    let exported = block_in_place(|| {
        let keys = installation.set_up();
        fs::write(installation.file("users.jsonl"), &lines).unwrap();
        let rehearsed = installation.admin(&command(
            "import",
            Some("users.jsonl"),
            &keys.app,
            &["--dry-run"],
        ));
        assert_eq!(rehearsed["imported"], USERS);
        let imported = installation.admin(&command("import", Some("users.jsonl"), &keys.app, &[]));
        let expected = json!({"dry_run": false, "lines": USERS, "imported": USERS, "founded": 0, "existing": 0, "refused": []});
        assert_eq!(imported, expected);
        // Import again: all users exist already.
        let again = installation.admin(&command("import", Some("users.jsonl"), &keys.app, &[]));
        assert_eq!(
            (&again["imported"], &again["existing"]),
            (&json!(0), &json!(USERS))
        );
        installation
            .run(&command(
                "export",
                None,
                &keys.app,
                &["--with-password-hashes"],
            ))
            .done()
            .stdout
    });
    assert_eq!(exported.lines().count(), USERS);

    let mut empty = Installation::sqlite();
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
