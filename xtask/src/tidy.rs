//! `cargo xtask tidy`: the rules of this repository that no compiler checks.
//!
//! One module per kind of rule. A rule looks at the files or at the manifests and returns what it found; all
//! findings are printed, so that one run shows everything there is to do.

mod arrows;
mod bans;
mod built;
mod circles;
mod contexts;
mod crate_spec;
mod crypto;
mod duplicates;
mod expand;
mod known_arrows;
mod layout;
mod leaks;
mod licences;
mod lock;
mod manifests;
mod migrations;
mod modules;
mod prose;
mod requirements;
mod sources;
mod tree;
mod workspace;

use std::fmt;

use crate::failure::Failure;
use built::Built;
use known_arrows::KnownArrows;
use tree::Tree;
use workspace::Workspace;

pub(crate) const ABOUT: &str = "\
Check the repository rules that no compiler checks.

  arrows        which crate may depend on which, ours and third-party (table in xtask/src/tidy/arrows.rs)
  circles       dependency cycles between modules of a crate, through paths and methods
  contexts      which context of crates/app may use which (table in xtask/src/tidy/contexts.rs)
  manifests     versions, lints and reasons are declared in one place
  sources       module docs, white space, unfinished code, tests that sleep or are disabled
  migrations    they take nothing from the running release, unless an earlier one has stopped using it
  layout        migrations in pairs, one integration test binary per crate, README and .ci/run
  leaks         machine paths and private registry hosts
  licences      the licence of every dependency
  bans          crates and versions banned in deny.toml, for example for known vulnerabilities
  duplicates    one version of each crate, except those accepted in deny.toml
  crypto        one version of each cryptographic crate in the product
  prose         words and long sentences that the house style refuses, which may only become fewer (xtask/prose.toml)
  requirements  every id named in a comment, page or test exists in docs/requirements

--untested             list the lines of docs/requirements that no test names, and check nothing
prose [PATH]…          list the findings of prose, and check nothing else
prose --write          lower the numbers in xtask/prose.toml";

/// A violated rule.
pub(crate) struct Finding {
    /// The path relative to the root.
    path: String,
    /// The line, from 1; absent if the finding is about the whole file.
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
        [command, rest @ ..] if command == "prose" => return prose::run(rest),
        _ => {
            return Err(Failure::Usage(
                "`tidy` only accepts --untested and `prose`.".to_owned(),
            ));
        }
    };
    let workspace = Workspace::read(&tree)?;
    let built = Built::read()?;
    let crates = modules::of_crates(&tree)?;
    let known = KnownArrows::read(&tree)?;
    let findings: Vec<Finding> = [
        arrows::check(&workspace),
        circles::check(&crates, &known),
        contexts::check(&crates, &known),
        manifests::check(&tree, &workspace),
        sources::check(&tree),
        layout::check(&tree),
        migrations::check(&tree)?,
        expand::check(&tree),
        leaks::check(&tree),
        licences::check(&tree, &workspace),
        bans::check(&tree, &built)?,
        duplicates::check(&tree)?,
        crypto::check(&built),
        prose::check(&tree)?,
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
        "{} of {} requirement lines are named by no test; `cargo xtask tidy --untested` lists them",
        untested.lines.len(),
        untested.of
    );
    match findings.len() {
        0 => Ok(()),
        count => Err(Failure::new(format!("tidy: {count} findings"))),
    }
}

fn list_untested(tree: &Tree) {
    for line in requirements::untested(tree).lines {
        println!("{line}");
    }
}
