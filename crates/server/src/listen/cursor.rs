//! Positions in the event log.

use std::fmt;

use super::client::Head;
use super::event::Event;

/// An event, and its position in the log if known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) id: String,
    /// Log and position.
    pub(super) position: Option<(i64, i64)>,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some((log, position)) => write!(f, "{} (log {log}, position {position})", self.id),
            None => f.write_str(&self.id),
        }
    }
}

impl Cursor {
    pub(super) fn of(event: &Event) -> Self {
        Self {
            id: event.head.id.clone(),
            position: Some((event.head.log, event.head.position)),
        }
    }

    /// The newest event of the log.
    pub(super) fn newest(head: &Head) -> Option<Self> {
        let mark = head.newest.as_ref()?;
        Some(Self {
            id: mark.id.clone(),
            position: Some((head.log, mark.position)),
        })
    }
}
