//! Follows the event log and forwards new events.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::Since;
use super::absence::Absence;
use super::client::{Client, Head, Page, Unread, Wait};
use super::event::Event;
use super::forward::{Forwarder, Tries};
use super::place::Place;
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
    pub(super) absence: Absence,
    /// Event types in the syntax of the API.
    pub(super) types: Option<String>,
    /// The last event that was read; `None` before the first.
    pub(super) place: Option<Place>,
}

impl Follower {
    /// Runs until an error that is not temporary.
    pub(super) async fn run(&mut self, since: Since) -> Result<Infallible, Failure> {
        self.place = match since {
            Since::Now => Place::newest(&self.head().await?),
            Since::Event(id) => Some(Place {
                id: id.to_string(),
                position: None,
            }),
        };
        self.report
            .beginning(&self.client.base, self.place.as_ref(), &self.forwarder)?;
        loop {
            let began = Instant::now();
            let Some(page) = self.page().await? else {
                self.begin_anew().await?;
                continue;
            };
            let is_quiet = page.events.is_empty() && !page.has_more;
            self.pass_on(page).await?;
            if is_quiet {
                sleep_until(began + QUIET).await;
            }
        }
    }

    /// Reports how to resume, for a later run.
    pub(super) fn say_where_to_go_on(&self) {
        if let Some(place) = &self.place {
            say(&format!("to resume from here, use --since {}", place.id));
        }
    }

    async fn pass_on(&mut self, page: Page) -> Result<(), Failure> {
        for text in page.events {
            let event = Event::read(text)?;
            let outcome = self.forwarder.forward(&event, Tries::Few).await;
            self.place = Some(Place::of(&event));
            self.report.event(&event, &outcome)?;
        }
        // Events that the filter excluded need not be read again.
        if let Some(id) = page.next_after
            && self.place.as_ref().is_none_or(|place| place.id != id)
        {
            let position = None;
            self.place = Some(Place { id, position });
        }
        Ok(())
    }

    /// Reads the next page, however long that takes; `None` if the log does not contain our position.
    async fn page(&mut self) -> Result<Option<Page>, Failure> {
        loop {
            let after = self.place.as_ref().map(|place| place.id.as_str());
            // During an outage, request without a wait, so that recovery is noticed at once.
            let wait = match self.absence.is_over() {
                true => Wait::ForEvents,
                false => Wait::No,
            };
            let page = self.client.page(after, self.types.as_deref(), wait);
            match page.await {
                Ok(page) => {
                    self.absence.end();
                    return Ok(Some(page));
                }
                Err(Unread::CursorUnknown) => {
                    self.absence.end();
                    return Ok(None);
                }
                Err(unread) => self.wait_out(unread).await?,
            }
        }
    }

    async fn head(&mut self) -> Result<Head, Failure> {
        loop {
            match self.client.head().await {
                Ok(head) => {
                    self.absence.end();
                    return Ok(head);
                }
                Err(unread) => self.wait_out(unread).await?,
            }
        }
    }

    async fn wait_out(&mut self, unread: Unread) -> Result<(), Failure> {
        match unread {
            Unread::Away(away) => {
                self.absence.wait(&away).await;
                Ok(())
            }
            refused => Err(refused.into_failure()),
        }
    }

    async fn begin_anew(&mut self) -> Result<(), Failure> {
        let head = self.head().await?;
        self.report.gap(self.place.as_ref(), &head)?;
        self.place = Place::newest(&head);
        // If the new position is unknown too, pause before the next request.
        sleep(QUIET).await;
        Ok(())
    }
}
