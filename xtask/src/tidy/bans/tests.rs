use super::*;
use crate::tidy::tree::File;

const DENIED: &str = r#"
    [bans]
    deny = [
        { crate = "tokio:<1.44.2", reason = "RUSTSEC-0000-0001: it leaks" },
        { crate = "rand:>=0.9, <0.9.3", reason = "RUSTSEC-0000-0002: it repeats itself" },
        { crate = "openssl-sys", reason = "rustls is the one TLS" },
        { crate = "lettre", wrappers = ["mailer"], reason = "SMTP is spoken by the mailer" },
    ]
"#;

fn lock(packages: &[(&str, &str)]) -> String {
    let package = |(name, version): &(&str, &str)| {
        format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n")
    };
    packages.iter().map(package).collect()
}

fn found(path: &str, packages: &[(&str, &str)], listing: &str) -> Vec<String> {
    let file = |path: &str, text: &str| File {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let files = vec![file("deny.toml", DENIED), file(path, &lock(packages))];
    check(&Tree { files }, &Built::listed(listing))
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn p6_a_version_with_a_known_fault_is_found_in_the_lock_file() {
    assert_eq!(
        found("Cargo.lock", &[("tokio", "1.44.1"), ("rand", "0.10.1")], ""),
        ["Cargo.lock: tokio 1.44.1: tokio <1.44.2 is refused (RUSTSEC-0000-0001: it leaks)"]
    );
    assert!(found("Cargo.lock", &[("tokio", "1.44.2")], "").is_empty());
}

/// Of a crate that is there in several versions each is looked at.
#[test]
fn p6_a_faulty_version_beside_a_good_one_is_found() {
    let both = [("rand", "0.8.8"), ("rand", "0.9.2"), ("rand", "0.10.3")];
    assert_eq!(
        found("Cargo.lock", &both, ""),
        [
            "Cargo.lock: rand 0.9.2: rand >=0.9, <0.9.3 is refused (RUSTSEC-0000-0002: it repeats itself)"
        ]
    );
}

#[test]
fn p6_the_fuzz_targets_are_held_to_the_same_list() {
    let findings = found("xtask/fuzz/Cargo.lock", &[("tokio", "1.0.0")], "");
    assert_eq!(findings.len(), 1);
    assert!(findings[0].starts_with("xtask/fuzz/Cargo.lock: tokio 1.0.0"));
}

#[test]
fn p6_a_crate_that_is_refused_altogether_may_not_be_built() {
    assert_eq!(
        found("Cargo.lock", &[], "tokio v1.48.0\nopenssl-sys v0.9.1\n"),
        ["Cargo.lock: openssl-sys is built: rustls is the one TLS"]
    );
    // In the lock file for a feature that is off.
    assert!(found("Cargo.lock", &[("openssl-sys", "0.9.1")], "").is_empty());
    // Refused to all but one, which the table of arrows sees to.
    assert!(found("Cargo.lock", &[], "lettre v0.11.0\n").is_empty());
}
