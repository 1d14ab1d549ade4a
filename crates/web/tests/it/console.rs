//! Operators in a browser: joining, signing in, the second factor, and what protects their forms (OPR-2 to OPR-10, CON-2 to CON-4). Forms
//! are sent as a browser without scripts does (CON-10).

mod attacks;
mod company;
mod races;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;
use vestry_app::operators::{
    ConsoleRequest, Handover, JoinError, OperatorChange, OperatorLookup, SecondFactor,
};
use vestry_app::{Principal, Refusal, Service};
use vestry_contract::browser::Browser as Authenticator;
use vestry_contract::race::{count, race};
use vestry_contract::rng;
use vestry_domain::audit::control::{ControlEntry, ControlFilter};
use vestry_domain::ids::{AppId, UserId};
use vestry_domain::operator::{Grants, Role};
use vestry_domain::timestamp::Seconds;
use vestry_domain::totp;
use vestry_domain::{Environment, Secret, World};
use vestry_ports::store::Store;

use crate::harness::{Api, CONSOLE, Connection, Listening, Options, Raw, START, on_both};

on_both! { behind_a_proxy;
    an_owner_joins_and_signs_in
    a_passkey_alone_joins_signs_in_and_steps_up
    passkeys_of_others_open_nothing
    a_lockout_leaves_the_passkey
    links_work_once_and_in_their_time
    cn_r1_opr_4_of_parallel_uses_of_a_link_one_succeeds
    cn_r1_opr_3_an_owner_who_can_sign_in_always_remains
    cn_r1_opr_3_parallel_removals_leave_a_second_factor
    one_factor_opens_nothing
    a_stale_session_changes_no_factor
    the_token_changes_with_each_proof
    a_change_of_an_operator_ends_the_sessions
    unknown_disabled_and_uninvited_addresses_look_alike
    a_mailed_code_and_an_invitation_sign_in
    links_end_with_their_purpose
    sessions_with_one_factor_give_way
    guesses_are_limited
    forms_are_limited_by_address
    forms_are_limited_by_session
    mailed_invitations_are_limited
    an_admin_sees_only_the_roles_in_the_own_apps
    lost_factors_are_replaced
    forms_of_others_change_nothing
    every_response_has_the_headers
    what_operators_do_is_recorded
    users_and_keys_of_apps_open_nothing
}

/// The browsers reach the console through a trusted proxy.
fn behind_a_proxy() -> Options {
    let mut options = Options::default();
    options.web.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()].into();
    options
}

const PASSWORD: &str = "violet-harbour-77-lantern";

/// A browser with its cookies.
#[derive(Clone)]
pub(crate) struct Browser<'a> {
    api: &'a Api,
    port: u16,
    cookies: BTreeMap<String, String>,
    site: &'static str,
    /// What the proxy reports as the client address.
    from: String,
}

/// A page or a redirect.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) html: String,
}

impl Page {
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut headers = self.headers.iter();
        headers
            .find(|(own, _)| own == name)
            .map_or("", |(_, value)| value)
    }

    #[track_caller]
    pub(crate) fn leads_to(&self, path: &str) {
        assert_eq!(
            (self.status, self.header("location")),
            (303, path),
            "{}",
            self.html
        );
    }

    #[track_caller]
    pub(crate) fn shows(self, status: u16, text: &str) -> Self {
        assert_eq!(self.status, status, "{}", self.html);
        assert!(self.html.contains(text), "{text} in {}", self.html);
        self
    }

    /// The value of a hidden field.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> &str {
        let (_, rest) = self
            .html
            .split_once(&format!("name=\"{name}\" value=\""))
            .expect("a field");
        rest.split_once('"').unwrap().0
    }

    /// The page without what differs by request.
    fn normalised(&self) -> String {
        let token = self.field("form_token");
        self.html.replace(token, "TOKEN")
    }
}

impl<'a> Browser<'a> {
    pub(crate) fn new(api: &'a Api) -> Self {
        Self {
            api,
            port: api.port(),
            cookies: BTreeMap::new(),
            site: "same-origin",
            from: "192.0.2.7".to_owned(),
        }
    }

    fn from(api: &'a Api, address: &str) -> Self {
        Self {
            from: address.to_owned(),
            ..Self::new(api)
        }
    }

    /// The same browser, whose requests go to another process.
    fn at(&self, process: &Listening) -> Self {
        Self {
            port: process.port(),
            ..self.clone()
        }
    }

    async fn send(&mut self, method: &str, path: &str, form: Option<&[(&str, &str)]>) -> Page {
        let head = format!(
            "Host: console.example.com\r\nSec-Fetch-Site: {}\r\n",
            self.site
        );
        self.send_with(method, path, &head, form).await
    }

    /// The same with other header lines about the origin.
    async fn send_with(
        &mut self,
        method: &str,
        path: &str,
        head: &str,
        form: Option<&[(&str, &str)]>,
    ) -> Page {
        let body = form.map(encoded).unwrap_or_default();
        let cookies = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{head}Cookie: {cookies}\r\n\
             X-Forwarded-For: {}\r\nUser-Agent: Browser/1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            self.from,
            body.len(),
        );
        let mut connection = Connection::to(self.port).await;
        connection.send(request.as_bytes()).await;
        let Raw {
            status,
            headers,
            body,
        } = connection.receive().await.expect("a response");
        for (_, set) in headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (pair, rest) = set.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            for attribute in ["Path=/", "HttpOnly", "SameSite=Lax", "Secure"] {
                assert!(rest.contains(attribute), "{set}");
            }
            assert!(name.starts_with("__Host-"), "{set}");
            match rest.contains("Max-Age=0") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        Page {
            status,
            headers,
            html: String::from_utf8(body).unwrap(),
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Page {
        self.send("GET", path, None).await
    }

    pub(crate) async fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Page {
        self.send("POST", path, Some(form)).await
    }

    /// Opens a page and posts a form of it.
    pub(crate) async fn fill(&mut self, page: &str, action: &str, fields: &[(&str, &str)]) -> Page {
        let shown = self.get(page).await;
        assert_eq!(shown.status, 200, "{page}: {}", shown.html);
        let token = shown.field("form_token").to_owned();
        let mut form = vec![("form_token", token.as_str())];
        form.extend(fields);
        self.post(action, &form).await
    }

    fn session(&self) -> Option<&String> {
        self.cookies.get("__Host-vestry_console")
    }

    /// Uses a link, without setting up factors.
    async fn join(&mut self, url: &str) -> Page {
        let path = url.strip_prefix(CONSOLE).unwrap();
        let link = path.split_once("token=").unwrap().1;
        self.fill(path, "/console/join", &[("link", link)]).await
    }

    /// Sets a password and an authenticator app up; returns its seed.
    async fn enrol(&mut self) -> Vec<u8> {
        let password = [("password", PASSWORD)];
        let set = self
            .fill("/console/me", "/console/me/password", &password)
            .await;
        set.leads_to("/console/me");
        let shown = self
            .fill("/console/me", "/console/me/totp", &[])
            .await
            .shows(200, "shown only once");
        let (_, rest) = shown.html.split_once("<code>").unwrap();
        let secret = rest.split_once("</code>").unwrap().0;
        let seed = data_encoding::BASE32_NOPAD
            .decode(secret.as_bytes())
            .unwrap();
        let code = code(self.api, &seed);
        let form = [("form_token", shown.field("form_token")), ("code", &code)];
        self.post("/console/me/totp/verify", &form)
            .await
            .leads_to("/console/");
        seed
    }

    async fn sign_in(&mut self, email: &str, password: &str) -> Page {
        let fields = [
            ("email", email),
            ("password", password),
            ("return", "/console/"),
        ];
        self.fill("/console/sign-in", "/console/sign-in", &fields)
            .await
    }

    /// Does what the script does for a form with `data-passkey`: gets options and has them answered; returns the form.
    async fn ask(
        &mut self,
        page: &str,
        action: &str,
        authenticator: &mut Authenticator,
    ) -> Vec<(&'static str, String)> {
        let shown = self.get(page).await;
        let marked = format!("action=\"{action}\" data-passkey=\"");
        let (_, form) = shown.html.split_once(&marked).expect("a form for passkeys");
        let (kind, rest) = form.split_once("\" data-options=\"").unwrap();
        let path = rest.split_once('"').unwrap().0;
        let token = shown.field("form_token").to_owned();
        let fields = [("form_token", token.as_str()), ("kind", "platform")];
        let options = self.post(path, &fields).await.shows(200, "challenge");
        let options: Value = serde_json::from_str(&options.html).unwrap();
        let credential = match kind {
            "create" => authenticator.create(&options).await,
            _ => authenticator.get(&options).await,
        };
        let credential = credential.to_string();
        vec![("form_token", token), ("credential", credential)]
    }

    async fn passkey(&mut self, page: &str, action: &str, by: &mut Authenticator) -> Page {
        let form = self.ask(page, action, by).await;
        let form = form.iter().map(|(name, value)| (*name, value.as_str()));
        self.post(action, &form.collect::<Vec<_>>()).await
    }

    /// Creates a passkey, which is the operator's first factor.
    async fn enrol_passkey(&mut self, authenticator: &mut Authenticator) {
        let created = self.passkey("/console/me", "/console/me/passkeys", authenticator);
        let created = created.await;
        created.leads_to("/console/step-up?return=%2Fconsole%2F");
        let page = created.header("location").to_owned();
        let proved = self.passkey(&page, "/console/step-up", authenticator);
        proved.await.leads_to("/console/");
    }

    pub(crate) async fn second_factor(&mut self, code: &str) -> Page {
        let fields = [("code", code), ("return", "/console/me")];
        self.fill("/console/step-up", "/console/step-up", &fields)
            .await
    }
}

pub(crate) fn encoded(form: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in form {
        if !text.is_empty() {
            text.push('&');
        }
        write!(text, "{name}=").unwrap();
        for byte in value.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(byte)),
                other => write!(text, "%{other:02X}").unwrap(),
            }
        }
    }
    text
}

