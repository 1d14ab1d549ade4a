//! Follows the event log and forwards new events.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::Since;
use super::client::{Client, Head, Page, ReadError, Wait};
use super::cursor::Cursor;
use super::event::Event;
use super::forward::{Attempts, Forwarder};
use super::outage::Outage;
use super::report::{Report, say};
use crate::failure::Failure;

/// The pause between two empty pages. The service usually waits for events itself, but not for the sixth request of a key, and not while it
/// is shutting down.
const QUIET: Duration = Duration::from_secs(1);

/// A reader of the log that forwards events in order.
pub(super) struct Follower {
    pub(super) client: Client,
    pub(super) forwarder: Forwarder,
    pub(super) report: Report,
    pub(super) outage: Outage,
    /// Event types in the syntax of the API.
    pub(super) types: Option<String>,
    /// The last event that was read; `None` before the first.
    pub(super) cursor: Option<Cursor>,
}

impl Follower {
    /// Runs until an error that is not temporary.
    pub(super) async fn run(&mut self, since: Since) -> Result<Infallible, Failure> {
        self.cursor = match since {
            Since::Now => Cursor::newest(&self.head().await?),
            Since::Event(id) => Some(Cursor {
                id: id.to_string(),
                position: None,
            }),
        };
        self.report
            .beginning(&self.client.base, self.cursor.as_ref(), &self.forwarder)?;
        loop {
            let began = Instant::now();
            let Some(page) = self.page().await? else {
                self.resync().await?;
                continue;
            };
            let is_quiet = page.events.is_empty() && !page.has_more;
            self.forward_all(page).await?;
            if is_quiet {
                sleep_until(began + QUIET).await;
            }
        }
    }

    /// Reports how to resume, for a later run.
    pub(super) fn say_how_to_resume(&self) {
        if let Some(cursor) = &self.cursor {
            say(&format!("to resume from here, use --since {}", cursor.id));
        }
    }

    async fn forward_all(&mut self, page: Page) -> Result<(), Failure> {
        for text in page.events {
            let event = Event::read(text)?;
            let outcome = self.forwarder.forward(&event, Attempts::Three).await;
            self.cursor = Some(Cursor::of(&event));
            self.report.event(&event, &outcome)?;
        }
        // Events that the filter excluded need not be read again.
        if let Some(id) = page.next_after
            && self.cursor.as_ref().is_none_or(|cursor| cursor.id != id)
        {
            let position = None;
            self.cursor = Some(Cursor { id, position });
        }
        Ok(())
    }

    /// Reads the next page, however long that takes; `None` if the log does not contain our position.
    async fn page(&mut self) -> Result<Option<Page>, Failure> {
        loop {
            let after = self.cursor.as_ref().map(|cursor| cursor.id.as_str());
            // During an outage, request without a wait, so that recovery is noticed at once.
            let wait = match self.outage.is_over() {
                true => Wait::ForEvents,
                false => Wait::No,
            };
            let page = self.client.page(after, self.types.as_deref(), wait);
            match page.await {
                Ok(page) => {
                    self.outage.end();
                    return Ok(Some(page));
                }
                Err(ReadError::CursorUnknown) => {
                    self.outage.end();
                    return Ok(None);
                }
                Err(error) => self.wait_out(error).await?,
            }
        }
    }

    async fn head(&mut self) -> Result<Head, Failure> {
        loop {
            match self.client.head().await {
                Ok(head) => {
                    self.outage.end();
                    return Ok(head);
                }
                Err(error) => self.wait_out(error).await?,
            }
        }
    }

    async fn wait_out(&mut self, error: ReadError) -> Result<(), Failure> {
        match error {
            ReadError::Unavailable(unavailable) => {
                self.outage.wait(&unavailable).await;
                Ok(())
            }
            refused => Err(refused.into_failure()),
        }
    }

    async fn resync(&mut self) -> Result<(), Failure> {
        let head = self.head().await?;
        self.report.gap(self.cursor.as_ref(), &head)?;
        self.cursor = Cursor::newest(&head);
        // If the new position is unknown too, pause before the next request.
        sleep(QUIET).await;
        Ok(())
    }
}
