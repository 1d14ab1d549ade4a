//! Phone number validation agrees with libphonenumber. Its Python port, with the same metadata version as the Rust crate, determines which
//! numbers are valid, and their types and regions.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use vestry_domain::phone::PhoneNumber;

const HOW: &str = "the phone number tests need Python 3.10 or later with the packages in \
    crates/domain/tests/it/phone_reference/requirements.txt: run `cargo xtask test`, or point VESTRY_TEST_PYTHON to an interpreter that \
    has them; to leave these tests out, name the lane: VESTRY_TEST_LANES_MISSING=interop";

/// Number of variations of each example number.
const VARIED: u32 = 20;

/// Example numbers on which the two disagree, with the reason. There are none as long as both have the same metadata.
const DIFFERENCES: &[(&str, &str)] = &[];

#[expect(
    clippy::disallowed_methods,
    reason = "the Python to use, and a seed to repeat"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The output of the reference; `None` if the lane is excluded.
fn verdicts() -> Option<Vec<Value>> {
    let Some(python) = variable("VESTRY_TEST_PYTHON") else {
        let missing = variable("VESTRY_TEST_LANES_MISSING").unwrap_or_default();
        assert!(
            missing.split(',').any(|lane| lane.trim() == "interop"),
            "{HOW}"
        );
        eprintln!("skipped: lane `interop` is in VESTRY_TEST_LANES_MISSING");
        return None;
    };
    let seed = variable("VESTRY_TEST_SEED").unwrap_or_else(|| "45".to_owned());
    eprintln!("VESTRY_TEST_SEED={seed}");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/phone_reference/verdicts.py");
    let output = Command::new(python)
        .arg(script)
        .arg(seed)
        .arg(VARIED.to_string())
        .output()
        .unwrap_or_else(|cause| panic!("{cause}\n{HOW}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{HOW}");
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

/// The metadata version of the crate, which is part of the crate's own version: `phonenumber 0.3.10+9.0.33`.
fn metadata_version() -> String {
    let lock = include_str!("../../../../Cargo.lock");
    let (_, package) = lock.split_once("name = \"phonenumber\"\n").unwrap();
    let version = package.lines().next().unwrap().trim_matches('"');
    let (_, metadata) = version.split_once('+').unwrap();
    metadata.trim_end_matches('"').to_owned()
}

/// A description of the difference, if any.
fn difference(expected: &Value) -> Option<String> {
    let text = expected["number"].as_str().unwrap();
    let parsed = PhoneNumber::parse(text);
    let is_valid = expected["valid"].as_bool().unwrap();
    if parsed.is_ok() != is_valid {
        return Some(format!("{expected}: accepted = {}", parsed.is_ok()));
    }
    let range = parsed.ok()?.range();
    let region = expected["region"].as_str().unwrap();
    let is_of_region = match region {
        "001" => text.starts_with(&range.country),
        region => range.country == region,
    };
    let kind = expected["type"].as_str().unwrap();
    let takes_texts = matches!(
        kind,
        "FIXED_LINE" | "MOBILE" | "FIXED_LINE_OR_MOBILE" | "VOIP"
    );
    let is_same = is_of_region && range.takes_texts == takes_texts;
    (!is_same).then(|| format!("{expected}: {range:?}"))
}

/// Attack 7: validity, region and text capability agree with libphonenumber. Covers every example number of every region and type, and
/// numbers that differ from them by one digit.
#[test]
fn attack_7_phone_numbers_are_what_libphonenumber_says() {
    let Some(verdicts) = verdicts() else {
        return;
    };
    let (about, verdicts) = verdicts.split_first().unwrap();
    assert_eq!(
        about["version"],
        metadata_version(),
        "different metadata version"
    );
    let differences: Vec<String> = verdicts.iter().filter_map(difference).collect();
    let unexplained: Vec<&String> = differences
        .iter()
        .filter(|found| !DIFFERENCES.iter().any(|(number, _)| found.contains(number)))
        .collect();
    let examples = verdicts
        .iter()
        .filter(|one| !one["source"].as_str().unwrap().ends_with("varied"));
    eprintln!(
        "{} example numbers, {} numbers in all, {} differences",
        examples.count(),
        verdicts.len(),
        differences.len()
    );
    assert!(
        unexplained.is_empty(),
        "{} differences, the first of them:\n{}",
        unexplained.len(),
        unexplained
            .iter()
            .take(40)
            .map(|found| found.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    );
}
