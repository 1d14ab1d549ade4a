//! `vestry worker`: delivers messages and webhooks without serving requests.

use std::path::Path;
use std::sync::Arc;

use vestry_edge::WebSettings;
use vestry_limiter::MemoryLimiter;

use crate::background::{Background, Duties};
use crate::compose::Destinations;
use crate::config::{Settings, Texts};
use crate::failure::Failure;
use crate::reload::Reload;
use crate::signals::StopSignals;
use crate::{compose, logging, telemetry, with_runtime};

pub(crate) fn run(settings: &Settings, texts: Texts, file: Option<&Path>) -> Result<(), Failure> {
    with_runtime(async move |runtime| {
        let mut stop = StopSignals::listen()?;
        let scrapes = telemetry::bind(&settings.telemetry)?;
        let measured = telemetry::meter();
        logging::report_dropped(&runtime);
        let transports = compose::transports(settings)?;
        let store = compose::store(&settings.database).await?;
        store.measured_by(measured.clone());
        // A worker answers no requests, so it has nothing to rate-limit and issues no tokens.
        let limiter = Arc::new(MemoryLimiter::new());
        let service = compose::service(
            settings,
            store,
            limiter,
            Destinations {
                sinks: Vec::new(),
                transports: transports.clone(),
            },
            measured.clone(),
            None,
            runtime.clone(),
        )?;
        let web = WebSettings {
            logged: settings.log.requests.into(),
            ..WebSettings::default()
        };
        if let Some(listener) = scrapes {
            telemetry::serve(listener, Arc::clone(&service), measured, &web)?;
        }
        let file = file.map(Path::to_owned);
        let reload = Reload::new(file, (settings, texts), None, &web, transports);
        tokio::spawn(reload.on_hangup(Arc::clone(&service)));
        let background = Background::start(&service, &runtime, Duties::OF_WORKER);
        tracing::info!(pid = std::process::id(), "worker ready");
        let signal = stop.next().await;
        web.draining.begin();
        service.draining();
        tracing::info!(signal, "stopping");
        tokio::spawn(stop.next_one_ends_the_process());
        let rest = background.stop_deliveries(settings.http.shutdown_timeout);
        rest.await.finish().await;
        tracing::info!("stopped");
        Ok(())
    })
}
