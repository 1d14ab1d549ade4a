use super::*;
use crate::tidy::tree::File;

fn tree(configuration: &str) -> Tree {
    Tree {
        files: vec![File {
            path: CONFIGURATION.to_owned(),
            text: configuration.to_owned(),
        }],
    }
}

fn faults(configuration: &str) -> Vec<String> {
    let (_, findings) = list(&tree(configuration), "deny");
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_range_takes_in_its_versions_and_no_other() {
    let denied = r#"
        [bans]
        deny = [{ crate = "tokio:>=1.38, <1.44.2", reason = "Why." }, { crate = "ring", reason = "Why." }]
    "#;
    let (specs, findings) = list(&tree(denied), "deny");
    assert!(findings.is_empty());
    let takes_in = |index: usize, version: &str| {
        let version = Version::parse(version).unwrap();
        specs[index].takes_in(&version)
    };
    assert!(takes_in(0, "1.44.1"));
    assert!(takes_in(0, "1.38.0+anything"));
    assert!(!takes_in(0, "1.44.2"));
    assert!(!takes_in(0, "1.37.9"));
    assert!(takes_in(1, "0.17.14"));
    assert_eq!(specs[0].to_string(), "tokio >=1.38, <1.44.2");
}

#[test]
fn a_list_that_is_not_there_is_found() {
    let expected = ["deny.toml: there is no `deny` list under [bans]"];
    assert_eq!(faults("[bans]\n"), expected);
    assert_eq!(faults("not a table"), expected);
    let (_, findings) = list(&Tree { files: Vec::new() }, "deny");
    assert_eq!(findings.len(), 1);
}

#[test]
fn an_entry_that_says_nothing_is_found() {
    let of = |entry: &str| faults(&format!("[bans]\ndeny = [{{ {entry} }}]\n"));
    assert!(of(r#"crate = "a:<1", reason = "Why.""#).is_empty());
    assert_eq!(
        of(r#"crate = "a:<1""#),
        ["deny.toml: bans.deny: a:<1 stands there without a `reason`"]
    );
    assert_eq!(of(r#"crate = "a:<1", reason = """#).len(), 1);
    assert_eq!(
        of(r#"name = "a", reason = "Why.""#),
        ["deny.toml: bans.deny: an entry says no `crate`"]
    );
    assert_eq!(of(r#"crate = "a:old", reason = "Why.""#).len(), 1);
}
