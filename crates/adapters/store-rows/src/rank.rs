//! In which order rows are locked that many transactions change.

/// What is counted at the end of a transaction, and in which part of the counter. The smaller one is locked first, so that no two
/// transactions wait for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// How many users of a status a world has. One that counts a user out of one status and into another locks two rows of a part, the
    /// one of those who are pending first.
    Users {
        /// The part.
        shard: i64,
        /// Of the first row that is locked.
        is_active: bool,
    },
    /// What is spent and never refused.
    Uses,
}
