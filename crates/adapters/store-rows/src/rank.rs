//! In which order rows are locked that many transactions change.

/// What is counted at the end of a transaction, and in which part of the counter. The smaller one is locked first, so that no two
/// transactions wait for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// How many users a world has. One that counts a user out of one status and into another locks both rows of its part.
    Users(i64),
    /// What is spent and never refused.
    Uses,
}
