//! An identity provider that responds as the input says, and the adapter that talks to it.
//!
//! They use HTTP, as in the service, because the port does not expose it. Both run on one thread, so that nothing depends on timing.

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
/// The nonce that an id token must contain.
pub const NONCE: &str = "nonce-of-the-flow";
/// The redirect URI.
pub const REDIRECT_URI: &str = "https://id.example.com/v1/auth/oauth/callback/oauthcb_1";
/// The state.
pub const STATE: &str = "state-of-the-flow";
/// The PKCE challenge; nothing here compares it with a verifier.
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// The Microsoft tenant whose claims the App trusts.
pub const TENANT: &str = "9122040d-6c67-4c5b-b112-36a304b66dad";

/// Response statuses, mostly success, which has the most to parse.
const STATUSES: [u16; 16] = [
    200, 200, 200, 200, 200, 200, 200, 201, 302, 400, 401, 403, 404, 429, 500, 503,
];
/// The ASN.1 wrapper of a P-256 private key (RFC 5958, RFC 5915).
const P256_PREFIX: &str = "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420";

/// The status selected by a number.
pub fn status(number: usize) -> u16 {
    STATUSES[number % STATUSES.len()]
}

/// Responses by path without the leading slash. An unlisted path gets the response of its first segment.
type Answers = Arc<Mutex<HashMap<&'static str, (u16, Vec<u8>)>>>;

/// The provider and its client.
pub struct Provider {
    adapter: OauthProviders,
    answers: Answers,
    url: String,
    /// A suffix for addresses whose responses would be cached: each is requested once.
    number: AtomicU64,
    /// For Apple, a key that signs the secret.
    client_secrets: [Secret<String>; 2],
    runtime: Runtime,
}

impl Provider {
    /// Starts a provider that responds with 404.
    ///
    /// # Panics
    /// If the machine has no free port.
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

    /// The URL of a path.
    pub fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.url)
    }

    /// An unused URL below that path, with the same response.
    pub fn fresh(&self, path: &str) -> String {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        format!("{}/{path}/{number}", self.url)
    }

    /// Sets the response at a path.
    pub fn answers(&self, path: &'static str, status: u16, body: impl Into<Vec<u8>>) {
        locked(&self.answers).insert(path, (status, body.into()));
    }

    /// The URL that a browser is sent to.
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

    /// The identity for a code.
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
/// If the settings are rejected.
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

/// Serves requests one after the other while the client keeps the connection.
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

/// The length and path of the first request, once it is complete.
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
