//! Rate limits with a window that opens on first use.

use std::num::NonZeroU32;

use crate::timestamp::Seconds;
use crate::{Invalid, Timestamp};

/// A maximum number of uses per window.
///
/// The window opens with its first use and admits exactly `most` uses until it closes. Three replicas sharing the counter therefore admit
/// as many as one would, and `X-RateLimit-Reset` is a fixed moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Maximum number of uses in one window; 0 means no limit.
    pub most: u32,
    /// Length of the window.
    pub window: Seconds,
}

impl Limit {
    /// A limit per minute.
    pub const fn per_minute(most: u32) -> Self {
        Self {
            most,
            window: Seconds(60),
        }
    }

    /// A limit per hour.
    pub const fn per_hour(most: u32) -> Self {
        Self {
            most,
            window: Seconds(3_600),
        }
    }

    /// The part of one of several replicas that count separately, at least one use.
    #[must_use]
    pub fn divided_by(self, replicas: NonZeroU32) -> Self {
        if self.is_off() {
            return self;
        }
        Self {
            most: (self.most / replicas).max(1),
            ..self
        }
    }

    /// Whether the limit is disabled.
    pub const fn is_off(self) -> bool {
        self.most == 0
    }
}

/// A limiter's decision, and the values of the three `X-RateLimit-*` headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitVerdict {
    /// Whether this use is within the limit.
    pub admitted: bool,
    /// `X-RateLimit-Limit`.
    pub limit: u32,
    /// `X-RateLimit-Remaining`.
    pub remaining: u32,
    /// `X-RateLimit-Reset`: when the window closes.
    pub reset: Timestamp,
}

impl LimitVerdict {
    /// The verdict on use number `used` (from 1) in a window that opened at `opened`.
    pub fn on(limit: Limit, used: u32, opened: Timestamp) -> Self {
        Self {
            admitted: limit.is_off() || used <= limit.most,
            limit: limit.most,
            remaining: limit.most.saturating_sub(used),
            reset: opened + limit.window,
        }
    }
}

/// Limits on sending and trying codes, the same for known and unknown identifiers (OTP-10).
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
    /// Messages of each kind that are still sent to an identifier whose quotas are used up. An attacker who requests messages for someone
    /// else must not be able to prevent that person from signing in (M-5).
    pub const BEYOND_THE_QUOTA: Limit = Limit {
        most: 1,
        window: Seconds(900),
    };
    /// A second request within this time is treated as a double click: it gets the same response, and nothing more is sent (M-5).
    pub const REPEATED_WITHIN: Seconds = Seconds(20);
    /// Sends requested from one end-user address (`device_fingerprint.ip`) in ten minutes.
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

/// Limits on unfinished provider sign-ins started with a public token, which anyone can read in a page. The number is a setting of the App.
/// Starting a sign-in consumes one, and the `oauth/verify` that finishes it refunds it.
pub mod oauth {
    use super::{Limit, Seconds};

    /// Unfinished sign-ins of one client address in ten minutes.
    pub const fn unfinished_per_address(most: u32) -> Limit {
        Limit {
            most,
            window: Seconds(600),
        }
    }
}

/// Limits on the console: the forms that browsers send, and invitations of operators.
pub mod console {
    use super::{Limit, Seconds};

    /// Forms sent from one client address before signing in, in ten minutes.
    pub const FORMS_PER_ADDRESS: Limit = Limit {
        most: 100,
        window: Seconds(600),
    };
    /// Forms of one session in a minute.
    pub const FORMS_PER_SESSION: Limit = Limit::per_minute(120);
    /// Invitations that one operator, management key or command line mails in an hour.
    pub const INVITATIONS_PER_MAKER: Limit = Limit::per_hour(30);
    /// Test messages of one operator in an hour.
    pub const TEST_MESSAGES_PER_OPERATOR: Limit = Limit::per_hour(5);
}

/// Limits against SMS toll fraud (attack 7). The limits per prefix, country and App are settings of the App.
pub mod texts {
    use super::{Limit, Seconds};

    /// Sends to one number in a day; mail is cheaper and has a higher limit.
    pub const SENDS_PER_NUMBER_AND_DAY: Limit = Limit {
        most: 10,
        window: Seconds(86_400),
    };
    /// Circuit breaker of a prefix: opens after this many sends within an hour without a following verification, and closes at the end of
    /// the hour.
    pub const UNVERIFIED_PER_PREFIX: Limit = Limit {
        most: 30,
        window: Seconds(3_600),
    };
    /// Circuit breaker of a country, against traffic pumping that is spread over prefixes.
    pub const UNVERIFIED_PER_COUNTRY: Limit = Limit {
        most: 300,
        window: Seconds(3_600),
    };
    /// Sends that one verification offsets: traffic with at least one verification per ten texts opens no breaker.
    pub const MADE_UP_FOR: u32 = 10;
}

/// Limits on sign-in failures spread over many accounts, which are not visible on any single one (M-6).
pub mod failures {
    use super::{Limit, Seconds};

    /// Wrong codes, passwords and recovery codes from one end-user address (`device_fingerprint.ip`), over all accounts (P-11).
    pub const PER_ADDRESS: Limit = Limit {
        most: 100,
        window: Seconds(600),
    };
    /// Window in which failures and successes of a whole App are counted together.
    pub const OF_APP_WINDOW: Seconds = Seconds(3_600);
    /// Failures of an App in that window from which on they may be an attack.
    pub const OF_APP: u64 = 1_000;
    /// They count as an attack if there are more than this many failures per success.
    pub const FOR_EACH_SUCCESS: u64 = 10;
    /// How long new codes keep their extra digits after the last failure that counted as part of an attack.
    pub const LONG_CODES_FOR: Seconds = Seconds(3_600);
}

/// Checks a whole number of minutes against two inclusive bounds.
///
/// # Errors
/// If it is out of bounds; names the field and both bounds.
pub fn minutes(param: &'static str, value: i64, least: i64, most: i64) -> Result<Seconds, Invalid> {
    if (least..=most).contains(&value) {
        return Ok(Seconds::from_minutes(value));
    }
    Err(Invalid::value(
        param,
        format!("{param} must be a whole number of minutes from {least} to {most}"),
    ))
}
