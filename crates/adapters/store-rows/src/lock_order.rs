//! The lock order of rows that many transactions change.

/// A counter that is updated at the end of a transaction, with its shard. Smaller ranks are locked first, so that transactions cannot
/// deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The number of users per status in a world. A status change locks two rows of a shard, the row of pending users first.
    Users {
        /// The shard.
        shard: i64,
        /// The status of the row that is locked first.
        is_active: bool,
    },
    /// A counter that is incremented and never limits anything.
    Uses,
}
