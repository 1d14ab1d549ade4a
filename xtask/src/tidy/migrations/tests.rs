use super::*;

fn found(text: &str, tags: &[&str]) -> Vec<String> {
    let file = File {
        path: "migrations/postgres/2027-01-01-000002_more/up.sql".to_owned(),
        text: text.to_owned(),
    };
    let findings = findings(&Tree { files: vec![file] }, tags);
    findings.iter().map(ToString::to_string).collect()
}

/// PR-86
#[test]
fn pr_86_a_migration_takes_nothing_from_the_running_release() {
    for good in [
        "CREATE TABLE a (b TEXT NOT NULL, type TEXT);",
        "ALTER TABLE a ADD COLUMN b TEXT NOT NULL DEFAULT '';",
        "ALTER TABLE a ADD COLUMN b TEXT, ADD COLUMN c INT8 NOT NULL DEFAULT 0;",
        "-- DROP TABLE a\nCREATE INDEX a_b_idx ON a (b) WHERE b <> 'DROP it; RENAME';",
        "UPDATE a SET b = NULL WHERE NOT c IS NULL;",
    ] {
        assert_eq!(found(good, &[]), [""; 0], "{good}");
    }
    for (bad, why) in [
        ("ALTER TABLE a DROP COLUMN b;", "DROP"),
        ("drop index a_b_idx", "DROP"),
        ("ALTER TABLE a RENAME TO b;", "RENAME"),
        ("ALTER TABLE a ALTER COLUMN b TYPE INT8;", "type"),
        ("ALTER TABLE a ALTER b SET DATA TYPE TEXT;", "type"),
        ("ALTER TABLE a ADD COLUMN b TEXT NOT NULL;", "NOT NULL"),
        ("ALTER TABLE a ALTER COLUMN b SET NOT NULL;", "NOT NULL"),
        (
            "ALTER TABLE a ADD b TEXT DEFAULT '',\n ADD c TEXT NOT NULL;",
            "NOT NULL",
        ),
    ] {
        let found = found(&format!("SELECT 1;\n{bad}"), &[]);
        assert_eq!(found.len(), 1, "{bad}: {found:?}");
        assert!(found[0].contains(why), "{bad}: {found:?}");
        assert!(found[0].contains("up.sql:2: "), "{found:?}");
    }
}

/// PR-86: unless an earlier release has stopped using it.
#[test]
fn pr_86_a_later_release_contracts() {
    let text = "-- contract: expanded in 0.9\nALTER TABLE a DROP COLUMN b;";
    for tags in [&["v0.9"][..], &["v0.8.0", "v0.9.2"], &["0.9.0"]] {
        assert_eq!(found(text, tags), [""; 0], "{tags:?}");
    }
    for tags in [&[][..], &["v0.8.0"], &["v0.90.0"]] {
        let found = found(text, tags);
        assert!(found[0].ends_with("there is no tag of release 0.9"));
    }
}
