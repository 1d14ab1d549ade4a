//! `cargo xtask sdk`: the client libraries for TypeScript and Python.

mod calls;
mod document;
mod generate;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::arguments::Arguments;
use crate::dev_server::{self, Built, DevServer};
use crate::failure::{Context, Failure};
use crate::node::{self, Node};
use crate::python::{self, Python};
use crate::{process, project};
use document::Document;
use generate::Generated;

pub(crate) const ABOUT: &str = "\
Generate the types and methods of the client libraries from docs/openapi.json.

The generators are pinned in sdk/tools and installed once into the cache. Their output and the list of all public names,
sdk/names.txt, are kept in the repository. A name that disappears breaks programs, so it has to be accepted.
--accept       accept changed and removed names
--check        write nothing, and fail if a file is out of date
--test [NAME…] check that, and test the packed libraries against `vestry dev`, with the programs of sdk/tests: all of them, or only
               `compared`, `tolerance`, `tokens`, `signatures` and `faults` as named. `cargo xtask ci` runs all, with a fifth of the creates
--no-install   do not install Python or Node with apt-get if missing";

/// The public names of the libraries.
const NAMES: &str = "sdk/names.txt";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("sdk", arguments);
    let install = arguments.install();
    let accepts = arguments.flag("--accept");
    let is_check = arguments.flag("--check");
    let is_test = arguments.flag("--test");
    let names = match is_test {
        true => arguments.words()?,
        false => arguments.end().map(|()| Vec::new())?,
    };
    let Some(tools) = Tools::prepare(install)? else {
        return Ok(());
    };
    match (is_test, is_check) {
        (true, _) => test(&tools, &dev_server::build(Built::Alone)?, CREATES, &names),
        (false, true) => check(&tools),
        (false, false) => write(&tools, accepts),
    }
}

/// The pinned generators and checkers of both languages.
pub(crate) struct Tools {
    node: Node,
    python: Python,
}

impl Tools {
    /// Creates the environments or reuses complete ones; reports a missing language.
    pub(crate) fn prepare(install: bool) -> Result<Option<Self>, Failure> {
        let Some(python) = Python::of_sdk(install)? else {
            return python::MISSING.announce().map(|()| None);
        };
        let Some(node) = Node::prepare(&node::SDK, install)? else {
            return node::MISSING.announce().map(|()| None);
        };
        Ok(Some(Self { node, python }))
    }

    /// A program of an npm package.
    fn node(&self, program: &str) -> Command {
        Command::new(self.node.home().join("node_modules/.bin").join(program))
    }

    /// A program of a Python package.
    fn python(&self, program: &str) -> Command {
        self.python.program(program)
    }
}

/// Generates all files and writes those that changed.
fn write(tools: &Tools, accepts: bool) -> Result<(), Failure> {
    let generated = generate::generate(&Document::read()?, tools)?;
    let gone = missing_names(&generated)?;
    if !accepts && !gone.is_empty() {
        return Err(Failure::new(format!(
            "public names would be removed:\n{}\nIf that is intended, run `cargo xtask sdk --accept`",
            listed(&gone)
        )));
    }
    for (path, text) in &generated {
        let file = project::root().join(path);
        if fs::read_to_string(&file).ok().as_ref() != Some(text) {
            fs::write(&file, text).context(format!("cannot write {path}"))?;
            eprintln!("xtask: wrote {path}");
        }
    }
    Ok(())
}

/// Users that each client creates through a faulty proxy (SDK-2), and fewer for every change.
const CREATES: u32 = 1_000;
pub(crate) const FEW_CREATES: u32 = 200;

/// Checks the generated files and tests the packed libraries, each client against a server of its own. Without names, all tests run.
pub(crate) fn test(
    tools: &Tools,
    binary: &Path,
    creates: u32,
    names: &[String],
) -> Result<(), Failure> {
    check(tools)?;
    let servers = CLIENTS
        .iter()
        .map(|client| DevServer::start(binary, client))
        .collect::<Result<Vec<_>, _>>()?;
    let ready: Vec<String> = servers
        .iter()
        .map(|server| server.ready_file().display().to_string())
        .collect();
    let mut script = tools.python("python");
    script
        .arg(project::root().join("sdk/tests/run.py"))
        .args(names)
        .env("VESTRY_SDK_SERVERS", Value::from(ready).to_string())
        .env("VESTRY_SDK_NODE", tools.node.home())
        .env("VESTRY_SDK_CREATES", creates.to_string())
        .env("VESTRY_BINARY", binary);
    let outcome = process::run_beside_others(&mut script);
    servers.into_iter().try_for_each(DevServer::stop)?;
    outcome
}

/// The servers of the clients that are compared, and of the examples.
const CLIENTS: &[&str] = &["sdk-typescript", "sdk-python", "sdk-async", "sdk-examples"];

/// SDK-6: fails if a file in the repository differs from the generated one.
pub(crate) fn check(tools: &Tools) -> Result<(), Failure> {
    let generated = generate::generate(&Document::read()?, tools)?;
    let gone = missing_names(&generated)?;
    if !gone.is_empty() {
        return Err(Failure::new(format!(
            "{NAMES}: public names were removed:\n{}\nIf that is intended, run `cargo xtask sdk --accept`",
            listed(&gone)
        )));
    }
    for (path, text) in &generated {
        let known = fs::read_to_string(project::root().join(path)).unwrap_or_default();
        if known != *text {
            let same = known.lines().zip(text.lines());
            let line = same.take_while(|(old, new)| old == new).count() + 1;
            return Err(Failure::new(format!(
                "{path}:{line}: differs from the generated file; run `cargo xtask sdk` and review it"
            )));
        }
    }
    Ok(())
}

/// The names in the repository that are no longer generated.
fn missing_names(generated: &Generated) -> Result<Vec<String>, Failure> {
    let file = project::root().join(NAMES);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let known = fs::read_to_string(&file).context(format!("cannot read {NAMES}"))?;
    let now = generated.get(NAMES).map_or("", String::as_str);
    Ok(missing(&known, now))
}

/// The lines of the first text that are not in the second.
fn missing(known: &str, now: &str) -> Vec<String> {
    let now: BTreeSet<&str> = now.lines().collect();
    let gone = known.lines().filter(|name| !now.contains(name));
    gone.map(str::to_owned).collect()
}

fn listed(names: &[String]) -> String {
    let lines: Vec<String> = names.iter().map(|name| format!("- {name}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests;
