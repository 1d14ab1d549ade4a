//! The listener of metrics and probes, apart from the API (PR-121).

use std::io::ErrorKind;
use std::sync::Arc;
use std::thread;

use actix_web::http::header::{CONTENT_TYPE, HeaderValue};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, rt};
use vestry_app::Service;
use vestry_edge::{Api, METRICS, Pages, Route, WebSettings};
use vestry_ports::clock::Clock;
use vestry_telemetry::{Build, Telemetry};

use crate::clock::SystemClock;
use crate::config::TelemetrySettings;
use crate::failure::{Context, Failure};
use crate::http::Listener;
use crate::logging;

/// The type of the metrics, as the OpenMetrics specification names it.
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// The endpoints of the listener.
static PROBES: Api = Api::new(vestry_web::description, &[vestry_web::probes]);

/// The metrics of this process.
pub(crate) fn meter() -> Arc<Telemetry> {
    let build = Build {
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("VESTRY_COMMIT").unwrap_or("unknown"),
    };
    Arc::new(Telemetry::new(
        build,
        SystemClock.machine(),
        logging::dropped,
    ))
}

/// Binds the address. If it is the default and another program listens there, metrics are off.
///
/// # Errors
/// The address was chosen, and cannot be used.
pub(crate) fn bind(settings: &TelemetrySettings) -> Result<Option<Listener>, Failure> {
    let Some(address) = settings.listen else {
        return Ok(None);
    };
    if !address.ip().is_loopback() {
        tracing::warn!(
            "telemetry.listen is not a loopback address; metrics are served without authentication"
        );
    }
    match std::net::TcpListener::bind(address) {
        Ok(socket) => {
            let address = socket.local_addr();
            let address = address.context("cannot read the address of a listener")?;
            Ok(Some(Listener { socket, address }))
        }
        Err(cause) if cause.kind() == ErrorKind::AddrInUse && settings.is_default => {
            tracing::warn!(
                "metrics are off: another program listens on {address}; set telemetry.listen"
            );
            Ok(None)
        }
        Err(cause) if cause.kind() == ErrorKind::AddrInUse => Err(Failure::new(format!(
            "another program listens on {address}; stop it, or change telemetry.listen"
        ))),
        Err(cause) => Err(Failure::new(format!("cannot listen on {address}")).because(cause)),
    }
}

/// Serves metrics and probes on a thread of their own until the process ends, so that they answer even while it shuts down.
///
/// # Errors
/// The listener or the thread cannot be started.
pub(crate) fn serve(
    listener: Listener,
    service: Arc<Service>,
    telemetry: Arc<Telemetry>,
    settings: &WebSettings,
) -> Result<(), Failure> {
    let address = listener.address;
    let settings = WebSettings {
        console_listener: None,
        ..settings.clone()
    };
    let telemetry = Data::from(telemetry);
    let metrics: Pages = Arc::new(move |config: &mut ServiceConfig| {
        config.app_data(telemetry.clone());
        config.route(METRICS, web::get().to(render));
    });
    let configure = vestry_edge::configure(service, settings, &PROBES, Some(metrics));
    let serve = move || {
        rt::System::new().block_on(async move {
            let server = HttpServer::new(move || App::new().configure(configure.clone()))
                .disable_signals()
                .workers(1)
                .listen(listener.socket);
            let served = match server {
                Ok(server) => server.run().await,
                Err(cause) => Err(cause),
            };
            if let Err(cause) = served {
                tracing::error!(%cause, "metrics are no longer served");
            }
        });
    };
    let thread = thread::Builder::new().name("telemetry".to_owned());
    thread.spawn(serve).context("cannot start a thread")?;
    tracing::info!(%address, "metrics and probes");
    Ok(())
}

async fn render(request: HttpRequest, telemetry: Data<Telemetry>) -> HttpResponse {
    Route::name(&request, METRICS);
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, OPEN_METRICS))
        .body(telemetry.render())
}
