//! Password hashing, and lookups of breached passwords.

use vestry_domain::password::{Password, PasswordHash};
use vestry_port_macro::port;

/// The reason that a password was not hashed or compared.
#[derive(Debug, thiserror::Error)]
pub enum HasherError {
    /// The limit on running and queued hashes is reached; callers should retry later (503, P-7).
    #[error("password hashing queue is full")]
    Busy,
    /// A stored hash cannot be parsed, or a primitive failed; a bug, or damaged data.
    #[error("password hashing failed ({0})")]
    Failed(&'static str),
}

/// The reason that a hash from another service is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ForeignHashError {
    /// Its scheme is not supported.
    #[error("unsupported hash scheme")]
    UnknownScheme,
    /// The scheme is supported, but its parameters, salt or hash cannot be parsed.
    #[error("malformed hash for its scheme")]
    Malformed,
    /// Verifying it would take too much time or memory (P-6).
    #[error("hash parameters exceed the allowed limits")]
    TooExpensive,
}

/// Hashes passwords with bounded concurrency, memory and queue length (P-4, P-7).
///
/// If the future of a call is dropped while its hash is computed, the call keeps its slot until the computation ends.
#[port]
pub trait PasswordHasher: Send + Sync {
    /// Whether another password would currently be accepted. It reserves nothing: a check before the work around a hash makes rejection
    /// cheap (P-7), but the hash itself may still find the queue full.
    fn has_room(&self) -> bool;

    /// Hashes a password for storage, with a fresh salt and the current parameters.
    ///
    /// # Errors
    /// [`HasherError`].
    async fn hash(&self, password: &Password) -> Result<PasswordHash, HasherError>;

    /// Whether the password matches the hash, compared in constant time. The cost depends on the hash's own parameters.
    ///
    /// # Errors
    /// [`HasherError`].
    async fn verify(&self, password: &Password, hash: &PasswordHash) -> Result<bool, HasherError>;

    /// Takes as long as [`PasswordHasher::verify`] for a hash with the current parameters, without verifying anything (P-10).
    ///
    /// # Errors
    /// [`HasherError`].
    async fn pretend(&self, password: &Password) -> Result<(), HasherError>;

    /// Whether the hash is weaker than one that [`PasswordHasher::hash`] would produce now: of another scheme, or with a lower parameter.
    /// Stronger ones are kept (P-4).
    fn is_outdated(&self, hash: &PasswordHash) -> bool;

    /// Checks a hash from another service so that it can be stored and verified later, and converts it to the stored form.
    ///
    /// # Errors
    /// [`ForeignHashError`].
    fn admit(&self, hash: &PasswordHash) -> Result<PasswordHash, ForeignHashError>;
}

/// The breached-password list could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the breached-password list is unavailable")]
pub struct BreachCheckUnavailable(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Looks up passwords from known data breaches (P-8, P-9).
#[port]
pub trait BreachedPasswords: Send + Sync {
    /// Whether the password is on the list.
    ///
    /// # Errors
    /// If the list cannot be read; the App's setting decides what happens then.
    async fn contains(&self, password: &Password) -> Result<bool, BreachCheckUnavailable>;
}
