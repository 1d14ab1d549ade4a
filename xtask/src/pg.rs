//! `cargo xtask pg`: a Postgres for development.

use std::fs;
use std::path::PathBuf;

use crate::failure::{Context, Failure};
use crate::postgres::{Durability, Place, Postgres};
use crate::project;

pub(crate) const ABOUT: &str = "\
Start a throwaway Postgres that keeps running (up), or remove it (down).

`up` prints the superuser's URL, also if the server is already running. The cluster is in the system's temporary
directory, recorded in target/pg/cluster.json. It does not survive a machine crash, because fsync is off.

  export VESTRY_TEST_POSTGRES_URL=$(cargo xtask pg up)
  cargo test -p vestry-store-sql
  cargo xtask pg down";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [verb] if verb == "up" => up(),
        [verb] if verb == "down" => down(),
        _ => Err(Failure::Usage(
            "Usage: `cargo xtask pg up` or `cargo xtask pg down`.".to_owned(),
        )),
    }
}

fn up() -> Result<(), Failure> {
    let postgres = Postgres::require(true)?;
    if let Some(place) = remembered()? {
        if postgres.answers(&place) {
            println!("{}", place.url());
            return Ok(());
        }
        // Stopped from outside, for example by a reboot.
        postgres.remove(&place)?;
    }
    let place = postgres.start_to_stay()?;
    remember(&place)?;
    println!("{}", place.url());
    Ok(())
}

fn down() -> Result<(), Failure> {
    if let Some(place) = remembered()? {
        Postgres::require(true)?.remove(&place)?;
        fs::remove_file(record()).context("cannot remove the cluster record")?;
    }
    Ok(())
}

fn record() -> PathBuf {
    project::target().join("pg/cluster.json")
}

fn remember(place: &Place) -> Result<(), Failure> {
    let record = record();
    if let Some(parent) = record.parent() {
        fs::create_dir_all(parent).context("cannot create target/pg")?;
    }
    let document =
        serde_json::json!({ "directory": place.directory, "port": place.port, "url": place.url() });
    fs::write(&record, format!("{document:#}\n")).context("cannot write the cluster record")
}

/// The cluster that `up` started, if any.
fn remembered() -> Result<Option<Place>, Failure> {
    let record = record();
    if !record.exists() {
        return Ok(None);
    }
    let text = fs::read_to_string(&record).context(format!("cannot read {}", record.display()))?;
    let document: serde_json::Value =
        serde_json::from_str(&text).context(format!("cannot parse {}", record.display()))?;
    let place = || {
        let directory = PathBuf::from(document.get("directory")?.as_str()?);
        let port = u16::try_from(document.get("port")?.as_u64()?).ok()?;
        Some(Place {
            directory,
            port,
            durability: Durability::Memory,
            more: &[],
        })
    };
    place()
        .map(Some)
        .ok_or_else(|| Failure::new(format!("{} is not a record of `pg up`", record.display())))
}
