//! Limits on how often something may happen: a window that opens with its first use.

use crate::timestamp::Seconds;
use crate::{Invalid, Timestamp};

/// So many uses in so many seconds.
///
/// The window opens with its first use and admits exactly `most` uses until it closes, so that three
/// replicas that share the counter together admit what one would, and `X-RateLimit-Reset` is a fixed moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Most uses in one window; 0 means no limit.
    pub most: u32,
    /// Length of the window.
    pub window: Seconds,
}

impl Limit {
    /// So many a minute.
    pub const fn per_minute(most: u32) -> Self {
        Self {
            most,
            window: Seconds(60),
        }
    }

    /// So many an hour.
    pub const fn per_hour(most: u32) -> Self {
        Self {
            most,
            window: Seconds(3_600),
        }
    }

    /// Whether there is no limit at all.
    pub const fn is_off(self) -> bool {
        self.most == 0
    }
}

/// What a limiter answers, and what the three `X-RateLimit-*` headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether this use is within the limit.
    pub admitted: bool,
    /// `X-RateLimit-Limit`.
    pub limit: u32,
    /// `X-RateLimit-Remaining`.
    pub remaining: u32,
    /// `X-RateLimit-Reset`: when the window closes.
    pub reset: Timestamp,
}

impl Verdict {
    /// The verdict on the `used`-th use (1 is the first) in a window that opened at `opened`.
    pub fn on(limit: Limit, used: u32, opened: Timestamp) -> Self {
        Self {
            admitted: limit.is_off() || used <= limit.most,
            limit: limit.most,
            remaining: limit.most.saturating_sub(used),
            reset: opened + limit.window,
        }
    }
}

/// How often codes may be sent and tried. One set of numbers for known and unknown identifiers (OTP-10).
pub mod codes {
    use super::{Limit, Seconds};

    /// Sends to one identifier in ten minutes.
    pub const SENDS_PER_IDENTIFIER: Limit = Limit {
        most: 5,
        window: Seconds(600),
    };
    /// Sends to one identifier in a day.
    pub const SENDS_PER_IDENTIFIER_AND_DAY: Limit = Limit {
        most: 30,
        window: Seconds(86_400),
    };
    /// What still leaves for an identifier whose budgets are spent, of each kind of message: whoever asks for messages in the name of
    /// somebody else must not be able to keep that person from signing in (M-5).
    pub const BEYOND_THE_BUDGET: Limit = Limit {
        most: 1,
        window: Seconds(900),
    };
    /// A second request in this time is a double click: it is answered as the first, and nothing more is sent (M-5).
    pub const REPEATED_WITHIN: Seconds = Seconds(20);
    /// Sends asked for from one end-user address (`device_fingerprint.ip`) in ten minutes.
    pub const SENDS_PER_IP: Limit = Limit {
        most: 30,
        window: Seconds(600),
    };
    /// Sends of one App and environment in an hour.
    pub const SENDS_PER_APP: Limit = Limit {
        most: 20_000,
        window: Seconds(3_600),
    };
}

/// How many sign-ins at identity providers may be begun and not finished by what everybody can read in a page: a public token.
/// How many is a setting of the App; a begin spends one, and the `oauth/verify` that finishes the sign-in gives it back.
pub mod oauth {
    use super::{Limit, Seconds};

    /// Of one client address in ten minutes.
    pub const fn unfinished_per_address(most: u32) -> Limit {
        Limit {
            most,
            window: Seconds(600),
        }
    }
}

/// What keeps text messages from being sent for the sake of their price (attack 7). The caps for a prefix, a country and an
/// App are settings of the App.
pub mod texts {
    use super::{Limit, Seconds};

    /// Sends to one number in a day; mail is cheaper and has a higher limit.
    pub const SENDS_PER_NUMBER_AND_DAY: Limit = Limit {
        most: 10,
        window: Seconds(86_400),
    };
    /// The breaker of a prefix: it opens after so many sends of an hour that no verification followed, and closes with the hour.
    pub const UNVERIFIED_PER_PREFIX: Limit = Limit {
        most: 30,
        window: Seconds(3_600),
    };
    /// The breaker of a country, for pumping that spreads over prefixes.
    pub const UNVERIFIED_PER_COUNTRY: Limit = Limit {
        most: 300,
        window: Seconds(3_600),
    };
    /// Sends that one verification makes up for: traffic of which at least every tenth text is answered opens no breaker.
    pub const MADE_UP_FOR: u32 = 10;
}

/// Failures to sign in that no single account shows: guesses spread over many of them (M-6).
pub mod failures {
    use super::{Limit, Seconds};

    /// Wrong codes, passwords and recovery codes from one end-user address (`device_fingerprint.ip`), over all accounts (P-11).
    pub const PER_ADDRESS: Limit = Limit {
        most: 100,
        window: Seconds(600),
    };
    /// How long failures and successes of a whole App are counted together.
    pub const OF_APP_WINDOW: Seconds = Seconds(3_600);
    /// Failures of an App in that time from which on they may be an attack.
    pub const OF_APP: u64 = 1_000;
    /// They are one when there are more than so many for each success.
    pub const FOR_EACH_SUCCESS: u64 = 10;
    /// How long new codes stay long after the last failure that counted as part of an attack.
    pub const LONG_CODES_FOR: Seconds = Seconds(3_600);
}

/// A whole number of minutes between two bounds, both included.
///
/// # Errors
/// Below the lower or above the upper bound; names the field and both bounds.
pub fn minutes(param: &'static str, value: i64, least: i64, most: i64) -> Result<Seconds, Invalid> {
    if (least..=most).contains(&value) {
        return Ok(Seconds::from_minutes(value));
    }
    Err(Invalid::value(
        param,
        format!("{param} must be a whole number of minutes from {least} to {most}"),
    ))
}
