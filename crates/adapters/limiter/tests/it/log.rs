//! Captures log events.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

thread_local! {
    static LISTENING: RefCell<Option<Log>> = const { RefCell::new(None) };
}

/// Enables capturing. Call it before anything can be logged: callsites hit before that are cached as disabled.
pub(crate) fn install() {
    static INSTALLED: std::sync::Once = std::sync::Once::new();
    INSTALLED.call_once(|| {
        tracing::subscriber::set_global_default(Router).expect("the only one");
    });
}

/// Counts this crate's warnings and info events on this thread.
#[derive(Clone, Default)]
pub(crate) struct Log {
    warnings: Arc<AtomicUsize>,
    notes: Arc<AtomicUsize>,
    noted: Arc<Notify>,
}

impl Log {
    /// Starts capturing on this thread, which must run the whole test.
    pub(crate) fn listen() -> Self {
        let log = Self::default();
        LISTENING.set(Some(log.clone()));
        log
    }

    pub(crate) fn warnings(&self) -> usize {
        self.warnings.load(Ordering::SeqCst)
    }

    pub(crate) fn notes(&self) -> usize {
        self.notes.load(Ordering::SeqCst)
    }

    /// Waits until there are more info events than this.
    pub(crate) async fn notes_beyond(&self, known: usize) {
        while self.notes() <= known {
            self.noted.notified().await;
        }
    }

    fn hear(&self, level: Level) {
        if level == Level::WARN {
            self.warnings.fetch_add(1, Ordering::SeqCst);
        } else if level == Level::INFO {
            self.notes.fetch_add(1, Ordering::SeqCst);
            self.noted.notify_one();
        }
    }
}

/// Routes events to the capture of the thread they come from.
struct Router;

impl Subscriber for Router {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("vestry_limiter")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        LISTENING.with_borrow(|listening| {
            if let Some(log) = listening {
                log.hear(*event.metadata().level());
            }
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