/// The code that an authenticator app shows now, in a step of its own.
pub(crate) fn code(api: &Api, seed: &[u8]) -> String {
    api.pass(30);
    let step = api.service.machine_time().unix().div_euclid(30);
    totp::code_at(seed, step).expose().clone()
}

pub(crate) fn grants(role: Role, app: Option<AppId>) -> Grants {
    Grants::new(role, app.map(|app| vec![app])).unwrap()
}

async fn link(api: &Api, email: &str, grants: Grants) -> String {
    let made = api
        .service
        .invite_operator(Principal::cli(), email, grants, Handover::Shown);
    made.await.unwrap().url.expose().clone()
}

/// An operator with both factors who is signed in, with the seed of the authenticator app.
pub(crate) async fn operator<'a>(
    api: &'a Api,
    email: &str,
    grants: Grants,
) -> (Browser<'a>, Vec<u8>) {
    let url = link(api, email, grants).await;
    let mut browser = Browser::new(api);
    browser.join(&url).await.leads_to("/console/");
    let seed = browser.enrol().await;
    (browser, seed)
}

/// An operator who used a link; the id.
pub(crate) async fn joined(api: &Api, email: &str, role: &str, app: Option<AppId>) -> String {
    let url = link(api, email, grants(role.parse().unwrap(), app)).await;
    let token = Secret::new(url.split_once("token=").unwrap().1.to_owned());
    let joined = api.service.use_operator_link(&request(), &token).await;
    joined.unwrap().user_id.to_string()
}

/// An operator with both factors, as a principal.
pub(crate) async fn principal(api: &Api, email: &str, role: Role, app: Option<AppId>) -> Principal {
    let (browser, _) = operator(api, email, grants(role, app)).await;
    let token = Secret::new(browser.session().unwrap().to_owned());
    let session = api.service.operator_session(&request(), &token).await;
    session.unwrap().principal().unwrap()
}

async fn id_of(api: &Api, email: &str) -> UserId {
    let lookup = OperatorLookup::Email(email.to_owned());
    let found = api.service.find_operator(Principal::cli(), &lookup).await;
    found.unwrap().operator.user_id
}

async fn an_owner_joins_and_signs_in(api: &Api) {
    let url = link(api, "Ann@example.com", grants(Role::Owner, None)).await;
    let path = url.strip_prefix(CONSOLE).unwrap();
    let mut browser = Browser::new(api);
    browser
        .get("/console/")
        .await
        .leads_to("/console/sign-in?return=%2Fconsole%2F");
    // Programs that look at links in mails do not use them up.
    for _ in 0..3 {
        browser.get(path).await.shows(200, "Ann@example.com");
    }
    browser.join(&url).await.leads_to("/console/");
    browser.get("/console/").await.leads_to("/console/me");
    browser
        .get("/console/me")
        .await
        .shows(200, "Set up sign-in");
    let seed = browser.enrol().await;
    browser.get("/console/").await.shows(200, "Demo");
    let out = browser.fill("/console/", "/console/sign-out", &[]).await;
    out.leads_to("/console/sign-in");
    assert_eq!(browser.session(), None);

    // The address counts without regard to case.
    browser
        .sign_in("ann@EXAMPLE.com", PASSWORD)
        .await
        .leads_to("/console/");
    browser
        .get("/console/")
        .await
        .leads_to("/console/step-up?return=%2Fconsole%2F");
    browser
        .second_factor("123456")
        .await
        .shows(400, "wrong or was used already");
    let code = code(api, &seed);
    browser.second_factor(&code).await.leads_to("/console/me");
    browser.get("/console/").await.shows(200, "Demo");
    browser
        .second_factor(&code)
        .await
        .shows(400, "wrong or was used already");

    // An operator sees the Apps of the own roles.
    let other = api
        .service
        .create_app(Principal::cli(), "Secret project")
        .await
        .unwrap();
    let (mut viewer, _) =
        operator(api, "ben@example.com", grants(Role::Viewer, Some(other.id))).await;
    let start = viewer.get("/console/").await.shows(200, "Secret project");
    assert!(!start.html.contains("Demo"), "OPR-11");
}

const SIGN_IN: &str = "/console/sign-in";
const BY_PASSKEY: &str = "/console/sign-in/passkey";

async fn a_passkey_alone_joins_signs_in_and_steps_up(api: &Api) {
    let url = link(api, "ann@example.com", grants(Role::Owner, None)).await;
    let (mut browser, mut laptop) = (Browser::new(api), Authenticator::at(CONSOLE));
    browser.join(&url).await.leads_to("/console/");
    browser.enrol_passkey(&mut laptop).await;
    browser.get("/console/").await.shows(200, "Demo");
    browser.fill("/console/", "/console/sign-out", &[]).await;

    let signed_in = browser.passkey(SIGN_IN, BY_PASSKEY, &mut laptop).await;
    signed_in.leads_to("/console/");
    browser.get("/console/").await.shows(200, "Demo");

    // After ten minutes the factors stay as they are, until the passkey is used again (OPR-6).
    api.pass(601);
    let shown = browser.get("/console/me").await;
    assert!(!shown.html.contains("data-passkey"), "{}", shown.html);
    let token = shown.field("form_token");
    let empty = [("form_token", token)];
    let stale = browser.post("/console/me/passkeys", &empty).await;
    stale.leads_to("/console/step-up?return=%2Fconsole%2Fme");
    let proved = browser.passkey("/console/step-up", "/console/step-up", &mut laptop);
    proved.await.leads_to("/console/");

    // A second one, after which the first can go. The last one stays.
    let mut key = Authenticator::at(CONSOLE);
    let created = browser.passkey("/console/me", "/console/me/passkeys", &mut key);
    created.await.leads_to("/console/me");
    let ann = id_of(api, "ann@example.com").await;
    let store = api.store().await;
    let mut read = store.read().await.unwrap();
    let passkeys = read
        .passkeys()
        .of_user(&World::DEPLOYMENT, ann)
        .await
        .unwrap();
    drop(read);
    let [first, second] = [0, 1].map(|at| passkeys[at].id.to_string());
    let remove = "/console/me/passkeys/remove";
    let first = [("id", first.as_str())];
    let removed = browser.fill("/console/me", remove, &first).await;
    removed.leads_to("/console/me");
    let signed_in = browser.passkey(SIGN_IN, BY_PASSKEY, &mut key).await;
    signed_in.leads_to("/console/");
    let last = [("id", second.as_str())];
    let last = browser.fill("/console/me", remove, &last).await;
    last.shows(400, "this is your last second factor");
    let gone = browser.passkey(SIGN_IN, BY_PASSKEY, &mut laptop).await;
    gone.shows(400, "This passkey is unknown here");
}

