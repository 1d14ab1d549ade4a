//! R6 for sign-ins through identity providers, with two server processes on one Postgres and with one on SQLite. The counts are those for
//! each change.

use serde_json::{Value, json};

use crate::on_both_databases;
use crate::races::{Field, PARALLEL, all_at_once, rounds};
use crate::support::client::{Answer, Api};
use crate::support::installation::{Installation, text};

on_both_databases! {
    /// R6, O-11
    one_success_of_a_hundred_uses_of_a_redirect_token => super::one_success_of_a_hundred_uses_of_a_redirect_token;
    /// R6, O-2
    one_success_of_a_hundred_returns_of_a_state => super::one_success_of_a_hundred_returns_of_a_state;
    /// R6, O-3
    one_success_of_a_hundred_uses_of_a_code => super::one_success_of_a_hundred_uses_of_a_code;
    /// M-2: also across two processes
    verifiers_of_a_token_are_counted_one_by_one => super::verifiers_of_a_token_are_counted_one_by_one;
    /// M-2: also across two processes
    verifiers_of_a_link_are_counted_one_by_one => super::verifiers_of_a_link_are_counted_one_by_one;
    /// R2, O-8
    one_user_of_a_hundred_first_sign_ins => super::one_user_of_a_hundred_first_sign_ins;
}

const LANDING: &str = "https://app.example.com/in";
const VERIFY: &str = "/v1/auth/oauth/verify";

/// The path of a service URL, whichever process it names.
#[track_caller]
pub(crate) fn path(url: &str) -> &str {
    let at = url
        .find("/v1/")
        .unwrap_or_else(|| panic!("{url} is not ours"));
    &url[at..]
}

#[track_caller]
pub(crate) fn location(answer: &Answer) -> String {
    assert_eq!(answer.status, 302, "{}", answer.text);
    answer.headers["location"].to_str().unwrap().to_owned()
}

/// Starts a sign-in at the built-in provider. Returns the URL that the browser would be redirected to.
async fn at_the_provider(api: &Api, query: &str) -> String {
    let begun = api
        .get(&format!(
            "/v1/auth/oauth/test/begin?identity=verified&{query}"
        ))
        .await;
    let url = text(&begun.ok(), "url");
    location(&api.get(path(&url)).await)
}

/// Completes a sign-in and returns its token.
async fn token(api: &Api, query: &str) -> String {
    let back = at_the_provider(api, query).await;
    let landed = location(&api.get(path(&back)).await);
    let (_, token) = landed.split_once("?token=").unwrap();
    token.to_owned()
}

/// The single success; the others were refused with this code.
#[track_caller]
fn only_one(answers: Vec<Answer>, code: &str) -> Value {
    let (mut good, bad): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(good.len(), 1);
    for answer in &bad {
        assert_eq!(answer.error(400), code);
    }
    good.remove(0).body
}

async fn sessions_of(api: &Api, user: &str) -> usize {
    let listed = api
        .get(&format!("/v1/auth/sessions/list?user_id={user}"))
        .await;
    listed.ok()["sessions"].as_array().unwrap().len()
}

async fn one_success_of_a_hundred_uses_of_a_redirect_token(installation: Installation) {
    let field = Field::start_with_urls(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        let token = token(&clients[0], &format!("email=user{round}%40example.com")).await;
        let body = json!({ "token": token, "session_expires_in": 60 });
        let answers = all_at_once(&clients, PARALLEL, |_, api| {
            let body = body.clone();
            async move { api.post(VERIFY, &body).await }
        });
        let good = only_one(answers.await, "invalid_oauth_token");
        assert_eq!(sessions_of(&clients[0], &text(&good, "user_id")).await, 1);
    }
    field.stop("R6 (redirect tokens)", rounds(), PARALLEL).await;
}

async fn one_success_of_a_hundred_returns_of_a_state(installation: Installation) {
    let field = Field::start_with_urls(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        let query = format!("email=user{round}%40example.com");
        let back = at_the_provider(&clients[0], &query).await;
        let answers = all_at_once(&clients, PARALLEL, |_, api| {
            let back = path(&back).to_owned();
            async move { api.get(&back).await }
        });
        let landed: Vec<String> = answers.await.iter().map(location).collect();
        let lost = format!("{LANDING}?error=invalid_state");
        let won: Vec<_> = landed.iter().filter(|url| **url != lost).collect();
        assert_eq!(won.len(), 1, "round {round}: {won:?}");
        assert!(won[0].starts_with(&format!("{LANDING}?token=")), "{won:?}");
    }
    field.stop("R6 (states)", rounds(), PARALLEL).await;
}

