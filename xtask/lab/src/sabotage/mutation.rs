//! A mutation: a patch and the tests that must detect it.

use std::fs;
use std::path::{Path, PathBuf};

use xtask_harness::failure::{Context, Failure};
use xtask_harness::project;

/// A patch that removes one defence, with its header.
#[derive(Debug)]
pub(crate) struct Mutation {
    /// The file name without the extension.
    pub(crate) name: String,
    pub(crate) patch: PathBuf,
    pub(crate) detected_by: DetectedBy,
    /// `Says:` the words that each of them must print: a test that fails for another reason has detected nothing.
    pub(crate) says: String,
}

/// The tests that must fail.
#[derive(Debug)]
pub(crate) enum DetectedBy {
    Cargo {
        /// `Build:` cargo's build arguments, such as `--package vestry-web --test it`.
        target: Vec<String>,
        /// `Test:` each test with its full name on its own line.
        tests: Vec<String>,
    },
    /// `Libraries:` a program of `sdk/tests`, which tests the packed client libraries.
    Libraries(String),
}

/// All mutations, by name.
pub(crate) fn all() -> Result<Vec<Mutation>, Failure> {
    let directory = project::root().join("xtask/sabotage");
    let entries = fs::read_dir(&directory).context(format!("cannot list {}", directory.display()));
    let mut mutations = Vec::new();
    for entry in entries? {
        let path = entry.context("cannot list xtask/sabotage")?.path();
        if path.extension().is_some_and(|ending| ending == "patch") {
            let text = fs::read_to_string(&path);
            let text = text.context(format!("cannot read {}", path.display()))?;
            mutations.push(Mutation::read(&path, &text)?);
        }
    }
    mutations.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(mutations)
}

impl Mutation {
    fn read(path: &Path, text: &str) -> Result<Self, Failure> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let above: Vec<&str> = text
            .lines()
            .take_while(|line| !line.starts_with("diff --git "))
            .collect();
        let all_of = |field: &str| -> Vec<String> {
            let values = above.iter().filter_map(|line| line.strip_prefix(field));
            values.map(|value| value.trim().to_owned()).collect()
        };
        let one_of = |field: &str| match all_of(field).as_slice() {
            [value] if !value.is_empty() => Ok(value.clone()),
            _ => Err(Failure::new(format!(
                "{name}.patch needs one line `{field} …` above the patch"
            ))),
        };
        let tests = all_of("Test:");
        let detected_by = match one_of("Libraries:") {
            Ok(program) => DetectedBy::Libraries(program),
            Err(_) if tests.is_empty() => {
                let message = format!("{name}.patch needs a line `Test: …` above the patch");
                return Err(Failure::new(message));
            }
            Err(_) => DetectedBy::Cargo {
                target: one_of("Build:")?
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect(),
                tests,
            },
        };
        Ok(Self {
            detected_by,
            says: one_of("Says:")?,
            name: name.into_owned(),
            patch: path.to_path_buf(),
        })
    }

    /// Whether each of its tests failed with the expected words. A program of the libraries prints them only if it fails.
    pub(crate) fn is_found(&self, said: &str) -> bool {
        let DetectedBy::Cargo { tests, .. } = &self.detected_by else {
            return said.contains(&self.says);
        };
        tests.iter().all(|test| {
            let start = format!("---- {test} stdout ----");
            let own_words = said.split_once(&start);
            let own_words = own_words.map(|(_, rest)| rest.split("\n---- ").next());
            own_words
                .flatten()
                .is_some_and(|words| words.contains(&self.says))
        })
    }
}

#[cfg(test)]
mod tests;
