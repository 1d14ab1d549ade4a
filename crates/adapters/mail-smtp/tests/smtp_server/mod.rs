//! A real SMTP server for tests: `aiosmtpd`, started for one test and gone with it.
//!
//! Made to be used from the tests of other crates too, without a dependency on this one:
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
//! The including crate needs `rcgen`, `serde` (derive), `serde_json` and `tempfile`. Everything here blocks; in an async
//! test use the multi-threaded runtime.

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

/// How long to wait for something that must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the server does, and what goes wrong. The defaults make one that works as it should.
#[derive(Debug, Clone)]
pub(crate) struct Behaviour {
    /// The name in its certificate.
    pub(crate) certificate_name: &'static str,
    /// Whether it offers STARTTLS; without it, it takes logins and mails in clear.
    pub(crate) starttls: bool,
    /// Whether TLS begins with the first byte.
    pub(crate) implicit_tls: bool,
    /// Whether it offers SMTPUTF8.
    pub(crate) international: bool,
    /// Answers by command, `.` for the end of the content; `{argument}` stands for what the client said.
    pub(crate) replies: &'static [(&'static str, &'static str)],
    /// The command that it never answers; `CONNECT` for the greeting, `.` for the end of the content.
    pub(crate) silent: &'static str,
    /// Whether the greeting comes a byte at a time and never ends.
    pub(crate) drip: bool,
    /// Whether somebody in between appends a forged answer to the answer to STARTTLS.
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

/// The user that the server knows.
pub(crate) const USER: &str = "vestry@relay";
/// The user's password, with characters that a URL must encode.
pub(crate) const PASSWORD: &str = "p@ss/w:rd 100%";
const ENCODED_LOGIN: &str = "vestry%40relay:p%40ss%2Fw%3Ard%20100%25";

/// A running server; dropping it ends it.
pub(crate) struct SmtpServer {
    port: u16,
    files: TempDir,
    child: Child,
    /// Closing it ends the server.
    input: Option<ChildStdin>,
    events: Receiver<Event>,
}

/// What the server reports, a line each.
#[derive(Debug, serde::Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event {
    Listening { port: u16 },
    Clear { text: String },
    Mail(Mail),
    End { open: usize },
}

/// A mail that the server took.
#[derive(Debug, Clone, serde::Deserialize)]
pub(crate) struct Mail {
    /// Whether it came over TLS.
    pub(crate) encrypted: bool,
    /// Who was logged in.
    pub(crate) login: Option<String>,
    /// Of the envelope.
    pub(crate) sender: String,
    /// Of the envelope.
    pub(crate) recipients: Vec<String>,
    /// Of the whole.
    pub(crate) content_type: String,
    /// Decoded, in the order in which they stand.
    headers: Vec<(String, String)>,
    /// Decoded plain text part.
    pub(crate) text: Option<String>,
    /// Decoded HTML part.
    pub(crate) html: Option<String>,
    /// As it came.
    pub(crate) source: String,
}

impl Mail {
    /// The only header of this name.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut values = self
            .headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, value) = values.next().expect("the header is there");
        assert!(values.next().is_none(), "{name} is there once");
        value
    }

    /// The names of all headers.
    pub(crate) fn header_names(&self) -> Vec<&str> {
        self.headers.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// Everything that reached the server from its start to its end.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Mails, in the order in which they came.
    pub(crate) mails: Vec<Mail>,
    /// What came unencrypted.
    pub(crate) clear: String,
}

/// Starts a server. `None` when the lane `smtp` was left out on purpose (`VESTRY_TEST_LANES_MISSING`).
///
/// # Panics
/// There is no Python with `aiosmtpd` and nobody said so; the message says how to get one.
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
    /// As the script reads it.
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
    /// `smtp://` with the login, for the name `localhost`.
    pub(crate) fn url(&self) -> String {
        format!("smtp://{ENCODED_LOGIN}@localhost:{}", self.port)
    }

    /// The same for TLS from the first byte.
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
    /// None comes within half a minute.
    #[track_caller]
    pub(crate) fn next_mail(&self) -> Mail {
        loop {
            match self.events.recv_timeout(PATIENCE) {
                Ok(Event::Mail(mail)) => return mail,
                Ok(_) => {}
                Err(reason) => panic!("no mail came: {reason}"),
            }
        }
    }

    /// Ends the server and tells all that reached it and [`SmtpServer::next_mail`] has not returned.
    ///
    /// # Panics
    /// A client still holds a connection: drop the mailer first, so that it is certain that nothing more comes.
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
                Err(RecvTimeoutError::Timeout) => panic!("the SMTP server does not end"),
            }
        }
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.input = None;
        // A failing test must not hang on a server that does; one that has ended cannot be killed, which is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A certificate for this name, its key, and the authority that signed it.
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
