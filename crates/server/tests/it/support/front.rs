//! A stable address for a database that is replaced.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use super::cluster::{Cluster, Programs};
use super::site::Site;

/// A stable address, like the name of a primary.
pub(crate) struct Front {
    port: u16,
    behind: watch::Sender<Behind>,
    guests: Guests,
}

/// The number of clients of each server, including those it does not know yet.
type Guests = Arc<Mutex<HashMap<PathBuf, usize>>>;

/// The current target, and the change before which connections are closed.
#[derive(Clone, Default)]
struct Behind {
    socket: Option<PathBuf>,
    cuts: u64,
}

/// A new cluster, and an installation that reaches it through a front.
pub(crate) async fn behind_a_front(programs: &Arc<Programs>) -> (Cluster, Front, Site) {
    let cluster = Cluster::new(programs).await;
    let front = Front::open().await;
    front.lead_to(&cluster.socket());
    let port = front.port;
    let site = Site::at(format!("postgres://postgres@127.0.0.1:{port}/vestry"));
    (cluster, front, site)
}

impl Front {
    /// Has no target at first.
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (behind, leads_to) = watch::channel(Behind::default());
        let guests = Guests::default();
        let led = Arc::clone(&guests);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(lead(client, leads_to.clone(), Arc::clone(&led)));
            }
        });
        Self {
            port,
            behind,
            guests,
        }
    }

    /// The number of clients still connected to the server with this socket.
    pub(crate) fn guests_of(&self, socket: &Path) -> usize {
        let guests = self.guests.lock().unwrap();
        guests.get(socket).copied().unwrap_or(0)
    }

    /// Switches to the server with this socket. Existing connections are closed.
    pub(crate) fn lead_to(&self, socket: &Path) {
        self.change(Some(socket), true);
    }

    /// The same, like a DNS change: existing connections stay open.
    pub(crate) fn lead_others_to(&self, socket: &Path) {
        self.change(Some(socket), false);
    }

    /// Removes the target.
    pub(crate) fn close(&self) {
        self.change(None, true);
    }

    fn change(&self, socket: Option<&Path>, cuts_off: bool) {
        self.behind.send_modify(|behind| {
            behind.socket = socket.map(Path::to_owned);
            behind.cuts += u64::from(cuts_off);
        });
    }
}

async fn lead(mut client: TcpStream, mut leads_to: watch::Receiver<Behind>, guests: Guests) {
    let (socket, cuts) = {
        // A change of the target waits for this, and finds the guest counted.
        let behind = leads_to.borrow_and_update();
        let Some(socket) = behind.socket.clone() else {
            return;
        };
        *guests.lock().unwrap().entry(socket.clone()).or_default() += 1;
        (socket, behind.cuts)
    };
    let guest = Guest(guests, socket);
    let Ok(mut server) = UnixStream::connect(&guest.1).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async move {
        // Either side may end at any time.
        drop(copy(&mut from_client, &mut to_server).await);
        drop(to_server.shutdown().await);
        // The client is gone. The server may not have noticed, because it waits for a standby.
        drop(guest);
    };
    let down = async {
        drop(copy(&mut from_server, &mut to_client).await);
        drop(to_client.shutdown().await);
    };
    tokio::select! {
        _ended = async { tokio::join!(up, down) } => {}
        _cut_off = leads_to.wait_for(|behind| behind.cuts > cuts) => {}
    }
}

/// A client of a server, counted until this is dropped.
struct Guest(Guests, PathBuf);

impl Drop for Guest {
    fn drop(&mut self) {
        if let Some(count) = self.0.lock().unwrap().get_mut(&self.1) {
            *count -= 1;
        }
    }
}
