//! Secrets that systemd passes to a service in files (`LoadCredential=`).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::failure::{Context, Failure};

/// The variable with the directory of the credentials.
pub(super) const DIRECTORY: &str = "CREDENTIALS_DIRECTORY";

/// The names of the credentials and the settings that they stand for.
const KNOWN: [(&str, &str, Meaning); 3] = [
    ("database-url", "database.url", Meaning::Value),
    ("root.key", "vault.local.path", Meaning::Place),
    ("sign-in.key", "vault.local.sign_in_path", Meaning::Place),
];

/// What a credential is to its setting.
#[derive(Clone, Copy)]
enum Meaning {
    /// The value is the content of the file.
    Value,
    /// The value is the path of the file.
    Place,
}

/// A credential and its setting.
pub(super) struct Credential {
    /// The name of the setting.
    pub(super) key: &'static str,
    /// The value of the setting.
    pub(super) text: String,
    /// The file of the credential.
    pub(super) path: PathBuf,
}

/// The credentials in the directory. Those that were not passed are left out, and so are files with other names.
pub(super) fn read(directory: &Path) -> Result<Vec<Credential>, Failure> {
    let mut found = Vec::new();
    for (name, key, meaning) in KNOWN {
        let path = directory.join(name);
        let text = match meaning {
            Meaning::Value => content(&path)?,
            // A credential that cannot be read is no reason to look elsewhere for a key.
            Meaning::Place if path.try_exists().unwrap_or(true) => Some(of_path(&path)?),
            Meaning::Place => None,
        };
        found.extend(text.map(|text| Credential { key, text, path }));
    }
    Ok(found)
}

/// The content of a file without the end of its line; `None` if there is no such file.
fn content(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned())),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause).context(format!("cannot read {}", path.display())),
    }
}

fn of_path(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::new(format!("{DIRECTORY}: must be UTF-8")))
}
