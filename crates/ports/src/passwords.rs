//! Hashing of passwords, and the look-up of those that were stolen elsewhere.

use vestry_domain::password::{Password, PasswordHash};
use vestry_port_macro::port;

/// Why a password was not hashed or compared.
#[derive(Debug, thiserror::Error)]
pub enum HasherError {
    /// As many hashes run and wait as may; trying again later is right (503, P-7).
    #[error("as many passwords are being hashed as the machine allows")]
    Busy,
    /// A stored hash cannot be read, or a primitive failed; a bug, or damaged data.
    #[error("a password could not be hashed ({0})")]
    Failed(&'static str),
}

/// Why a hash of another service is not taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ForeignHashError {
    /// It is of no scheme that can be verified here.
    #[error("the scheme of the hash is not known")]
    UnknownScheme,
    /// The scheme is known, and the rest cannot be read as its parameters, salt and hash.
    #[error("the hash cannot be read as what its scheme prescribes")]
    Malformed,
    /// Verifying it would cost too much time or memory (P-6).
    #[error("the parameters of the hash are above what is allowed here")]
    TooExpensive,
}

/// Hashes passwords, at most so many at a time, with memory and waiting both bounded (P-4, P-7). A call whose future is
/// dropped while its hash is computed keeps its place until the computation ends.
#[port]
pub trait PasswordHasher: Send + Sync {
    /// Whether one more password would be taken in now. It keeps nobody a place: who asks before the work around a hash is
    /// turned away cheaply (P-7), and the hash itself may still find the line full.
    fn has_room(&self) -> bool;

    /// Hashes a password that shall be kept, with a fresh salt and the current parameters.
    ///
    /// # Errors
    /// [`HasherError`].
    async fn hash(&self, password: &Password) -> Result<PasswordHash, HasherError>;

    /// Whether the password is the one of the hash, in constant time. It costs what the hash's own parameters say.
    ///
    /// # Errors
    /// [`HasherError`].
    async fn verify(&self, password: &Password, hash: &PasswordHash) -> Result<bool, HasherError>;

    /// Costs what [`PasswordHasher::verify`] costs with a hash of the current parameters, and finds out nothing (P-10).
    ///
    /// # Errors
    /// [`HasherError`].
    async fn pretend(&self, password: &Password) -> Result<(), HasherError>;

    /// Whether the hash is weaker than the one that [`PasswordHasher::hash`] would make today: of another scheme, or of a lower
    /// parameter. What is stronger stays (P-4).
    fn is_outdated(&self, hash: &PasswordHash) -> bool;

    /// Checks a hash that another service made, so that it can be kept and verified later, and brings it into the form that
    /// is kept.
    ///
    /// # Errors
    /// [`ForeignHashError`].
    fn admit(&self, hash: &PasswordHash) -> Result<PasswordHash, ForeignHashError>;
}

/// The list of breached passwords could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the list of breached passwords is not available")]
pub struct BreachCheckUnavailable(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Knows passwords that were stolen somewhere (P-8, P-9).
#[port]
pub trait BreachedPasswords: Send + Sync {
    /// Whether the password is on the list.
    ///
    /// # Errors
    /// The list cannot be read; the App's setting decides what that means.
    async fn contains(&self, password: &Password) -> Result<bool, BreachCheckUnavailable>;
}
