//! `vestry config`: an App's configuration in a file.

use std::fs;

use serde_json::json;
use tokio::task::block_in_place;

use crate::on_both_databases;
use crate::support::database::Database;
use crate::support::installation::{CommandOutput, Installation};

on_both_databases! {
    /// CN-C1, MG-6
    mg_6_a_file_is_exported_changed_and_applied => super::a_file_is_exported_changed_and_applied;
    /// MG-6
    mg_6_a_document_is_applied_as_a_whole_or_not_at_all => super::a_document_is_applied_as_a_whole_or_not_at_all;
}

const SECTIONS: &str = r#"
[settings]
freshness_minutes = 9
oauth_live_redirect_uri = "https://shop.example/own"

[test]

[[live.redirect_urls]]
kind = "login"
url = "https://shop.example/in"
default = true

[live.providers.google]
client_id = "id"
settings = { scopes = ["email"] }

[[live.webhook_endpoints]]
url = "https://shop.example/hooks"
name = "Shop"
types = ["user.*"]
"#;

/// Writes a file for an App and runs `vestry config apply`.
fn apply(installation: &Installation, app: &str, rest: &str, options: &[&str]) -> CommandOutput {
    fs::write(
        installation.file("shop.toml"),
        format!("app = \"{app}\"\n{rest}"),
    )
    .unwrap();
    let command = ["config", "apply", "shop.toml"];
    block_in_place(|| installation.run(&[&command[..], options].concat()))
}

fn export(installation: &Installation, app: &str) -> String {
    let exported = block_in_place(|| installation.run(&["config", "export", app]));
    exported.done().stdout
}

async fn a_file_is_exported_changed_and_applied(installation: Installation) {
    let first = installation.set_up().app;
    let second = installation.new_app().app;
    let before = export(&installation, &first);

    let planned = apply(&installation, &first, SECTIONS, &["--plan"]);
    assert_eq!(planned.code, 3, "{planned:?}");
    for line in [
        "~ settings.freshness_minutes: 15 -> 9",
        "+ settings.oauth_live_redirect_uri: \"https://shop.example/own\"",
        "+ live.redirect_urls[login https://shop.example/in]: {",
        "+ live.providers.google: {",
        "+ live.webhook_endpoints[https://shop.example/hooks]: {",
        "5 changes.",
    ] {
        assert!(planned.stdout.contains(line), "{line}: {}", planned.stdout);
    }
    assert_eq!(export(&installation, &first), before);

    let applied = apply(&installation, &first, SECTIONS, &["--json"])
        .done()
        .json();
    assert_eq!(applied["applied"], true);
    assert_eq!(applied["changes"].as_array().unwrap().len(), 5);
    let again = apply(&installation, &first, SECTIONS, &["--plan"]).done();
    assert_eq!(again.stdout, "No changes.\n");

    // Another App with this file has the same configuration, and is exported the same.
    let exported = export(&installation, &first);
    let (app_line, sections) = exported.split_once('\n').unwrap();
    assert_eq!(app_line, format!("app = \"{first}\""));
    let applied = apply(&installation, &second, sections, &[]).done();
    assert!(
        applied.stdout.ends_with("5 changes.\n"),
        "{}",
        applied.stdout
    );
    assert_eq!(
        export(&installation, &second).split_once('\n').unwrap().1,
        sections
    );
    let listed = block_in_place(|| installation.admin(&["config", "export", &second]));
    assert_eq!(listed["app"], json!(second));
    assert_eq!(listed["settings"]["test_per_minute"], json!(null));

    for (rest, words) in [
        ("[live]\nhooks = []\n", "live.hooks"),
        (
            "[settings]\nfreshness_minutes = 0\n",
            "settings.freshness_minutes",
        ),
        (
            "[live.providers.google]\nclient_id = \"a\"\nclient_secret = \"b\"\n",
            "no secrets",
        ),
    ] {
        let refused = apply(&installation, &second, rest, &[]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(
            refused.stderr.contains(words),
            "{words}: {}",
            refused.stderr
        );
    }
    let unknown = apply(&installation, "app_3Mn9PNR3LQoWYO7VKGiApjOImmI", "", &[]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert_eq!(
        export(&installation, &second).split_once('\n').unwrap().1,
        sections
    );
}

/// The last change fails in the database.
async fn a_document_is_applied_as_a_whole_or_not_at_all(installation: Installation) {
    let app = installation.set_up().app;
    let before = export(&installation, &app);
    let (break_it, mend) = match installation.database {
        Database::Sqlite(_) => (
            "CREATE TRIGGER broken BEFORE INSERT ON webhook_secrets BEGIN SELECT RAISE(ABORT, 'broken'); END",
            "DROP TRIGGER broken",
        ),
        Database::Postgres(_) | Database::Elsewhere(_) => (
            "ALTER TABLE webhook_secrets ADD CONSTRAINT broken CHECK (false)",
            "ALTER TABLE webhook_secrets DROP CONSTRAINT broken",
        ),
    };
    installation.database.touch(break_it).await;
    let failed = apply(&installation, &app, SECTIONS, &[]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert_eq!(export(&installation, &app), before);
    installation.database.touch(mend).await;
    let applied = apply(&installation, &app, SECTIONS, &[]).done();
    assert!(
        applied.stdout.ends_with("5 changes.\n"),
        "{}",
        applied.stdout
    );
}
