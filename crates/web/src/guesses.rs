//! API keys that turn out to be none: looking them up must not become work for the database (S-16, attack 16).
//!
//! Only look-ups that failed are counted, each against the address that it came from. From an address with too many of them in
//! a minute, keys that this process has not seen yet are refused without a look-up, all but one a second; keys that it has seen
//! are never refused. So whoever shares an address with a guesser, behind one NAT or one proxy, goes on, and a key that is new
//! gets in after a few tries. Each process counts for itself: what is spared is its own work.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;

const WINDOW: Seconds = Seconds(60);
/// Addresses counted at most; beyond it, all are forgotten, which gives each its failures of a minute anew.
const MOST_ADDRESSES: usize = 100_000;

/// The failures of this minute.
#[derive(Debug)]
pub(crate) struct Guesses {
    /// Look-ups that may fail in a minute; 0: any number.
    per_minute: u32,
    windows: Mutex<HashMap<IpAddr, Window>>,
}

#[derive(Debug)]
struct Window {
    opened: Timestamp,
    failed: u32,
    looked_up: Timestamp,
}

impl Window {
    fn is_open(&self, now: Timestamp) -> bool {
        (self.opened..self.opened + WINDOW).contains(&now)
    }
}

impl Guesses {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self {
            per_minute,
            windows: Mutex::default(),
        }
    }

    /// Whether a key may be looked up that this process has not seen; else, when the window of its address closes.
    pub(crate) fn may_look_up(&self, from: IpAddr, now: Timestamp) -> Result<(), Seconds> {
        if self.per_minute == 0 {
            return Ok(());
        }
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows
            .get_mut(&network(from))
            .filter(|window| window.is_open(now));
        match window {
            Some(window) if window.failed >= self.per_minute && window.looked_up == now => {
                Err(window.opened + WINDOW - now)
            }
            Some(window) => {
                window.looked_up = now;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Counts a look-up that found no key, or a revoked one.
    pub(crate) fn failed(&self, from: IpAddr, now: Timestamp) {
        if self.per_minute == 0 {
            return;
        }
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= MOST_ADDRESSES {
            windows.retain(|_, window| window.is_open(now));
            if windows.len() >= MOST_ADDRESSES {
                windows.clear();
            }
        }
        let fresh = || Window {
            opened: now,
            failed: 0,
            looked_up: now,
        };
        let window = windows.entry(network(from)).or_insert_with(fresh);
        if !window.is_open(now) {
            *window = fresh();
        }
        window.failed = window.failed.saturating_add(1);
        window.looked_up = now;
    }
}

/// What one party is likely to have: an address, or a /64 of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(prefix))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests;
