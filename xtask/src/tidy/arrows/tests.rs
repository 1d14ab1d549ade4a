use super::*;
use crate::tidy::workspace::Member;

/// The findings when the crate `from` depends on `to`, in a workspace of all crates of the table.
fn found(from: &str, to: &str, for_tests: bool) -> Vec<String> {
    let members = arrows().map(|arrows| {
        let name = if arrows.from.starts_with("xtask") {
            arrows.from.to_owned()
        } else {
            format!("vestry-{}", arrows.from)
        };
        let dependency = Dependency {
            name: to.to_owned(),
            for_tests,
        };
        let dependencies = if arrows.from == from {
            vec![dependency]
        } else {
            Vec::new()
        };
        Member {
            path: format!("crates/{name}/Cargo.toml"),
            name,
            manifest: toml::Table::new(),
            dependencies,
        }
    });
    let workspace = Workspace {
        manifest: toml::Table::new(),
        members: members.collect(),
        packages: Vec::new(),
    };
    check(&workspace).iter().map(ToString::to_string).collect()
}

#[test]
fn every_line_of_the_tables_is_understood() {
    assert_eq!(arrows().count(), lines(OURS).count());
    assert_eq!(kept().count(), lines(OTHERS).count());
}

#[test]
fn arrows_point_inwards() {
    assert!(found("app", "vestry-ports", false).is_empty());
    assert!(found("server", "vestry-store-sql", false).is_empty());
    assert_eq!(
        found("domain", "vestry-app", false),
        [
            "crates/vestry-domain/Cargo.toml: domain may not use app: the table is in xtask/src/tidy/arrows.rs"
        ]
    );
    assert_eq!(found("web", "vestry-store-sql", false).len(), 1);
    assert_eq!(found("store-sql", "vestry-limiter", false).len(), 1);
    assert_eq!(found("app", "vestry-chains", false).len(), 1);
}

#[test]
fn tests_may_use_more() {
    assert!(found("web", "vestry-store-sql", true).is_empty());
    assert!(found("store-sql", "vestry-contract", true).is_empty());
    assert_eq!(found("store-sql", "vestry-contract", false).len(), 1);
    assert_eq!(found("domain", "vestry-contract", true).len(), 1);
}

#[test]
fn crates_of_others_stay_where_they_belong() {
    assert!(found("store-sqlite", "diesel-async", false).is_empty());
    assert_eq!(found("app", "diesel", false).len(), 1);
    assert_eq!(found("ports", "tokio", false).len(), 1);
    assert!(found("contract", "async-trait", false).is_empty());
    assert_eq!(found("ports", "async-trait", false).len(), 1);
    assert!(found("web", "reqwest", true).is_empty());
    assert_eq!(
        found("web", "reqwest", false),
        [
            "crates/vestry-web/Cargo.toml: web may not name reqwest: HTTP is spoken by the one client alone"
        ]
    );
}
