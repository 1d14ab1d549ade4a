//! The contract of the port (including R16).

mod memory {
    use std::sync::Arc;

    use vestry_limiter::MemoryLimiter;
    use vestry_ports::limiter::RateLimiter;

    async fn build() -> (Arc<dyn RateLimiter>, ()) {
        (Arc::new(MemoryLimiter::new()), ())
    }

    vestry_contract::limiter_suite!(build);
    vestry_contract::limiter_clock_suite!(build);
}

mod redis {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU8, Ordering};

    use vestry_ports::limiter::RateLimiter;

    use crate::server;

    /// The next database. Each test gets one of the server's sixteen; the other tests of this program use the first.
    static NEXT: AtomicU8 = AtomicU8::new(1);

    async fn build() -> Option<(Arc<dyn RateLimiter>, ())> {
        let url = server::url()?;
        let database = NEXT.fetch_add(1, Ordering::Relaxed);
        assert!(database < 16, "more tests than databases");
        let url = format!("{}/{database}", url.trim_end_matches('/'));
        ::redis::cmd("FLUSHDB")
            .exec_async(&mut server::connection(&url).await)
            .await
            .expect("an empty database");
        Some((Arc::new(server::limiter(&url).await), ()))
    }

    vestry_contract::limiter_suite!(build);
}
