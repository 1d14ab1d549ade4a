use std::fs;
use std::path::Path;
use std::process::Command;

use super::{DetectedBy, Mutation, all};
use xtask_harness::project;

const TEXT: &str = "\
A code can be used again.

Build: --package vestry-web --test it
Test: codes::on_sqlite::once
Test: codes::on_postgres::once
Says: sign-ins with one code

diff --git a/a.rs b/a.rs
Test: not above the patch
";

fn mutation() -> Mutation {
    Mutation::read(Path::new("xtask/sabotage/used-again.patch"), TEXT).unwrap()
}

/// The build arguments and tests of a mutation that cargo's tests detect.
fn of_cargo(mutation: &Mutation) -> (&[String], &[String]) {
    match &mutation.detected_by {
        DetectedBy::Cargo { target, tests } => (target, tests),
        DetectedBy::Libraries(program) => panic!("detected by {program}"),
    }
}

#[test]
fn what_stands_above_the_patch_says_who_must_find_it() {
    let mutation = mutation();
    assert_eq!(mutation.name, "used-again");
    let (target, tests) = of_cargo(&mutation);
    assert_eq!(target, ["--package", "vestry-web", "--test", "it"]);
    assert_eq!(
        tests,
        ["codes::on_sqlite::once", "codes::on_postgres::once"]
    );
    for field in ["Build:", "Test:", "Says:"] {
        let without = TEXT.replace(field, "Nothing:");
        let refused = Mutation::read(Path::new("x.patch"), &without).unwrap_err();
        assert!(format!("{refused:?}").contains(field), "{refused:?}");
    }
}

#[test]
fn a_library_is_tested_by_a_program() {
    let text = TEXT.replace(
        "Build: --package vestry-web --test it\n",
        "Libraries: faults\n",
    );
    let mutation = Mutation::read(Path::new("x.patch"), &text.replace("Test:", "")).unwrap();
    assert!(matches!(&mutation.detected_by, DetectedBy::Libraries(it) if it == "faults"));
    assert!(mutation.is_found("SDK-2: twice\n    Vestry: 2 sign-ins with one code\n"));
    assert!(!mutation.is_found("the client libraries work as packed: faults"));
}

#[test]
fn a_hole_is_found_by_all_its_tests_in_their_own_words() {
    let mutation = mutation();
    let words = |test: &str, said: &str| {
        format!("---- {test} stdout ----\nthread panicked at file.rs:1:1:\n{said}\n\n")
    };
    let (_, [one, other]) = of_cargo(&mutation) else {
        panic!("two tests");
    };
    let found = words(one, &mutation.says) + &words(other, &mutation.says);
    assert!(mutation.is_found(&found));
    let one_only = words(one, &mutation.says) + &words(other, "no database");
    assert!(!mutation.is_found(&one_only));
    assert!(!mutation.is_found(&words(one, &mutation.says)));
    assert!(!mutation.is_found("error: could not compile"));
}

/// An outdated patch or a renamed test fails with the change that caused it, not in the nightly run.
#[test]
fn every_mutation_applies_to_this_tree_and_its_tests_exist() {
    let mutations = all().unwrap();
    assert!(mutations.len() > 10, "{} mutations", mutations.len());
    let sources = sources(&project::root().join("crates"));
    for mutation in mutations {
        let mut check = Command::new("git");
        check.current_dir(project::root());
        let fits = check
            .args(["apply", "--check"])
            .arg(&mutation.patch)
            .output();
        let fits = fits.unwrap();
        let said = String::from_utf8_lossy(&fits.stderr).into_owned();
        assert!(fits.status.success(), "{}: {said}", mutation.name);
        let tests = match &mutation.detected_by {
            DetectedBy::Cargo { tests, .. } => tests.as_slice(),
            DetectedBy::Libraries(program) => {
                let file = format!("sdk/tests/{program}.py");
                assert!(project::root().join(&file).exists(), "no {file}");
                &[]
            }
        };
        for test in tests {
            let function = test.rsplit("::").next().unwrap();
            assert!(
                sources.contains(function),
                "{}: no test {function}",
                mutation.name
            );
        }
    }
}

/// Everything that is written in Rust below a directory.
fn sources(directory: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text += &fs::read_to_string(&path).unwrap();
        }
    }
    text
}
