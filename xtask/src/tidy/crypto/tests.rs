use super::*;

const TWO_OF_EACH: &str = "\
sha2 v0.10.9
sha2 v0.11.1
syn v1.0.109 (proc-macro)
syn v2.0.119 (proc-macro)
";

fn texts(findings: Vec<Finding>) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn p6_a_second_version_of_a_cryptographic_crate_is_found() {
    let built = Built::listed(TWO_OF_EACH);
    assert_eq!(
        texts(several(&[], &built)),
        [
            "Cargo.lock: sha2 is built in 2 versions (0.10.9, 0.11.1); say in xtask/src/tidy/crypto.rs why"
        ]
    );
    assert!(several(&[("sha2", "why")], &built).is_empty());
}

#[test]
fn p6_an_exception_that_nothing_needs_is_found() {
    assert!(stale(&[("sha2", "why")], &Built::listed(TWO_OF_EACH)).is_empty());
    assert_eq!(
        texts(stale(
            &[("sha2", "why")],
            &Built::listed("sha2 v0.11.1\nsha2 v0.11.1 (*)\n")
        )),
        ["xtask/src/tidy/crypto.rs: `sha2` is built in one version now; take it off the table"]
    );
}
