use vestry_domain::Environment;
use vestry_domain::ids::{AppId, Id};

use super::*;

const LIMIT: Limit = Limit::per_minute(1);

fn world(number: u32) -> World {
    let mut random = [0; 16];
    random[..4].copy_from_slice(&number.to_be_bytes());
    let app_id = AppId::new(Timestamp::from_unix(1_770_000_000), random);
    World::new(app_id, Environment::Live)
}

fn kept(limiter: &MemoryLimiter) -> usize {
    limiter.windows.lock().unwrap().by_world.len()
}

/// However many worlds there are, only those of the last window are remembered.
#[test]
fn closed_windows_are_removed() {
    let limiter = MemoryLimiter::new();
    let mut most = 0;
    for number in 0..100_000_u32 {
        // A hundred worlds per window.
        let now = Timestamp::from_unix(1_770_000_000 + i64::from(number / 100) * 60);
        assert!(limiter.count(&world(number), LIMIT, now).admitted);
        most = most.max(kept(&limiter));
    }
    assert!(most <= 300, "{most}");
}

#[test]
fn open_windows_survive_the_sweep() {
    let limiter = MemoryLimiter::new();
    let now = Timestamp::from_unix(1_770_000_000);
    for number in 0..10_000 {
        assert!(limiter.count(&world(number), LIMIT, now).admitted);
    }
    for number in 0..10_000 {
        assert!(!limiter.count(&world(number), LIMIT, now).admitted);
    }
}

#[test]
fn a_disabled_limit_stores_nothing() {
    let limiter = MemoryLimiter::new();
    let off = Limit::per_minute(0);
    let now = Timestamp::from_unix(1_770_000_000);
    for _ in 0..1000 {
        assert!(limiter.count(&world(1), off, now).admitted);
    }
    assert_eq!(kept(&limiter), 0);
    assert!(limiter.count(&world(1), LIMIT, now).admitted);
}
