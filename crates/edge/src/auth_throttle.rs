//! Throttle for invalid API keys, so that guessing keys does not load the database (S-16, attack 16).
//!
//! Only failed look-ups are counted, per source address. Once an address has too many failures in a minute, keys that this process has not
//! seen yet are looked up only once a second. Keys that it has seen are never refused.
//!
//! Clients that share a NAT or proxy with a guesser are therefore unaffected, and a new key gets in after a few tries. Each process counts
//! on its own, because it is its own work that it limits.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;

const WINDOW: Seconds = Seconds(60);
/// Maximum number of tracked addresses. Beyond it all counts are reset, and every address starts with none.
const MAX_ADDRESSES: usize = 100_000;

/// The failed look-ups of the current minute.
#[derive(Debug)]
pub(crate) struct AuthThrottle {
    /// Failed look-ups allowed per minute; 0 for no limit.
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

impl AuthThrottle {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self {
            per_minute,
            windows: Mutex::default(),
        }
    }

    /// Checks whether a key that this process has not seen may be looked up; otherwise returns the time until the address's window closes.
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

    /// Counts a look-up that found no key or a revoked one.
    pub(crate) fn failed(&self, from: IpAddr, now: Timestamp) {
        if self.per_minute == 0 {
            return;
        }
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= MAX_ADDRESSES {
            windows.retain(|_, window| window.is_open(now));
            if windows.len() >= MAX_ADDRESSES {
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

/// The unit that one party usually controls: an IPv4 address or an IPv6 /64.
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
