//! The lines of `docs/requirements`: each id is defined once, every mentioned id is defined, and lines without a test are listed.
//!
//! The headings of these pages define our prefixes. Anything else that looks like an id (`EIP-712`, `SHA-256`) is not ours. Ids without a
//! hyphen are searched only in comments, on pages, at the start of messages and in the names of tests.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::{File, Tree};

/// Where the lines are.
const AREAS: &str = "docs/requirements/";
/// Explains the others and has no lines of its own.
const INDEX: &str = "docs/requirements/README.md";
/// Inputs to start from, which are whatever they must be.
const SEEDS: &str = "xtask/fuzz/corpus/";

/// The classes of attack: to be mentioned by a test is not enough for them, one has to bear their number in its name.
const ATTACKS: &str = "attack-";

/// What has a prefix of ours and is not: curves, encodings and types of Rust.
const FOREIGN: &[&str] = &[
    "P-256", "P-384", "P-521", "B32", "B58", "B64", "F16", "F32", "F64", "I16", "I32", "I64",
];

/// The ids of the requirements, as their pages define them.
struct Requirements<'a> {
    /// `OTP-`, `R`, `attack-`.
    prefixes: BTreeSet<&'a str>,
    lines: Vec<Line<'a>>,
    /// Faults of the pages.
    findings: Vec<Finding>,
}

/// A numbered sentence.
struct Line<'a> {
    id: &'a str,
    sentence: &'a str,
    path: &'a str,
    number: usize,
}

/// The lines that no test names.
pub(super) struct Untested {
    /// One for each, with its place and sentence.
    pub(super) lines: Vec<Finding>,
    /// How many lines there are.
    pub(super) of: usize,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let requirements = Requirements::read(tree);
    let known: BTreeSet<&str> = requirements.lines.iter().map(|line| line.id).collect();
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, id) in requirements.named_in(file) {
            if !known.contains(id.as_str()) {
                let message = format!("there is no line {id} in {AREAS}");
                findings.push(Finding::at(&file.path, number, message));
            }
        }
    }
    findings.extend(requirements.without_a_test_of_their_own(tree));
    findings.extend(requirements.findings);
    findings
}

pub(super) fn untested(tree: &Tree) -> Untested {
    let requirements = Requirements::read(tree);
    let named: BTreeSet<String> = tree
        .files
        .iter()
        .filter(|file| is_proof(file))
        .flat_map(|file| requirements.named_in(file))
        .map(|(_, id)| id)
        .collect();
    let lines = requirements
        .lines
        .iter()
        .filter(|line| !named.contains(line.id));
    Untested {
        lines: lines
            .map(|line| {
                Finding::at(
                    line.path,
                    line.number,
                    format!("{} {}", line.id, line.sentence),
                )
            })
            .collect(),
        of: requirements.lines.len(),
    }
}

impl<'a> Requirements<'a> {
    fn read(tree: &'a Tree) -> Self {
        let mut all = Self {
            prefixes: BTreeSet::new(),
            lines: Vec::new(),
            findings: Vec::new(),
        };
        let areas = tree
            .files
            .iter()
            .filter(|file| file.path.starts_with(AREAS) && file.path != INDEX);
        for file in areas {
            all.read_area(file);
        }
        let mut seen = BTreeSet::new();
        for line in &all.lines {
            if !seen.insert(line.id) {
                let message = format!("{} is defined twice", line.id);
                all.findings
                    .push(Finding::at(line.path, line.number, message));
            }
        }
        all
    }

    fn without_a_test_of_their_own(&self, tree: &Tree) -> Vec<Finding> {
        let proofs = tree.files.iter().filter(|file| is_proof(file));
        let borne: BTreeSet<String> = proofs
            .flat_map(File::lines)
            .flat_map(|(_, line)| self.in_name(line))
            .collect();
        let rows = self
            .lines
            .iter()
            .filter(|line| line.id.starts_with(ATTACKS));
        rows.filter(|line| !borne.contains(line.id))
            .map(|line| {
                let name = line.id.replace('-', "_");
                let message = format!("no test is called `{name}_…`");
                Finding::at(line.path, line.number, message)
            })
            .collect()
    }

