//! One address, behind which the database changes.

use std::path::{Path, PathBuf};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// An address that stays, as the name of a primary does. What is connected when it leads elsewhere is cut off.
pub(crate) struct Front {
    port: u16,
    behind: watch::Sender<Option<PathBuf>>,
}

impl Front {
    /// Leads nowhere at first.
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (behind, leads_to) = watch::channel(None);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(lead(client, leads_to.clone()));
            }
        });
        Self { port, behind }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// From now on to the server with this socket.
    pub(crate) fn lead_to(&self, socket: &Path) {
        self.behind.send_replace(Some(socket.to_owned()));
    }

    /// From now on nowhere.
    pub(crate) fn close(&self) {
        self.behind.send_replace(None);
    }
}

async fn lead(mut client: TcpStream, mut leads_to: watch::Receiver<Option<PathBuf>>) {
    let socket = leads_to.borrow_and_update().clone();
    let Some(socket) = socket else { return };
    let Ok(mut server) = UnixStream::connect(socket).await else {
        return;
    };
    tokio::select! {
        _ended = copy_bidirectional(&mut client, &mut server) => {}
        _elsewhere = leads_to.changed() => {}
    }
}
