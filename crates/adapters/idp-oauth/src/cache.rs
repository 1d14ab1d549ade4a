//! A cache of what providers publish and rarely change: discovery documents and key sets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vestry_ports::identity_providers::ProviderFault;

/// How long an entry is used without a refetch.
const FRESH: Duration = Duration::from_secs(3600);
/// How long an entry is used while refetching fails. A key that was removed from its set is used no longer than this.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// Maximum number of cached addresses; beyond it the least recently used one is evicted.
const ENTRIES: usize = 1_000;

/// Values by the address that they were fetched from. They are shared between connections, because the same address returns the same value
/// to everyone.
pub(crate) struct Cache<T> {
    entries: Mutex<HashMap<String, Used<T>>>,
    between: Duration,
}

struct Used<T> {
    entry: Arc<Entry<T>>,
    at: Instant,
}

/// The holder of the lock fetches; the others wait and use the result.
type Entry<T> = tokio::sync::Mutex<Slot<T>>;

struct Slot<T> {
    value: Option<(Arc<T>, Instant)>,
    fetches: Fetches,
}

/// When the next fetch is allowed. The first fetch does not count as a repetition, so that an error in it does not cost a minute.
#[derive(Clone, Copy)]
enum Fetches {
    None,
    One,
    Again(Instant),
}

/// Nothing is cached, and it is too early to fetch again.
#[derive(Debug, thiserror::Error)]
#[error("not retried: the provider failed less than a minute ago")]
struct LeftAlone;

impl<T> Cache<T> {
    /// Creates an empty cache; `between` is the minimum time between two repeated fetches of one address.
    pub(crate) fn new(between: Duration) -> Self {
        Self {
            entries: Mutex::default(),
            between,
        }
    }

    /// Returns the value at the address, cached or fetched.
    ///
    /// # Errors
    /// The error of `fetch`, if no cached value can be used instead.
    pub(crate) async fn get<F>(&self, address: &str, fetch: F) -> Result<Arc<T>, ProviderFault>
    where
        F: Future<Output = Result<T, ProviderFault>>,
    {
        self.look(address, None, fetch).await
    }

    /// Returns the value at the address, refetched if the given one is still the newest. If fetching is not allowed yet or fails, the given
    /// one is returned.
    ///
    /// # Errors
    /// The error of `fetch`, if the given value is too old to be used.
    pub(crate) async fn other_than<F>(
        &self,
        known: &Arc<T>,
        address: &str,
        fetch: F,
    ) -> Result<Arc<T>, ProviderFault>
    where
        F: Future<Output = Result<T, ProviderFault>>,
    {
        self.look(address, Some(known), fetch).await
    }

    async fn look<F>(
        &self,
        address: &str,
        known: Option<&Arc<T>>,
        fetch: F,
    ) -> Result<Arc<T>, ProviderFault>
    where
        F: Future<Output = Result<T, ProviderFault>>,
    {
        let entry = self.entry(address);
        let mut held = entry.lock().await;
        let now = Instant::now();
        let fresh = held.younger_than(FRESH, now);
        if let Some(value) = fresh
            && known.is_none_or(|known| !Arc::ptr_eq(known, &value))
        {
            return Ok(value);
        }
        let old = held.younger_than(STALE, now);
        if !held.fetches.allow_another(now, self.between) {
            return old.ok_or_else(|| ProviderFault::Unavailable(Box::new(LeftAlone)));
        }
        // Set before the fetch: a caller that goes away during the fetch has fetched all the same.
        held.fetches = held.fetches.and_one(now);
        match (fetch.await, old) {
            (Ok(value), _) => {
                let value = Arc::new(value);
                held.value = Some((Arc::clone(&value), now));
                if known.is_none() {
                    // This fetch was due anyway. If a provider replaces a key right after it, the new key must not have to wait.
                    held.fetches = Fetches::One;
                }
                Ok(value)
            }
            (Err(fault), Some(old)) => {
                tracing::warn!(%fault, "refetching a provider document failed; using the cached one");
                Ok(old)
            }
            (Err(fault), None) => Err(fault),
        }
    }

    fn entry(&self, address: &str) -> Arc<Entry<T>> {
        let at = Instant::now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = entries.get_mut(address) {
            used.at = at;
            return Arc::clone(&used.entry);
        }
        if entries.len() >= ENTRIES {
            let oldest = entries.iter().min_by_key(|(_, used)| used.at);
            if let Some(oldest) = oldest.map(|(address, _)| address.clone()) {
                entries.remove(&oldest);
            }
        }
        let entry = Arc::new(Entry::new(Slot {
            value: None,
            fetches: Fetches::None,
        }));
        let used = Used {
            entry: Arc::clone(&entry),
            at,
        };
        entries.insert(address.to_owned(), used);
        entry
    }
}

impl<T> Slot<T> {
    fn younger_than(&self, age: Duration, now: Instant) -> Option<Arc<T>> {
        let (value, since) = self.value.as_ref()?;
        (now.duration_since(*since) < age).then(|| Arc::clone(value))
    }
}

impl Fetches {
    fn allow_another(self, now: Instant, between: Duration) -> bool {
        match self {
            Self::None | Self::One => true,
            Self::Again(last) => now.duration_since(last) >= between,
        }
    }

    const fn and_one(self, now: Instant) -> Self {
        match self {
            Self::None => Self::One,
            Self::One | Self::Again(_) => Self::Again(now),
        }
    }
}

#[cfg(test)]
mod tests;
