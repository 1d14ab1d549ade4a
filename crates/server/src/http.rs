//! The HTTP listeners, from startup to graceful shutdown.

use std::future::Future;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::{App, HttpServer, rt};
use tokio::runtime::Handle;
use vestry_app::Service;
use vestry_console::ConsoleSettings;
use vestry_edge::{Api, Pages, WebSettings};

use crate::background::{Background, Duties};
use crate::config::{self, HttpSettings};
use crate::failure::{Context, Failure};
use crate::reload::Reload;
use crate::signals::{self, StopSignals};
use crate::tls::Certificate;

/// The API of this process: the endpoints of all HTTP crates, behind one edge and in one description.
pub(crate) static API: Api = Api::new(
    vestry_web::description,
    &[vestry_web::endpoints, vestry_manage::endpoints],
);

/// A bound address.
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Listener {
    /// Binds the address. Clients can already connect, but are not answered yet.
    ///
    /// # Errors
    /// Fails if the address is in use.
    pub(crate) fn bind(address: SocketAddr, hint: &str) -> Result<Self, Failure> {
        let socket = TcpListener::bind(address).map_err(|cause| match cause.kind() {
            ErrorKind::AddrInUse => Failure::new(format!(
                "{address} is in use by another program; stop it, or {hint}"
            )),
            _ => Failure::new(format!("cannot listen on {address}")).because(cause),
        })?;
        let address = socket
            .local_addr()
            .context("cannot read the address of a listener")?;
        Ok(Self { socket, address })
    }
}

/// The HTTP side of a process.
pub(crate) struct Edge {
    pub(crate) service: Arc<Service>,
    pub(crate) web: WebSettings,
    pub(crate) plain: Option<Listener>,
    pub(crate) tls: Option<(Listener, Arc<Certificate>)>,
    pub(crate) console: Option<Console>,
    pub(crate) times: Times,
    /// Threads that parse requests and serialize responses; 0 means one per core.
    pub(crate) workers: usize,
    /// Optional background tasks of this process.
    pub(crate) duties: Duties,
    /// What SIGHUP reloads; `None`: only the certificate.
    pub(crate) reload: Option<Reload>,
}

/// The pages of the console.
pub(crate) struct Console {
    pub(crate) settings: ConsoleSettings,
    /// Its own listener, if it does not share that of the API. It uses TLS if the API does.
    pub(crate) listener: Option<Listener>,
}

impl Console {
    /// The console of these settings; `None` if it is disabled.
    ///
    /// # Errors
    /// Fails if its address is in use.
    pub(crate) fn of(settings: &config::ConsoleSettings) -> Result<Option<Self>, Failure> {
        let Some(address) = settings.address().filter(|_| settings.enabled) else {
            return Ok(None);
        };
        let listener = settings
            .listen
            .map(|at| Listener::bind(at, "change console.listen"));
        Ok(Some(Self {
            settings: ConsoleSettings {
                origin: address.origin,
            },
            listener: listener.transpose()?,
        }))
    }
}

/// Timeouts at startup and shutdown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// From the first to the last byte of a request head.
    pub(crate) request: Duration,
    /// Between two requests on one connection.
    pub(crate) keep_alive: Duration,
    /// From the stop signal until connections are no longer accepted.
    pub(crate) drain: Duration,
    /// The time that running requests then have to end.
    pub(crate) shutdown: Duration,
}

impl Times {
    pub(crate) const fn of(settings: &HttpSettings) -> Self {
        Self {
            request: settings.request_timeout,
            keep_alive: settings.keep_alive,
            drain: settings.drain_delay,
            shutdown: settings.shutdown_timeout,
        }
    }
}

impl Edge {
    /// Serves until a stop signal, then shuts down: `/readyz` fails, and the drain delay passes. No new connections are accepted, running
    /// requests end while deliveries do, and the other background tasks finish their work. `ready` is called once requests are answered.
    ///
    /// The HTTP workers have their own runtimes; `runtime` is the service's.
    ///
    /// # Errors
    /// Fails if the server cannot be started, or if `ready` fails.
    pub(crate) fn serve<F, R>(self, runtime: &Handle, ready: F) -> Result<(), Failure>
    where
        F: FnOnce() -> R,
        R: Future<Output = Result<(), Failure>>,
    {
        rt::System::new().block_on(self.serve_here(runtime, ready))
    }

