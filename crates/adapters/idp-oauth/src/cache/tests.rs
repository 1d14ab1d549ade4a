use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;

use super::*;

const ADDRESS: &str = "https://id.example.com/keys";
const MINUTE: Duration = Duration::from_secs(60);

/// Counts its calls, and returns the count.
#[derive(Default)]
struct Source {
    asked: AtomicUsize,
}

impl Source {
    async fn answers(&self) -> Result<usize, ProviderFault> {
        let before = self.asked.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        Ok(before + 1)
    }

    async fn fails(&self) -> Result<usize, ProviderFault> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Err(ProviderFault::Invalid("test"))
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn f6_concurrent_requests_fetch_once() {
    let (cache, source) = (Cache::new(MINUTE), Source::default());
    let crowd = (0..100).map(|_| cache.get(ADDRESS, source.answers()));
    for value in join_all(crowd).await {
        assert_eq!(*value.unwrap(), 1);
    }
    assert_eq!(source.asked(), 1);
}

#[tokio::test]
async fn f6_a_flood_of_unknown_keys_causes_a_single_refetch() {
    let (cache, source) = (Cache::new(MINUTE), Source::default());
    let first = cache.get(ADDRESS, source.answers()).await.unwrap();
    let flood = (0..100).map(|_| cache.other_than(&first, ADDRESS, source.answers()));
    for value in join_all(flood).await {
        assert_eq!(*value.unwrap(), 2, "all of them see what the one fetched");
    }
    let second = cache.get(ADDRESS, source.answers()).await.unwrap();
    let flood = (0..100).map(|_| cache.other_than(&second, ADDRESS, source.answers()));
    for value in join_all(flood).await {
        assert_eq!(*value.unwrap(), 2, "the minute is not over");
    }
    assert_eq!(source.asked(), 2);
}

#[tokio::test]
async fn f6_after_the_minute_it_is_fetched_again() {
    let (cache, source) = (Cache::new(Duration::ZERO), Source::default());
    let mut value = cache.get(ADDRESS, source.answers()).await.unwrap();
    for expected in 2..10 {
        value = cache
            .other_than(&value, ADDRESS, source.answers())
            .await
            .unwrap();
        assert_eq!(*value, expected);
    }
}

#[tokio::test]
async fn f6_a_failing_provider_is_called_twice_and_then_not_for_a_minute() {
    let (cache, source) = (Cache::new(MINUTE), Source::default());
    for _ in 0..100 {
        cache.get(ADDRESS, source.fails()).await.unwrap_err();
    }
    assert_eq!(source.asked(), 2);
    // Other addresses are not affected.
    let other = cache
        .get("https://other.example.com", source.answers())
        .await;
    assert_eq!(*other.unwrap(), 3);
}

#[tokio::test]
async fn a_failed_refetch_keeps_the_cached_value() {
    let (cache, source) = (Cache::new(Duration::ZERO), Source::default());
    let first = cache.get(ADDRESS, source.answers()).await.unwrap();
    let same = cache
        .other_than(&first, ADDRESS, source.fails())
        .await
        .unwrap();
    assert!(Arc::ptr_eq(&first, &same));
    assert_eq!(source.asked(), 2);
}

#[test]
fn cached_values_become_stale() {
    let now = Instant::now();
    let held = Slot {
        value: Some((Arc::new(1), now)),
        fetches: Fetches::Again(now),
    };
    assert!(held.younger_than(FRESH, now + FRESH - MINUTE).is_some());
    assert!(held.younger_than(FRESH, now + FRESH).is_none());
    assert!(held.younger_than(STALE, now + STALE).is_none());
    assert!(!held.fetches.allow_another(now + MINUTE / 2, MINUTE));
    assert!(held.fetches.allow_another(now + MINUTE, MINUTE));
}

/// The hourly fetch does not count as a repetition: a key replaced within a minute of it is found.
#[tokio::test]
async fn f6_after_a_fetch_that_was_due_one_more_is_allowed() {
    let (cache, source) = (Cache::new(MINUTE), Source::default());
    let first = cache.get(ADDRESS, source.answers()).await.unwrap();
    let second = cache.other_than(&first, ADDRESS, source.answers()).await;
    assert_eq!(*second.unwrap(), 2);
    // As if an hour had passed.
    let entry = cache.entry(ADDRESS);
    *entry.lock().await = Slot {
        value: None,
        fetches: Fetches::One,
    };
    let third = cache.get(ADDRESS, source.answers()).await.unwrap();
    let fourth = cache.other_than(&third, ADDRESS, source.answers()).await;
    assert_eq!(*fourth.unwrap(), 4);
}

#[tokio::test]
async fn memory_is_bounded() {
    let (cache, source) = (Cache::new(MINUTE), Source::default());
    for number in 0..ENTRIES + 100 {
        cache
            .get(&number.to_string(), source.answers())
            .await
            .unwrap();
        // Constantly in use, and therefore not evicted.
        cache.get("busy", source.answers()).await.unwrap();
    }
    assert_eq!(cache.entries.lock().unwrap().len(), ENTRIES);
    assert_eq!(source.asked(), ENTRIES + 101);
}
