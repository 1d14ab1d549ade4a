//! Checks that every function of a suite is run by its macro.

#![expect(clippy::unwrap_used, reason = "a panic is the failure message")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// `module::function` of every public function in the modules of a suite.
fn written(suite: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in fs::read_dir(suite).unwrap() {
        let file: PathBuf = file.unwrap().path();
        let module = file.file_stem().unwrap().to_str().unwrap();
        for line in fs::read_to_string(&file).unwrap().lines() {
            if let Some(rest) = line.strip_prefix("pub async fn ") {
                let name = rest.split('(').next().unwrap();
                found.insert(format!("{module}::{name}"));
            }
        }
    }
    found
}

/// `module::function` of every test that the macros of a suite run.
fn listed(suite: &str, source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut module = None;
    for line in source.lines().map(str::trim) {
        let opened = line
            .strip_prefix(&format!("{suite}::"))
            .and_then(|rest| rest.strip_suffix(" {"));
        match module {
            None => module = opened,
            Some(_) if line == "}" => module = None,
            Some(module) => {
                found.insert(format!("{module}::{line}"));
            }
        }
    }
    found
}

#[test]
fn every_suite_function_is_run_by_its_macro() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for suite in ["store", "limiter", "vault", "custody"] {
        let macros = fs::read_to_string(source.join(format!("{suite}.rs"))).unwrap();
        let written = written(&source.join(suite));
        assert!(!written.is_empty(), "no test functions found in {suite}");
        assert_eq!(listed(suite, &macros), written, "{suite}");
    }
}
