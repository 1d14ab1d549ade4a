//! `cargo xtask tidy`: the rules of this repository that no compiler checks.
//!
//! One module per kind of rule. A rule looks at the files or at the manifests and returns what it found; all
//! findings are printed, so that one run shows everything there is to do.

mod arrows;
mod crypto;
mod layout;
mod leaks;
mod licences;
mod manifests;
mod sources;
mod tree;
mod workspace;

use std::fmt;

use crate::failure::Failure;
use tree::Tree;
use workspace::Workspace;

pub(crate) const ABOUT: &str = "\
Check the rules of this repository that no compiler checks.

  arrows      which crate may use which, ours and others' (the table is xtask/src/tidy/arrows.rs)
  manifests   one place for versions, lints and reasons
  sources     module docs, white space, unfinished code, tests that sleep or are switched off
  layout      migrations in pairs, one integration test binary per crate, README and .ci/run
  leaks       paths of one machine, hosts of a private registry
  licences    what every dependency is licensed under
  crypto      one version of each cryptographic crate";

/// Something that is not as it must be.
pub(crate) struct Finding {
    /// Relative to the root.
    path: String,
    /// From 1; absent when the finding is about the whole file.
    line: Option<usize>,
    message: String,
}

impl Finding {
    fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: None,
            message: message.into(),
        }
    }

    fn at(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: Some(line),
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if !arguments.is_empty() {
        return Err(Failure::Usage("`tidy` takes no arguments.".to_owned()));
    }
    let tree = Tree::read()?;
    let workspace = Workspace::read(&tree)?;
    let findings: Vec<Finding> = [
        arrows::check(&workspace),
        manifests::check(&tree, &workspace),
        sources::check(&tree),
        layout::check(&tree),
        leaks::check(&tree),
        licences::check(&tree, &workspace),
        crypto::check()?,
    ]
    .into_iter()
    .flatten()
    .collect();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(Failure::new(format!("tidy: {count} to put right"))),
    }
}
