//! `cargo xtask tidy`: the rules of this repository that no compiler checks.
//!
//! One module per kind of rule. A rule looks at the files or at the manifests and returns what it found; all
//! findings are printed, so that one run shows everything there is to do.

mod arrows;
mod bans;
mod built;
mod circles;
mod crate_spec;
mod crypto;
mod duplicates;
mod expand;
mod layout;
mod leaks;
mod licences;
mod lock;
mod manifests;
mod requirements;
mod sources;
mod tree;
mod workspace;

use std::fmt;

use crate::failure::Failure;
use built::Built;
use tree::Tree;
use workspace::Workspace;

pub(crate) const ABOUT: &str = "\
Check the rules of this repository that no compiler checks.

  arrows        which crate may use which, ours and others' (the table is xtask/src/tidy/arrows.rs)
  circles       modules of one crate that know each other in a circle
  manifests     one place for versions, lints and reasons
  sources       module docs, white space, unfinished code, tests that sleep or are switched off
  layout        migrations in pairs, one integration test binary per crate, README and .ci/run
  leaks         paths of one machine, hosts of a private registry
  licences      what every dependency is licensed under
  bans          no crate and no version that deny.toml refuses, for a known fault among others
  duplicates    one version of each crate, but for those that deny.toml accepts
  crypto        one version of each cryptographic crate in the product
  requirements  every id that a comment, page or test names is a line of docs/requirements

With --untested: list the lines of docs/requirements that no test names, and check nothing.";

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
    let tree = match arguments {
        [] => Tree::read()?,
        [option] if option == "--untested" => {
            list_untested(&Tree::read()?);
            return Ok(());
        }
        _ => {
            return Err(Failure::Usage(
                "`tidy` takes no arguments but --untested.".to_owned(),
            ));
        }
    };
    let workspace = Workspace::read(&tree)?;
    let built = Built::read()?;
    let findings: Vec<Finding> = [
        arrows::check(&workspace),
        circles::check(&tree),
        manifests::check(&tree, &workspace),
        sources::check(&tree),
        layout::check(&tree),
        expand::check(&tree),
        leaks::check(&tree),
        licences::check(&tree, &workspace),
        bans::check(&tree, &built)?,
        duplicates::check(&tree)?,
        crypto::check(&built),
        requirements::check(&tree),
    ]
    .into_iter()
    .flatten()
    .collect();
    for finding in &findings {
        println!("{finding}");
    }
    let untested = requirements::untested(&tree);
    println!(
        "{} of {} requirement lines have no test that names them; `cargo xtask tidy --untested` lists them",
        untested.lines.len(),
        untested.of
    );
    match findings.len() {
        0 => Ok(()),
        count => Err(Failure::new(format!("tidy: {count} to put right"))),
    }
}

fn list_untested(tree: &Tree) {
    for line in requirements::untested(tree).lines {
        println!("{line}");
    }
}
