//! Lines for the journal: those of concurrent calls are stored together.

use std::sync::Arc;
use std::time::Duration;

use vestry_domain::ids::AppId;
use vestry_ports::anchors::SinkError;
use vestry_ports::clock::Clock;
use vestry_ports::journal::Journal;

use crate::kernel::batcher::Batch;

/// How long a call waits for the journal.
pub(crate) const WITHIN: Duration = Duration::from_secs(2);

/// Lines of concurrent calls, which are stored together.
pub(crate) struct JournalLines {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// A line of an App.
pub(crate) struct NewLine {
    pub(crate) app: AppId,
    pub(crate) line: String,
}

impl Batch for JournalLines {
    type Asked = NewLine;
    type Answer = Result<(), Arc<SinkError>>;
    type Memory = ();

    const MAX_SIZE: usize = 256;

    fn app(asked: &NewLine) -> AppId {
        asked.app
    }

    async fn serve(&self, asked: Vec<NewLine>, (): &mut ()) -> Vec<Self::Answer> {
        let many = asked.len();
        let lines: Vec<_> = asked.into_iter().map(|asked| asked.line).collect();
        let stored = self.journal.append(self.clock.machine(), &lines);
        let stored = match tokio::time::timeout(WITHIN, stored).await {
            Ok(stored) => stored,
            Err(elapsed) => Err(SinkError::Unavailable(Box::new(elapsed))),
        };
        vec![stored.map_err(Arc::new); many]
    }
}
