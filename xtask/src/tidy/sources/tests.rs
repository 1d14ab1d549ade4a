use super::*;

fn found(path: &str, text: &str) -> Vec<String> {
    let file = File {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    check(&Tree { files: vec![file] })
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_calm_file_has_no_findings() {
    assert!(found("crates/a/src/lib.rs", "//! A crate.\n\nfn f() {}\n").is_empty());
    assert!(found("docs/a.md", "Text.\n").is_empty());
    assert!(found("crates/a/src/a/tests.rs", "use super::*;\n").is_empty());
}

#[test]
fn white_space_is_found_with_its_line() {
    let trailing = format!("//! A.\nfn f() {{}}{}\n", ' ');
    assert_eq!(
        found("a.rs", &trailing),
        ["a.rs:2: white space at the end of the line"]
    );
    assert_eq!(found("a.rs", "//! A.\n\tfn f() {}\n"), ["a.rs:2: a tab"]);
    assert_eq!(
        found("a.md", "no end"),
        ["a.md: end the file with one line end"]
    );
    assert_eq!(
        found("a.md", "two ends\n\n"),
        ["a.md: end the file with one line end"]
    );
}

#[test]
fn a_module_says_what_it_is() {
    assert_eq!(
        found("crates/a/src/b.rs", "fn f() {}\n"),
        ["crates/a/src/b.rs:1: say in a `//!` comment what this module is"]
    );
}

#[test]
fn unfinished_code_is_found_and_a_comment_about_it_is_not() {
    for Banned {
        halves: (one, other),
        ..
    } in UNFINISHED
    {
        let text = format!("//! A.\n// {one}{other} is banned.\n    {one}{other}\n");
        let findings = found("crates/a/src/lib.rs", &text);
        assert_eq!(findings.len(), 1, "{one}{other}");
        assert!(
            findings[0].starts_with("crates/a/src/lib.rs:3: "),
            "{findings:?}"
        );
    }
}

#[test]
fn only_tests_may_not_sleep() {
    let text = format!("//! A.\nfn f() {{ {}{}x) }}\n", "tokio::time::", "sleep(");
    assert!(found("crates/a/src/worker.rs", &text).is_empty());
    assert_eq!(found("crates/a/tests/it/worker.rs", &text).len(), 1);
}