async fn one_success_of_a_hundred_uses_of_a_code(installation: Installation) {
    let field = Field::start_with_urls(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        let query = format!("redirect_uri={LANDING}&email=user{round}%40example.com");
        let back = at_the_provider(&clients[0], &query).await;
        let (_, query) = back.split_once('?').unwrap();
        let part = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let mut found = pairs.filter(|(known, _)| *known == name);
            found.next().unwrap().1.to_owned()
        };
        let body = json!({
            "code": part("code"),
            "state": part("state"),
            "session_expires_in": 60,
        });
        let answers = all_at_once(&clients, PARALLEL, |_, api| {
            let body = body.clone();
            async move { api.post(VERIFY, &body).await }
        });
        let good = only_one(answers.await, "invalid_state");
        assert_eq!(
            sessions_of(&clients[0], &text(&good["user"], "id")).await,
            1
        );
    }
    field
        .stop("R6 (authorization codes)", rounds(), PARALLEL)
        .await;
}

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// The right verifier among many wrong ones wins at most once, and is too late after them. Many right ones have one winner.
async fn verifiers_are_counted(
    clients: &[Api],
    path: &'static str,
    code: &str,
    [guessed, known]: [String; 2],
) {
    let verify = |token: &str, verifier: &str| json!({ "token": token, "code_verifier": verifier });
    let answers = all_at_once(clients, PARALLEL, |_, api| {
        let body = verify(&guessed, "wrong");
        async move { api.post(path, &body).await }
    });
    for answer in answers.await {
        assert_eq!(answer.error(400), code);
    }
    let late = clients[0].post(path, &verify(&guessed, VERIFIER)).await;
    assert_eq!(late.error(400), code);
    let answers = all_at_once(clients, PARALLEL, |_, api| {
        let body = verify(&known, VERIFIER);
        async move { api.post(path, &body).await }
    });
    only_one(answers.await, code);
}

async fn verifiers_of_a_token_are_counted_one_by_one(installation: Installation) {
    let field = Field::start_with_urls(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() / 5 {
        let query = format!("email=user{round}%40example.com&code_challenge={CHALLENGE}");
        let tokens = [
            token(&clients[0], &query).await,
            token(&clients[0], &query).await,
        ];
        verifiers_are_counted(&clients, VERIFY, "invalid_oauth_token", tokens).await;
    }
    field
        .stop("M-2 (redirect tokens)", rounds() / 5, PARALLEL)
        .await;
}

async fn verifiers_of_a_link_are_counted_one_by_one(installation: Installation) {
    let field = Field::start_with_urls(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() / 5 {
        let mut tokens = Vec::new();
        for name in ["guessed", "known"] {
            let email = format!("{name}{round}@example.com");
            let wanted = json!({ "email": email, "code_challenge": CHALLENGE });
            let path = "/v1/auth/magic_links/email/login_or_create";
            clients[0].post(path, &wanted).await.ok();
            let path = format!("/v1/test/messages?to={email}&wait=20");
            let found = clients[0].get(&path).await.ok();
            tokens.push(text(&found["messages"][0], "token"));
        }
        let tokens = tokens.try_into().unwrap();
        let path = "/v1/auth/magic_links/verify";
        verifiers_are_counted(&clients, path, "invalid_magic_token", tokens).await;
    }
    field.stop("M-2 (links)", rounds() / 5, PARALLEL).await;
}

/// One person in many windows at once: one user, and every window is signed in.
async fn one_user_of_a_hundred_first_sign_ins(installation: Installation) {
    const WINDOWS: usize = 20;
    let field = Field::start_with_urls(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() / 5 {
        let query = format!("email=user{round}%40example.com");
        let mut tokens = Vec::new();
        for _ in 0..WINDOWS {
            tokens.push(token(&clients[0], &query).await);
        }
        let answers = all_at_once(&clients, WINDOWS, |number, api| {
            let body = json!({ "token": tokens[number] });
            async move { api.post(VERIFY, &body).await }
        });
        let users: Vec<String> = answers
            .await
            .into_iter()
            .map(|answer| text(&answer.ok(), "user_id"))
            .collect();
        assert!(users.iter().all(|user| *user == users[0]), "{users:?}");
    }
    field
        .stop("R2 (people of a provider)", rounds() / 5, WINDOWS)
        .await;
}
