//! Chooses the service and the key to call it with.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use vestry_domain::Secret;

use super::Forward;
use crate::config::BaseUrl;
use crate::failure::Failure;
use crate::private_file::read_secret;

/// The file of a `vestry dev` in this directory.
const RECORD: &str = ".vestry/dev.json";
const VARIABLE: &str = "VESTRY_KEY";
const DEFAULT: &str = "http://127.0.0.1:8080";

/// A service and a key for it.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) base: BaseUrl,
    pub(super) key: Secret<String>,
    pub(super) key_origin: KeyOrigin,
}

/// Where the key was found, so that a message can say which one to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyOrigin {
    Argument,
    File,
    Variable,
    Record,
}

impl fmt::Display for KeyOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Argument => "from --key",
            Self::File => "from --key-file",
            Self::Variable => "from VESTRY_KEY",
            Self::Record => "from .vestry/dev.json",
        })
    }
}

/// The fields of `dev.json` that are read here.
#[derive(Deserialize)]
struct Record {
    base_url: String,
    test: Keys,
    live: Keys,
}

#[derive(Deserialize)]
struct Keys {
    secret_key: String,
}

impl Source {
    /// Chooses by command line, then environment, then the `vestry dev` of this directory.
    pub(super) fn choose(asked: &Forward) -> Result<Self, Failure> {
        let variable = variable(VARIABLE);
        let record = std::fs::read(Path::new(RECORD)).ok();
        let record = record.and_then(|text| serde_json::from_slice(&text).ok());
        Self::of(asked, variable, record)
    }

    fn of(
        asked: &Forward,
        variable: Option<Secret<String>>,
        record: Option<Record>,
    ) -> Result<Self, Failure> {
        let base = base(asked, record.as_ref())?;
        let (key, key_origin) = key(asked, variable, record, &base)?;
        check(key.expose(), asked.live)?;
        Ok(Self {
            base,
            key,
            key_origin,
        })
    }
}

/// A credential from the environment, if set. An empty variable counts as unset.
pub(super) fn variable(name: &str) -> Option<Secret<String>> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the credentials of a program that calls the API are no settings of a service"
    )]
    let text = std::env::var(name).ok();
    text.filter(|text| !text.is_empty()).map(Secret::new)
}

fn base(asked: &Forward, record: Option<&Record>) -> Result<BaseUrl, Failure> {
    if let Some(base) = &asked.url {
        return Ok(base.clone());
    }
    let text = record.map_or(DEFAULT, |record| &record.base_url);
    text.parse()
        .map_err(|why| Failure::new(format!("base_url in {RECORD} {why}")))
}

/// Chooses the key. The keys of `dev.json` are used only for a service on this machine, and never sent to another one.
fn key(
    asked: &Forward,
    variable: Option<Secret<String>>,
    record: Option<Record>,
    base: &BaseUrl,
) -> Result<(Secret<String>, KeyOrigin), Failure> {
    if let Some(key) = &asked.key {
        return Ok((key.clone(), KeyOrigin::Argument));
    }
    if let Some(file) = &asked.key_file {
        return Ok((read_secret(file)?, KeyOrigin::File));
    }
    if let Some(key) = variable {
        return Ok((key, KeyOrigin::Variable));
    }
    match record {
        Some(record) if base.is_loopback() => {
            let keys = if asked.live { record.live } else { record.test };
            Ok((Secret::new(keys.secret_key), KeyOrigin::Record))
        }
        _ => Err(Failure::usage(format!(
            "no key: set {VARIABLE} or --key-file to a secret key of the App (create one with `vestry key create APP test`), or start `vestry dev` in this directory"
        ))),
    }
}

/// Checks a key. Errors do not repeat it.
fn check(key: &str, live: bool) -> Result<(), Failure> {
    let is_written_so = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !key.starts_with("sk_") || !key.bytes().all(is_written_so) {
        return Err(Failure::usage(
            "not a secret key of an App; it must begin with sk_test_ or sk_live_",
        ));
    }
    if key.starts_with("sk_live_") && !live {
        return Err(Failure::usage(
            "a live key would forward real user data; use a test key, or pass --live to allow it",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
