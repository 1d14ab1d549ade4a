//! Conditions of a change on the state before it.

/// Whether an object is in the state that the caller expects. It is asked in the transaction of the change, under the object's lock, so no
/// other change comes in between.
pub type Precondition<'a, T> = &'a (dyn Fn(&T) -> bool + Send + Sync);
