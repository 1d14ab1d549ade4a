use super::*;
use crate::tidy::modules;
use crate::tidy::tree::{File, Tree};

/// The findings in an `app` with a service, a module in each of two contexts, and some known arrows.
fn found(known: &[&str], audit: &str, platform: &str) -> Vec<String> {
    let file = |path: &str, text: &str| File {
        path: format!("crates/app/src/{path}"),
        text: text.to_owned(),
    };
    let root = "mod audit;\nmod kernel;\nmod platform;\npub use kernel::Service;\n";
    let tree = Tree {
        files: vec![
            file("lib.rs", root),
            file("kernel/mod.rs", "pub struct Service;\n"),
            file("audit/mod.rs", "mod list;\n"),
            file("audit/list.rs", audit),
            file("platform/mod.rs", "mod keys;\n"),
            file("platform/keys.rs", platform),
        ],
    };
    let known = KnownArrows {
        contexts: known.iter().map(|arrow| (*arrow).to_owned()).collect(),
        ..KnownArrows::default()
    };
    let crates = modules::of_crates(&tree).unwrap();
    let findings = check(&crates, &known);
    findings.iter().map(ToString::to_string).collect()
}

const AUDIT: &str = "use crate::Service;\nimpl Service { fn list(&self) { self.keys() } }\n";
const PLATFORM: &str = "use crate::Service;\nimpl Service { fn keys(&self) { self.list() } }\n";

#[test]
fn an_arrow_that_is_not_in_the_table_is_found() {
    assert_eq!(
        found(&[], "use crate::platform::keys;\n", ""),
        [
            "crates/app/src/audit/list.rs:1: audit may not use platform: the table is in \
             xtask/src/tidy/contexts.rs"
        ]
    );
    assert!(found(&[], "", "use crate::audit::list;\n").is_empty());
}

#[test]
fn methods_count() {
    assert_eq!(
        found(&[], AUDIT, PLATFORM),
        [
            "crates/app/src/audit/list.rs:2: audit may not use platform: the table is in \
             xtask/src/tidy/contexts.rs"
        ]
    );
}

#[test]
fn known_arrows_are_accepted_while_they_exist() {
    let known = "crates/app/src/audit/list.rs -> platform";
    assert!(found(&[known], AUDIT, PLATFORM).is_empty());
    assert_eq!(
        found(&[known], "", ""),
        [format!(
            "xtask/arrows.toml: remove the outdated entry `{known}`"
        )]
    );
}
