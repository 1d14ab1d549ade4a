use super::*;
use crate::tidy::tree::File;

fn found(skip: &str, packages: &[(&str, &str)]) -> Vec<String> {
    let package = |(name, version): &(&str, &str)| {
        format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n")
    };
    let file = |path: &str, text: String| File {
        path: path.to_owned(),
        text,
    };
    let files = vec![
        file("deny.toml", format!("[bans]\nskip = [{skip}]\n")),
        file("Cargo.lock", packages.iter().map(package).collect()),
    ];
    check(&Tree { files })
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect()
}

const OLD_SYN: &str = r#"{ crate = "syn:^1", reason = "Why." }"#;

#[test]
fn p6_a_second_version_needs_a_reason() {
    let two = [("syn", "1.0.109"), ("syn", "2.0.1"), ("toml", "0.9.0")];
    assert_eq!(
        found("", &two),
        [
            "Cargo.lock: syn is there as 1.0.109, 2.0.1; make it one, or say in bans.skip of deny.toml why that one is there besides"
        ]
    );
    assert!(found(OLD_SYN, &two).is_empty());
}

/// An exception accepts one version, not all versions of the crate.
#[test]
fn p6_a_third_version_is_noticed() {
    let three = [("syn", "1.0.109"), ("syn", "2.0.1"), ("syn", "3.0.0")];
    assert_eq!(
        found(OLD_SYN, &three),
        [
            "Cargo.lock: syn is there as 2.0.1, 3.0.0; make it one, or say in bans.skip of deny.toml why that one is there besides"
        ]
    );
    let all = r#"{ crate = "syn:^1", reason = "Why." }, { crate = "syn:^2", reason = "Why." }"#;
    assert_eq!(
        found(all, &three[..2]),
        ["Cargo.lock: leave one version of syn off bans.skip, or a further one is not noticed"]
    );
}

#[test]
fn p6_an_entry_without_a_duplicate_has_to_go() {
    assert_eq!(
        found(OLD_SYN, &[("syn", "2.0.1")]),
        ["deny.toml: bans.skip: syn ^1 is no longer in Cargo.lock; remove it"]
    );
    assert_eq!(
        found(OLD_SYN, &[("syn", "1.0.109")]),
        ["deny.toml: bans.skip: syn ^1 is the only version now; remove it"]
    );
    let any = r#"{ crate = "syn", reason = "Why." }"#;
    assert!(
        found(any, &[("syn", "1.0.109"), ("syn", "2.0.1")])
            .contains(&"deny.toml: bans.skip: syn means 1.0.109, 2.0.1; name one".to_owned())
    );
}
