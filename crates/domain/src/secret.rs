//! Values that must not be seen.

use std::fmt;

use zeroize::Zeroize;

/// How much of the stack is overwritten: several times of what the deepest of our callers has used, without optimization.
const STACK: usize = 128 * 1024;

/// Overwrites what calls that have returned left on the stack of this thread.
///
/// For after work on a secret by code that is not ours: what searches or copies a text leaves pieces of it there, and on a thread that
/// then waits for other work nothing overwrites them for long.
#[inline(never)]
#[expect(clippy::large_stack_arrays, reason = "which is what it is for")]
pub fn overwrite_stack() {
    let mut room = [0_u8; STACK];
    room.zeroize();
    std::hint::black_box(&room);
}

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
