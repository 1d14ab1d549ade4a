//! The PasswordHasher port: Argon2id, and the hashes that other services made.
//!
//! | module | what is there |
//! |---|---|
//! | `settings` | parameters, and how many hashes may run and wait |
//! | `threads` | the threads that hash, each with memory of its own, and the line in front of them (P-7) |
//! | `scheme` | schemes, parameters, salt and hash out of their text, and ceilings (P-6) |
//! | `text` | the parts of such a text |
//! | `compute` | the primitives |
//!
//! Memory is bounded: each thread hashes with one buffer of `memory_kib`, which it keeps while there is work and gives back
//! when there is none. An imported hash takes the place of that buffer; of those that need more than it, one runs at a time.
//! So all of it together is at most `threads × memory_kib`, plus [`LARGEST_MIB`] MiB (and 64 KiB of scrypt) while such a hash
//! is verified.

mod compute;
mod scheme;
mod settings;
mod text;
mod threads;

use std::sync::Arc;

use vestry_domain::Secret;
use vestry_domain::password::{Normalization, Password, PasswordHash};
use vestry_ports::entropy::Entropy;
use vestry_ports::passwords::{ForeignHashError, HasherError, PasswordHasher};
use vestry_ports::port;

pub use scheme::LARGEST_MIB;
pub use settings::{Settings, SettingsError};

use compute::Memory;
use scheme::{Argon2Kind, Scheme};
use threads::Threads;

/// Bytes of a fresh salt (P-4).
const SALT: usize = 16;
/// Bytes of a fresh hash.
const OUTPUT: usize = 32;
/// Which form of the text is hashed from now on.
const FORM: Normalization = Normalization::Nfc;

/// Hashes passwords with Argon2id.
pub struct Argon2Hasher {
    settings: Settings,
    threads: Threads,
    entropy: Arc<dyn Entropy>,
    /// What [`PasswordHasher::pretend`] is computed with; nobody's.
    decoy: Scheme,
}

impl Argon2Hasher {
    /// Starts the threads.
    ///
    /// # Errors
    /// The parameters are outside of what Argon2 allows, or the system gives no thread.
    pub fn new(settings: Settings, entropy: Arc<dyn Entropy>) -> Result<Self, SettingsError> {
        settings.check()?;
        let mut salt = vec![0; SALT];
        entropy.fill(&mut salt);
        let decoy = Self::scheme(settings, salt, vec![0; OUTPUT]);
        Ok(Self {
            settings,
            threads: Threads::start(settings)?,
            entropy,
            decoy,
        })
    }

    /// A hash of the current parameters.
    const fn scheme(settings: Settings, salt: Vec<u8>, output: Vec<u8>) -> Scheme {
        Scheme::Argon2 {
            kind: Argon2Kind::Id,
            version: argon2::Version::V0x13,
            memory_kib: settings.memory_kib,
            iterations: settings.iterations,
            parallelism: settings.parallelism,
            salt,
            output,
        }
    }

    /// Compares on one of the threads.
    async fn compare(
        &self,
        password: &Password,
        form: Normalization,
        scheme: Scheme,
    ) -> Result<bool, HasherError> {
        let text = password.in_form(form).clone();
        self.threads
            .run(move |memory| memory.matches(&scheme, text.expose().as_bytes()))
            .await?
    }
}

#[port]
impl PasswordHasher for Argon2Hasher {
    fn has_room(&self) -> bool {
        self.threads.have_room()
    }

    async fn hash(&self, password: &Password) -> Result<PasswordHash, HasherError> {
        let mut salt = vec![0; SALT];
        self.entropy.fill(&mut salt);
        let scheme = Self::scheme(self.settings, salt, vec![0; OUTPUT]);
        let text = password.in_form(FORM).clone();
        let computed = self
            .threads
            .run(move |memory: &mut Memory| {
                let output = memory.compute(&scheme, text.expose().as_bytes())?;
                Ok(scheme.with_output(output.to_vec()))
            })
            .await??;
        Ok(PasswordHash {
            normalization: FORM,
            text: Secret::new(computed.to_text()),
        })
    }

    async fn verify(&self, password: &Password, hash: &PasswordHash) -> Result<bool, HasherError> {
        let scheme = Scheme::read(hash.text.expose());
        let scheme = scheme.map_err(|_unreadable| HasherError::Failed("stored hash"))?;
        self.compare(password, hash.normalization, scheme).await
    }

    async fn pretend(&self, password: &Password) -> Result<(), HasherError> {
        self.compare(password, FORM, self.decoy.clone())
            .await
            .map(drop)
    }

    fn is_outdated(&self, hash: &PasswordHash) -> bool {
        let good = Scheme::read(hash.text.expose()).is_ok_and(|scheme| {
            // One of another form of the text is made anew unless that would weaken it.
            let may_stay = hash.normalization == FORM || !scheme.has_parameters_of(&self.decoy);
            scheme.is_as_strong_as(&self.decoy) && may_stay
        });
        !good
    }

    fn admit(&self, hash: &PasswordHash) -> Result<PasswordHash, ForeignHashError> {
        let scheme = Scheme::read(hash.text.expose())?;
        scheme.check_cost()?;
        Ok(PasswordHash {
            normalization: hash.normalization,
            text: Secret::new(scheme.to_text()),
        })
    }
}

#[cfg(test)]
mod tests;
