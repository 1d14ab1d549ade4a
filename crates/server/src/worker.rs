//! `vestry worker`: delivers messages and webhooks without serving requests.

use std::sync::Arc;

use vestry_edge::WebSettings;
use vestry_limiter::MemoryLimiter;

use crate::background::{Background, Duties};
use crate::config::Settings;
use crate::failure::Failure;
use crate::signals::StopSignals;
use crate::{compose, logging, telemetry, with_runtime};

pub(crate) fn run(settings: &Settings) -> Result<(), Failure> {
    with_runtime(async |runtime| {
        let mut stop = StopSignals::listen()?;
        let scrapes = telemetry::bind(&settings.telemetry)?;
        let measured = telemetry::meter();
        logging::report_dropped(&runtime);
        let store = compose::store(&settings.database).await?;
        store.measured_by(measured.clone());
        // A worker answers no requests, so it has nothing to rate-limit and issues no tokens.
        let limiter = Arc::new(MemoryLimiter::new());
        let service = compose::service(
            settings,
            store,
            limiter,
            Vec::new(),
            measured.clone(),
            None,
            runtime.clone(),
        )?;
        let web = WebSettings {
            logged: settings.log.requests,
            ..WebSettings::default()
        };
        if let Some(listener) = scrapes {
            telemetry::serve(listener, Arc::clone(&service), measured, &web)?;
        }
        let background = Background::start(&service, &runtime, Duties::OF_WORKER);
        tracing::info!(pid = std::process::id(), "worker ready");
        let signal = stop.next().await;
        web.draining.begin();
        service.draining();
        tracing::info!(signal, "stopping");
        tokio::spawn(stop.next_one_ends_the_process());
        let last = background.stop(settings.http.shutdown_timeout).await;
        last.finish().await;
        tracing::info!("stopped");
        Ok(())
    })
}
