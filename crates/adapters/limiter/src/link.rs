//! The connection to the shared store, and its state.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, Script};
use tokio::time::Instant;
use vestry_domain::limits::Limit;
use vestry_domain::timestamp::Seconds;

/// Time limit of a new connection, from the name look-up to the reply to a first count.
const CONNECT: Duration = Duration::from_secs(1);

/// Time between two connection attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// The key that every new connection counts. A server that responds but cannot write (full, or a replica) is useless.
const FIRST_KEY: &str = "vestry:rate:connect";

/// The result of the script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count {
    /// Uses in the window, including this one.
    pub(crate) used: u64,
    /// When the window opened, by the server's clock, in Unix seconds.
    pub(crate) opened: i64,
    /// The server's clock, in Unix seconds.
    pub(crate) now: i64,
}

/// Why a use could not be counted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// An error of the server or the network.
    #[error(transparent)]
    Redis(#[from] RedisError),
    /// A timeout.
    #[error("timed out")]
    Late,
}

/// A connection that is re-established after a failure.
///
/// A failing connection is dropped at once, even if it merely does not respond: a server that vanished silently leaves a connection that
/// fails slowly for many minutes. From then on callers never wait. A new connection is attempted in the background, once a second as long
/// as there are requests.
pub(crate) struct Link {
    client: Client,
    script: Script,
    /// Time limit of a count.
    timeout: Duration,
    state: Mutex<State>,
}

enum State {
    Up {
        connection: MultiplexedConnection,
        /// Distinguishes this connection from earlier ones, whose failures may still arrive.
        generation: u64,
    },
    Down {
        /// When the next attempt is allowed.
        retry_at: Instant,
        generation: u64,
    },
}

impl Link {
    /// Creates a link that is down, without having logged that.
    pub(crate) fn new(client: Client, timeout: Duration) -> Self {
        Self {
            client,
            script: Script::new(include_str!("count.lua")),
            timeout,
            state: Mutex::new(State::Down {
                retry_at: Instant::now(),
                generation: 0,
            }),
        }
    }

    /// Whether the store is unavailable.
    pub(crate) fn is_down(&self) -> bool {
        matches!(*self.state(), State::Down { .. })
    }

    /// Counts one use. `None` while the store is unavailable.
    pub(crate) async fn count(self: &Arc<Self>, key: &str, limit: Limit) -> Option<Count> {
        let Some((mut connection, generation)) = self.connection() else {
            self.connect_in_background();
            return None;
        };
        match self
            .ask(&mut connection, key, limit.window, self.timeout)
            .await
        {
            Ok(count) => Some(count),
            Err(fault) => {
                self.lost(generation, &fault);
                self.connect_in_background();
                None
            }
        }
    }

    /// Connects now and makes a first count. If that succeeds, the link is up.
    pub(crate) async fn connect(&self) -> Result<(), Fault> {
        let end = Instant::now() + CONNECT;
        let settings = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT))
            .set_response_timeout(None);
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&settings);
        let Ok(connection) = tokio::time::timeout_at(end, connecting).await else {
            return Err(Fault::Late);
        };
        let mut connection = connection?;
        let left = end.saturating_duration_since(Instant::now());
        self.ask(&mut connection, FIRST_KEY, Seconds(1), left)
            .await?;
        self.found(connection);
        Ok(())
    }

    async fn ask(
        &self,
        connection: &mut MultiplexedConnection,
        key: &str,
        window: Seconds,
        timeout: Duration,
    ) -> Result<Count, Fault> {
        let mut call = self.script.key(key);
        call.arg(window.0.max(1));
        match tokio::time::timeout(timeout, call.invoke_async(connection)).await {
            Ok(answer) => {
                let (used, opened, now) = answer?;
                Ok(Count { used, opened, now })
            }
            Err(_) => Err(Fault::Late),
        }
    }

    fn connection(&self) -> Option<(MultiplexedConnection, u64)> {
        match &*self.state() {
            State::Up {
                connection,
                generation,
            } => Some((connection.clone(), *generation)),
            State::Down { .. } => None,
        }
    }

    /// Starts an attempt if the last one was long enough ago.
    fn connect_in_background(self: &Arc<Self>) {
        let now = Instant::now();
        match &mut *self.state() {
            State::Down { retry_at, .. } if now >= *retry_at => *retry_at = now + PAUSE,
            State::Down { .. } | State::Up { .. } => return,
        }
        let link = Arc::clone(self);
        tokio::spawn(async move {
            // The outage was logged when it began; the next attempt is only a second away.
            drop(link.connect().await);
        });
    }

    /// Records an outage; the first failure of a connection logs it.
    fn lost(&self, failed: u64, fault: &Fault) {
        let mut state = self.state();
        if matches!(*state, State::Up { generation, .. } if generation == failed) {
            *state = State::Down {
                retry_at: Instant::now(),
                generation: failed,
            };
            drop(state);
            announce(fault);
        }
    }

    fn found(&self, connection: MultiplexedConnection) {
        let mut state = self.state();
        if let State::Down { generation, .. } = *state {
            *state = State::Up {
                connection,
                generation: generation.saturating_add(1),
            };
            drop(state);
            tracing::info!("shared rate-limit store is available; counting there");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logs the beginning of an outage.
pub(crate) fn announce(fault: &Fault) {
    tracing::warn!(
        cause = %fault,
        "shared rate-limit store is unavailable; every replica counts separately until it is back"
    );
}
