//! Values that must not be seen.

use std::fmt;

use zeroize::Zeroize;

/// A value that is wiped when dropped and never printed.
///
/// There is no `Display`, no serde and no `Deref`: reading it takes a visible call to [`Secret::expose`],
/// which a reviewer can search for.
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Takes a value into custody.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself. Keep the borrow short and copy nothing out of it.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize + Clone> Clone for Secret<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}
