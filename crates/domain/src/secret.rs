//! Secret values.

use std::fmt;

use zeroize::Zeroize;

/// Number of bytes of stack to overwrite: several times what our deepest caller uses without optimization.
const STACK: usize = 128 * 1024;

/// Overwrites what returned calls left on this thread's stack.
///
/// Call it after foreign code has processed a secret. Code that searches or copies a text leaves pieces of it on the stack. On a thread
/// that then waits for other work, they can stay there for a long time.
#[inline(never)]
#[expect(
    clippy::large_stack_arrays,
    reason = "overwriting the stack is its purpose"
)]
pub fn overwrite_stack() {
    let mut room = [0_u8; STACK];
    room.zeroize();
    std::hint::black_box(&room);
}

/// A value that is zeroized when dropped, and never printed.
///
/// There is no `Display`, no serde and no `Deref`: reading the value takes a visible call to [`Secret::expose`], which reviewers can search
/// for.
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Wraps a value.
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