    async fn serve_here<F, R>(mut self, runtime: &Handle, ready: F) -> Result<(), Failure>
    where
        F: FnOnce() -> R,
        R: Future<Output = Result<(), Failure>>,
    {
        let mut stop = StopSignals::listen()?;
        let draining = self.web.draining.clone();
        let Times {
            drain, shutdown, ..
        } = self.times;
        if let Some((_, certificate)) = &self.tls {
            measure(certificate, &self.service);
        }
        let service = Arc::clone(&self.service);
        match (self.reload.take(), &self.tls) {
            (Some(reload), _) => drop(rt::spawn(reload.on_hangup(service))),
            (None, Some((_, certificate))) => {
                rt::spawn(renew_on_hangup(Arc::clone(certificate), service));
            }
            (None, None) => {}
        }
        let service = Arc::clone(&self.service);
        let background = Background::start(&service, runtime, self.duties);
        let server = self.start()?;
        let handle = server.handle();
        let server = rt::spawn(server);
        ready().await?;
        let signal = stop.next().await;
        draining.begin();
        service.draining();
        tracing::info!(signal, "stopping");
        rt::spawn(stop.next_one_ends_the_process());
        tokio::time::sleep(drain).await;
        service.stop_waiting();
        // Both at once, so that the whole shutdown takes little longer than the slower one.
        let deliveries = background.stop_deliveries(shutdown);
        let ((), rest) = tokio::join!(end(handle, shutdown), deliveries);
        server
            .await
            .context("HTTP server task failed")?
            .context("HTTP server failed")?;
        rest.finish().await;
        tracing::info!("stopped");
        Ok(())
    }

    fn start(self) -> Result<Server, Failure> {
        let mut web = self.web;
        let (pages, console) = match self.console {
            None => (None, None),
            Some(console) => {
                let pages: Pages = Arc::new(vestry_console::pages(console.settings));
                (Some(pages), console.listener)
            }
        };
        web.console_listener = console.as_ref().map(|listener| listener.address);
        let configure = vestry_edge::configure(self.service, web, &API, pages);
        let server = HttpServer::new(move || App::new().configure(configure.clone()))
            .disable_signals()
            .client_request_timeout(self.times.request)
            .keep_alive(self.times.keep_alive)
            .shutdown_timeout(self.times.shutdown.as_secs());
        let server = match self.workers {
            0 => server,
            workers => server.workers(workers),
        };
        let server = match self.plain {
            Some(listener) => server.listen(listener.socket),
            None => Ok(server),
        };
        let certificate = self
            .tls
            .as_ref()
            .map(|(_, certificate)| certificate.server_config());
        let tls = self.tls.map(|(listener, _)| listener);
        let mut server = server.context("cannot start the listeners")?;
        for listener in tls.into_iter().chain(console) {
            server = match &certificate {
                Some(config) => server.listen_rustls_0_23(listener.socket, config.clone()),
                None => server.listen(listener.socket),
            }
            .context("cannot start the listeners")?;
        }
        Ok(server.run())
    }
}

/// Stops the server and aborts what does not end in time. Actix workers check their deadline only once a second.
async fn end(handle: ServerHandle, at_most: Duration) {
    let cut = at_most + Duration::from_secs(2);
    if tokio::time::timeout(cut, handle.stop(true)).await.is_err() {
        tracing::warn!("requests did not end in time; aborted");
        handle.stop(false).await;
    }
}

/// Records when the certificate expires.
fn measure(certificate: &Certificate, service: &Service) {
    if let Ok(expires) = certificate.expires_at() {
        service.certificate_expires(expires);
    }
}

async fn renew_on_hangup(certificate: Arc<Certificate>, service: Arc<Service>) {
    let renewed = signals::on_hangup(|| match certificate.reload() {
        Ok(()) => {
            measure(&certificate, &service);
            tracing::info!("certificate reloaded");
        }
        Err(failure) => {
            let reason = failure.to_string();
            tracing::error!(reason, "certificate reload failed; keeping the old one");
        }
    });
    if let Err(failure) = renewed.await {
        let reason = failure.to_string();
        tracing::warn!(
            reason,
            "cannot handle SIGHUP; the certificate will not be reloaded"
        );
    }
}