/// OPR-8: a passkey that is unknown, of another page or of another operator.
async fn passkeys_of_others_open_nothing(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let (mut ben, _) = operator(api, "ben@example.com", grants(Role::Viewer, None)).await;
    let (mut of_ann, mut of_ben) = (Authenticator::at(CONSOLE), Authenticator::at(CONSOLE));
    for (browser, authenticator) in [(&mut ann, &mut of_ann), (&mut ben, &mut of_ben)] {
        let created = browser.passkey("/console/me", "/console/me/passkeys", authenticator);
        created.await.leads_to("/console/me");
    }
    // The answer to a challenge for any operator, presented in the session of another one.
    let mut stranger = Browser::new(api);
    let answer = stranger.ask(SIGN_IN, BY_PASSKEY, &mut of_ben).await;
    let answer = answer.iter().find(|(name, _)| *name == "credential");
    let answer = answer.unwrap().1.clone();
    for credential in [answer.as_str(), "{}", "null", "[]", "x"] {
        let before = ann.session().cloned();
        let form = [("credential", credential)];
        let proved = ann.fill("/console/step-up", "/console/step-up", &form);
        assert_eq!(proved.await.status, 400, "{credential}");
        assert_eq!(ann.session(), before.as_ref());
    }
    for credential in ["{}", "null", "[]", "x"] {
        let form = [("credential", credential)];
        let signed_in = stranger.fill(SIGN_IN, BY_PASSKEY, &form);
        assert_eq!(signed_in.await.status, 400, "{credential}");
        assert_eq!(stranger.session(), None);
    }
    // A page of another origin asked for it.
    let mut options = Browser::new(api);
    of_ben.go_to("https://evil.console.example.com");
    let foreign = options.passkey(SIGN_IN, BY_PASSKEY, &mut of_ben).await;
    foreign.shows(400, "This passkey is unknown here");
    assert_eq!(options.session(), None);
    ben.get("/console/").await.shows(200, "Apps");
}