    fn read_area(&mut self, file: &'a File) {
        let mut here: Vec<&str> = Vec::new();
        for (number, line) in file.lines() {
            if let Some((_, prefixes)) = line.strip_prefix('#').and_then(|it| it.rsplit_once(": `"))
            {
                here = prefixes
                    .split('`')
                    .filter(|it| !it.trim().is_empty())
                    .collect();
                self.prefixes.extend(&here);
            } else if let Some(rest) = line.strip_prefix("- **") {
                let (id, sentence) = rest.split_once("** ").unwrap_or((rest, ""));
                if !here.iter().any(|prefix| is_id(id, prefix)) {
                    let message = format!(
                        "`{id}` is not a number behind a prefix that the heading above it ends with"
                    );
                    self.findings.push(Finding::at(&file.path, number, message));
                } else if !sentence.ends_with('.') {
                    let message = format!("{id} is not one sentence on one line");
                    self.findings.push(Finding::at(&file.path, number, message));
                }
                self.lines.push(Line {
                    id,
                    sentence,
                    path: &file.path,
                    number,
                });
            }
        }
    }

    /// The ids that a file names, each with the lines where it does.
    fn named_in(&self, file: &File) -> Vec<(usize, String)> {
        let Some(language) = Language::of(&file.path) else {
            return Vec::new();
        };
        let mut named = Vec::new();
        for (number, line) in file.lines() {
            let (code, text) = language.divide(line);
            let mut ids = BTreeSet::from_iter(self.in_text(text));
            ids.extend(self.in_code(code));
            if is_proof(file) {
                ids.extend(self.in_name(code));
            }
            named.extend(ids.into_iter().map(|id| (number, id)));
        }
        named
    }

    /// In prose: `OTP-3`, `R14`, `attack 5`, `attacks 1, 13 and 24`, `attack_5`.
    fn in_text(&self, text: &str) -> Vec<String> {
        let mut ids = Vec::new();
        for (word, _, behind) in words(text) {
            if self.is_ours(word) {
                ids.push(word.to_owned());
            }
            ids.extend(self.attacks(word, behind));
        }
        ids
    }

    /// In code and strings, where only what has a hyphen is an id, or what begins a message: `"R1: two wallets"`.
    fn in_code(&self, code: &str) -> Vec<String> {
        let mut ids = Vec::new();
        for (word, before, behind) in words(code) {
            let begins_message =
                before.ends_with('"') && (behind.starts_with(": ") || behind.starts_with(" ("));
            if self.is_ours(word) && (word.contains('-') || begins_message) {
                ids.push(word.to_owned());
            }
            ids.extend(self.attacks(word, behind));
        }
        ids
    }

    /// At the start of the name of a test: `otp_3_r3_parallel_right_codes_have_one_winner`.
    fn in_name(&self, code: &str) -> Vec<String> {
        let mut code = code.trim_start();
        for before in ["pub ", "async ", "fn "] {
            code = code.strip_prefix(before).unwrap_or(code);
        }
        let Some((name, ..)) = words(code)
            .next()
            .filter(|(_, before, _)| before.is_empty())
        else {
            return Vec::new();
        };
        let mut ids = Vec::new();
        let mut rest = name;
        while let Some((id, behind)) = self.first_of_name(rest) {
            ids.push(id);
            rest = behind;
        }
        ids
    }

