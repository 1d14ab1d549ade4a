//! What providers publish, cached and seldom fetched again: discovery documents and key sets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vestry_ports::identity_providers::ProviderFault;

/// So long something is believed without being fetched again.
const FRESH: Duration = Duration::from_secs(3600);
/// So long it is believed while fetching it fails. A key that was taken out of its set is used no longer than this.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// Most addresses of which something is cached; then the one that was not needed for longest goes.
const ENTRIES: usize = 1_000;

/// Values by the address that they were fetched from. Whose connection it was fetched for does not matter: it is what
/// everybody gets at that address.
pub(crate) struct Cache<T> {
    entries: Mutex<HashMap<String, Used<T>>>,
    between: Duration,
}

struct Used<T> {
    entry: Arc<Entry<T>>,
    at: Instant,
}

/// Who holds the lock is the one who fetches; the others wait and take what came.
type Entry<T> = tokio::sync::Mutex<Slot<T>>;

struct Slot<T> {
    value: Option<(Arc<T>, Instant)>,
    fetches: Fetches,
}

/// When the next fetch may be made. The first one is not a repetition, so that a slip at the first one costs no minute.
#[derive(Clone, Copy)]
enum Fetches {
    None,
    One,
    Again(Instant),
}

/// Nothing is there, and it is too early to ask again.
#[derive(Debug, thiserror::Error)]
#[error("the provider is left alone for a minute after it failed")]
struct LeftAlone;

impl<T> Cache<T> {
    /// Nothing yet; `between` is the least time between two repeated fetches of one address.
    pub(crate) fn new(between: Duration) -> Self {
        Self {
            entries: Mutex::default(),
            between,
        }
    }

    /// What is at the address: cached, or fetched.
    ///
    /// # Errors
    /// That of `fetch`, when there is nothing to fall back on.
    pub(crate) async fn get<F>(&self, address: &str, fetch: F) -> Result<Arc<T>, ProviderFault>
    where
        F: Future<Output = Result<T, ProviderFault>>,
    {
        self.look(address, None, fetch).await
    }

    /// What is at the address, fetched again if the given one is still all there is. It is the given one that comes back where
    /// fetching is not allowed yet or fails.
    ///
    /// # Errors
    /// That of `fetch`, when the given one is too old to be used.
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
        // Before the fetch: who goes away in the middle of it has asked.
        held.fetches = held.fetches.and_one(now);
        match (fetch.await, old) {
            (Ok(value), _) => {
                let value = Arc::new(value);
                held.value = Some((Arc::clone(&value), now));
                if known.is_none() {
                    // It was due anyway. A provider that replaces a key right after it is not made to wait.
                    held.fetches = Fetches::One;
                }
                Ok(value)
            }
            (Err(fault), Some(old)) => {
                tracing::warn!(%fault, "a provider's document cannot be fetched again; the old one is used");
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
