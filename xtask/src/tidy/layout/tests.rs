use super::*;
use crate::tidy::tree::File;

fn tree(paths: &[&str]) -> Tree {
    let file = |path: &&str| File {
        path: (*path).to_owned(),
        text: String::new(),
    };
    Tree {
        files: paths.iter().map(file).collect(),
    }
}

#[test]
fn a_migration_needs_its_twin() {
    let paired = [
        "migrations/sqlite/1_a/up.sql",
        "migrations/postgres/1_a/up.sql",
    ];
    assert!(migrations(&tree(&paired)).is_empty());
    let alone: Vec<String> = migrations(&tree(&[
        "migrations/sqlite/1_a/up.sql",
        "migrations/postgres/2_b/up.sql",
    ]))
    .iter()
    .map(ToString::to_string)
    .collect();
    assert_eq!(
        alone,
        [
            "migrations/postgres/1_a/up.sql: the other store has this migration",
            "migrations/sqlite/2_b/up.sql: the other store has this migration",
        ]
    );
}

#[test]
fn a_crate_has_one_test_binary() {
    let calm = [
        "crates/a/tests/it/main.rs",
        "crates/a/tests/it/users.rs",
        "crates/a/src/users/tests.rs",
    ];
    assert!(test_binaries(&tree(&calm)).is_empty());
    assert_eq!(test_binaries(&tree(&["crates/a/tests/users.rs"])).len(), 1);
    assert_eq!(
        test_binaries(&tree(&["crates/adapters/a/tests/e2e/main.rs"])).len(),
        1
    );
}

#[test]
fn the_readme_shows_the_two_commands() {
    assert_eq!(readme(&tree(&[])).len(), 1);
    assert_eq!(readme(&tree(&["README.md"])).len(), 2);
}
