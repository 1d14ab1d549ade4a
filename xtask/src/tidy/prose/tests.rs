use super::*;

fn tree(limits: &str, files: &[(&str, &str)]) -> Tree {
    let before = [("crates/a/Cargo.toml", ""), (LIMITS, limits)];
    let files = before.iter().chain(files).map(|(path, text)| File {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    });
    Tree {
        files: files.collect(),
    }
}

fn found(limits: &str, files: &[(&str, &str)]) -> Vec<String> {
    let findings = check(&tree(limits, files)).unwrap();
    findings.iter().map(ToString::to_string).collect()
}

const FAULT: &str = "// Nobody reads it.\n";

#[test]
fn each_folder_has_its_limit() {
    let files = [
        ("README.md", "Nobody reads it.\n"),
        ("docs/a.md", "Nobody reads it.\n"),
        ("docs/api/b.md", "Nobody reads it.\n"),
        ("crates/a/src/lib.rs", FAULT),
        ("crates/a/tests/it/main.rs", FAULT),
        ("crates/edge/src/problem.rs", FAULT),
        (
            "docs/openapi.json",
            "{\n  \"summary\": \"Nobody reads it.\",\n}\n",
        ),
    ];
    let tree = tree("", &files);
    let (found, _) = faults(&tree, &Limits::default()).unwrap();
    let counts: Vec<_> = counts(&found).into_iter().collect();
    assert_eq!(
        counts,
        [
            (".", 1),
            ("crates/a", 2),
            ("crates/edge/src/problem", 1),
            ("docs", 1),
            ("docs/api", 1),
            ("docs/openapi.json", 1),
        ]
    );
}

#[test]
fn more_faults_than_listed_are_found() {
    let limits = "[limits]\n\"crates/a\" = 1\n";
    let one = ("crates/a/src/lib.rs", FAULT);
    assert!(found(limits, &[one]).is_empty());
    assert!(found(limits, &[]).is_empty());
    assert_eq!(
        found(limits, &[one, ("crates/a/src/b.rs", FAULT)]),
        ["crates/a: 2 prose faults, 1 allowed; `cargo xtask tidy prose crates/a` lists them"]
    );
}

#[test]
fn log_messages_have_none() {
    let log = (
        "crates/a/src/lib.rs",
        "fn f() { tracing::error!(\"nobody reads it\") }\n",
    );
    assert_eq!(
        found("[limits]\n\"crates/a\" = 1\n", &[log]),
        ["logs: 1 prose faults, 0 allowed; `cargo xtask tidy prose logs` lists them"]
    );
}

#[test]
fn false_positives_are_accepted_while_they_exist() {
    let limits = "[[accepted]]\npath = \"crates/a/src/lib.rs\"\ntext = \"Nobody reads\"\nreason = \"a name\"\n";
    assert!(found(limits, &[("crates/a/src/lib.rs", FAULT)]).is_empty());
    assert_eq!(
        found(limits, &[]),
        ["xtask/prose.toml: remove the outdated entry `Nobody reads` of crates/a/src/lib.rs"]
    );
}
