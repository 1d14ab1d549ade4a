//! The installation that a command administers.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use vestry_app::Service;
use vestry_limiter::MemoryLimiter;
use vestry_ports::anchors::CheckpointSink;
use vestry_ports::clock::Clock as _;
use vestry_ports::meter::NoMeter;
use vestry_store_sql::{Database, SqlStore};

use crate::clock::SystemClock;
use crate::compose::Destinations;
use crate::config::{BaseUrl, MailSettings, Settings, SmsSettings};
use crate::failure::Failure;
use crate::output::Output;
use crate::{compose, dev, logging, with_runtime};

/// The settings of an installation. Its database is opened on demand.
pub(crate) struct Installation {
    pub(super) settings: Settings,
    base_url: Option<BaseUrl>,
    runtime: Handle,
    /// The services of the command.
    services: Mutex<Vec<Arc<Service>>>,
}

/// Runs a command on the installation of a settings file.
pub(super) fn administer<C>(file: Option<&Path>, command: C) -> Result<Output, Failure>
where
    C: AsyncFnOnce(&Installation) -> Result<Output, Failure>,
{
    let mut settings = Settings::load_for_people(file)?;
    logging::start(&settings.log);
    with_runtime(async move |runtime| {
        let base_url = dev::public_url(&settings);
        settings.console.base_url = dev::console_url(&settings);
        let installation = Installation {
            settings,
            base_url,
            runtime,
            services: Mutex::default(),
        };
        let result = command(&installation).await;
        installation.settle().await;
        result
    })
}

impl Installation {
    /// Opens the database.
    pub(super) async fn store(&self) -> Result<Arc<SqlStore>, Failure> {
        compose::store(&self.settings.database).await
    }

    /// Opens the database and the service. It refuses changes if the database is behind `epoch.store`.
    pub(super) async fn service(&self) -> Result<Arc<Service>, Failure> {
        let service = self.service_for_recovery().await?;
        service.compare_before_changes().await;
        Ok(service)
    }

    /// Opens the database and the service, even if the database was set back.
    pub(super) async fn service_for_recovery(&self) -> Result<Arc<Service>, Failure> {
        let sinks = compose::sinks_of_commands(&self.settings)?;
        self.service_over(self.store().await?, sinks)
    }

    /// Opens the database and the service during a restore.
    pub(super) async fn service_of_restore(&self) -> Result<Arc<Service>, Failure> {
        let store = compose::any_store(&self.settings.database).await?;
        self.service_over(store, compose::sinks_of_commands(&self.settings)?)
    }

    fn service_over(
        &self,
        store: Arc<SqlStore>,
        sinks: Vec<Arc<dyn CheckpointSink>>,
    ) -> Result<Arc<Service>, Failure> {
        // A command answers no requests, so it has nothing to rate-limit and issues no tokens.
        let limiter = Arc::new(MemoryLimiter::new());
        let service = compose::service(
            &self.settings,
            store,
            limiter,
            Destinations {
                sinks,
                transports: compose::transports(&self.settings)?,
            },
            Arc::new(NoMeter),
            self.base_url.as_ref(),
            self.runtime.clone(),
        )?;
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        services.push(Arc::clone(&service));
        Ok(service)
    }

    /// Waits until the changes of the command are in the journal.
    async fn settle(self) {
        let services = self.services.into_inner();
        for service in services.unwrap_or_else(PoisonError::into_inner) {
            if !service.settle_changes().await {
                tracing::warn!("the change is not in the journal; a restore would lose it");
            }
        }
    }

    /// The same installation on another database, without mail, SMS and sinks. It reads the journal, and writes nothing to it.
    pub(super) fn for_drill(&self, database: &Database) -> Self {
        let mut settings = self.settings.clone();
        settings.database.database = database.clone();
        settings.mail = MailSettings::Capture;
        settings.sms = SmsSettings::Capture;
        settings.audit.sinks.clear();
        Self {
            settings,
            base_url: self.base_url.clone(),
            runtime: self.runtime.clone(),
            services: Mutex::default(),
        }
    }

    /// Requires that `epoch.store` can be read, if there is one. Otherwise, a recovery would silently lack what it has.
    pub(super) async fn require_epoch_store(&self) -> Result<(), Failure> {
        let Some(store) = compose::epoch_store(&self.settings) else {
            return Ok(());
        };
        let read = store.journal.parts(SystemClock.machine()).await;
        read.map(drop).map_err(|error| {
            let name = store.sink.name();
            Failure::new(format!(
                "epoch store {name} cannot be read; mount it, or set epoch.store to none and lose what only it has"
            ))
            .because(error)
        })
    }

    /// Host and port of the public URL.
    pub(super) fn deployment(&self) -> Option<String> {
        self.base_url.as_ref().map(BaseUrl::authority)
    }

    /// Requires the public URL of the service. Otherwise, the command fails.
    pub(super) fn require_base_url(
        &self,
        otherwise: impl FnOnce() -> Failure,
    ) -> Result<(), Failure> {
        self.base_url.as_ref().map(|_| ()).ok_or_else(otherwise)
    }
}
