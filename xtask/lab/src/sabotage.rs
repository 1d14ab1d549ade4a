//! `cargo xtask sabotage`: mutation tests of the defences.

mod mutation;
mod tree;

use std::process::Stdio;
use std::time::Instant;

use xtask_harness::arguments::Arguments;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::project;
use xtask_harness::test_servers::TestServers;

use mutation::{DetectedBy, Mutation};
use tree::Tree;

pub(crate) const ABOUT: &str = "\
Check that the tests detect deliberately removed defences (mutation testing).

Each file of xtask/sabotage is a patch that removes one defence. Examples: a code that is read and then written instead of
consumed by one guarded statement, no hashing for unknown users, a code in the log. The header names the tests that must
fail and the words they must print. For a client library they are a program of sdk/tests. Each patch is applied alone to a copy of this checkout, and those tests are built and run
there. The command fails if a removed defence goes undetected. Building the copy takes some minutes, each patch then about one.

NAME…          run only these patches: file names in xtask/sabotage without `.patch`
--no-install   do not install anything with apt-get";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("sabotage", arguments);
    let install = arguments.install();
    let mutations = chosen(mutation::all()?, &arguments.words()?)?;
    let tree = Tree::copy()?;
    let servers = TestServers::start(install)?;
    let missed = missed(&mutations, &tree, &servers);
    servers.stop()?;
    let missed = missed?;
    if missed.is_empty() {
        println!("sabotage: {} mutations, all detected", mutations.len());
        return Ok(());
    }
    let message = format!("undetected mutations: {}", missed.join(", "));
    Err(Failure::new(message))
}

/// The named mutations, or all.
fn chosen(mutations: Vec<Mutation>, names: &[String]) -> Result<Vec<Mutation>, Failure> {
    for name in names {
        if !mutations.iter().any(|mutation| mutation.name == *name) {
            let message = format!("No `{name}.patch` in xtask/sabotage.");
            return Err(Failure::Usage(message));
        }
    }
    let is_chosen = |mutation: &Mutation| names.is_empty() || names.contains(&mutation.name);
    Ok(mutations.into_iter().filter(is_chosen).collect())
}

/// Applies each mutation in turn, and returns those that were not detected.
fn missed(
    mutations: &[Mutation],
    tree: &Tree,
    servers: &TestServers,
) -> Result<Vec<String>, Failure> {
    let mut missed = Vec::new();
    for mutation in mutations {
        let begun = Instant::now();
        tree.apply(mutation)?;
        let said = attacked(mutation, tree, servers);
        tree.undo(mutation)?;
        let said = said?;
        let seconds = begun.elapsed().as_secs();
        if mutation.is_found(&said) {
            println!(
                "{:<34} detected, {seconds} s: {}",
                mutation.name, mutation.says
            );
        } else {
            println!("{:<34} NOT DETECTED, {seconds} s\n\n{said}", mutation.name);
            missed.push(mutation.name.clone());
        }
    }
    Ok(missed)
}

/// The output of the tests that must detect the mutation.
fn attacked(mutation: &Mutation, tree: &Tree, servers: &TestServers) -> Result<String, Failure> {
    let mut command = match &mutation.detected_by {
        DetectedBy::Cargo { target, tests } => {
            let mut command = servers.cargo_test(&["--quiet"]);
            command
                .args(target)
                .args(["--no-fail-fast", "--", "--exact"])
                .args(tests)
                .stderr(Stdio::inherit());
            command
        }
        DetectedBy::Libraries(program) => {
            let mut command = project::cargo();
            command.args(["xtask", "sdk", "--no-install", "--test", program]);
            command
        }
    };
    command
        .current_dir(tree.directory())
        .env("CARGO_TARGET_DIR", Tree::target())
        .env("RUST_BACKTRACE", "0")
        // A mutation may leave a variable unused. The tests have to be built anyway.
        .env_remove("RUSTFLAGS")
        .stdin(Stdio::null());
    // The exit status does not matter; only the output is evaluated. Cargo prints the failures of tests to stdout, Python to stderr.
    let output = command.output().context("cannot start cargo")?;
    let said = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&said).into_owned())
}
