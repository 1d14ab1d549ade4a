//! The BreachedPasswords port over a local file: no password, and no part of one, leaves the machine.
//!
//! The file is the "Have I Been Pwned" list as its downloader writes it. It has one sorted line per password: the SHA-1 in 40
//! hexadecimal digits, usually followed by a colon and a count. It has tens of gigabytes and is never read whole. A look-up is a binary search of some
//! thirty steps, on a blocking thread, and caches nothing.

mod search;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use sha1::{Digest, Sha1};
use vestry_domain::password::{Normalization, Password};
use vestry_ports::passwords::{BreachCheckUnavailable, BreachedPasswords};
use vestry_ports::port;

pub use search::ListError;
use search::SortedLines;

/// A sorted list in a file.
pub struct BreachedFile(Arc<SortedLines>);

impl BreachedFile {
    /// Opens a list and checks its format.
    ///
    /// # Errors
    /// [`ListError`]: the file cannot be read, is empty, or does not begin with two lines with hashes in ascending order.
    pub fn open(path: &Path) -> Result<Self, ListError> {
        Ok(Self(Arc::new(SortedLines::of(File::open(path)?)?)))
    }
}

#[port]
impl BreachedPasswords for BreachedFile {
    async fn contains(&self, password: &Password) -> Result<bool, BreachCheckUnavailable> {
        // Lists contain passwords as typed, which is nearly always the normalized text.
        let text = password.in_form(Normalization::Nfc).expose();
        let hash = hex::encode_upper(Sha1::digest(text.as_bytes()));
        let lines = Arc::clone(&self.0);
        let found = tokio::task::spawn_blocking(move || lines.contain(hash.as_bytes())).await;
        match found {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(BreachCheckUnavailable(Box::new(error))),
            Err(ended) => Err(BreachCheckUnavailable(Box::new(ended))),
        }
    }
}

#[cfg(test)]
mod tests;