/// Attack 24: wrong guesses lock the password of an operator, not the passkey.
async fn a_lockout_leaves_the_passkey(api: &Api) {
    let (mut browser, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let mut laptop = Authenticator::at(CONSOLE);
    let created = browser.passkey("/console/me", "/console/me/passkeys", &mut laptop);
    created.await.leads_to("/console/me");
    let mut attacker = Browser::new(api);
    let mut tries = 0;
    while attacker
        .sign_in("ann@example.com", "not-the-password-1")
        .await
        .status
        != 429
    {
        tries += 1;
        assert!(tries < 25, "guesses of the password are not limited");
    }
    let mut other = Browser::new(api);
    let locked = other.sign_in("ann@example.com", PASSWORD).await;
    locked.shows(429, "Please wait");
    let signed_in = other.passkey(SIGN_IN, BY_PASSKEY, &mut laptop).await;
    signed_in.leads_to("/console/");
    other.get("/console/").await.shows(200, "Apps");
}

async fn links_work_once_and_in_their_time(api: &Api) {
    let invalid = "This link is not valid";
    let mut browser = Browser::new(api);
    let url = link(api, "ann@example.com", grants(Role::Owner, None)).await;
    browser.join(&url).await.leads_to("/console/");
    let path = url.strip_prefix(CONSOLE).unwrap();
    let used = browser.get(path).await.shows(400, invalid);
    let (late, lasting) = (
        link(api, "ben@example.com", grants(Role::Owner, None)).await,
        link(api, "eve@example.com", grants(Role::Viewer, None)).await,
    );
    api.pass(30 * 60);
    let late = late.strip_prefix(CONSOLE).unwrap();
    let unknown = format!("/console/join?token={}", "x".repeat(48));
    for path in [late, &unknown, "/console/join?token=x", "/console/join"] {
        let page = browser.get(path).await.shows(400, invalid);
        assert_eq!(page.html, used.html, "{path}");
    }
    api.pass(71 * 60 * 60);
    browser
        .get(lasting.strip_prefix(CONSOLE).unwrap())
        .await
        .shows(200, "eve@example.com");
    api.pass(60 * 60);
    browser
        .get(lasting.strip_prefix(CONSOLE).unwrap())
        .await
        .shows(400, invalid);
    // A form that was open when its link expired.
    let token = browser
        .get("/console/sign-in")
        .await
        .field("form_token")
        .to_owned();
    let link = lasting.split_once("token=").unwrap().1;
    let form = [("form_token", token.as_str()), ("link", link)];
    browser
        .post("/console/join", &form)
        .await
        .shows(400, invalid);
    // A withdrawn invitation.
    let made = api.service.invite_operator(
        Principal::cli(),
        "eve@example.com",
        grants(Role::Viewer, None),
        Handover::Shown,
    );
    let made = made.await.unwrap();
    let withdrawn = api
        .service
        .withdraw_invitation(Principal::cli(), made.record.id);
    withdrawn.await.unwrap();
    let path = made.url.expose().strip_prefix(CONSOLE).unwrap();
    browser.get(path).await.shows(400, invalid);
}

pub(crate) fn request() -> ConsoleRequest {
    ConsoleRequest {
        id: "req_test".into(),
        client: Some("192.0.2.7".parse().unwrap()),
        user_agent: "Browser/1".to_owned(),
    }
}

/// OPR-4: in two processes.
async fn cn_r1_opr_4_of_parallel_uses_of_a_link_one_succeeds(api: &Api) {
    let other = api.other_process(&api.clock).await;
    let rounds = rng::rounds(3);
    for round in 0..rounds {
        let email = format!("op{round}@example.com");
        let url = link(api, &email, grants(Role::Viewer, None)).await;
        let token = Secret::new(url.split_once("token=").unwrap().1.to_owned());
        let uses = race((0..100).map(|number| {
            let service = if number % 2 == 0 {
                &api.service
            } else {
                &other
            };
            let (service, token) = (Arc::clone(service), token.clone());
            async move {
                match service.use_operator_link(&request(), &token).await {
                    Ok(_) => true,
                    Err(JoinError::InvalidLink) => false,
                    Err(JoinError::Common(refusal)) => panic!("{refusal}"),
                }
            }
        }))
        .await;
        assert_eq!(count(&uses, &true), 1);
    }
    let operators = api.service.list_operators(Principal::cli()).await.unwrap();
    assert_eq!(operators.len(), rounds);
}

/// Gives an operator who has just joined an authenticator app.
async fn add_app(api: &Api, session: &Secret<String>) {
    let service = &api.service;
    let of = service.operator_session(&request(), session).await.unwrap();
    let made = service.create_operator_totp(&request(), &of).await.unwrap();
    let seed = data_encoding::BASE32_NOPAD.decode(made.secret.expose().as_bytes());
    let code = SecondFactor::Totp(Secret::new(code(api, &seed.unwrap())));
    service
        .prove_second_factor(&request(), &of, session.clone(), code)
        .await
        .unwrap();
}

/// An owner who joins; ready ones also have a second factor.
async fn new_owner(api: &Api, name: &str, is_ready: bool) -> UserId {
    let email = format!("{name}@example.com");
    let url = link(api, &email, grants(Role::Owner, None)).await;
    let token = Secret::new(url.split_once("token=").unwrap().1.to_owned());
    let request = request();
    let joined = api.service.use_operator_link(&request, &token);
    let joined = joined.await.unwrap();
    if is_ready {
        add_app(api, &joined.token).await;
    }
    joined.user_id
}

/// OPR-3: parallel demotions, removals and disablings, in two processes. One more owner has no factors and does not count.
async fn cn_r1_opr_3_an_owner_who_can_sign_in_always_remains(api: &Api) {
    let other = api.other_process(&api.clock).await;
    let mut owners = Vec::new();
    new_owner(api, "without", false).await;
    for round in 0..rng::rounds(1) {
        for number in owners.len()..12 {
            owners.push(new_owner(api, &format!("owner{round}-{number}"), true).await);
        }
        let app = api.app.id;
        let changes = race(owners.iter().flat_map(|owner| {
            [0, 1, 2].map(|kind| {
                let service = if kind % 2 == 0 { &api.service } else { &other };
                let (service, owner) = (Arc::clone(service), *owner);
                async move {
                    let change = match kind {
                        0 => OperatorChange::Role(Some(Role::Viewer), Some(vec![app])),
                        1 => OperatorChange::Disable,
                        _ => OperatorChange::Remove,
                    };
                    match service
                        .change_operator(Principal::cli(), owner, change)
                        .await
                    {
                        Ok(()) | Err(Refusal::NotFound("operator")) => false,
                        Err(Refusal::LastOwner) => true,
                        Err(refusal) => panic!("{refusal:?}"),
                    }
                }
            })
        }))
        .await;
        assert!(count(&changes, &true) > 0);
        let operators = api.service.list_operators(Principal::cli()).await.unwrap();
        let left = operators
            .iter()
            .filter(|one| one.operator.grants.is_owner() && !one.is_disabled);
        let (ready, without): (Vec<_>, Vec<_>) =
            left.partition(|owner| owner.has_second_factor == Some(true));
        assert_eq!((ready.len(), without.len()), (1, 1), "{operators:?}");
        owners = ready.iter().map(|owner| owner.operator.user_id).collect();
    }
}

/// OPR-3: an authenticator app and a passkey, removed at the same time in two processes.
async fn cn_r1_opr_3_parallel_removals_leave_a_second_factor(api: &Api) {
    let other = api.other_process(&api.clock).await;
    for round in 0..rng::rounds(5) {
        let email = format!("op{round}@example.com");
        let (mut browser, _) = operator(api, &email, grants(Role::Viewer, None)).await;
        let mut laptop = Authenticator::at(CONSOLE);
        let created = browser.passkey("/console/me", "/console/me/passkeys", &mut laptop);
        created.await.leads_to("/console/me");
        let token = Secret::new(browser.session().unwrap().clone());
        let session = api.service.operator_session(&request(), &token).await;
        let session = session.unwrap();
        let factors = api.service.factors_of_operator(&session).await.unwrap();
        let (app, passkey) = (factors.totps[0].0, factors.passkeys[0].0);
        let removals = race((0..20).map(|number| {
            let service = match number % 4 < 2 {
                true => Arc::clone(&api.service),
                false => Arc::clone(&other),
            };
            let session = session.clone();
            async move {
                let removed = match number % 2 {
                    0 => {
                        service
                            .delete_operator_totp(&request(), &session, app)
                            .await
                    }
                    _ => {
                        service
                            .delete_operator_passkey(&request(), &session, passkey)
                            .await
                    }
                };
                match removed {
                    Ok(()) => true,
                    Err(Refusal::NotFound(_) | Refusal::NotNow(_)) => false,
                    Err(refusal) => panic!("{refusal}"),
                }
            }
        }))
        .await;
        assert_eq!(count(&removals, &true), 1);
        let left = api.service.factors_of_operator(&session).await.unwrap();
        assert_eq!(left.totps.len() + left.passkeys.len(), 1);
    }
}

/// OPR-5: with one factor, every page leads to the second one and every form does nothing.
async fn one_factor_opens_nothing(api: &Api) {
    let (mut first, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    first.fill("/console/", "/console/sign-out", &[]).await;
    let mut browser = Browser::new(api);
    browser
        .sign_in("ann@example.com", PASSWORD)
        .await
        .leads_to("/console/");
    for path in ["/console/", "/console/me"] {
        let page = browser.get(path).await;
        assert!(
            page.header("location").starts_with("/console/step-up?"),
            "{path}"
        );
    }
    let token = browser
        .get("/console/step-up")
        .await
        .field("form_token")
        .to_owned();
    let before = api.service.list_operators(Principal::cli()).await.unwrap();
    for (path, field, value) in [
        (
            "/console/me/password",
            "password",
            "another-long-password-9",
        ),
        ("/console/me/totp", "none", ""),
    ] {
        let form = [("form_token", token.as_str()), (field, value)];
        let page = browser.post(path, &form).await;
        page.leads_to("/console/step-up?return=%2Fconsole%2Fme");
    }
    let after = api.service.list_operators(Principal::cli()).await.unwrap();
    assert_eq!(before.len(), after.len());
    let mut again = Browser::new(api);
    again
        .sign_in("ann@example.com", PASSWORD)
        .await
        .leads_to("/console/");
    let session = browser.session().unwrap().clone();
    let found = api
        .service
        .operator_session(&request(), &Secret::new(session))
        .await
        .unwrap();
    assert!(found.principal().is_none());

    // An operator with a password and no second factor cannot set one up after signing in with the password.
    let url = link(api, "ben@example.com", grants(Role::Viewer, None)).await;
    let mut half = Browser::new(api);
    half.join(&url).await.leads_to("/console/");
    let set = half
        .fill(
            "/console/me",
            "/console/me/password",
            &[("password", PASSWORD)],
        )
        .await;
    set.leads_to("/console/me");
    let mut thief = Browser::new(api);
    thief
        .sign_in("ben@example.com", PASSWORD)
        .await
        .leads_to("/console/");
    let page = thief.get("/console/").await;
    page.leads_to("/console/step-up?return=%2Fconsole%2F");
    let page = thief
        .get("/console/step-up")
        .await
        .shows(200, "Ask an owner to reset");
    let form = [("form_token", page.field("form_token"))];
    let refused = thief.post("/console/me/totp", &form).await;
    refused.leads_to("/console/step-up?return=%2Fconsole%2Fme");
}

/// OPR-6: ten minutes after the second factor, a session changes no factor.
async fn a_stale_session_changes_no_factor(api: &Api) {
    let (mut browser, seed) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    api.pass(10 * 60);
    let page = browser
        .get("/console/me")
        .await
        .shows(200, "Confirm your identity");
    let token = page.field("form_token").to_owned();
    for (path, field, value) in [
        (
            "/console/me/password",
            "password",
            "another-long-password-9",
        ),
        ("/console/me/totp", "none", ""),
        (
            "/console/me/totp/remove",
            "id",
            "totp_2qLWHG4bS2fTgFOzTyqEbJXVpHZ",
        ),
    ] {
        let form = [("form_token", token.as_str()), (field, value)];
        browser
            .post(path, &form)
            .await
            .leads_to("/console/step-up?return=%2Fconsole%2Fme");
    }
    let code = code(api, &seed);
    browser.second_factor(&code).await.leads_to("/console/me");
    let set = browser.fill(
        "/console/me",
        "/console/me/password",
        &[
            ("current", PASSWORD),
            ("password", "another-long-password-9"),
        ],
    );
    set.await.leads_to("/console/me");
    // The last second factor cannot be removed.
    let page = browser.get("/console/me").await;
    let id = page.field("id").to_owned();
    let removed = browser
        .fill("/console/me", "/console/me/totp/remove", &[("id", &id)])
        .await;
    removed.shows(400, "last second factor");
}

/// Attack 13, S-2: a token that was planted or seen stops working with the next proof.
async fn the_token_changes_with_each_proof(api: &Api) {
    let (mut browser, seed) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let first = browser.session().unwrap().clone();
    let code = code(api, &seed);
    browser.second_factor(&code).await.leads_to("/console/me");
    let second = browser.session().unwrap().clone();
    assert_ne!(first, second);
    let mut thief = Browser::new(api);
    thief
        .cookies
        .insert("__Host-vestry_console".to_owned(), first);
    thief
        .get("/console/")
        .await
        .leads_to("/console/sign-in?return=%2Fconsole%2F");
    // Signing in does not continue a session that the browser had before.
    let mut planted = Browser::new(api);
    planted
        .cookies
        .insert("__Host-vestry_console".to_owned(), second.clone());
    planted
        .cookies
        .insert("__Host-vestry_console_form".to_owned(), "x".repeat(48));
    planted
        .sign_in("ann@example.com", PASSWORD)
        .await
        .leads_to("/console/");
    assert_ne!(planted.session(), Some(&second));
    // Sessions end 30 minutes after their last use, and 12 hours after their start.
    api.pass(29 * 60);
    browser.get("/console/").await.shows(200, "Apps");
    api.pass(31 * 60);
    browser
        .get("/console/")
        .await
        .leads_to("/console/sign-in?return=%2Fconsole%2F");
}

/// OPR-9: on the other process too, with the very next request.
async fn a_change_of_an_operator_ends_the_sessions(api: &Api) {
    let other = api.other_process(&api.clock).await;
    let app = api.app.id;
    let (_owner, _) = operator(api, "owner@example.com", grants(Role::Owner, None)).await;
    let (mut browser, seed) =
        operator(api, "ann@example.com", grants(Role::Admin, Some(app))).await;
    let user = id_of(api, "ann@example.com").await;
    let changes = [
        OperatorChange::Role(Some(Role::Viewer), Some(vec![app])),
        OperatorChange::Disable,
        OperatorChange::Remove,
    ];
    for change in changes {
        browser.get("/console/").await.shows(200, "Demo");
        let is_disabling = matches!(change, OperatorChange::Disable);
        let is_removal = matches!(change, OperatorChange::Remove);
        other
            .change_operator(Principal::cli(), user, change)
            .await
            .unwrap();
        browser
            .get("/console/")
            .await
            .leads_to("/console/sign-in?return=%2Fconsole%2F");
        if is_disabling || is_removal {
            let refused = browser.sign_in("ann@example.com", PASSWORD).await;
            refused.shows(400, "The address or the password is wrong.");
        }
        if is_removal {
            break;
        }
        let enabled = other.change_operator(Principal::cli(), user, OperatorChange::Enable);
        enabled.await.unwrap();
        browser
            .sign_in("ann@example.com", PASSWORD)
            .await
            .leads_to("/console/");
        let code = code(api, &seed);
        browser.second_factor(&code).await.leads_to("/console/me");
    }
    // An equal change ends nothing.
    let (mut browser, _) = operator(api, "eve@example.com", grants(Role::Viewer, Some(app))).await;
    let user = id_of(api, "eve@example.com").await;
    let same = OperatorChange::Role(Some(Role::Viewer), Some(vec![app]));
    other
        .change_operator(Principal::cli(), user, same)
        .await
        .unwrap();
    browser.get("/console/").await.shows(200, "Demo");
}

/// OPR-8, attacks 9 and 10: the text is the same for every address that does not get in.
async fn unknown_disabled_and_uninvited_addresses_look_alike(api: &Api) {
    let (_owner, _) = operator(api, "owner@example.com", grants(Role::Owner, None)).await;
    let (_browser, _) = operator(api, "off@example.com", grants(Role::Viewer, None)).await;
    let off = id_of(api, "off@example.com").await;
    let disabled = api
        .service
        .change_operator(Principal::cli(), off, OperatorChange::Disable);
    disabled.await.unwrap();
    link(api, "invited@example.com", grants(Role::Viewer, None)).await;
    let mut pages = Vec::new();
    for email in [
        "owner@example.com",
        "off@example.com",
        "invited@example.com",
        "nobody@example.com",
    ] {
        let mut browser = Browser::new(api);
        let wrong = browser.sign_in(email, "not-the-password-1").await;
        let sent = browser
            .fill(
                "/console/sign-in",
                "/console/sign-in/code",
                &[("email", email)],
            )
            .await;
        let form = [
            ("form_token", sent.field("form_token")),
            ("email", email),
            ("code", "000000"),
        ];
        let refused = browser.post("/console/sign-in/code/verify", &form).await;
        let texts = [wrong, sent, refused].map(|page| {
            let html = page.normalised();
            (page.status, html.replace(email, "ADDRESS"))
        });
        pages.push(texts);
    }
    for page in &pages {
        assert_eq!(page, &pages[0]);
    }
    // Failures count alike too: after some, each address waits.
    for email in ["owner@example.com", "nobody@example.com"] {
        let mut browser = Browser::new(api);
        let mut statuses = Vec::new();
        for _ in 0..25 {
            statuses.push(browser.sign_in(email, "not-the-password-1").await.status);
        }
        let first = statuses.iter().position(|status| *status == 429);
        assert!(first.is_some(), "{email}: {statuses:?}");
    }
}

async fn a_mailed_code_and_an_invitation_sign_in(api: &Api) {
    let viewer = grants(Role::Viewer, Some(api.app.id));
    let mailed = api.service.invite_operator(
        Principal::cli(),
        "ann@example.com",
        viewer.clone(),
        Handover::Mail,
    );
    mailed.await.unwrap();
    api.deliver().await;
    let (_, mail) = api.mailer.sent().pop().unwrap();
    assert_eq!(mail.to, "ann@example.com");
    let mut browser = Browser::new(api);
    browser.join(&mail.link).await.leads_to("/console/");
    let seed = browser.enrol().await;
    browser.fill("/console/", "/console/sign-out", &[]).await;
    // A second invitation with the same roles is pointless.
    let again =
        api.service
            .invite_operator(Principal::cli(), "ann@example.com", viewer, Handover::Mail);
    assert!(matches!(again.await, Err(Refusal::Duplicate("operator"))));

    let sent = browser
        .fill(
            "/console/sign-in",
            "/console/sign-in/code",
            &[("email", "ann@example.com")],
        )
        .await;
    api.deliver().await;
    let mut mails = api.mailer.sent().into_iter().map(|(_, mail)| mail);
    let mail = mails.find(|mail| !mail.code.is_empty()).unwrap();
    let form = [
        ("form_token", sent.field("form_token")),
        ("email", "ann@example.com"),
        ("code", &mail.code),
        ("return", "/console/me"),
    ];
    browser
        .post("/console/sign-in/code/verify", &form)
        .await
        .leads_to("/console/me");
    browser
        .get("/console/me")
        .await
        .leads_to("/console/step-up?return=%2Fconsole%2Fme");
    let code = code(api, &seed);
    browser.second_factor(&code).await.leads_to("/console/me");
    browser.get("/console/").await.shows(200, "Demo");

    // An operator is not invited again, whatever the roles: the factors could be those of another person.
    let other = (api.service.create_app(Principal::cli(), "Other")).await;
    let more = grants(Role::Admin, Some(other.unwrap().id));
    let again =
        (api.service).invite_operator(Principal::cli(), "ann@example.com", more, Handover::Shown);
    assert!(matches!(again.await, Err(Refusal::Duplicate("operator"))));
}

/// Of two open links to one address, the second does not work. Links go with the operator who made them.
async fn links_end_with_their_purpose(api: &Api) {
    let invalid = "This link is not valid";
    let links = [
        link(api, "ann@example.com", grants(Role::Admin, None)).await,
        link(api, "ann@example.com", grants(Role::Owner, None)).await,
    ];
    let mut browser = Browser::new(api);
    browser.join(&links[0]).await.leads_to("/console/");
    browser.enrol().await;
    let refused = Browser::new(api).join(&links[1]).await;
    refused.shows(400, invalid);
    let ann = id_of(api, "ann@example.com").await;
    let session = Secret::new(browser.session().unwrap().clone());
    let session = api.service.operator_session(&request(), &session).await;
    let by = session.unwrap().principal().unwrap();
    let viewer = grants(Role::Viewer, Some(api.app.id));
    let made = (api.service).invite_operator(&by, "ben@example.com", viewer, Handover::Shown);
    let made = made.await.unwrap();
    let path = made.url.expose().strip_prefix(CONSOLE).unwrap();
    browser.get(path).await.shows(200, "ben@example.com");
    let demoted = OperatorChange::Role(Some(Role::Viewer), None);
    let demoted = (api.service).change_operator(Principal::cli(), ann, demoted);
    demoted.await.unwrap();
    browser.get(path).await.shows(400, invalid);
    // An operator who was demoted changes nothing, even in a request that had begun.
    let late = (api.service)
        .change_operator(&by, ann, OperatorChange::Remove)
        .await;
    assert!(matches!(late, Err(Refusal::InvalidSession)), "{late:?}");
}

/// A thief who has the password only cannot end the sessions of the operator.
async fn sessions_with_one_factor_give_way(api: &Api) {
    let (mut browser, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    for _ in 0..15 {
        api.pass(1);
        let mut thief = Browser::new(api);
        let signed_in = thief.sign_in("ann@example.com", PASSWORD).await;
        signed_in.leads_to("/console/");
        // The newest session always works.
        thief
            .get("/console/step-up")
            .await
            .shows(200, "Confirm your identity");
    }
    browser.get("/console/").await.shows(200, "Apps");
    let ann = id_of(api, "ann@example.com").await;
    let sessions = api.service.sessions_of_operator(ann).await.unwrap();
    assert_eq!(sessions.len(), 10);
}

/// Attacks 3 and 4: guesses of the code and of the password are limited per operator.
async fn guesses_are_limited(api: &Api) {
    let (mut browser, seed) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    browser.fill("/console/", "/console/sign-out", &[]).await;
    browser
        .sign_in("ann@example.com", PASSWORD)
        .await
        .leads_to("/console/");
    let right = code(api, &seed);
    let wrong = if right == "000000" {
        "000001"
    } else {
        "000000"
    };
    let mut tries = 0;
    while browser.second_factor(wrong).await.status != 429 {
        tries += 1;
        assert!(tries < 25, "guesses of the code are not limited");
    }
    browser
        .second_factor(&right)
        .await
        .shows(429, "Please wait");
    let mut other = Browser::new(api);
    let mut tries = 0;
    while other
        .sign_in("ann@example.com", "not-the-password-1")
        .await
        .status
        != 429
    {
        tries += 1;
        assert!(tries < 25, "guesses of the password are not limited");
    }
    other
        .sign_in("ann@example.com", PASSWORD)
        .await
        .shows(429, "Please wait");
    let ann = id_of(api, "ann@example.com").await;
    let unlocked = api.service.unlock_operator(Principal::cli(), ann);
    unlocked.await.unwrap();
    let signed_in = other.sign_in("ann@example.com", PASSWORD).await;
    signed_in.leads_to("/console/");
}

/// OPR-13: forms that are sent before signing in. Others at the same address can only wait.
async fn forms_are_limited_by_address(api: &Api) {
    let options = "/console/sign-in/passkey/options";
    let mut attacker = Browser::from(api, "198.51.100.9");
    for _ in 0..100 {
        attacker
            .fill(SIGN_IN, options, &[])
            .await
            .shows(200, "challenge");
    }
    let text = "Too many attempts. Try again in 10 minutes.";
    for path in [options, SIGN_IN, "/console/sign-in/code", "/console/join"] {
        let refused = attacker.fill(SIGN_IN, path, &[]).await.shows(429, text);
        assert_eq!(refused.header("retry-after"), "600", "{path}");
        attacker.cookies.clear();
    }
    // In every process, and however the address is written.
    let other = api.other_process(&api.clock).await;
    for (client, is_refused) in [
        ("198.51.100.9", true),
        ("::ffff:198.51.100.9", true),
        ("198.51.100.10", false),
    ] {
        let request = ConsoleRequest {
            client: Some(client.parse().unwrap()),
            ..request()
        };
        let admitted = other.admit_form_before_sign_in(&request).await;
        assert_eq!(admitted.is_err(), is_refused, "{client}");
    }
    // Forms that another site sends for a visitor do not count.
    let url = link(api, "ann@example.com", grants(Role::Owner, None)).await;
    let mut visitor = Browser::from(api, "2001:db8:1:2::1");
    for site in ["cross-site", "same-origin"] {
        visitor.site = site;
        for _ in 0..110 {
            let sent = visitor.post(SIGN_IN, &[("form_token", "x")]).await;
            sent.shows(403, "This form has expired");
        }
    }
    visitor.join(&url).await.leads_to("/console/");
    // An IPv6 address counts with its /64.
    for number in 1..100 {
        let mut attacker = Browser::from(api, &format!("2001:db8:1:2::{number:x}"));
        let asked = attacker.fill(SIGN_IN, options, &[]).await;
        asked.shows(200, "challenge");
    }
    let mut attacker = Browser::from(api, "2001:db8:1:2:3::");
    attacker.fill(SIGN_IN, options, &[]).await.shows(429, text);
    let mut neighbour = Browser::from(api, "2001:db8:1:3::1");
    let asked = neighbour.fill(SIGN_IN, options, &[]).await;
    asked.shows(200, "challenge");
    // A session is not affected, nor is the address once the window is over.
    visitor.enrol().await;
    api.pass(10 * 60);
    let asked = attacker.fill(SIGN_IN, options, &[]).await;
    asked.shows(200, "challenge");
}

/// OPR-13: a session with one factor, such as that of a thief, does not use up the limit of another one.
async fn forms_are_limited_by_session(api: &Api) {
    let (mut browser, seed) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let mut thief = Browser::from(api, "198.51.100.9");
    let signed_in = thief.sign_in("ann@example.com", PASSWORD).await;
    signed_in.leads_to("/console/");
    for _ in 0..120 {
        let options = "/console/step-up/passkey/options";
        let asked = thief.fill("/console/step-up", options, &[]).await;
        asked.shows(200, "challenge");
    }
    let code = code(api, &seed);
    let refused = thief.second_factor(&code).await;
    let refused = refused.shows(429, "Try again in a minute.");
    assert_eq!(refused.header("retry-after"), "30");
    browser.second_factor(&code).await.leads_to("/console/me");
    // Signing out always works.
    let out = thief.fill("/console/step-up", "/console/sign-out", &[]);
    out.await.leads_to("/console/sign-in");
}

/// OPR-14: a stolen session of an admin floods no mailbox. In two processes.
async fn mailed_invitations_are_limited(api: &Api) {
    let app = api.app.id;
    let (browser, _) = operator(api, "ann@example.com", grants(Role::Admin, Some(app))).await;
    let session = Secret::new(browser.session().unwrap().clone());
    let session = api.service.operator_session(&request(), &session).await;
    let by = session.unwrap().principal().unwrap();
    let viewer = grants(Role::Viewer, Some(app));
    let other = api.other_process(&api.clock).await;
    let invite = |service: &Arc<Service>, by: &Principal, email: String, handover| {
        let (service, by, viewer) = (Arc::clone(service), by.clone(), viewer.clone());
        async move { service.invite_operator(&by, &email, viewer, handover).await }
    };
    let outcomes = race((0..40).map(|number| {
        let service = if number % 2 == 0 {
            &api.service
        } else {
            &other
        };
        let email = format!("new{number}@example.com");
        let made = invite(service, &by, email, Handover::Mail);
        async move {
            match made.await {
                Ok(_) => None,
                Err(Refusal::TooMany { retry_after }) => Some(retry_after),
                Err(refusal) => panic!("{refusal}"),
            }
        }
    }))
    .await;
    assert_eq!(count(&outcomes, &None), 30);
    assert_eq!(count(&outcomes, &Some(Seconds(3_600))), 10);
    // A withdrawn one counts too, another maker does not, nor does a link that is not mailed.
    let open = api.service.list_invitations(&by).await.unwrap();
    let withdrawn = api.service.withdraw_invitation(&by, open[0].id).await;
    withdrawn.unwrap();
    let again = |by: &Principal, email: &str, handover| {
        let made = invite(&api.service, by, email.to_owned(), handover);
        async move { made.await.map(|made| made.record.id) }
    };
    let refused = again(&by, "late@example.com", Handover::Mail).await;
    assert!(matches!(refused, Err(Refusal::TooMany { .. })));
    again(&by, "late@example.com", Handover::Shown)
        .await
        .unwrap();
    let cli = Principal::cli();
    again(cli, "late@example.com", Handover::Mail)
        .await
        .unwrap();
    api.pass(60 * 60);
    again(&by, "late@example.com", Handover::Mail)
        .await
        .unwrap();
    // One address, five times and once more.
    for _ in 0..6 {
        let id = again(cli, "bob@example.com", Handover::Mail).await.unwrap();
        let withdrawn = api.service.withdraw_invitation(cli, id).await;
        withdrawn.unwrap();
    }
    let refused = again(cli, "bob@example.com", Handover::Mail).await;
    assert!(matches!(refused, Err(Refusal::TooMany { .. })));
}

/// OPR-11: a viewer of another App does not learn who its operators are.
async fn an_admin_sees_only_the_roles_in_the_own_apps(api: &Api) {
    let other = (api.service.create_app(Principal::cli(), "Other")).await;
    let (own, other) = (api.app.id, other.unwrap().id);
    let (mut browser, seed) =
        operator(api, "ann@example.com", grants(Role::Admin, Some(own))).await;
    let ann = id_of(api, "ann@example.com").await;
    let viewer = OperatorChange::Role(Some(Role::Viewer), Some(vec![other]));
    let changed = (api.service).change_operator(Principal::cli(), ann, viewer);
    changed.await.unwrap();
    let signed_in = browser.sign_in("ann@example.com", PASSWORD).await;
    signed_in.leads_to("/console/");
    let code = code(api, &seed);
    browser.second_factor(&code).await.leads_to("/console/me");
    let session = Secret::new(browser.session().unwrap().clone());
    let session = api.service.operator_session(&request(), &session).await;
    let by = session.unwrap().principal().unwrap();

    joined(api, "ben@example.com", "viewer", Some(own)).await;
    let ben = id_of(api, "ben@example.com").await;
    let elsewhere = OperatorChange::Role(Some(Role::Developer), Some(vec![other]));
    let changed = (api.service).change_operator(Principal::cli(), ben, elsewhere);
    changed.await.unwrap();
    joined(api, "eve@example.com", "developer", Some(other)).await;
    let both = Grants::new(Role::Viewer, Some(vec![own, other])).unwrap();
    link(api, "new@example.com", both).await;
    link(api, "other@example.com", grants(Role::Viewer, Some(other))).await;

    let listed = api.service.list_operators(&by).await.unwrap();
    let seen: Vec<_> = listed
        .iter()
        .map(|one| (one.email.as_str(), one.operator.grants.clone()))
        .collect();
    let expected = [
        ("ann@example.com", grants(Role::Admin, Some(own))),
        ("ben@example.com", grants(Role::Viewer, Some(own))),
    ];
    assert_eq!(seen, expected);
    let lookup = OperatorLookup::Id(ben);
    let found = api.service.find_operator(&by, &lookup).await.unwrap();
    assert_eq!(found.operator.grants, grants(Role::Viewer, Some(own)));
    let invited = api.service.list_invitations(&by).await.unwrap();
    let invited: Vec<_> = invited
        .iter()
        .map(|one| (one.email.address(), one.grants.clone()))
        .collect();
    let expected = [("new@example.com", Some(grants(Role::Viewer, Some(own))))];
    assert_eq!(invited, expected);
}

async fn lost_factors_are_replaced(api: &Api) {
    let (mut owner, _) = operator(api, "owner@example.com", grants(Role::Owner, None)).await;
    let (mut browser, _) = operator(api, "ann@example.com", grants(Role::Admin, None)).await;
    let user = id_of(api, "ann@example.com").await;
    let reset = api
        .service
        .reset_operator(Principal::cli(), user, Handover::Shown);
    let reset = reset.await.unwrap();
    browser
        .get("/console/")
        .await
        .leads_to("/console/sign-in?return=%2Fconsole%2F");
    browser
        .sign_in("ann@example.com", PASSWORD)
        .await
        .shows(400, "wrong");
    api.deliver().await;
    let notices = api.mailer.sent().into_iter().map(|(_, mail)| mail);
    let notices: Vec<_> = notices
        .filter(|mail| mail.text.contains("were reset"))
        .collect();
    assert_eq!(notices.len(), 1, "one mail to an owner");
    assert_eq!(notices[0].to, "owner@example.com");
    browser.join(reset.url.expose()).await.leads_to("/console/");
    let seed = browser.enrol().await;
    browser.fill("/console/", "/console/sign-out", &[]).await;
    browser
        .sign_in("ann@example.com", PASSWORD)
        .await
        .leads_to("/console/");
    let code = code(api, &seed);
    browser.second_factor(&code).await.leads_to("/console/me");
    owner.get("/console/").await.shows(200, "Apps");
}

/// CON-3: a form from another site, without its token, or of another session.
async fn forms_of_others_change_nothing(api: &Api) {
    let (mut browser, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let (mut other, _) = operator(api, "ben@example.com", grants(Role::Owner, None)).await;
    let own = browser
        .get("/console/me")
        .await
        .field("form_token")
        .to_owned();
    let foreign = other
        .get("/console/me")
        .await
        .field("form_token")
        .to_owned();
    let expired = "This form has expired. Reload the page and try again.";
    let place = format!("/console/{}/live", api.app.id);
    let key = "key_3OuidZGP2IHbXA3cS4NFTqq1NSM";
    let user = "user_3OuidZGP2IHbXA3cS4NFTqq1NSM";
    let paths = [
        "/console/sign-in",
        "/console/sign-in/code",
        "/console/sign-in/code/verify",
        "/console/sign-in/company",
        "/console/sign-in/passkey",
        "/console/sign-in/passkey/options",
        "/console/step-up/passkey/options",
        "/console/me/passkeys",
        "/console/me/passkeys/options",
        "/console/me/passkeys/remove",
        "/console/join",
        "/console/step-up",
        "/console/me/password",
        "/console/me/totp",
        "/console/me/totp/verify",
        "/console/me/totp/remove",
        "/console/me/sessions/end",
        "/console/sign-out",
        "/console/theme",
        "/console/apps/new",
        "/console/management-keys/new",
        &format!("/console/management-keys/{key}/revoke"),
        "/console/operators/invite",
        &format!("/console/operators/{user}"),
        &format!("/console/operators/{user}/remove"),
        "/console/operators/invitations/inv_3OuidZGP2IHbXA3cS4NFTqq1NSM/withdraw",
        &format!("{place}/users/{key}/edit"),
        &format!("{place}/users/{key}/delete"),
        &format!("{place}/wallets/{key}/disable"),
        &format!("{place}/wallets/{key}/enable"),
        &format!("/console/{}/test/messages/clear", api.app.id),
        &format!("/console/{}/test/clock/advance", api.app.id),
        &format!("/console/{}/test/clock/set", api.app.id),
        &format!("/console/{}/test/clock/unfreeze", api.app.id),
        &format!("/console/{}/test/clock/reset", api.app.id),
        &format!("{place}/methods/mail"),
        &format!("{place}/providers"),
        &format!("{place}/providers/google"),
        &format!("{place}/providers/google/check"),
        &format!("{place}/providers/google/trial"),
        &format!("{place}/providers/google/remove"),
        &format!("{place}/redirect-urls"),
        &format!("{place}/redirect-urls/{key}/default"),
        &format!("{place}/redirect-urls/{key}/remove"),
        &format!("{place}/settings"),
        &format!("{place}/settings/review"),
        &format!("{place}/keys/new"),
        &format!("{place}/keys/{key}/edit"),
        &format!("{place}/keys/{key}/rotate"),
        &format!("{place}/keys/{key}/revoke"),
        &format!("{place}/webhooks/new"),
        &format!("{place}/webhooks/{key}/edit"),
        &format!("{place}/webhooks/{key}/rotate"),
        &format!("{place}/webhooks/{key}/test"),
        &format!("{place}/webhooks/{key}/enable"),
        &format!("{place}/webhooks/{key}/disable"),
        &format!("{place}/webhooks/{key}/replay"),
        &format!("{place}/webhooks/{key}/deliveries/{key}/replay"),
    ];
    for path in paths {
        for token in ["", "x", foreign.as_str()] {
            browser
                .post(path, &[("form_token", token)])
                .await
                .shows(403, expired);
        }
        for site in ["cross-site", "same-site", "none"] {
            browser.site = site;
            browser
                .post(path, &[("form_token", &own)])
                .await
                .shows(403, expired);
        }
        browser.site = "same-origin";
    }
    // A path can be written in several ways; the same form is meant.
    for path in [
        "/console/%73ign-in",
        "/console/sign-in/%63ode",
        "/console/%6Aoin",
    ] {
        let form = [("form_token", own.as_str())];
        browser.post(path, &form).await.shows(403, expired);
    }
    browser.get("/console/").await.shows(200, "Apps");
    // GET never acts (CON-4).
    for path in paths {
        let page = browser.get(&format!("{path}?form_token={own}")).await;
        assert!(
            [200, 303, 400, 404].contains(&page.status),
            "{path}: {}",
            page.status
        );
    }
    browser.get("/console/").await.shows(200, "Apps");
    // A form that is too large.
    let large = "x".repeat(300_000);
    let form = [("form_token", own.as_str()), ("password", large.as_str())];
    browser
        .post("/console/me/password", &form)
        .await
        .shows(413, "too large");
}

/// CON-2: pages, redirects and errors.
async fn every_response_has_the_headers(api: &Api) {
    let (mut browser, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let mut stranger = Browser::new(api);
    // A page names the directory of its files, which are kept for ever.
    let shown = browser.get("/console/me").await;
    let (_, rest) = shown.html.split_once("href=\"").unwrap();
    let assets = rest.split_once("/console.css").unwrap().0;
    assert!(assets.starts_with("/console/assets/"), "{assets}");
    for (name, kind) in [
        ("console.css", "text/css; charset=utf-8"),
        ("passkeys.js", "text/javascript; charset=utf-8"),
        ("icons.svg", "image/svg+xml"),
    ] {
        let file = stranger.get(&format!("{assets}/{name}")).await;
        let kept = "public, max-age=31536000, immutable";
        assert_eq!((file.status, file.header("cache-control")), (200, kept));
        assert_eq!(file.header("content-type"), kind);
        assert!(
            file.header("content-security-policy")
                .contains("default-src 'none'")
        );
    }
    let pages = [
        browser.get("/console/").await,
        browser.get("/console/me").await,
        browser.get("/console/nowhere").await,
        browser.get("/console/me/x/y").await,
        browser.get("/console/sign-in?return=a&return=b").await,
        browser.get("/console/join").await,
        browser
            .get("/console/assets/0123456789abcdef/console.css")
            .await,
        browser.get(&format!("{assets}/nothing.js")).await,
        stranger.get("/console").await,
        stranger.get("/console/").await,
        stranger.get("/console/sign-in").await,
        stranger.post("/console/sign-in", &[]).await,
        stranger.get("/console/sign-in/company/callback").await,
        stranger.send("PUT", "/console/sign-in", None).await,
    ];
    for page in pages {
        assert!((200..500).contains(&page.status));
        for (name, value) in [
            (
                "content-security-policy",
                "default-src 'none'; script-src 'self';",
            ),
            ("content-security-policy", "frame-ancestors 'none'"),
            (
                "content-security-policy",
                "require-trusted-types-for 'script'",
            ),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("permissions-policy", "publickey-credentials-get=(self)"),
            ("strict-transport-security", "max-age="),
            ("cache-control", "no-store"),
        ] {
            assert!(page.header(name).contains(value), "{name} of {page:?}");
        }
        for inline in ["<script>", "javascript:", "style=", "onclick"] {
            assert!(!page.html.contains(inline), "CON-1: {inline}");
        }
    }
}

/// The audit entries of a world, oldest first.
pub(crate) async fn entries(api: &Api, world: World) -> Vec<ControlEntry> {
    let store = api.store().await;
    let mut read = store.read().await.unwrap();
    let all = ControlFilter::default();
    let page = read.control_log().page(&world, &all, None, 1000).await;
    let mut page = page.unwrap();
    page.reverse();
    page
}

/// OPR-7: with the operator and the client address.
async fn what_operators_do_is_recorded(api: &Api) {
    let (mut browser, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let ann = id_of(api, "ann@example.com").await;
    let session = Secret::new(browser.session().unwrap().clone());
    let session = api
        .service
        .operator_session(&request(), &session)
        .await
        .unwrap();
    let by = session.principal().unwrap();
    let name = [("name".to_owned(), "Renamed".to_owned())];
    let changed = api.service.set_app(&by, api.app.id, &name);
    changed.await.unwrap();
    browser.fill("/console/", "/console/sign-out", &[]).await;
    let app = World::new(api.app.id, Environment::Live);
    for (world, expected) in [
        (
            World::DEPLOYMENT,
            &[
                "operator.join",
                "operator.factor",
                "operator.factor",
                "operator.step_up",
                "operator.sign_out",
            ][..],
        ),
        (app, &["app.update"]),
    ] {
        let listed = entries(api, world).await;
        let mine = listed
            .iter()
            .filter(|entry| entry.event.actor.id() == Some(ann.to_string()));
        let actions: Vec<_> = mine
            .map(|entry| {
                assert_eq!(entry.event.actor.kind(), "operator");
                assert!(entry.event.detail.contains("\"ip\":"), "{:?}", entry.event);
                assert!(entry.event.request_id.is_some());
                entry.event.action.as_str()
            })
            .collect();
        assert_eq!(actions, expected, "{world}");
    }
}

/// OPR-2: neither a user of an App nor a key of any kind gets in, and the built-in App has no address.
async fn users_and_keys_of_apps_open_nothing(api: &Api) {
    let (_owner, _) = operator(api, "owner@example.com", grants(Role::Owner, None)).await;
    let user = serde_json::json!({"email": "ada@example.com"});
    api.live().post("/v1/auth/users/create", user).await.ok();
    let mut browser = Browser::new(api);
    browser
        .sign_in("ada@example.com", PASSWORD)
        .await
        .shows(400, "wrong");
    let path = format!("/v1/auth/jwks/{}", AppId::BUILT_IN);
    let keys = api.anonymous().unlimited().get(&path).await;
    keys.refuses(404, "not_found", Some("app"));
    // A session of a user of an App.
    let token = "x".repeat(64);
    browser
        .cookies
        .insert("__Host-vestry_console".to_owned(), token);
    browser
        .get("/console/")
        .await
        .leads_to("/console/sign-in?return=%2Fconsole%2F");
    assert!(START.unix() > 0);
}
