//! A stable address for a database that is replaced.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use super::cluster::{Cluster, Programs};
use super::installation::Installation;

/// A stable address, like the name of a primary.
pub(crate) struct Proxy {
    port: u16,
    target: watch::Sender<Target>,
    counts: ClientCounts,
}

/// The number of clients of each server, including those it does not know yet.
type ClientCounts = Arc<Mutex<HashMap<PathBuf, usize>>>;

/// The current target, and the change before which connections are closed.
#[derive(Clone, Default)]
struct Target {
    socket: Option<PathBuf>,
    cuts: u64,
}

/// A new cluster, and an installation that reaches it through a proxy.
pub(crate) async fn behind_a_proxy(programs: &Arc<Programs>) -> (Cluster, Proxy, Installation) {
    let cluster = Cluster::new(programs).await;
    let proxy = Proxy::open().await;
    proxy.route_to(&cluster.socket());
    let port = proxy.port;
    let installation = Installation::at(format!("postgres://postgres@127.0.0.1:{port}/vestry"));
    (cluster, proxy, installation)
}

impl Proxy {
    /// Has no target at first.
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, target) = watch::channel(Target::default());
        let counts = ClientCounts::default();
        let shared = Arc::clone(&counts);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, target.clone(), Arc::clone(&shared)));
            }
        });
        Self {
            port,
            target: sender,
            counts,
        }
    }

    /// The number of clients still connected to the server with this socket.
    pub(crate) fn clients_of(&self, socket: &Path) -> usize {
        let counts = self.counts.lock().unwrap();
        counts.get(socket).copied().unwrap_or(0)
    }

    /// Switches to the server with this socket. Existing connections are closed.
    pub(crate) fn route_to(&self, socket: &Path) {
        self.change(Some(socket), true);
    }

    /// The same, like a DNS change: existing connections stay open.
    pub(crate) fn route_new_connections_to(&self, socket: &Path) {
        self.change(Some(socket), false);
    }

    /// Removes the target.
    pub(crate) fn close(&self) {
        self.change(None, true);
    }

    fn change(&self, socket: Option<&Path>, cuts_off: bool) {
        self.target.send_modify(|target| {
            target.socket = socket.map(Path::to_owned);
            target.cuts += u64::from(cuts_off);
        });
    }
}

async fn forward(
    mut client: TcpStream,
    mut targets: watch::Receiver<Target>,
    counts: ClientCounts,
) {
    let (socket, cuts) = {
        // A change of the target waits for this, and finds the client counted.
        let target = targets.borrow_and_update();
        let Some(socket) = target.socket.clone() else {
            return;
        };
        *counts.lock().unwrap().entry(socket.clone()).or_default() += 1;
        (socket, target.cuts)
    };
    let counted = CountedClient(counts, socket);
    let Ok(mut server) = UnixStream::connect(&counted.1).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async move {
        // Either side may end at any time.
        drop(copy(&mut from_client, &mut to_server).await);
        drop(to_server.shutdown().await);
        // The client is gone. The server may not have noticed, because it waits for a standby.
        drop(counted);
    };
    let down = async {
        drop(copy(&mut from_server, &mut to_client).await);
        drop(to_client.shutdown().await);
    };
    tokio::select! {
        _ended = async { tokio::join!(up, down) } => {}
        _cut_off = targets.wait_for(|target| target.cuts > cuts) => {}
    }
}

/// A client of a server, counted until this is dropped.
struct CountedClient(ClientCounts, PathBuf);

impl Drop for CountedClient {
    fn drop(&mut self) {
        if let Some(count) = self.0.lock().unwrap().get_mut(&self.1) {
            *count -= 1;
        }
    }
}
