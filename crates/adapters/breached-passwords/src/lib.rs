//! The BreachedPasswords port over a file that lies on the machine: no password, and no part of one, leaves it.
//!
//! The file is the list of "Have I Been Pwned" as its downloader writes it: one line for each password, the SHA-1 in 40
//! hexadecimal digits, in order, usually followed by a colon and a count. It is tens of gigabytes and is never read whole: a
//! look-up halves the file some thirty times, on a thread for blocking work, and keeps nothing.

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
    /// Opens a list and looks whether it is one.
    ///
    /// # Errors
    /// [`ListError`]: the file cannot be read, is empty, or does not begin with two lines that are hashes in order.
    pub fn open(path: &Path) -> Result<Self, ListError> {
        Ok(Self(Arc::new(SortedLines::of(File::open(path)?)?)))
    }
}

#[port]
impl BreachedPasswords for BreachedFile {
    async fn contains(&self, password: &Password) -> Result<bool, BreachCheckUnavailable> {
        // Lists have what people typed; that is the normalized text nearly always.
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
