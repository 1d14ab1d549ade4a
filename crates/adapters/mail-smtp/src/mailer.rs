//! The mailer and its connection pool.

use std::fmt;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::transport::smtp::extension::ClientId;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_ports::mailer::{Mailer, SendError};
use vestry_ports::port;

use crate::failure::{Failure, Step};
use crate::letter::{Letter, Unwritable};
use crate::session::{Route, Session};
use crate::settings::{self, BadSettings, Server, Settings};
use crate::trust;

/// Maximum number of open connections. Relays limit them, often to ten per client.
const CONNECTIONS: usize = 4;

/// How long an idle connection is worth trying; relays and firewalls drop them after minutes.
const IDLE: Duration = Duration::from_secs(60);

/// Submits mails to an SMTP server.
///
/// Connections are reused only if their last conversation ended cleanly: an attempt that is abandoned halfway, for whatever reason, closes
/// its connection.
pub struct SmtpMailer {
    from: Mailbox,
    route: Route,
    permits: Semaphore,
    idle: Mutex<Vec<Idle>>,
}

/// An idle connection.
struct Idle {
    session: Session,
    since: Instant,
}

impl SmtpMailer {
    /// Creates a mailer with these settings. Nothing is connected yet; see [`Mailer::probe`].
    ///
    /// # Errors
    /// See [`BadSettings`].
    pub fn new(settings: &Settings) -> Result<Self, BadSettings> {
        let server = Server::parse(settings.url.expose())?;
        let from = settings::sender(&settings.from)?;
        let tls = trust::tls(&server.host, settings.ca_file.as_deref())?;
        let hello = ClientId::Domain(from.email.domain().to_owned());
        Ok(Self {
            route: Route {
                server,
                tls,
                hello,
                timeouts: settings.timeouts,
            },
            from,
            permits: Semaphore::new(CONNECTIONS),
            idle: Mutex::new(Vec::new()),
        })
    }

    /// Makes one attempt, from obtaining a connection to the reply to the content.
    async fn attempt(&self, letter: &Letter) -> Result<(), Failure> {
        // The semaphore is never closed, so this always succeeds.
        let _permit = self.permits.acquire().await.ok();
        let mut session = self.session().await?;
        match session.deliver(letter).await {
            Ok(()) => {
                self.keep(session);
                Ok(())
            }
            Err(failure) => {
                // In its own task: a server that hangs now does not change its earlier reply.
                tokio::spawn(session.quit());
                Err(failure)
            }
        }
    }

    /// Returns an idle connection that still responds, or a new one.
    async fn session(&self) -> Result<Session, Failure> {
        while let Some(Idle { mut session, since }) = self.take() {
            if since.elapsed() < IDLE && session.noop().await.is_ok() {
                return Ok(session);
            }
        }
        Session::open(&self.route).await
    }

    fn take(&self) -> Option<Idle> {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
    }

    fn keep(&self, session: Session) {
        let since = Instant::now();
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Idle { session, since });
    }

    /// Applies the time limit of the whole attempt.
    async fn in_time(
        &self,
        work: impl Future<Output = Result<(), Failure>> + Send,
    ) -> Result<(), SendError> {
        match tokio::time::timeout(self.route.timeouts.whole, work).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(Failure::Late { step: Step::Whole }.into()),
        }
    }
}

/// Prints only the type name; the sender is an address.
impl fmt::Debug for SmtpMailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SmtpMailer")
    }
}

impl From<Unwritable> for SendError {
    fn from(cause: Unwritable) -> Self {
        Self::Permanent(Box::new(cause))
    }
}

#[port]
impl Mailer for SmtpMailer {
    async fn send(&self, id: JobId, message: &Message) -> Result<(), SendError> {
        let letter = Letter::write(&self.from, id, message)?;
        self.in_time(self.attempt(&letter)).await
    }

    /// Uses a separate connection, which is closed afterwards.
    async fn probe(&self) -> Result<(), SendError> {
        self.in_time(async {
            let mut session = Session::open(&self.route).await?;
            session.noop().await?;
            session.quit().await;
            Ok(())
        })
        .await
    }
}
