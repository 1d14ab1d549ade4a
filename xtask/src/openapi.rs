//! `cargo xtask openapi`: the API description in the repository.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::arguments::Arguments;
use crate::dev_server::{self, Built};
use crate::failure::{Context, Failure};
use crate::{process, project};

pub(crate) const ABOUT: &str = "\
Generate docs/openapi.json from the code.

The document is the output of `vestry openapi`. It is kept in the repository so that API changes show up in review.
--check   write nothing, and fail if the file is out of date";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("openapi", arguments);
    let is_check = arguments.flag("--check");
    arguments.end()?;
    match is_check {
        true => check(Built::Alone),
        false => write(),
    }
}

/// Fails if the document in the repository differs from the code.
pub(crate) fn check(how: Built) -> Result<(), Failure> {
    let file = file();
    let written = fs::read_to_string(&file).context(format!("cannot read {}", file.display()))?;
    let described = describe(how)?;
    if written == described {
        return Ok(());
    }
    let line = written
        .lines()
        .zip(described.lines())
        .take_while(|(old, new)| old == new)
        .count()
        + 1;
    Err(Failure::new(format!(
        "docs/openapi.json:{line}: differs from the code; run `cargo xtask openapi` and review it"
    )))
}

fn write() -> Result<(), Failure> {
    let file = file();
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent).context("cannot create docs")?;
    }
    fs::write(&file, describe(Built::Alone)?).context(format!("cannot write {}", file.display()))
}

/// The output of the binary, with one newline at the end.
fn describe(how: Built) -> Result<String, Failure> {
    let printed = process::output(Command::new(dev_server::build(how)?).arg("openapi"))?;
    Ok(format!("{}\n", printed.trim_end()))
}

fn file() -> PathBuf {
    project::root().join("docs/openapi.json")
}
