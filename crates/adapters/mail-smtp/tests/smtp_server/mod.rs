//! A real SMTP server for tests: `aiosmtpd`, started for one test and stopped with it.
//!
//! Designed for use from the tests of other crates too, without a dependency on this one:
//!
//! ```ignore
//! #[path = "../../../adapters/mail-smtp/tests/smtp_server/mod.rs"]
//! mod smtp_server;
//!
//! let Some(server) = smtp_server::start(Behaviour::default()) else { return };
//! // … settings with server.url() and server.ca_file(), and something that sends …
//! let mail = server.next_mail();
//! ```
//!
//! The including crate needs `rcgen`, `serde` (derive), `serde_json` and `tempfile`. Everything here blocks; in an async test use the
//! multi-threaded runtime.

#![allow(dead_code, reason = "each test crate uses its part of it")]
#![expect(clippy::expect_used, reason = "a panic fails the test")]

mod python;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

/// How long to wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(30);

/// The server's behaviour, including its faults. By default it works correctly.
#[derive(Debug, Clone)]
pub(crate) struct Behaviour {
    /// The name in its certificate.
    pub(crate) certificate_name: &'static str,
    /// Whether it offers STARTTLS; otherwise it accepts logins and mails unencrypted.
    pub(crate) starttls: bool,
    /// Whether TLS begins with the first byte.
    pub(crate) implicit_tls: bool,
    /// Whether it offers SMTPUTF8.
    pub(crate) international: bool,
    /// Replies by command, `.` for the end of the content; `{argument}` stands for the client's argument.
    pub(crate) replies: &'static [(&'static str, &'static str)],
    /// The command that gets no reply; `CONNECT` for the greeting, `.` for the end of the content.
    pub(crate) silent: &'static str,
    /// Whether the greeting arrives one byte at a time and never ends.
    pub(crate) drip: bool,
    /// Whether a simulated attacker appends a forged reply to the reply to STARTTLS.
    pub(crate) inject: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            certificate_name: "localhost",
            starttls: true,
            implicit_tls: false,
            international: false,
            replies: &[],
            silent: "",
            drip: false,
            inject: false,
        }
    }
}

/// The user known to the server.
pub(crate) const USER: &str = "vestry@relay";
/// The user's password, with characters that must be encoded in a URL.
pub(crate) const PASSWORD: &str = "p@ss/w:rd 100%";
const ENCODED_LOGIN: &str = "vestry%40relay:p%40ss%2Fw%3Ard%20100%25";

/// A running server; dropping it ends it.
pub(crate) struct SmtpServer {
    port: u16,
    files: TempDir,
    child: Child,
    /// Closing it stops the server.
    input: Option<ChildStdin>,
    events: Receiver<Event>,
}

/// Events of the server, one per line.
#[derive(Debug, serde::Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event {
    Listening { port: u16 },
    Clear { text: String },
    Mail(Mail),
    End { open: usize },
}

/// A mail that the server accepted.
#[derive(Debug, Clone, serde::Deserialize)]
pub(crate) struct Mail {
    /// Whether it came over TLS.
    pub(crate) encrypted: bool,
    /// The logged-in user.
    pub(crate) login: Option<String>,
    /// Envelope sender.
    pub(crate) sender: String,
    /// Envelope recipients.
    pub(crate) recipients: Vec<String>,
    /// Content type of the whole mail.
    pub(crate) content_type: String,
    /// Decoded, in order.
    headers: Vec<(String, String)>,
    /// Decoded plain text part.
    pub(crate) text: Option<String>,
    /// Decoded HTML part.
    pub(crate) html: Option<String>,
    /// As received.
    pub(crate) source: String,
}

impl Mail {
    /// Returns the only header of this name.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut values = self
            .headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, value) = values.next().expect("the header exists");
        assert!(values.next().is_none(), "{name} occurs once");
        value
    }

    /// The names of all headers.
    pub(crate) fn header_names(&self) -> Vec<&str> {
        self.headers.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// Everything that the server received.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Mails, in order of arrival.
    pub(crate) mails: Vec<Mail>,
    /// What arrived unencrypted.
    pub(crate) clear: String,
}

