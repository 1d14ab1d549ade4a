//! `cargo xtask sabotage`: mutation tests of the defences.

mod hole;
mod tree;

use std::process::Stdio;
use std::time::Instant;

use crate::failure::{Context, Failure};
use crate::project;
use crate::test::Servers;
use hole::Hole;
use tree::Tree;

pub(crate) const ABOUT: &str = "\
Check that the tests detect deliberately removed defences (mutation testing).

Each file of xtask/sabotage is a patch that removes one defence. Examples: a code that is read and then written instead of
consumed by one guarded statement, no hashing for unknown users, a code in the log. The header names the tests that must
fail and the words they must print. Each patch is applied alone to a copy of this checkout, and those tests are built and run
there. The command fails if a removed defence goes undetected. Building the copy takes some minutes, each patch then about one.

NAME…          run only these patches: file names in xtask/sabotage without `.patch`
--no-install   do not install anything with apt-get";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let is_flag = |word: &&String| word.starts_with("--");
    let (flags, names): (Vec<&String>, Vec<&String>) = arguments.iter().partition(is_flag);
    if let Some(other) = flags.iter().find(|flag| **flag != "--no-install") {
        let message = format!("`sabotage` does not know `{other}`.");
        return Err(Failure::Usage(message));
    }
    let holes = chosen(hole::all()?, &names)?;
    let tree = Tree::copy()?;
    let servers = Servers::start(flags.is_empty())?;
    let missed = missed(&holes, &tree, &servers);
    servers.stop()?;
    let missed = missed?;
    if missed.is_empty() {
        println!("sabotage: {} mutations, all detected", holes.len());
        return Ok(());
    }
    let message = format!("undetected mutations: {}", missed.join(", "));
    Err(Failure::new(message))
}

/// The named mutations, or all.
fn chosen(holes: Vec<Hole>, names: &[&String]) -> Result<Vec<Hole>, Failure> {
    for name in names {
        if !holes.iter().any(|hole| hole.name == **name) {
            let message = format!("No `{name}.patch` in xtask/sabotage.");
            return Err(Failure::Usage(message));
        }
    }
    let is_chosen = |hole: &Hole| names.is_empty() || names.contains(&&hole.name);
    Ok(holes.into_iter().filter(is_chosen).collect())
}

/// Applies each mutation in turn, and returns those that were not detected.
fn missed(holes: &[Hole], tree: &Tree, servers: &Servers) -> Result<Vec<String>, Failure> {
    let mut missed = Vec::new();
    for hole in holes {
        let begun = Instant::now();
        tree.apply(hole)?;
        let said = attacked(hole, tree, servers);
        tree.undo(hole)?;
        let said = said?;
        let seconds = begun.elapsed().as_secs();
        if hole.is_found(&said) {
            println!("{:<34} detected, {seconds} s: {}", hole.name, hole.says);
        } else {
            println!("{:<34} NOT DETECTED, {seconds} s\n\n{said}", hole.name);
            missed.push(hole.name.clone());
        }
    }
    Ok(missed)
}

/// The output of the tests that must detect the mutation.
fn attacked(hole: &Hole, tree: &Tree, servers: &Servers) -> Result<String, Failure> {
    let mut command = project::cargo();
    servers.tell(&mut command);
    command
        .current_dir(tree.directory())
        .env("CARGO_TARGET_DIR", Tree::target())
        .env("RUST_BACKTRACE", "0")
        .args(["test", project::LIGHT, "--quiet"])
        .args(&hole.target)
        .args(["--no-fail-fast", "--", "--exact"])
        .args(&hole.tests)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    // The exit status does not matter; only the output is evaluated.
    let output = command.output().context("cannot start cargo test")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
