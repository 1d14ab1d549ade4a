//! An in-memory list of breached passwords.

use std::collections::HashSet;
use std::sync::Mutex;

use vestry_domain::password::{Normalization, Password};
use vestry_ports::passwords::{BreachCheckUnavailable, BreachedPasswords};
use vestry_ports::port;

use super::lock;

/// An in-memory list of breached passwords.
#[derive(Debug, Default)]
pub struct FakeBreached(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    passwords: HashSet<String>,
    unavailable: bool,
}

impl FakeBreached {
    /// Adds a password to the list.
    pub fn add(&self, password: &str) {
        lock(&self.0).passwords.insert(password.to_owned());
    }

    /// Makes the list unreadable (`true`) or readable again.
    pub fn set_unavailable(&self, unavailable: bool) {
        lock(&self.0).unavailable = unavailable;
    }
}

#[port]
impl BreachedPasswords for FakeBreached {
    async fn contains(&self, password: &Password) -> Result<bool, BreachCheckUnavailable> {
        let list = lock(&self.0);
        if list.unavailable {
            return Err(BreachCheckUnavailable(
                "made unavailable by the test".into(),
            ));
        }
        let text = password.in_form(Normalization::Nfc).expose();
        Ok(list.passwords.contains(text))
    }
}
