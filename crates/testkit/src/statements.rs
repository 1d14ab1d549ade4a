//! How many statements a store executes.

use std::collections::HashMap;
use std::sync::{Mutex, Once, PoisonError};

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};
use vestry_store_sql::{Database, Settings};

use crate::wire::Wire;

/// Counts the statements of the stores that are opened with some settings, those that begin and end transactions included.
pub enum Statements {
    /// The path of a database file.
    Sqlite(String),
    /// A proxy, to which the settings now lead.
    Postgres(Wire),
}

impl Statements {
    /// Counts the statements of every store that is opened with these settings from now on.
    pub async fn of(settings: &mut Settings) -> Self {
        match &mut settings.database {
            Database::Sqlite(path) => {
                watch();
                Self::Sqlite(path.to_str().unwrap().to_owned())
            }
            Database::Postgres(url) => {
                let tokio_postgres::config::Host::Tcp(host) = &url.config.get_hosts()[0] else {
                    panic!("the server of the tests has an address");
                };
                let port = url.config.get_ports()[0];
                let wire = Wire::to(format!("{host}:{port}")).await;
                let mut config = tokio_postgres::Config::new();
                config.host("127.0.0.1").port(wire.port());
                config.user(url.config.get_user().unwrap());
                config.dbname(url.config.get_dbname().unwrap());
                // The proxy has to read the messages.
                config.ssl_mode(tokio_postgres::config::SslMode::Disable);
                url.config = config;
                Self::Postgres(wire)
            }
        }
    }

    /// The number of statements since the start, and of round trips to a server: statements that are sent together count as one.
    pub fn count(&self) -> (u32, u32) {
        match self {
            // Connections name the file by a URI.
            Self::Sqlite(path) => COUNTS.with(|counts| {
                let of_it = counts.iter().filter(|(uri, _)| uri.contains(path));
                (of_it.map(|(_, count)| count).sum(), 0)
            }),
            Self::Postgres(wire) => {
                let counts = wire.counts();
                (counts.statements, counts.round_trips)
            }
        }
    }
}

/// The statements of each database file.
struct Counts(Mutex<Option<HashMap<String, u32>>>);

static COUNTS: Counts = Counts(Mutex::new(None));

impl Counts {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, u32>) -> T) -> T {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(counts.get_or_insert_default())
    }
}

/// Watches every connection that is opened by this process from now on.
fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_default_instrumentation(|| Some(Box::new(OfOne::default()))).unwrap());
}

/// The watch over one connection.
#[derive(Default)]
struct OfOne {
    uri: String,
}

impl Instrumentation for OfOne {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::StartEstablishConnection { url, .. } => {
                url.clone_into(&mut self.uri)
            }
            InstrumentationEvent::StartQuery { .. } => {
                COUNTS.with(|counts| *counts.entry(self.uri.clone()).or_default() += 1);
            }
            _ => {}
        }
    }
}
