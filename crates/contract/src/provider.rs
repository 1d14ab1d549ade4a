//! A local identity provider that imitates a real one, and behaves correctly unless told otherwise.
//!
//! It checks what a real one checks: client, redirect URI, code and verifier. A test can corrupt single claims and signatures
//! ([`ProviderServer::spoils`]), whole responses ([`ProviderServer::replies`]), and the clock.

pub mod evil;

mod http;
mod keys;
mod shape;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest;
use aws_lc_rs::encoding::{AsBigEndian, EcPublicKeyUncompressedBin};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use url::{Url, form_urlencoded};
use vestry_domain::provider::{AppleKey, ConnectionSettings, TokenEndpointAuth};
use vestry_domain::{Secret, Timestamp};

pub use http::{Reply, Request};
use keys::Keys;
pub use keys::{Signature, SignsBy};
pub use shape::{Person, Shape};

/// The id of the only registered client.
pub const CLIENT_ID: &str = "client-of-tests";
/// The client's secret, for providers that use one.
const CLIENT_SECRET: &str = "hunter2-client-secret";
/// Apple: the team that registered the client, and the name of its key.
const TEAM: &str = "TEAM123456";
const TEAM_KEY: &str = "KEY1234567";

type Spoil = Box<dyn Fn(&mut Draft) + Send>;

/// The provider; it stops at the end of the test.
pub struct ProviderServer {
    url: String,
    shape: Shape,
    state: Arc<Mutex<State>>,
    accepting: tokio::task::JoinHandle<()>,
}

/// A response of the token endpoint before it is sent.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The header of the id token.
    pub header: Map<String, Value>,
    /// The claims of the id token.
    pub claims: Map<String, Value>,
    /// The signature of the id token.
    pub signature: Signature,
    /// The rest of the response. An `id_token` in it replaces the generated one.
    pub body: Map<String, Value>,
}

/// The parameters that a browser brings back from the provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Callback {
    /// The redirect URI that the browser is sent to.
    pub redirect_uri: String,
    /// The `state` parameter.
    pub state: String,
    /// The code, if the person signed in.
    pub code: Option<String>,
    /// The error, if they did not.
    pub error: Option<String>,
    /// The issuer (RFC 9207).
    pub iss: Option<String>,
    /// Apple: the user's data, at the first sign-in only.
    pub user: Option<String>,
}

impl Callback {
    /// The parameters as a query or form body.
    pub fn form(&self) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("state", &self.state);
        for (name, value) in [
            ("code", &self.code),
            ("error", &self.error),
            ("iss", &self.iss),
            ("user", &self.user),
        ] {
            if let Some(value) = value {
                form.append_pair(name, value);
            }
        }
        form.finish()
    }
}

/// The authorization request for which a code was issued.
struct Granted {
    person: Person,
    redirect_uri: String,
    challenge: String,
    nonce: Option<String>,
}

struct State {
    keys: Keys,
    signs_by: SignsBy,
    /// The person who signed in; `None` if they declined.
    person: Option<Person>,
    codes: HashMap<String, Granted>,
    /// The person whom an access token identifies.
    tokens: HashMap<String, Person>,
    /// Apple: the people who have signed in before.
    seen: HashSet<String>,
    issued: u64,
    clock_shift: i64,
    /// Where the client secret is accepted, unless the shape defines it.
    takes: TokenEndpointAuth,
    spoil: Option<Spoil>,
    replies: HashMap<String, Reply>,
    requests: Vec<Request>,
    team_key: EcdsaKeyPair,
}

impl fmt::Debug for ProviderServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProviderServer({:?} at {})", self.shape, self.url)
    }
}