    /// `otp_3_a_code`: `OTP-3` and `a_code`. A name that ends with the number is that of something else.
    fn first_of_name<'n>(&self, name: &'n str) -> Option<(String, &'n str)> {
        name.find(|it: char| it.is_ascii_digit())?;
        self.prefixes.iter().find_map(|prefix| {
            let written = prefix.to_lowercase().replace('-', "_");
            let (number, behind) = name.strip_prefix(&written)?.split_once('_')?;
            let id = format!("{prefix}{number}");
            (is_id(&id, prefix) && !FOREIGN.contains(&id.as_str())).then_some((id, behind))
        })
    }

    /// `attack 5`, `attacks 1, 13 and 24`, `attack_5` and what begins so; `behind` is what follows the word.
    fn attacks(&self, word: &str, behind: &str) -> Vec<String> {
        if !self.prefixes.contains(ATTACKS) {
            return Vec::new();
        }
        let mut ids = Vec::new();
        let mut add = |number: &str| {
            let id = format!("{ATTACKS}{number}");
            let is_one = is_id(&id, ATTACKS);
            if is_one {
                ids.push(id);
            }
            is_one
        };
        if let Some(rest) = word.strip_prefix("attack_") {
            add(rest.split('_').next().unwrap_or(rest));
        } else if matches!(word, "attack" | "attacks" | "Attack" | "Attacks") {
            let mut between: &[&str] = &[" "];
            let mut rest = behind;
            while let Some(next) = between.iter().find_map(|it| rest.strip_prefix(it)) {
                match words(next).next() {
                    Some((number, "", behind)) if add(number) => rest = behind,
                    _ => break,
                }
                between = &[", and ", ", ", " and "];
            }
        }
        ids
    }

    fn is_ours(&self, word: &str) -> bool {
        let has_number = word.contains(|it: char| it.is_ascii_digit());
        has_number
            && !FOREIGN.contains(&word)
            && self.prefixes.iter().any(|prefix| is_id(word, prefix))
    }
}

/// Whether a word is a prefix with a number from 1 on.
///
/// Without a hyphen, the number has at most two digits. With a hyphen, a lower-case letter can follow (`O-9b`).
fn is_id(word: &str, prefix: &str) -> bool {
    let Some(rest) = word.strip_prefix(prefix) else {
        return false;
    };
    let (digits, most) = if prefix.contains('-') {
        let letter = |last: char| last.is_ascii_lowercase();
        (rest.strip_suffix(letter).unwrap_or(rest), 3)
    } else {
        (rest, 2)
    };
    (1..=most).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0')
}

/// Whether what a file names counts as tested.
fn is_proof(file: &File) -> bool {
    let is_script = file.path.ends_with(".py") || file.path.ends_with(".mjs");
    file.is_test()
        || file.path.starts_with("crates/contract/")
        || file.path.starts_with("xtask/") && is_script
}

/// The words of a text, each with what stands before and behind it.
fn words(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text.get(at..)?.find(is_part)?;
        let rest = text.get(start..)?;
        let end = start + rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        at = end;
        Some((text.get(start..end)?, text.get(..start)?, text.get(end..)?))
    })
}

/// How a file marks its prose.
enum Language {
    /// Everything is.
    Prose,
    /// What follows this mark at the start of a line or behind a blank.
    Code(&'static str),
}

impl Language {
    /// None of a file that names no lines.
    fn of(path: &str) -> Option<Self> {
        if path.starts_with(SEEDS) {
            return None;
        }
        let (_, ending) = path.rsplit_once('.')?;
        match ending {
            "md" => Some(Self::Prose),
            "rs" | "mjs" => Some(Self::Code("//")),
            "toml" | "py" => Some(Self::Code("#")),
            _ => None,
        }
    }

    /// A line as code and text.
    fn divide<'l>(&self, line: &'l str) -> (&'l str, &'l str) {
        let Self::Code(mark) = self else {
            return ("", line);
        };
        line.match_indices(mark)
            .map(|(at, _)| line.split_at(at))
            .find(|(code, _)| code.is_empty() || code.ends_with(' '))
            .unwrap_or((line, ""))
    }
}

#[cfg(test)]
mod tests;
