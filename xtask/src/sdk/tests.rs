use serde_json::Value;

use super::*;

/// SDK-6: a name that disappears or changes is listed, and a new one is not.
#[test]
fn sdk_6_removed_names_are_listed() {
    let known = "users.create\nusers.search (pages)\nWallet\n";
    assert_eq!(missing(known, known), Vec::<String>::new());
    let now = "users.create\nusers.list (pages)\nusers.search\nWallet\n";
    assert_eq!(missing(known, now), ["users.search (pages)"]);
    assert_eq!(listed(&missing(known, now)), "- users.search (pages)");
}

/// SDK-10: each tool of the generators has one version, and a hash.
#[test]
fn sdk_10_generators_are_pinned() {
    let tools = project::root().join("sdk/tools");
    let read = |name: &str| fs::read_to_string(tools.join(name)).unwrap();
    let lock: Value = serde_json::from_str(&read("package-lock.json")).unwrap();
    for (name, package) in lock["packages"].as_object().unwrap() {
        assert!(
            name.is_empty() || package["integrity"].is_string(),
            "{name}"
        );
    }
    let requirements = read("requirements.txt");
    let pinned = requirements
        .split("\n\n")
        .flat_map(str::lines)
        .filter(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()));
    for line in pinned {
        assert!(line.contains("==") && line.ends_with('\\'), "{line}");
    }
    assert!(requirements.contains("--hash=sha256:"));
}