impl Drop for ProviderServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ProviderServer {
    /// Starts a provider at which [`Person::new("1001", "ada@example.com")`](Person::new) is signed in.
    ///
    /// # Panics
    /// If the machine has no free port or no randomness.
    pub async fn start(shape: Shape) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let team_key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING);
        let (Ok(listener), Ok(team_key)) = (listener, team_key) else {
            panic!("no port or key available for the provider");
        };
        let Ok(address) = listener.local_addr() else {
            panic!("the listener has no address");
        };
        let url = format!("http://{address}");
        let state = Arc::new(Mutex::new(State {
            keys: Keys::generate(1),
            signs_by: SignsBy::Es256,
            person: Some(Person::new("1001", "ada@example.com")),
            codes: HashMap::new(),
            tokens: HashMap::new(),
            seen: HashSet::new(),
            issued: 0,
            clock_shift: 0,
            takes: TokenEndpointAuth::ClientSecretBasic,
            spoil: None,
            replies: HashMap::new(),
            requests: Vec::new(),
            team_key,
        }));
        let accepting = tokio::spawn({
            let (url, state) = (url.clone(), Arc::clone(&state));
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, shape, url.clone(), Arc::clone(&state)));
                }
            }
        });
        Self {
            url,
            shape,
            state,
            accepting,
        }
    }

    /// The provider's origin: scheme, host and port.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The App settings that connect to this provider instead of the real one.
    pub fn settings(&self) -> ConnectionSettings {
        let paths = self.shape.paths();
        let at = |path: &str| Some(format!("{}{path}", self.url));
        let known = ConnectionSettings {
            issuer: Some(self.shape.issuer(&self.url)),
            ..ConnectionSettings::default()
        };
        match self.shape {
            Shape::OpenId | Shape::Microsoft => known,
            Shape::Apple => ConnectionSettings {
                apple: Some(AppleKey {
                    team_id: TEAM.to_owned(),
                    key_id: TEAM_KEY.to_owned(),
                }),
                ..known
            },
            Shape::GitHub | Shape::Discord => ConnectionSettings {
                authorization_endpoint: at(paths.authorize),
                token_endpoint: at(paths.token),
                userinfo_endpoint: at(paths.userinfo),
                ..ConnectionSettings::default()
            },
        }
    }

    /// The client secret; for Apple, the private key in PEM.
    pub fn client_secret(&self) -> Secret<String> {
        if self.shape != Shape::Apple {
            return Secret::new(CLIENT_SECRET.to_owned());
        }
        let state = self.state();
        let pkcs8 = state.team_key.to_pkcs8v1();
        let body = pkcs8.map_or_else(|_no_key| String::new(), |der| STANDARD.encode(der.as_ref()));
        let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
        Secret::new(format!("{begin}\n{body}\n{end}\n"))
    }

    /// Signs this person in from now on; `None` declines every request.
    pub fn signs_in(&self, person: Option<Person>) {
        self.state().person = person;
    }

    /// Signs tokens with this algorithm from now on.
    pub fn signs_by(&self, by: SignsBy) {
        let mut state = self.state();
        state.keys.prepare(by);
        state.signs_by = by;
    }

    /// Replaces the keys with new ones under new names.
    pub fn rotates_its_keys(&self) {
        let mut state = self.state();
        let mut next = state.keys.next();
        next.prepare(state.signs_by);
        state.keys = next;
    }

    /// Replaces the keys with new ones under the same names.
    pub fn replaces_its_keys(&self) {
        let mut state = self.state();
        let mut next = state.keys.replaced();
        next.prepare(state.signs_by);
        state.keys = next;
    }

    /// Registers the client of a generic issuer for this method, without announcing it in the discovery document.
    pub fn takes_the_secret_by(&self, method: TokenEndpointAuth) {
        self.state().takes = method;
    }

    /// Shifts the provider's clock by this many seconds.
    pub fn shifts_its_clock(&self, seconds: i64) {
        self.state().clock_shift = seconds;
    }

    /// Sets the provider's clock to this moment, from which it advances: for a service whose time the test controls.
    pub fn sets_its_clock(&self, moment: Timestamp) {
        self.shifts_its_clock(moment.unix() - machine_time());
    }

    /// Passes every further response of the token endpoint through this function.
    pub fn spoils(&self, spoil: impl Fn(&mut Draft) + Send + 'static) {
        self.state().spoil = Some(Box::new(spoil));
    }

    /// Stops changing responses of the token endpoint.
    pub fn spoils_nothing(&self) {
        self.state().spoil = None;
    }

    /// Replaces every response at a path; `None` restores the correct ones.
    pub fn replies(&self, path: &str, reply: Option<Reply>) {
        let mut state = self.state();
        match reply {
            Some(reply) => state.replies.insert(path.to_owned(), reply),
            None => state.replies.remove(path),
        };
    }

    /// The path of the discovery document.
    pub const fn discovery_path(&self) -> &'static str {
        self.shape.paths().discovery
    }

    /// The path of the token endpoint.
    pub const fn token_path(&self) -> &'static str {
        self.shape.paths().token
    }

    /// The path of the userinfo endpoint.
    pub const fn userinfo_path(&self) -> &'static str {
        self.shape.paths().userinfo
    }

    /// The path of the key set.
    pub const fn keys_path(&self) -> &'static str {
        self.shape.paths().keys
    }

    /// Overrides a value of the discovery document.
    pub fn says_in_its_document(&self, member: &str, value: Value) {
        let mut document = self.shape.document(&self.url);
        if let Some(members) = document.as_object_mut() {
            members.insert(member.to_owned(), value);
        }
        self.replies(self.discovery_path(), Some(Reply::json(200, &document)));
    }

    /// A correctly signed token with this header and these claims.
    pub fn token(&self, header: &Map<String, Value>, claims: &Map<String, Value>) -> String {
        let state = self.state();
        let by = state.signs_by;
        state.keys.token(header, claims, by, Signature::Right)
    }

    /// Every request received.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// The number of requests to a path.
    pub fn asked(&self, path: &str) -> usize {
        let state = self.state();
        state
            .requests
            .iter()
            .filter(|request| request.path == path)
            .count()
    }

    /// Authorizes a request directly, without a browser's round trip, and returns the parameters that the browser would bring back.
    ///
    /// # Panics
    /// If the provider would show the person an error instead of redirecting the browser.
    pub fn answer(&self, address: &str) -> Callback {
        let Ok(address) = Url::parse(address) else {
            panic!("{address} is not a URL");
        };
        let expected = format!("{}{}", self.url, self.shape.paths().authorize);
        let (page, _) = address.as_str().split_once('?').unwrap_or_default();
        assert_eq!(page, expected, "the browser is sent to the wrong page");
        let query = address.query().unwrap_or_default();
        match self.state().authorize(self.shape, &self.url, query) {
            Ok(callback) => callback,
            Err(problem) => panic!("the provider does not redirect the browser back: {problem}"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(mut stream: TcpStream, shape: Shape, url: String, state: Arc<Mutex<State>>) {
    let Some(request) = http::read(&mut stream).await else {
        return;
    };
    let reply = locked(&state).reply(shape, &url, request);
    http::write(&mut stream, reply).await;
}

impl State {
    fn reply(&mut self, shape: Shape, url: &str, request: Request) -> Reply {
        let (paths, path) = (shape.paths(), request.path.clone());
        self.requests.push(request.clone());
        if let Some(reply) = self.replies.get(&path) {
            return reply.clone();
        }
        if path == paths.authorize {
            self.page(shape, url, &request)
        } else if path == paths.token {
            self.token(shape, url, &request)
        } else if path == paths.userinfo || path == paths.emails {
            self.profile(shape, url, &request)
        } else if path == paths.discovery && shape.has_id_tokens() {
            Reply::json(200, &shape.document(url))
        } else if path == paths.keys && shape.has_id_tokens() {
            let keys = self.keys.public().into_iter();
            let keys: Vec<_> = keys
                .map(|key| shape.with_issuer_of_keys(key, url))
                .collect();
            Reply::json(200, &json!({ "keys": keys }))
        } else {
            Reply::json(404, &json!({"message": "Not Found"}))
        }
    }

    /// The authorization page. The person is already signed in and consents at once.
    fn page(&mut self, shape: Shape, url: &str, request: &Request) -> Reply {
        let callback = match self.authorize(shape, url, &request.query) {
            Ok(callback) => callback,
            Err(problem) => return Reply::Says(400, String::new(), problem),
        };
        if shape != Shape::Apple {
            let to = format!("{}?{}", callback.redirect_uri, callback.form());
            return Reply::redirect(302, &to);
        }
        let fields: String = form_urlencoded::parse(callback.form().as_bytes())
            .map(|(name, value)| {
                let value = value.replace('&', "&amp;").replace('"', "&quot;");
                format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">")
            })
            .collect();
        let page = format!(
            "<!doctype html><form method=\"post\" action=\"{}\">{fields}</form><script>document.forms[0].submit()</script>",
            callback.redirect_uri
        );
        Reply::Says(
            200,
            "Content-Type: text/html; charset=utf-8\r\n".to_owned(),
            page,
        )
    }

    /// The parameters for the redirect, or the error shown to the person.
    fn authorize(&mut self, shape: Shape, url: &str, query: &str) -> Result<Callback, String> {
        let asked = fields(query);
        let of = |name: &str| asked.get(name).cloned();
        let is = |name: &str, expected: &str| of(name).as_deref() == Some(expected);
        let demand = |holds: bool, what: &str| holds.then_some(()).ok_or_else(|| what.to_owned());
        demand(is("client_id", CLIENT_ID), "client_id")?;
        demand(is("response_type", "code"), "response_type")?;
        demand(is("code_challenge_method", "S256"), "code_challenge_method")?;
        demand(
            shape != Shape::Apple || is("response_mode", "form_post"),
            "response_mode",
        )?;
        let scopes = of("scope").unwrap_or_default();
        let is_open_id = scopes.split(' ').any(|scope| scope == "openid");
        demand(is_open_id == shape.has_id_tokens(), "scope")?;
        let callback = Callback {
            redirect_uri: of("redirect_uri").ok_or("redirect_uri")?,
            state: of("state").ok_or("state")?,
            iss: (shape == Shape::OpenId).then(|| url.to_owned()),
            ..Callback::default()
        };
        let Some(person) = self.person.clone() else {
            let error = Some("access_denied".to_owned());
            return Ok(Callback { error, ..callback });
        };
        let is_first = self.seen.insert(person.subject.clone());
        let user = (shape == Shape::Apple && is_first).then(|| {
            let (first, last) = person.name.split_once(' ').unwrap_or_default();
            json!({"name": {"firstName": first, "lastName": last}, "email": person.email})
                .to_string()
        });
        let code = self.next("code");
        let granted = Granted {
            person,
            redirect_uri: callback.redirect_uri.clone(),
            challenge: of("code_challenge").ok_or("code_challenge")?,
            nonce: of("nonce"),
        };
        self.codes.insert(code.clone(), granted);
        Ok(Callback {
            code: Some(code),
            user,
            ..callback
        })
    }

    fn next(&mut self, what: &str) -> String {
        self.issued += 1;
        format!("{what}-{}-of-tests", self.issued)
    }

    fn token(&mut self, shape: Shape, url: &str, request: &Request) -> Reply {
        match self.exchange(shape, url, request) {
            Ok(answer) => Reply::json(200, &Value::Object(answer)),
            Err(code) => {
                let (status, body) = shape.refusal(code);
                Reply::json(status, &body)
            }
        }
    }

    fn exchange(
        &mut self,
        shape: Shape,
        url: &str,
        request: &Request,
    ) -> Result<Map<String, Value>, &'static str> {
        let asked = fields(&request.body);
        let of = |name: &str| asked.get(name).map(String::as_str);
        if !self.knows_client(shape, url, request, &asked) {
            return Err("invalid_client");
        }
        if of("grant_type") != Some("authorization_code") {
            return Err("unsupported_grant_type");
        }
        // GitHub responds with a form unless JSON is requested.
        let accepts = request.header("accept").unwrap_or_default();
        if shape == Shape::GitHub && accepts != "application/json" {
            return Err("not_acceptable");
        }
        let granted = of("code").and_then(|code| self.codes.remove(code));
        let granted = granted.ok_or("invalid_grant")?;
        let verifier = of("code_verifier").unwrap_or_default();
        let challenge = digest::digest(&digest::SHA256, verifier.as_bytes());
        let is_proved = URL_SAFE_NO_PAD.encode(challenge.as_ref()) == granted.challenge;
        if of("redirect_uri") != Some(&granted.redirect_uri) || !is_proved {
            return Err("invalid_grant");
        }
        Ok(self.tokens_for(shape, url, granted))
    }

    fn tokens_for(&mut self, shape: Shape, url: &str, granted: Granted) -> Map<String, Value> {
        let access_token = self.next("access-token");
        let mut draft = Draft {
            header: keys::header(self.signs_by, &self.keys.id(self.signs_by)),
            claims: shape.claims(url, &granted.person),
            signature: Signature::Right,
            body: shape.tokens(&access_token),
        };
        let now = machine_time() + self.clock_shift;
        draft.claims.insert("aud".to_owned(), json!(CLIENT_ID));
        draft.claims.insert("iat".to_owned(), json!(now));
        draft.claims.insert("exp".to_owned(), json!(now + 3_600));
        if let Some(nonce) = granted.nonce {
            draft.claims.insert("nonce".to_owned(), json!(nonce));
        }
        self.tokens.insert(access_token, granted.person);
        if let Some(spoil) = &self.spoil {
            spoil(&mut draft);
        }
        if shape.has_id_tokens() && !draft.body.contains_key("id_token") {
            let (header, claims) = (&draft.header, &draft.claims);
            let token = self
                .keys
                .token(header, claims, self.signs_by, draft.signature);
            draft.body.insert("id_token".to_owned(), json!(token));
        }
        draft.body
    }

    /// Whether the request authenticates the registered client: by HTTP Basic, in the form, or with a secret signed by its key.
    fn knows_client(
        &self,
        shape: Shape,
        url: &str,
        request: &Request,
        asked: &HashMap<String, String>,
    ) -> bool {
        if let Some(login) = request.header("authorization") {
            let expected = STANDARD.encode(format!("{CLIENT_ID}:{CLIENT_SECRET}"));
            let takes_it = match shape {
                Shape::OpenId => self.takes == TokenEndpointAuth::ClientSecretBasic,
                Shape::Microsoft => true,
                Shape::Apple | Shape::GitHub | Shape::Discord => false,
            };
            return takes_it && login == format!("Basic {expected}");
        }
        let of = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
        if of("client_id") != CLIENT_ID {
            return false;
        }
        match shape {
            Shape::Apple => self.is_signed_by_team(of("client_secret"), url),
            Shape::OpenId => {
                self.takes == TokenEndpointAuth::ClientSecretPost
                    && of("client_secret") == CLIENT_SECRET
            }
            Shape::Microsoft | Shape::GitHub | Shape::Discord => {
                of("client_secret") == CLIENT_SECRET
            }
        }
    }

    /// Apple's check of a client secret, by a library that did not create it.
    fn is_signed_by_team(&self, secret: &str, url: &str) -> bool {
        use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
        let public: Result<EcPublicKeyUncompressedBin<'_>, _> =
            self.team_key.public_key().as_be_bytes();
        let Ok(public) = public else {
            return false;
        };
        let mut rules = Validation::new(Algorithm::ES256);
        rules.set_required_spec_claims(&["iss", "aud", "exp", "sub"]);
        rules.set_audience(&[url]);
        // Checked below, by this provider's clock.
        rules.validate_exp = false;
        rules.set_issuer(&[TEAM]);
        rules.sub = Some(CLIENT_ID.to_owned());
        let key = DecodingKey::from_ec_der(public.as_ref());
        let Ok(token) = decode::<Map<String, Value>>(secret, &key, &rules) else {
            return false;
        };
        let moment = |name: &str| token.claims.get(name).and_then(Value::as_i64);
        let (Some(issued), Some(expires)) = (moment("iat"), moment("exp")) else {
            return false;
        };
        let is_over = expires <= machine_time() + self.clock_shift;
        // Six months; Apple specifies 15,777,000 seconds.
        token.header.kid.as_deref() == Some(TEAM_KEY) && !is_over && expires - issued <= 15_777_000
    }

    fn profile(&self, shape: Shape, url: &str, request: &Request) -> Reply {
        let login = request.header("authorization").unwrap_or_default();
        let token = login.strip_prefix("Bearer ").unwrap_or_default();
        let Some(person) = self.tokens.get(token) else {
            return Reply::json(401, &json!({"message": "Bad credentials"}));
        };
        if shape == Shape::GitHub && request.header("user-agent").is_none() {
            let why = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.";
            return Reply::Says(403, String::new(), why.to_owned());
        }
        let body = if request.path == shape.paths().emails {
            Shape::emails(person)
        } else {
            shape.profile(url, person)
        };
        Reply::json(200, &body)
    }
}

fn fields(form: &str) -> HashMap<String, String> {
    form_urlencoded::parse(form.as_bytes())
        .into_owned()
        .collect()
}

/// The current Unix time. A provider uses the machine's clock, whatever clock a test sets for the service.
fn machine_time() -> i64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a third party's clock, which no test may set through our ports"
    )]
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}
