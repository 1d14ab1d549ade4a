//! A breakable connection to the server.

use std::net::Ipv4Addr;

use redis::{ConnectionAddr, IntoConnectionInfo};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// All traffic passes.
    Open,
    /// Connections are accepted, but no traffic passes.
    Stalled,
    /// Connections are cut, including new ones.
    Cut,
}

/// A TCP proxy on its own port.
pub(crate) struct Proxy {
    pub(crate) url: String,
    way: watch::Sender<Way>,
}

impl Proxy {
    /// Starts a proxy in front of the server at this URL.
    pub(crate) async fn before(server: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let (way, watching) = watch::channel(Way::Open);
        let server = address(server);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, server.clone(), watching.clone()));
            }
        });
        Self {
            url: format!("redis://127.0.0.1:{port}"),
            way,
        }
    }

    /// Sets the state, also for existing connections.
    pub(crate) fn make(&self, way: Way) {
        self.way.send_replace(way);
    }
}

/// Returns host and port of a Redis URL.
fn address(url: &str) -> (String, u16) {
    let info = url.into_connection_info().expect("a good URL");
    match info.addr() {
        ConnectionAddr::Tcp(host, port) => (host.clone(), *port),
        other => panic!("the proxy speaks TCP, not {other:?}"),
    }
}

/// Passes bytes while the connection is open; those that arrive while it is stalled pass afterwards.
async fn pass(mut client: TcpStream, server: (String, u16), mut way: watch::Receiver<Way>) {
    let Ok(mut server) = TcpStream::connect(server).await else {
        return;
    };
    loop {
        let now = *way.borrow_and_update();
        match now {
            Way::Cut => return,
            Way::Stalled => {
                if way.changed().await.is_err() {
                    return;
                }
                continue;
            }
            Way::Open => {}
        }
        tokio::select! {
            _ended = copy_bidirectional(&mut client, &mut server) => return,
            changed = way.changed() => if changed.is_err() { return },
        }
    }
}
