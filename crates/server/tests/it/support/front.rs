//! One address, behind which the database changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use super::cluster::{Cluster, Programs};
use super::site::Site;

/// An address that stays, as the name of a primary does.
pub(crate) struct Front {
    port: u16,
    behind: watch::Sender<Behind>,
}

/// Where it leads, and since which change what is connected is cut off.
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
    /// Leads nowhere at first.
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (behind, leads_to) = watch::channel(Behind::default());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(lead(client, leads_to.clone()));
            }
        });
        Self { port, behind }
    }

    /// From now on to the server with this socket. What is connected is cut off.
    pub(crate) fn lead_to(&self, socket: &Path) {
        self.change(Some(socket), true);
    }

    /// The same, as a name does that is looked up anew: what is connected stays.
    pub(crate) fn lead_others_to(&self, socket: &Path) {
        self.change(Some(socket), false);
    }

    /// From now on nowhere.
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

async fn lead(mut client: TcpStream, mut leads_to: watch::Receiver<Behind>) {
    let Behind { socket, cuts } = leads_to.borrow_and_update().clone();
    let Some(socket) = socket else { return };
    let Ok(mut server) = UnixStream::connect(socket).await else {
        return;
    };
    tokio::select! {
        _ended = copy_bidirectional(&mut client, &mut server) => {}
        _cut_off = leads_to.wait_for(|behind| behind.cuts > cuts) => {}
    }
}
