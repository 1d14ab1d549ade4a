//! Phone numbers get the verdict of libphonenumber: its Python port, with the metadata of the version that the Rust crate has, says
//! which numbers are valid, of which type, and of which region.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use vestry_domain::phone::PhoneNumber;

const HOW: &str = "the tests of phone numbers need Python 3.10 or later with the packages of \
    crates/domain/tests/it/phone_reference/requirements.txt: run `cargo xtask test`, or point VESTRY_TEST_PYTHON to an interpreter that \
    has them; to leave these tests out, name the lane: VESTRY_TEST_LANES_MISSING=interop";

/// Variations of each example number.
const VARIED: u32 = 20;

/// Examples of the metadata on which the two disagree, with the reason. There are none as long as both have the same metadata.
const DIFFERENCES: &[(&str, &str)] = &[];

#[expect(
    clippy::disallowed_methods,
    reason = "which Python has the reference, and which seed to repeat"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What the reference prints; `None` when the lane is left out.
fn verdicts() -> Option<Vec<Value>> {
    let Some(python) = variable("VESTRY_TEST_PYTHON") else {
        let missing = variable("VESTRY_TEST_LANES_MISSING").unwrap_or_default();
        assert!(
            missing.split(',').any(|lane| lane.trim() == "interop"),
            "{HOW}"
        );
        eprintln!("left out: the lane `interop` is in VESTRY_TEST_LANES_MISSING");
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

/// The version of the metadata in the crate, which its own version carries: `phonenumber 0.3.10+9.0.33`.
fn metadata_version() -> String {
    let lock = include_str!("../../../../Cargo.lock");
    let (_, package) = lock.split_once("name = \"phonenumber\"\n").unwrap();
    let version = package.lines().next().unwrap().trim_matches('"');
    let (_, metadata) = version.split_once('+').unwrap();
    metadata.trim_end_matches('"').to_owned()
}

/// What is different, in words.
fn difference(expected: &Value) -> Option<String> {
    let text = expected["number"].as_str().unwrap();
    let parsed = PhoneNumber::parse(text);
    let is_valid = expected["valid"].as_bool().unwrap();
    if parsed.is_ok() != is_valid {
        return Some(format!("{expected}: accepted is {}", parsed.is_ok()));
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

/// Attack 7: which numbers are valid, where they belong and which take texts is as libphonenumber has it, for every example number of every
/// region and type, and for numbers a digit away from them.
#[test]
fn attack_7_phone_numbers_are_what_libphonenumber_says() {
    let Some(verdicts) = verdicts() else {
        return;
    };
    let (about, verdicts) = verdicts.split_first().unwrap();
    assert_eq!(about["version"], metadata_version(), "another metadata");
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
