//! The suites against the fakes.

mod store {
    use std::sync::Arc;

    use vestry_contract::fakes::FakeStore;
    use vestry_ports::store::Store;

    async fn build() -> (Arc<dyn Store>, ()) {
        (Arc::new(FakeStore::default()), ())
    }

    vestry_contract::store_suite!(build);
}

mod limiter {
    use std::sync::Arc;

    use vestry_contract::fakes::FakeLimiter;
    use vestry_ports::limiter::RateLimiter;

    async fn build() -> (Arc<dyn RateLimiter>, ()) {
        (Arc::new(FakeLimiter::default()), ())
    }

    vestry_contract::limiter_suite!(build);
    vestry_contract::limiter_clock_suite!(build);
}
