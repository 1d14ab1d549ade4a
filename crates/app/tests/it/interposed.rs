//! A store wrapper that counts operations, fails on request and lets a test run other calls in between.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use vestry_contract::fakes::FakeStore;
use vestry_ports::port;
use vestry_ports::store::{CommitHook, Repositories, Store, StoreError, StoreResult, Tx};

type Intrusion = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A [`FakeStore`] with test hooks.
#[derive(Default)]
pub(crate) struct Interposed {
    inner: FakeStore,
    reads: AtomicUsize,
    writes: AtomicUsize,
    let_through: AtomicUsize,
    refusals: Mutex<VecDeque<StoreError>>,
    unread: Mutex<VecDeque<StoreError>>,
    intrusion: Mutex<Option<Intrusion>>,
    delay: Mutex<Option<Intrusion>>,
}

impl Interposed {
    pub(crate) fn over(inner: FakeStore) -> Self {
        Self {
            inner,
            ..Self::default()
        }
    }

    /// Refuses the next transactions, each for the given reason.
    pub(crate) fn refuse(&self, reasons: impl IntoIterator<Item = StoreError>) {
        self.refusals.lock().unwrap().extend(reasons);
    }

    /// Lets `count` transactions begin before the next one is refused.
    pub(crate) fn let_through(&self, count: usize) {
        self.let_through.store(count, Ordering::SeqCst);
    }

    /// Refuses the next views, each for the given reason.
    pub(crate) fn refuse_views(&self, reasons: impl IntoIterator<Item = StoreError>) {
        self.unread.lock().unwrap().extend(reasons);
    }

    /// Runs `intrusion` once, after all reads of the next use case and before its transaction begins.
    pub(crate) fn before_next_begin(&self, intrusion: impl Future<Output = ()> + Send + 'static) {
        *self.intrusion.lock().unwrap() = Some(Box::pin(intrusion));
    }

    /// Runs `delay` once, before the next view opens.
    pub(crate) fn before_next_view(&self, delay: impl Future<Output = ()> + Send + 'static) {
        *self.delay.lock().unwrap() = Some(Box::pin(delay));
    }

    /// The number of views and transactions since the last call.
    pub(crate) fn count(&self) -> (usize, usize) {
        (
            self.reads.swap(0, Ordering::SeqCst),
            self.writes.swap(0, Ordering::SeqCst),
        )
    }
}

#[port]
impl Store for Interposed {
    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        let intrusion = self.intrusion.lock().unwrap().take();
        if let Some(intrusion) = intrusion {
            intrusion.await;
        }
        let one_less = |left: usize| left.checked_sub(1);
        let order = Ordering::SeqCst;
        let passes = self.let_through.fetch_update(order, order, one_less);
        if passes.is_err()
            && let Some(reason) = self.refusals.lock().unwrap().pop_front()
        {
            return Err(reason);
        }
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.inner.begin().await
    }

    async fn read(&self) -> StoreResult<Box<dyn Repositories>> {
        let delay = self.delay.lock().unwrap().take();
        if let Some(delay) = delay {
            delay.await;
        }
        if let Some(reason) = self.unread.lock().unwrap().pop_front() {
            return Err(reason);
        }
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.inner.read().await
    }

    fn on_commit(&self, hook: CommitHook) {
        self.inner.on_commit(hook);
    }

    async fn ready(&self) -> StoreResult<()> {
        self.inner.ready().await
    }
}
