use super::*;
use crate::tidy::workspace::Dependency;

const CALM: &str = r#"
[package]
name = "a"
description = "A crate."
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
publish.workspace = true

[lints]
workspace = true

[dependencies]
serde.workspace = true
"#;

fn found(manifest: &str) -> Vec<String> {
    let dependencies = vec![Dependency {
        name: "serde".to_owned(),
        for_tests: false,
    }];
    let member_of = Member {
        name: "a".to_owned(),
        path: "crates/a/Cargo.toml".to_owned(),
        manifest: manifest.parse().unwrap(),
        dependencies,
    };
    member(&member_of)
        .into_iter()
        .map(|finding| finding.message)
        .collect()
}

#[test]
fn a_calm_manifest_has_no_findings() {
    assert!(found(CALM).is_empty());
}

#[test]
fn what_is_not_inherited_is_found() {
    assert_eq!(
        found(&CALM.replace(
            "version.workspace = true\nedition",
            "version = \"1.0.0\"\nedition"
        ))
        .len(),
        1
    );
    assert_eq!(
        found(&CALM.replace("[lints]\nworkspace = true\n", "")).len(),
        1
    );
    assert_eq!(
        found(&CALM.replace("description = \"A crate.\"\n", "")).len(),
        1
    );
    assert_eq!(
        found(&CALM.replace("serde.workspace = true", "serde = \"1\"")).len(),
        1
    );
    let with_features = "serde = { workspace = true, features = [\"rc\"] }";
    assert_eq!(
        found(&CALM.replace("serde.workspace = true", with_features)).len(),
        1
    );
    assert_eq!(
        found(&format!(
            "{CALM}\n[target.'cfg(unix)'.dev-dependencies]\nlibc = \"0.2\"\n"
        ))
        .len(),
        1
    );
}

#[test]
fn a_dependency_needs_a_reason_above_it() {
    let root = |text: &str| {
        let file = File {
            path: "Cargo.toml".to_owned(),
            text: text.to_owned(),
        };
        reasons(&file)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert!(root("[workspace.dependencies]\n# Why.\na = \"1\"\nb = { path = \"b\" }\n\n[profile.dev]\nc = 1\n").is_empty());
    assert_eq!(
        root("[workspace.dependencies]\n# Why.\na = \"1\"\nb = \"1\"\n"),
        ["Cargo.toml:4: say in a comment above why this dependency is there"]
    );
}

#[test]
fn a_package_of_another_registry_is_found() {
    let file = |source: &str| File {
        path: "Cargo.lock".to_owned(),
        text: format!("name = \"a\"\n{source}\n"),
    };
    assert!(
        sources(&file(
            "source = \"registry+https://github.com/rust-lang/crates.io-index\""
        ))
        .is_empty()
    );
    assert_eq!(
        sources(&file("source = \"git+https://example.com/a#1\"")).len(),
        1
    );
}
