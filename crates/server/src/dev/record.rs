//! `dev.json`: the addresses and keys of a running `vestry dev`, for other programs and later starts.

use std::path::Path;

use serde::{Deserialize, Serialize};
use vestry_domain::ids::AppId;

use crate::failure::{Context, Failure};
use crate::private_file;

/// The content of `dev.json`. Its field names are a stable interface.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    /// The URL of the API over HTTP.
    pub(super) base_url: String,
    /// The URL of the API over HTTPS; `""` if disabled.
    pub(super) https_url: String,
    /// A link that signs the operator in to the console once.
    pub(super) console_url: String,
    /// The App `Demo`.
    pub(super) app_id: AppId,
    pub(super) test: Keys,
    pub(super) live: Keys,
    #[serde(default)]
    pub(super) operator: Operator,
    /// The ID of the process.
    pub(super) pid: u32,
}

/// Keys of one environment.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Keys {
    pub(super) secret_key: String,
    pub(super) public_token: String,
}

/// The operator's console login.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Operator {
    pub(super) email: String,
    pub(super) password: String,
}

impl Record {
    /// Reads the file of an earlier start, if it exists and is valid.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read(path).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Replaces the file atomically.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut text = serde_json::to_vec_pretty(self).context("cannot serialize dev.json")?;
        text.push(b'\n');
        private_file::write(path, &text).context(format!("cannot write {}", path.display()))
    }
}
