//! TLS towards Postgres, against a server that knows only the beginning of the protocol (PostgreSQL documentation,
//! "Message Flow").

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use vestry_store_postgres::Connector;
use vestry_store_rows::settings::{Database, Settings};

/// The code that asks for TLS instead of a protocol version.
const SSL_REQUEST: u32 = 80_877_103;

/// How a client came in.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Encrypted,
    Plain,
    /// It turned away when it saw the certificate.
    TurnedAway,
}

/// A server with a certificate of its own for `localhost`.
struct Server {
    address: SocketAddr,
    seen: Receiver<Seen>,
    /// The certificate as a file, for clients that trust it.
    certificate: PathBuf,
    _directory: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let certificate = directory.path().join("ca.pem");
        std::fs::write(&certificate, own.cert.pem()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, seen) = channel();
        std::thread::spawn(move || serve(&listener, &Arc::new(config), &sender));
        Self {
            address,
            seen,
            certificate,
            _directory: directory,
        }
    }

    /// Connects with these parameters; the name of the server is checked, its address is always the same.
    async fn connect(&self, host: &str, parameters: &str) -> Result<(), String> {
        let url = format!(
            "postgres://u@{host}:{}/d?hostaddr={}&{parameters}",
            self.address.port(),
            self.address.ip()
        );
        let Database::Postgres(url) = url.parse().unwrap() else {
            panic!("not Postgres");
        };
        let settings = Settings::new(Database::Postgres(url.clone()));
        let connector = Connector::new(&url, &settings).unwrap();
        let opened = connector.open().await;
        opened.map(drop).map_err(|error| format!("{error:?}"))
    }

    fn trusted(&self) -> String {
        format!("sslrootcert={}", self.certificate.display())
    }
}

/// Takes one client after the other.
fn serve(listener: &TcpListener, config: &Arc<ServerConfig>, seen: &Sender<Seen>) {
    for client in listener.incoming() {
        let mut client = client.unwrap();
        let (code, _) = message(&mut client).unwrap();
        let outcome = if code == SSL_REQUEST {
            client.write_all(b"S").unwrap();
            let tls = ServerConnection::new(Arc::clone(config)).unwrap();
            let mut client = StreamOwned::new(tls, client);
            match message(&mut client) {
                Ok(_) => {
                    welcome(&mut client);
                    Seen::Encrypted
                }
                Err(_) => Seen::TurnedAway,
            }
        } else {
            welcome(&mut client);
            Seen::Plain
        };
        if seen.send(outcome).is_err() {
            return;
        }
    }
}

/// A message of the first phase: its length, a code and the rest.
fn message(client: &mut impl Read) -> std::io::Result<(u32, Vec<u8>)> {
    let mut head = [0; 8];
    client.read_exact(&mut head)?;
    let length = u32::from_be_bytes(head[..4].try_into().unwrap());
    let mut rest = vec![0; usize::try_from(length).unwrap() - 8];
    client.read_exact(&mut rest)?;
    Ok((u32::from_be_bytes(head[4..].try_into().unwrap()), rest))
}

/// AuthenticationOk and ReadyForQuery.
fn welcome(client: &mut impl Write) {
    client
        .write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")
        .unwrap();
    client.flush().unwrap();
}

#[tokio::test]
async fn a_certificate_of_a_trusted_authority_is_taken() {
    let server = Server::start();
    for mode in ["require", "verify-ca", "verify-full", "prefer"] {
        let parameters = format!("sslmode={mode}&{}", server.trusted());
        server.connect("localhost", &parameters).await.unwrap();
        assert_eq!(server.seen.recv().unwrap(), Seen::Encrypted, "{mode}");
    }
}

/// `require` is not content with just any certificate.
#[tokio::test]
async fn an_unknown_authority_is_refused() {
    let server = Server::start();
    for mode in ["require", "verify-ca", "verify-full"] {
        let refused = server
            .connect("localhost", &format!("sslmode={mode}"))
            .await;
        assert!(refused.unwrap_err().contains("UnknownIssuer"), "{mode}");
        assert_eq!(server.seen.recv().unwrap(), Seen::TurnedAway, "{mode}");
    }
}

#[tokio::test]
async fn another_name_is_refused() {
    let server = Server::start();
    for mode in ["require", "verify-ca", "verify-full"] {
        let parameters = format!("sslmode={mode}&{}", server.trusted());
        let refused = server.connect("elsewhere.example", &parameters).await;
        assert!(refused.unwrap_err().contains("NotValidForName"), "{mode}");
        assert_eq!(server.seen.recv().unwrap(), Seen::TurnedAway, "{mode}");
    }
}

#[tokio::test]
async fn prefer_goes_on_without_tls() {
    let server = Server::start();
    server.connect("localhost", "sslmode=prefer").await.unwrap();
    assert_eq!(server.seen.recv().unwrap(), Seen::TurnedAway);
    assert_eq!(server.seen.recv().unwrap(), Seen::Plain);
}

#[tokio::test]
async fn disable_does_not_ask_for_tls() {
    let server = Server::start();
    server
        .connect("localhost", "sslmode=disable")
        .await
        .unwrap();
    assert_eq!(server.seen.recv().unwrap(), Seen::Plain);
}
