//! TLS to Postgres, against a server that implements only the start of the protocol (PostgreSQL documentation, "Message Flow").

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use vestry_store_postgres::Connector;
use vestry_store_rows::settings::{Database, Settings};

/// The code that requests TLS instead of a protocol version.
const SSL_REQUEST: u32 = 80_877_103;

/// The password of every client here.
const PASSWORD: &str = "hunter2";

/// How a client connected.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Encrypted,
    Plain,
    /// It disconnected when it saw the certificate.
    TurnedAway,
    /// It learnt that there is no TLS, and sent nothing more.
    Silent,
    /// It learnt that there is no TLS, and then sent this as its password.
    Betrayed(String),
}

/// How a server responds to a TLS request.
enum Tls {
    With(Arc<ServerConfig>),
    Refused,
}

/// A server on a loopback address; clients believe that it is the host in their URL.
struct Server {
    address: SocketAddr,
    seen: Receiver<Seen>,
    /// Its certificate as a file, for clients that trust it.
    certificate: PathBuf,
    _directory: tempfile::TempDir,
}

impl Server {
    /// Starts a server with its own certificate for `db.example` and `localhost`, valid for the next thousand years.
    fn start() -> Self {
        Self::with_certificate(|_good| {})
    }

    fn with_certificate(change: impl Fn(&mut CertificateParams)) -> Self {
        let key = KeyPair::generate().unwrap();
        let names = vec!["db.example".to_owned(), "localhost".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let own = params.self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![own.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        Self::run(Tls::With(Arc::new(config)), &own.pem())
    }

    /// Starts a server that answers `N` to TLS requests, and then asks for the password in plain text.
    fn without_tls() -> Self {
        Self::run(Tls::Refused, "")
    }

    fn run(tls: Tls, pem: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let certificate = directory.path().join("ca.pem");
        std::fs::write(&certificate, pem).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, seen) = channel();
        std::thread::spawn(move || serve(&listener, &tls, &sender));
        Self {
            address,
            seen,
            certificate,
            _directory: directory,
        }
    }

    /// Connects with these parameters. The server's name is checked; its address is always the same.
    async fn connect(&self, host: &str, parameters: &str) -> Result<(), String> {
        let url = format!(
            "postgres://u:{PASSWORD}@{host}:{}/d?hostaddr={}&{parameters}",
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

/// Serves one client after the other.
fn serve(listener: &TcpListener, tls: &Tls, seen: &Sender<Seen>) {
    for client in listener.incoming() {
        let mut client = client.unwrap();
        let (code, _) = message(&mut client).unwrap();
        let outcome = match tls {
            _ if code != SSL_REQUEST => {
                welcome(&mut client);
                Seen::Plain
            }
            Tls::With(config) => encrypted(client, config),
            Tls::Refused => refused(&mut client),
        };
        if seen.send(outcome).is_err() {
            return;
        }
    }
}

fn encrypted(mut client: TcpStream, config: &Arc<ServerConfig>) -> Seen {
    client.write_all(b"S").unwrap();
    let tls = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut client = StreamOwned::new(tls, client);
    if message(&mut client).is_err() {
        return Seen::TurnedAway;
    }
    welcome(&mut client);
    Seen::Encrypted
}

/// Sends AuthenticationCleartextPassword to a client that continues after an `N`.
fn refused(client: &mut TcpStream) -> Seen {
    client.write_all(b"N").unwrap();
    if message(client).is_err() {
        return Seen::Silent;
    }
    client.write_all(b"R\0\0\0\x08\0\0\0\x03").unwrap();
    let (mut kind, mut length) = ([0], [0; 4]);
    client.read_exact(&mut kind).unwrap();
    client.read_exact(&mut length).unwrap();
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap() - 4;
    let mut password = vec![0; length];
    client.read_exact(&mut password).unwrap();
    welcome(client);
    let password = password.strip_suffix(b"\0").unwrap();
    Seen::Betrayed(String::from_utf8(password.to_vec()).unwrap())
}

/// Reads a message of the start-up phase: its length, a code and the rest.
fn message(client: &mut impl Read) -> std::io::Result<(u32, Vec<u8>)> {
    let mut head = [0; 8];
    client.read_exact(&mut head)?;
    let length = u32::from_be_bytes(head[..4].try_into().unwrap());
    let mut rest = vec![0; usize::try_from(length).unwrap() - 8];
    client.read_exact(&mut rest)?;
    Ok((u32::from_be_bytes(head[4..].try_into().unwrap()), rest))
}

/// Sends AuthenticationOk and ReadyForQuery.
fn welcome(client: &mut impl Write) {
    client
        .write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")
        .unwrap();
    client.flush().unwrap();
}

#[tokio::test]
async fn a_certificate_of_a_trusted_authority_is_accepted() {
    let server = Server::start();
    for mode in [
        "",
        "sslmode=require&",
        "sslmode=verify-ca&",
        "sslmode=verify-full&",
    ] {
        let parameters = format!("{mode}{}", server.trusted());
        server.connect("db.example", &parameters).await.unwrap();
        assert_eq!(server.seen.recv().unwrap(), Seen::Encrypted, "{mode}");
    }
}

/// Values of `sslmode` that verify, and its absence in a URL to another machine.
const VERIFYING: [&str; 3] = ["", "sslmode=verify-ca&", "sslmode=verify-full&"];

#[tokio::test]
async fn m_3_a_server_without_tls_gets_no_password() {
    let server = Server::without_tls();
    for mode in VERIFYING.into_iter().chain(["sslmode=require&"]) {
        let refused = server.connect("db.example", mode).await;
        assert_eq!(server.seen.recv().unwrap(), Seen::Silent, "{mode:?}");
        assert!(refused.unwrap_err().contains("TLS"), "{mode:?}");
    }
}

#[tokio::test]
async fn m_3_a_self_signed_certificate_is_refused() {
    let server = Server::start();
    for mode in VERIFYING {
        let refused = server.connect("db.example", mode).await;
        assert_eq!(server.seen.recv().unwrap(), Seen::TurnedAway, "{mode:?}");
        assert!(refused.unwrap_err().contains("UnknownIssuer"), "{mode:?}");
    }
}

#[tokio::test]
async fn m_3_a_certificate_for_another_name_is_refused() {
    let server = Server::start();
    for mode in VERIFYING.into_iter().chain(["sslmode=require&"]) {
        let parameters = format!("{mode}{}", server.trusted());
        let refused = server.connect("elsewhere.example", &parameters).await;
        assert_eq!(server.seen.recv().unwrap(), Seen::TurnedAway, "{mode:?}");
        assert!(refused.unwrap_err().contains("NotValidForName"), "{mode:?}");
    }
}

#[tokio::test]
async fn m_3_an_expired_certificate_is_refused() {
    let server = Server::with_certificate(|expired| {
        expired.not_before = date_time_ymd(2020, 1, 1);
        expired.not_after = date_time_ymd(2021, 1, 1);
    });
    for mode in VERIFYING.into_iter().chain(["sslmode=require&"]) {
        let parameters = format!("{mode}{}", server.trusted());
        let refused = server.connect("db.example", &parameters).await;
        assert_eq!(server.seen.recv().unwrap(), Seen::TurnedAway, "{mode:?}");
        assert!(refused.unwrap_err().contains("Expired"), "{mode:?}");
    }
}

/// As in libpq: protects against eavesdropping, not against impersonation.
#[tokio::test]
async fn m_3_require_without_an_authority_accepts_any_certificate() {
    let server = Server::start();
    for host in ["db.example", "elsewhere.example", "localhost"] {
        let opened = server.connect(host, "sslmode=require").await;
        assert_eq!(server.seen.recv().unwrap(), Seen::Encrypted, "{host}");
        opened.unwrap();
    }
}

#[tokio::test]
async fn m_3_plain_text_leaves_the_machine_only_on_request() {
    let server = Server::start();
    for (host, mode, expected) in [
        ("localhost", "", Seen::Plain),
        ("db.example", "sslmode=disable", Seen::Plain),
        ("db.example", "", Seen::TurnedAway),
    ] {
        let opened = server.connect(host, mode).await;
        let welcome = expected == Seen::Plain;
        assert_eq!(server.seen.recv().unwrap(), expected, "{host} {mode:?}");
        assert_eq!(opened.is_ok(), welcome, "{host} {mode:?}");
    }
}
