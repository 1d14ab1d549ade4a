//! The connection to the shared store, and what is known about it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, Script};
use tokio::time::Instant;
use vestry_domain::limits::Limit;
use vestry_domain::timestamp::Seconds;

/// How long a new connection may take, from the look-up of the name to the answer to a first count.
const CONNECT: Duration = Duration::from_secs(1);

/// Time between two attempts to connect again.
const PAUSE: Duration = Duration::from_secs(1);

/// Counted by every new connection. A server that answers and cannot write (full, or a replica) is as good as none.
const FIRST_KEY: &str = "vestry:rate:connect";

/// What the script answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count {
    /// Uses in the window, this one included.
    pub(crate) used: u64,
    /// When the window opened, by the server's clock, in Unix seconds.
    pub(crate) opened: i64,
    /// The server's clock, in Unix seconds.
    pub(crate) now: i64,
}

/// Why a count was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The server, or the way to it.
    #[error(transparent)]
    Redis(#[from] RedisError),
    /// No answer in time.
    #[error("no answer in time")]
    Late,
}

/// A connection that is made again when it fails.
///
/// One that fails is given up at once, also when it only does not answer: a server that vanished without a word leaves a
/// connection that fails slowly for many minutes. From then on nobody waits; a new connection is tried in the background,
/// once a second for as long as somebody asks.
pub(crate) struct Link {
    client: Client,
    script: Script,
    /// How long a count may take.
    timeout: Duration,
    state: Mutex<State>,
}

enum State {
    Up {
        connection: MultiplexedConnection,
        /// Tells this connection from the ones before, whose failures may still come in.
        generation: u64,
    },
    Down {
        /// When the next attempt may begin.
        retry_at: Instant,
        generation: u64,
    },
}

impl Link {
    /// A link that is down and has not been told so yet.
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

    /// Counts one use. `None` while the store is not available.
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

    /// Connects now and makes a first count. A link that was down is up afterwards.
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

    /// Begins an attempt, when the last one was long enough ago.
    fn connect_in_background(self: &Arc<Self>) {
        let now = Instant::now();
        match &mut *self.state() {
            State::Down { retry_at, .. } if now >= *retry_at => *retry_at = now + PAUSE,
            State::Down { .. } | State::Up { .. } => return,
        }
        let link = Arc::clone(self);
        tokio::spawn(async move {
            // Said once, when the outage began; the next attempt is only a second away.
            drop(link.connect().await);
        });
    }

    /// Notes an outage; the first failure of a connection says so.
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
            tracing::info!("requests are counted in the shared store");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says that an outage began.
pub(crate) fn announce(fault: &Fault) {
    tracing::warn!(
        cause = %fault,
        "the shared store of the rate limit is not available; every replica counts by itself until it is back"
    );
}
