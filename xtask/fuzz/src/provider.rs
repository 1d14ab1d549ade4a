//! An identity provider that answers what an input says, and the adapter that speaks to it: over HTTP, as the service does, for
//! there is nothing of HTTP in its port. Both run on one thread, so that nothing depends on who is faster.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use vestry_domain::provider::{AppleKey, Connection, ConnectionSettings, ProviderName};
use vestry_domain::{Environment, Secret, World};
use vestry_idp_oauth::{OauthProviders, Settings};
use vestry_ports::identity_providers::{
    AuthorizationRequest, Exchanged, Grant, IdentityProviders, ProviderAccess, ProviderFault,
};

use crate::custody::{NOW, id};

/// The App's id at the provider.
pub const CLIENT_ID: &str = "client-of-the-app";
/// What an id token must carry.
pub const NONCE: &str = "nonce-of-the-flow";
/// Where the browser comes back to.
pub const REDIRECT_URI: &str = "https://id.example.com/v1/auth/oauth/callback/oauthcb_1";
/// The state.
pub const STATE: &str = "state-of-the-flow";
/// The challenge of the verifier; nobody here compares the two.
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// The tenant of Microsoft's whose word the App trusts.
pub const TENANT: &str = "9122040d-6c67-4c5b-b112-36a304b66dad";

/// Statuses of answers. Seldom another one than that of success, behind which there is most to read.
const STATUSES: [u16; 16] = [
    200, 200, 200, 200, 200, 200, 200, 201, 302, 400, 401, 403, 404, 429, 500, 503,
];
/// ASN.1 around a private key of P-256 (RFC 5958, RFC 5915).
const P256_PREFIX: &str = "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420";

/// One of the statuses, by a number.
pub fn status(number: usize) -> u16 {
    STATUSES[number % STATUSES.len()]
}

/// What is answered, by path without the slash in front. A path that is not here is answered like its first segment.
type Answers = Arc<Mutex<HashMap<&'static str, (u16, Vec<u8>)>>>;

/// The provider, and who asks it.
pub struct Provider {
    adapter: OauthProviders,
    answers: Answers,
    url: String,
    /// Behind addresses of which an answer would be kept: each is asked once.
    number: AtomicU64,
    /// For Apple, a key that signs one.
    client_secrets: [Secret<String>; 2],
    runtime: Runtime,
}

impl Provider {
    /// One that answers 404.
    ///
    /// # Panics
    /// When this machine has no port for it.
    pub fn start() -> Self {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let answers = Answers::default();
        runtime.spawn(accept(listener, Arc::clone(&answers)));
        let hour = Duration::from_secs(3600);
        let mut settings = Settings {
            allowed_networks: vec!["127.0.0.0/8".parse().expect("a network")],
            between_fetches: hour,
            ..Settings::default()
        };
        settings.limits.whole = hour;
        Self {
            adapter: OauthProviders::new(&settings).expect("an adapter"),
            answers,
            url,
            number: AtomicU64::new(0),
            client_secrets: [Secret::new("hunter2".to_owned()), Secret::new(apples_key())],
            runtime,
        }
    }

    /// The address of a path.
    pub fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.url)
    }

    /// An address below that path, which is answered like it and was never asked before.
    pub fn fresh(&self, path: &str) -> String {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        format!("{}/{path}/{number}", self.url)
    }

    /// What it answers at a path from here on.
    pub fn answers(&self, path: &'static str, status: u16, body: impl Into<Vec<u8>>) {
        locked(&self.answers).insert(path, (status, body.into()));
    }

    /// Where a browser is sent.
    ///
    /// # Errors
    /// Those of the port.
    pub fn authorization_url(&self, connection: &Connection) -> Result<String, ProviderFault> {
        let request = AuthorizationRequest {
            redirect_uri: REDIRECT_URI,
            state: &Secret::new(STATE.to_owned()),
            nonce: &Secret::new(NONCE.to_owned()),
            code_challenge: CHALLENGE,
        };
        let access = self.access(connection);
        let call = self.adapter.authorization_url(access, request);
        self.runtime.block_on(call)
    }

    /// Whom a code stands for.
    ///
    /// # Errors
    /// Those of the port.
    pub fn exchange(
        &self,
        connection: &Connection,
        issuer_of_callback: Option<&str>,
        user: Option<&str>,
    ) -> Result<Exchanged, ProviderFault> {
        let grant = Grant {
            code: &Secret::new("code".to_owned()),
            issuer: issuer_of_callback,
            redirect_uri: REDIRECT_URI,
            code_verifier: &Secret::new("verifier".to_owned()),
            nonce: &Secret::new(NONCE.to_owned()),
            user,
            now: NOW,
        };
        let access = self.access(connection);
        let call = self.adapter.exchange(access, grant);
        self.runtime.block_on(call)
    }

    fn access<'a>(&'a self, connection: &'a Connection) -> ProviderAccess<'a> {
        let [plain, apples] = &self.client_secrets;
        let is_apple = connection.settings.apple.is_some();
        ProviderAccess {
            connection,
            client_secret: if is_apple { apples } else { plain },
        }
    }
}

/// A connection of this name.
///
/// # Panics
/// When it could not be set.
pub fn connection(name: &str, settings: ConnectionSettings) -> Connection {
    let apple = (name == "apple").then(|| AppleKey {
        team_id: "TEAM123456".to_owned(),
        key_id: "KEY1234567".to_owned(),
    });
    let is_microsoft = name == "microsoft";
    let tenants = is_microsoft
        .then(|| TENANT.to_owned())
        .into_iter()
        .collect();
    let connection = Connection {
        callback_id: id(1),
        world: World::new(id(2), Environment::Test),
        name: ProviderName::parse(name).expect("a name"),
        client_id: CLIENT_ID.to_owned(),
        settings: ConnectionSettings {
            apple,
            tenants,
            ..settings
        },
        created_at: NOW,
        updated_at: NOW,
    };
    connection.check().expect("a connection");
    connection
}

fn apples_key() -> String {
    let mut der = hex::decode(P256_PREFIX).expect("hex");
    der.extend([0x42; 32]);
    let body = STANDARD.encode(der);
    let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
    format!("{begin}\n{body}\n{end}\n")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, answers: Answers) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, Arc::clone(&answers)));
    }
}

/// One request after the other, as long as the client keeps the connection.
async fn serve(mut stream: TcpStream, answers: Answers) {
    drop(stream.set_nodelay(true));
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        while let Some((length, path)) = request(&bytes) {
            bytes.drain(..length);
            let answer = answer(&locked(&answers), &path);
            if stream.write_all(&answer).await.is_err() {
                return;
            }
        }
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

/// The length of the first request and its path, when all of it is there.
fn request(bytes: &[u8]) -> Option<(usize, String)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let body = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let body: usize = body.map_or(0, |length| length.trim().parse().expect("a length"));
    let length = end + 4 + body;
    let path = head.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    (bytes.len() >= length).then_some((length, path))
}

fn answer(answers: &HashMap<&'static str, (u16, Vec<u8>)>, path: &str) -> Vec<u8> {
    let first = path.split('/').next().unwrap_or_default();
    let none = (404, Vec::new());
    let (status, body) = answers
        .get(path)
        .or_else(|| answers.get(first))
        .unwrap_or(&none);
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: {length}\r\n\r\n");
    let mut answer = head.into_bytes();
    answer.extend_from_slice(body);
    answer
}
