//! Points in time, in Unix seconds.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A point in time: whole seconds since 1970-01-01T00:00:00Z, as on the wire and in the database.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// A length of time in whole seconds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Seconds(pub i64);

impl Seconds {
    /// A duration of this many minutes. Saturates on overflow.
    pub const fn from_minutes(minutes: i64) -> Self {
        Self(minutes.saturating_mul(60))
    }

    /// The value of a `Retry-After` header: at least one second.
    pub fn at_least_one(self) -> u64 {
        u64::try_from(self.0.max(1)).unwrap_or(1)
    }
}

impl Timestamp {
    /// From Unix seconds.
    pub const fn from_unix(seconds: i64) -> Self {
        Self(seconds)
    }

    /// As Unix seconds.
    pub const fn unix(self) -> i64 {
        self.0
    }
}

impl Add<Seconds> for Timestamp {
    type Output = Self;

    fn add(self, length: Seconds) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl Sub<Seconds> for Timestamp {
    type Output = Self;

    fn sub(self, length: Seconds) -> Self {
        Self(self.0.saturating_sub(length.0))
    }
}

impl Sub for Timestamp {
    type Output = Seconds;

    fn sub(self, earlier: Self) -> Seconds {
        Seconds(self.0.saturating_sub(earlier.0))
    }
}
