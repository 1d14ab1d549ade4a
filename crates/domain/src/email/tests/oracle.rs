//! Attack 5, R2: identities compared with other implementations: PyPI's `idna` for domains and Python's Unicode database for local parts.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde::Deserialize;

use super::*;
use crate::domain_name::a_labels;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/email/tests/oracle.py");
const PAIRS: usize = 100_000;
const HOW: &str = "VESTRY_TEST_PYTHON is not set: point it to Python 3.10 or later with the package idna from \
    xtask/interop/requirements.txt, or run cargo xtask test; to skip this test, set \
    VESTRY_TEST_LANES_MISSING=identity";

/// Reasons that only the oracle rejects a domain. IDNA 2008 excludes symbols and has rules for single characters, which UTS #46 lacks. It
/// also checks ASCII characters before composition: `=` with U+0338 is `≠`.
const REFUSED_THERE_ALONE: [&str; 3] = [
    "domain contexto",
    "domain disallowed_codepoint",
    "domain uts46_std3",
];
/// Reasons that only we reject a domain.
const REFUSED_HERE_ALONE: [&str; 4] = [
    "UTS #46, in a domain that has a label from right to left",
    "no letter in the last label, or an IP address",
    "one label",
    "UTS #46",
];

/// A pair of addresses from the script.
#[derive(Deserialize)]
struct Pair(String, String, String, String, String, bool);

#[expect(
    clippy::disallowed_methods,
    reason = "where the test finds Python, and its seed"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The script, which prints a pair in each line, or `None` if the lane is excluded. The pairs are read while it makes more of them.
fn script(seed: u64) -> Option<Child> {
    let Some(python) = variable("VESTRY_TEST_PYTHON") else {
        let missing = variable("VESTRY_TEST_LANES_MISSING").unwrap_or_default();
        assert!(
            missing.split(',').any(|lane| lane.trim() == "identity"),
            "{HOW}"
        );
        println!("skipped: lane identity is excluded");
        return None;
    };
    let script = Command::new(python)
        .args([
            "-X",
            "utf8",
            "-B",
            SCRIPT,
            &seed.to_string(),
            &PAIRS.to_string(),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    Some(script)
}

fn seed() -> u64 {
    let seed = variable("VESTRY_TEST_SEED").and_then(|seed| seed.parse().ok());
    seed.unwrap_or_else(|| RandomState::new().build_hasher().finish())
}

/// The reason that we reject a domain.
fn refusal(domain: &str) -> &'static str {
    let ascii = idna::domain_to_ascii_strict(domain);
    match ascii {
        Ok(ascii) if a_labels(&ascii).is_none() => "no letter in the last label, or an IP address",
        Ok(_) => "one label",
        // PyPI's library checks each label separately.
        Err(_)
            if idna::domain_to_unicode(domain)
                .0
                .chars()
                .any(is_from_right_to_left) =>
        {
            "UTS #46, in a domain that has a label from right to left"
        }
        Err(_) => "UTS #46",
    }
}

fn is_from_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Two addresses have the same identity exactly if the oracle says so, wherever both accept them.
#[test]
fn attack_5_r2_identity_is_what_other_implementations_say() {
    let seed = seed();
    println!("seed: VESTRY_TEST_SEED={seed}");
    let Some(mut script) = script(seed) else {
        return;
    };
    let lines = BufReader::new(script.stdout.take().unwrap()).lines();
    let (mut read, mut same, mut different, mut near) = (0, 0, 0, 0);
    let mut alone: BTreeMap<(&str, String), (usize, String)> = BTreeMap::new();
    for line in lines {
        let Pair(edit, left, right, left_refused, right_refused, is_same) =
            &serde_json::from_str(&line.unwrap()).unwrap();
        read += 1;
        near += usize::from(edit != "none");
        let mut accepted = Vec::new();
        for (text, refused) in [(left, left_refused), (right, right_refused)] {
            let ours = Email::parse(text);
            let (local, domain) = text.split_once('@').unwrap();
            let is_about_domain = |why: &str| why.starts_with("domain");
            match (&ours, refused.as_str()) {
                (Ok(email), "") => accepted.push(email.identity().clone()),
                (Err(_), why) if !why.is_empty() => {}
                (Ok(_), why) => {
                    assert!(is_about_domain(why), "{text:?} was accepted: {why}");
                    let entry = alone.entry(("we accept", why.to_owned()));
                    entry.or_insert((0, text.clone())).0 += 1;
                }
                (Err(refused), _) => {
                    let here = Email::parse(&format!("{local}@example.com"));
                    assert!(here.is_ok(), "{text:?} was rejected: {refused}");
                    let entry = alone.entry(("the oracle accepts", refusal(domain).to_owned()));
                    entry.or_insert((0, text.clone())).0 += 1;
                }
            }
        }
        if let [one, other] = &accepted[..] {
            assert_eq!(one == other, *is_same, "{edit}: {left:?} and {right:?}");
            same += usize::from(*is_same);
            different += usize::from(!*is_same);
        }
    }
    assert!(script.wait().unwrap().success());
    assert_eq!(read, PAIRS);
    println!(
        "{PAIRS} pairs, {near} one edit apart; accepted by both: {same} one identity, {different} two"
    );
    for ((who, why), (number, example)) in &alone {
        println!("{number:6} domains that {who} alone: {why}, such as {example:?}");
        let known: &[&str] = match *who {
            "we accept" => &REFUSED_THERE_ALONE,
            _ => &REFUSED_HERE_ALONE,
        };
        assert!(known.contains(&why.as_str()), "{who}: {why}, {example:?}");
    }
    assert!(near >= PAIRS / 2 && same > PAIRS / 5 && different > PAIRS / 5);
}