/// Starts a server. `None` if the lane `smtp` was left out on purpose (`VESTRY_TEST_LANES_MISSING`).
///
/// # Panics
/// There is no Python with `aiosmtpd` and the lane was not left out; the message says how to get one.
pub(crate) fn start(behaviour: Behaviour) -> Option<SmtpServer> {
    let python = python::interpreter()?;
    let files = TempDir::new().expect("a temporary directory");
    write_certificate(files.path(), behaviour.certificate_name);
    let script = files.path().join("server.py");
    std::fs::write(&script, include_str!("server.py")).expect("the script is written");
    let mut child = Command::new(python)
        .arg(script)
        .arg(behaviour.describe(files.path()))
        .env("PYTHONUTF8", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the SMTP server starts");
    let input = child.stdin.take();
    let output = child.stdout.take().expect("its output is piped");
    let (sender, events) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let line = line.expect("the server prints UTF-8");
            let event = serde_json::from_str(&line).expect("the server prints events");
            if sender.send(event).is_err() {
                break;
            }
        }
    });
    let mut server = SmtpServer {
        port: 0,
        files,
        child,
        input,
        events,
    };
    match server.events.recv_timeout(PATIENCE) {
        Ok(Event::Listening { port }) => server.port = port,
        other => panic!("the SMTP server did not start: {other:?}"),
    }
    Some(server)
}

impl Behaviour {
    /// Returns the configuration in the script's format.
    fn describe(&self, files: &Path) -> String {
        let replies: serde_json::Map<_, _> = self
            .replies
            .iter()
            .map(|(command, reply)| ((*command).to_owned(), (*reply).into()))
            .collect();
        serde_json::json!({
            "certificate": files.join("server.pem"),
            "key": files.join("server.key"),
            "user": USER,
            "password": PASSWORD,
            "starttls": self.starttls,
            "implicit_tls": self.implicit_tls,
            "international": self.international,
            "replies": replies,
            "silent": self.silent,
            "drip": self.drip,
            "inject": self.inject,
        })
        .to_string()
    }
}

impl SmtpServer {
    /// Returns an `smtp://` URL with the login, for the name `localhost`.
    pub(crate) fn url(&self) -> String {
        format!("smtp://{ENCODED_LOGIN}@localhost:{}", self.port)
    }

    /// Returns the same URL for TLS from the first byte.
    pub(crate) fn implicit_tls_url(&self) -> String {
        format!("smtps://{ENCODED_LOGIN}@localhost:{}", self.port)
    }

    /// The port on 127.0.0.1.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// The authority that signed the server's certificate, as a PEM file.
    pub(crate) fn ca_file(&self) -> PathBuf {
        self.files.path().join("ca.pem")
    }

    /// Waits for the next mail.
    ///
    /// # Panics
    /// None arrives within half a minute.
    #[track_caller]
    pub(crate) fn next_mail(&self) -> Mail {
        loop {
            match self.events.recv_timeout(PATIENCE) {
                Ok(Event::Mail(mail)) => return mail,
                Ok(_) => {}
                Err(reason) => panic!("no mail arrived: {reason}"),
            }
        }
    }

    /// Stops the server, and returns everything that it received and that [`SmtpServer::next_mail`] has not returned.
    ///
    /// # Panics
    /// A client still holds a connection: drop the mailer first, so that no further traffic can arrive.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Received {
        self.input = None;
        let mut received = Received::default();
        loop {
            match self.events.recv_timeout(PATIENCE) {
                Ok(Event::Listening { .. }) => {}
                Ok(Event::Clear { text }) => received.clear.push_str(&text),
                Ok(Event::Mail(mail)) => received.mails.push(mail),
                Ok(Event::End { open }) => {
                    assert_eq!(open, 0, "all connections are closed at the end");
                    return received;
                }
                Err(RecvTimeoutError::Disconnected) => panic!("the SMTP server ended early"),
                Err(RecvTimeoutError::Timeout) => panic!("the SMTP server does not stop"),
            }
        }
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.input = None;
        // A failing test must not hang on the server. If it has already ended, the kill fails, which is fine.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Writes a certificate for this name, its key, and the authority that signed it.
fn write_certificate(directory: &Path, name: &str) {
    let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().expect("a key"))
        .expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec![name.to_owned()])
        .expect("parameters")
        .signed_by(&key, &authority)
        .expect("a certificate");
    let write = |file: &str, pem: &str| {
        let mut file = std::fs::File::create(directory.join(file)).expect("a file");
        file.write_all(pem.as_bytes()).expect("it is written");
    };
    write("ca.pem", &authority.pem());
    write("server.pem", &certificate.pem());
    write("server.key", &key.serialize_pem());
}
