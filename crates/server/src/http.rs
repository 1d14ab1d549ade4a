//! The listeners, from their first connection to the end of the last request.

use std::future::Future;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::{App, HttpServer, rt};
use tokio::runtime::Handle;
use vestry_app::Service;
use vestry_web::WebSettings;

use crate::background::{Background, Duties};
use crate::config::HttpSettings;
use crate::failure::{Context, Failure};
use crate::signals::{self, StopSignals};
use crate::tls::Certificate;

/// A bound address.
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Listener {
    /// Binds; nobody is answered yet, but a client that connects now only waits.
    ///
    /// # Errors
    /// Says when the address is taken.
    pub(crate) fn bind(address: SocketAddr, hint: &str) -> Result<Self, Failure> {
        let socket = TcpListener::bind(address).map_err(|cause| match cause.kind() {
            ErrorKind::AddrInUse => Failure::new(format!(
                "another program listens on {address}; stop it, or {hint}"
            )),
            _ => Failure::new(format!("{address} cannot be listened on")).because(cause),
        })?;
        let address = socket.local_addr().context("a listener has no address")?;
        Ok(Self { socket, address })
    }
}

/// Everything that one process serves.
pub(crate) struct Edge {
    pub(crate) service: Arc<Service>,
    pub(crate) web: WebSettings,
    pub(crate) plain: Option<Listener>,
    pub(crate) tls: Option<(Listener, Arc<Certificate>)>,
    pub(crate) times: Times,
    /// Threads that parse and present; 0 means one per core.
    pub(crate) workers: usize,
    /// What this process does besides.
    pub(crate) duties: Duties,
}

/// How the edge starts and stops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// From the first byte of a request head to its last.
    pub(crate) request: Duration,
    /// Between two requests on one connection.
    pub(crate) keep_alive: Duration,
    /// Between the stop signal and the moment from which no connection is accepted.
    pub(crate) drain: Duration,
    /// For requests that run at that moment.
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
    /// Serves until a stop signal, then: `/readyz` says no, the drain delay, no new connections, running requests end,
    /// workers finish what they hold. `ready` is called once requests are answered.
    ///
    /// The HTTP workers have runtimes of their own; `runtime` is the service's.
    ///
    /// # Errors
    /// The server could not be started, or `ready` failed.
    pub(crate) fn serve<F, R>(self, runtime: &Handle, ready: F) -> Result<(), Failure>
    where
        F: FnOnce() -> R,
        R: Future<Output = Result<(), Failure>>,
    {
        rt::System::new().block_on(self.serve_here(runtime, ready))
    }

    async fn serve_here<F, R>(self, runtime: &Handle, ready: F) -> Result<(), Failure>
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
            rt::spawn(renew_on_hangup(Arc::clone(certificate)));
        }
        let service = Arc::clone(&self.service);
        let background = Background::start(&service, runtime, self.duties);
        let server = self.start()?;
        let handle = server.handle();
        let server = rt::spawn(server);
        ready().await?;
        let signal = stop.next().await;
        draining.begin();
        tracing::info!(signal, "stopping");
        rt::spawn(stop.next_one_ends_the_process());
        tokio::time::sleep(drain).await;
        service.stop_waiting();
        end(handle, shutdown).await;
        server
            .await
            .context("the HTTP server was lost")?
            .context("the HTTP server failed")?;
        background.finish(shutdown).await;
        tracing::info!("stopped");
        Ok(())
    }

    fn start(self) -> Result<Server, Failure> {
        let configure = vestry_web::configure(self.service, self.web);
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
        let server = server.and_then(|server| match self.tls {
            Some((listener, certificate)) => {
                server.listen_rustls_0_23(listener.socket, certificate.server_config())
            }
            None => Ok(server),
        });
        Ok(server.context("the listeners could not be started")?.run())
    }
}

/// Ends the server, and cuts off what does not end by itself: the workers of actix look at their deadline only once a
/// second.
async fn end(handle: ServerHandle, at_most: Duration) {
    let cut = at_most + Duration::from_secs(2);
    if tokio::time::timeout(cut, handle.stop(true)).await.is_err() {
        tracing::warn!("some requests did not end in time and were cut off");
        handle.stop(false).await;
    }
}

async fn renew_on_hangup(certificate: Arc<Certificate>) {
    let renewed = signals::on_hangup(|| match certificate.reload() {
        Ok(()) => tracing::info!("the certificate was read again"),
        Err(failure) => {
            let reason = failure.to_string();
            tracing::error!(
                reason,
                "the certificate could not be read again; the old one stays in use"
            );
        }
    });
    if let Err(failure) = renewed.await {
        let reason = failure.to_string();
        tracing::warn!(reason, "SIGHUP will not renew the certificate");
    }
}
