//! `vestry users import`, `export` and `unlock`: their output, and a locked-out user.

use std::fs;

use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::support::flow::sign_in;
use crate::support::installation::{Installation, text};

/// A hash of one password made by another program (libxcrypt).
const FOREIGN: &str = "$2b$04$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi";

/// The arguments of a command about users of the test environment.
pub(crate) fn command<'a>(
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

/// Every bad line is reported with its number and reason, the others are imported, and the exit code is 1.
#[test]
fn bad_lines_are_reported_by_number() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
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
    fs::write(installation.file("users.jsonl"), lines.join("\n")).unwrap();
    let output = installation.run(&command(
        "import",
        Some("users.jsonl"),
        &keys.app,
        &["--json"],
    ));
    assert_eq!(output.code, 1);
    let report = output.json();
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
            !output.stdout.contains(value) && !output.stderr.contains(value),
            "{output:?}"
        );
    }
    let output = installation.run(&command("import", Some("nothing.jsonl"), &keys.app, &[]));
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("nothing.jsonl"), "{output:?}");
}

/// Other JSON is distinguished from an object with a wrong field, and an array of the fields in order is rejected.
#[test]
fn m_19_a_line_that_is_not_an_object_is_reported() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
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
    fs::write(installation.file("users.jsonl"), lines.join("\n")).unwrap();
    let arguments = command("import", Some("users.jsonl"), &keys.app, &["--json"]);
    let output = installation.run(&arguments);
    assert_eq!(output.code, 1);
    let report = output.json();
    assert_eq!(report["imported"], 1, "{report}");
    let refused = report["refused"].as_array().unwrap();
    let is_no_object = |refusal: &Value| text(refusal, "reason").starts_with("not a JSON object");
    let rejected: Vec<_> = refused
        .iter()
        .map(|refusal| (refusal["line"].as_u64().unwrap(), is_no_object(refusal)))
        .collect();
    let mut expected: Vec<_> = (1..=8).map(|line| (line, true)).collect();
    expected.extend([(9, false), (10, false)]);
    assert_eq!(rejected, expected, "{report}");
    assert!(!report.to_string().contains("example.com"), "{report}");
}

/// Spreadsheets and some editors begin a UTF-8 file with a byte order mark, and other services write `null` for unknown values.
#[test]
fn m_33_an_import_file_may_begin_with_a_byte_order_mark() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let ada = r#"{"external_key": "ada", "emails": [{"email": "ada@example.com", "verified": null}], "wallets": null, "disabled": null, "metadata": null}"#;
    let bob = r#"{"external_key": "bob", "emails": [{"email": "bob@example.com"}]}"#;
    for (number, (text, imported, refused)) in [
        (format!("\u{feff}{ada}\n{bob}\n"), 2, 0),
        (format!("\u{feff}\n{ada}\n"), 0, 0),
        // Elsewhere it is not a byte order mark.
        (format!("{bob}\n\u{feff}{ada}\n"), 0, 1),
        (format!("\u{feff}\u{feff}{ada}"), 0, 1),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(installation.file("users.jsonl"), &text).unwrap();
        let arguments = command("import", Some("users.jsonl"), &keys.app, &["--json"]);
        let report = installation.run(&arguments).json();
        assert_eq!(report["imported"], imported, "{number}: {report}");
        let refusals = report["refused"].as_array().unwrap();
        assert_eq!(refusals.len(), refused, "{number}: {report}");
    }
}

/// Hashes are exported only on request.
#[test]
fn an_export_omits_hashes_by_default() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let line = json!({"emails": [{"email": "ada@example.com"}], "password_hash": FOREIGN});
    fs::write(installation.file("users.jsonl"), line.to_string()).unwrap();
    installation.admin(&command("import", Some("users.jsonl"), &keys.app, &[]));
    let plain = installation
        .run(&command("export", None, &keys.app, &[]))
        .done()
        .stdout;
    assert!(
        plain.contains("ada@example.com") && !plain.contains("password"),
        "{plain}"
    );
    let whole = installation.run(&command(
        "export",
        None,
        &keys.app,
        &["--with-password-hashes"],
    ));
    assert!(whole.done().stdout.contains("$2b$04$"));
}

/// Guesses lock a user out until an operator clears the lockout on a running service.
#[tokio::test(flavor = "multi_thread")]
async fn attack_24_an_operator_unlocks_a_user() {
    const PASSWORD: &str = "correct horse battery";
    let mut installation = Installation::sqlite();
    installation.set("limits.test_per_minute", "0");
    let keys = block_in_place(|| installation.set_up());
    let server = installation.serve().await;
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
    let unlocked =
        block_in_place(|| installation.admin(&command("unlock", Some(&user), &keys.app, &[])));
    assert_eq!(unlocked, json!({"id": user, "unlocked": true}));
    verify(PASSWORD).await.ok();
    server.process.stop().await;
}
