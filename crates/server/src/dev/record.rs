//! `dev.json`: what a running `vestry dev` tells other programs, and its memory of the keys it made.

use std::path::Path;

use serde::{Deserialize, Serialize};
use vestry_domain::ids::AppId;

use crate::failure::{Context, Failure};
use crate::private_file;

/// The file; its names are fixed.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    /// Where the API is, HTTP.
    pub(super) base_url: String,
    /// Where it is over HTTPS; `""` without.
    pub(super) https_url: String,
    /// Where the console is; `""` while there is none.
    pub(super) console_url: String,
    /// The App `Demo`.
    pub(super) app_id: AppId,
    pub(super) test: Keys,
    pub(super) live: Keys,
    pub(super) operator: Operator,
    /// Process that answers.
    pub(super) pid: u32,
}

/// Keys of one environment.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Keys {
    pub(super) secret_key: String,
    pub(super) public_token: String,
}

/// Who may sign in to the console; `""` while there is none.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Operator {
    pub(super) email: String,
    pub(super) password: String,
}

impl Record {
    /// The file of an earlier start, if it is there and whole.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read(path).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Puts the file in place of the earlier one.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut text = serde_json::to_vec_pretty(self).context("dev.json cannot be written")?;
        text.push(b'\n');
        private_file::write(path, &text).context(format!("{} cannot be written", path.display()))
    }
}
