//! A disabled user: every sign-in method fails, with the same response as wrong credentials (M-18, attacks 9, 10 and 14).

use serde_json::{Value, json};
use vestry_ports::clock::Clock;

use super::enumeration::seen;
use super::factors::{EMAIL, Person, WAYS, person, proof};
use super::people::{
    self, CODES, LINKS, PASSWORD, PASSWORDS, Pocket, SESSION, TOTP, is_open, link_to, with,
};
use crate::flows::{sent, signed_in};
use crate::harness::{Api, Response, on_both};
use crate::oauth::{landed, lands, token};

on_both! {
    m_18_every_sign_in_of_a_disabled_user_fails_like_a_wrong_one
    m_9_a_stored_sign_in_of_a_disabled_user_is_refused_like_a_wrong_one
    m_18_sending_calls_do_not_reveal_disabled_users
    m_21_every_sign_in_is_recorded_with_the_user
    attack_9_right_proofs_of_a_disabled_user_meet_the_limits_of_wrong_ones
    attack_14_disabling_a_user_ends_its_sessions_for_good
}

const RESET: &str = "/v1/auth/passwords/reset/complete";
const WALLETS: &str = "/v1/auth/wallets/verify";
const OAUTH: &str = "/v1/auth/oauth/verify";

/// Disables or enables the user.
async fn switch(api: &Api, user: &str, to: &str) -> Response {
    let path = format!("/v1/auth/users/{user}/{to}");
    api.test().post(&path, json!({})).await.ok()
}

/// The call that proves in this way; `None` for a way of [`WAYS`].
async fn further_proof(
    api: &Api,
    pocket: &Pocket,
    way: &str,
    right: bool,
) -> Option<(&'static str, Value)> {
    Some(match way {
        "wallet" => {
            let mut request = pocket.proof(api, None).await;
            if !right {
                let signature = request["signature"].as_str().unwrap().to_owned();
                let first = if signature.starts_with("0x1") {
                    "0x2"
                } else {
                    "0x1"
                };
                request["signature"] = json!(format!("{first}{}", &signature[3..]));
            }
            (WALLETS, request)
        }
        "provider" => {
            let (url, _) = landed(api, &format!("identity=verified&email={EMAIL}")).await;
            let token = if right { token(&url) } else { "x".repeat(64) };
            (OAUTH, json!({ "token": token }))
        }
        "created link" => {
            let path = "/v1/auth/magic_links/create";
            let made = api.test().post(path, json!({ "email": EMAIL })).await.ok();
            let token = made.text_at("/token");
            let token = if right { token } else { "x".repeat(48) };
            (LINKS, json!({ "token": token }))
        }
        "reset" => {
            let token = link_to(api, "/v1/auth/passwords/reset/begin", EMAIL).await;
            let token = if right { token } else { "x".repeat(48) };
            (
                RESET,
                json!({"token": token, "password": "another horse entirely"}),
            )
        }
        _ => return None,
    })
}

async fn any_proof(
    api: &Api,
    person: &mut Person,
    pocket: &Pocket,
    way: &str,
    right: bool,
) -> (&'static str, Value) {
    // Send limits and authenticator app steps are not the subject of this test.
    api.pass(630);
    match further_proof(api, pocket, way, right).await {
        Some(further) => further,
        None => proof(api, person, way, right).await,
    }
}

async fn presented(api: &Api, (path, request): (&'static str, Value)) -> Response {
    let client = api.test().header("X-Request-Id", "one");
    let request = with(request, json!({"session_expires_in": 60}));
    client.post(path, request).await
}

/// The number of users.
async fn count(api: &Api) -> Value {
    let found = api.test().post("/v1/auth/users/search", json!({})).await;
    found.ok().body["total_count"].clone()
}

/// P-10, S-5: whether the user was disabled before or after the sign-in was begun, right credentials get the response to wrong ones. They
/// work again once the user is enabled. No second user is created for the address.
async fn m_18_every_sign_in_of_a_disabled_user_fails_like_a_wrong_one(api: &Api) {
    people::with_urls(api).await;
    lands(api).await;
    let mut person = person(api).await;
    let user = person.user.clone();
    let pocket = Pocket::new(api).await;
    let joining = pocket.proof(api, Some(&user)).await;
    api.test().post(WALLETS, joining).await.ok();
    let users = count(api).await;
    let further = ["wallet", "provider", "created link", "reset"];
    for way in WAYS.map(|(way, _, _)| way).into_iter().chain(further) {
        let wrong = any_proof(api, &mut person, &pocket, way, false).await;
        let wrong = presented(api, wrong).await;
        assert!(
            wrong.status == 400 || wrong.status == 401,
            "{way}: {}",
            wrong.text
        );
        let before = any_proof(api, &mut person, &pocket, way, true).await;
        switch(api, &user, "disable").await;
        let response = presented(api, before).await;
        assert_eq!(seen(&response), seen(&wrong), "{way}, begun before");
        let after = any_proof(api, &mut person, &pocket, way, true).await;
        let response = presented(api, after).await;
        assert_eq!(seen(&response), seen(&wrong), "{way}, begun after");
        assert_eq!(count(api).await, users, "{way}");
        let path = format!("/v1/auth/sessions/list?user_id={user}");
        let sessions = api.test().get(&path).await.ok();
        assert_eq!(sessions.body["sessions"], json!([]), "{way}");
        switch(api, &user, "enable").await;
        // With its authenticator app, the user sets no password by a mailbox alone.
        let (status, shown) = if way == "reset" {
            (403, None)
        } else {
            (200, Some(&user))
        };
        let fresh = any_proof(api, &mut person, &pocket, way, true).await;
        let response = presented(api, fresh).await;
        assert_eq!(response.status, status, "{way}: {}", response.text);
        let named = response.body["user_id"].as_str().map(str::to_owned);
        assert_eq!(named.as_ref(), shown, "{way}");
    }
}

/// M-18: the stored response of a lost sign-in, with its tokens, is not returned again while the user is disabled. The response in its
/// place reveals nothing.
async fn m_9_a_stored_sign_in_of_a_disabled_user_is_refused_like_a_wrong_one(api: &Api) {
    people::with_urls(api).await;
    lands(api).await;
    let mut person = person(api).await;
    let user = person.user.clone();
    let pocket = Pocket::new(api).await;
    let joining = pocket.proof(api, Some(&user)).await;
    api.test().post(WALLETS, joining).await.ok();
    let further = ["wallet", "provider", "created link"];
    for way in WAYS.map(|(way, _, _)| way).into_iter().chain(further) {
        let wrong = any_proof(api, &mut person, &pocket, way, false).await;
        let wrong = presented(api, wrong).await;
        let (path, request) = any_proof(api, &mut person, &pocket, way, true).await;
        let request = with(request, json!({"session_expires_in": 60}));
        let ask = async || {
            let client = api.test().header("X-Request-Id", "one");
            let keyed = client.header("Idempotency-Key", &way.replace(' ', "-"));
            keyed.post(path, request.clone()).await
        };
        let first = ask().await.ok();
        assert_eq!(ask().await.ok().text, first.text, "{way}");
        switch(api, &user, "disable").await;
        let response = ask().await;
        assert_eq!(seen(&response), seen(&wrong), "{way}");
        assert_eq!(response.header("idempotent-replayed"), None, "{way}");
        switch(api, &user, "enable").await;
        // The session has ended for good, but the call is unchanged.
        assert_eq!(ask().await.ok().text, first.text, "{way}");
        assert!(
            !is_open(api, &first.text_at("/session_token")).await,
            "{way}"
        );
    }
}

/// Recorded for every sign-in method, with a session or without. Wrong attempts, begin calls and uses of a session are not recorded.
async fn m_21_every_sign_in_is_recorded_with_the_user(api: &Api) {
    people::with_urls(api).await;
    lands(api).await;
    let mut person = person(api).await;
    let user = person.user.clone();
    let pocket = Pocket::new(api).await;
    let joining = pocket.proof(api, Some(&user)).await;
    api.test().post(WALLETS, joining).await.ok();
    let noted = async || {
        let path = format!("/v1/auth/users/{user}");
        let user = api.test().get(&path).await.ok();
        user.body["last_sign_in_at"].as_i64().unwrap()
    };
    let mut last = noted().await;
    let further = ["wallet", "provider", "created link"];
    let ways = WAYS.map(|(way, _, _)| way).into_iter().chain(further);
    for (number, way) in ways.enumerate() {
        let wrong = any_proof(api, &mut person, &pocket, way, false).await;
        assert_ne!(presented(api, wrong).await.status, 200, "{way}");
        let right = any_proof(api, &mut person, &pocket, way, true).await;
        assert_eq!(noted().await, last, "{way}: the user has not signed in");
        last = api.clock.machine().unix();
        if number % 2 == 0 {
            let (path, request) = right;
            api.test().post(path, request).await.ok();
        } else {
            let signed_in = presented(api, right).await.ok();
            api.pass(61);
            assert!(is_open(api, &signed_in.text_at("/session_token")).await);
        }
        assert_eq!(noted().await, last, "{way}");
    }
}

/// Attack 9: every call that begins with an address returns the same response as before, with the same ids, and keeps sending.
async fn m_18_sending_calls_do_not_reveal_disabled_users(api: &Api) {
    people::with_urls(api).await;
    let user = signed_in(api, EMAIL).await.text_at("/user_id");
    let calls = [
        "/v1/auth/otps/email/send",
        "/v1/auth/otps/email/login_or_create",
        "/v1/auth/magic_links/email/login_or_create",
        "/v1/auth/magic_links/email/invite",
        "/v1/auth/magic_links/create",
        "/v1/auth/passwords/reset/begin",
    ];
    // Each response, and the number of messages sent for it.
    let responses = async || {
        let mut responses = Vec::new();
        for path in calls {
            api.pass(630);
            api.test().delete("/v1/test/messages", None).await.ok();
            let response = api.test().post(path, json!({ "email": EMAIL })).await.ok();
            api.deliver().await;
            let sent = api.test().get("/v1/test/messages").await.ok();
            let sent = sent.body["messages"].as_array().unwrap().len();
            let ids = ["user_id", "email_id"].map(|name| response.body[name].clone());
            let mut shown = response.shown();
            // Of the user's record, which the disabling has changed.
            if let Some(body) = shown["body"].as_object_mut() {
                body.remove("updated_at");
            }
            responses.push((path, ids, shown, sent));
        }
        responses
    };
    let before = responses().await;
    switch(api, &user, "disable").await;
    assert_eq!(responses().await, before);
    assert!(
        before
            .iter()
            .all(|(path, _, _, sent)| path.ends_with("/create") != (*sent == 1))
    );
}

/// Twenty-two times in a row, into the lockout: right codes, passwords and authenticator codes of a disabled user, next to wrong ones of an
/// enabled user.
async fn attack_9_right_proofs_of_a_disabled_user_meet_the_limits_of_wrong_ones(api: &Api) {
    let disabled = people::with_password(api, "ada@example.com").await.user;
    let enabled = people::with_password(api, "bob@example.com").await.user;
    let app = people::Authenticator::of(api, &disabled).await;
    people::Authenticator::of(api, &enabled).await;
    let path = format!("/v1/auth/users/{disabled}/disable");
    api.test().post(&path, json!({})).await.ok();
    api.pass(86_400);
    let mut statuses = Vec::new();
    let mut codes = None;
    for turn in 0..22 {
        // A code is void after five attempts; the lockout begins with the twentieth failure, whatever the code.
        if turn % 5 == 0 && turn < 20 {
            api.pass(630);
            let right = sent(api, &api.test(), "ada@example.com").await;
            codes = Some((right, sent(api, &api.test(), "bob@example.com").await));
        }
        let (right, wrong) = codes.as_ref().unwrap();
        let of = |method_id: &str, otp: &str| json!({"method_id": method_id, "otp": otp});
        let responses = [
            presented(api, (CODES, of(&right.method_id, &right.code))).await,
            presented(api, (CODES, of(&wrong.method_id, people::not(&wrong.code)))).await,
        ];
        assert_eq!(
            seen(&responses[0]),
            seen(&responses[1]),
            "codes, turn {turn}"
        );
        statuses.push(responses[0].status);
    }
    assert!(statuses.contains(&429), "codes: {statuses:?}");
    let pairs = [
        (
            PASSWORDS,
            json!({"user_id": disabled, "password": PASSWORD}),
            json!({"user_id": enabled, "password": "correct horse batterz"}),
        ),
        (
            TOTP,
            json!({"user_id": disabled, "totp": app.shows(api)}),
            json!({"user_id": enabled, "totp": people::not(&app.shows(api))}),
        ),
    ];
    for (path, right, wrong) in pairs {
        let mut statuses = Vec::new();
        for turn in 0..22 {
            let responses = [
                presented(api, (path, right.clone())).await,
                presented(api, (path, wrong.clone())).await,
            ];
            assert_eq!(
                seen(&responses[0]),
                seen(&responses[1]),
                "{path}, turn {turn}"
            );
            statuses.push(responses[0].status);
        }
        assert!(statuses.contains(&429), "{path}: {statuses:?}");
    }
}

/// S-5, GHSA-2vg6: neither token nor JWT opens or renews a session of a disabled user, not even after the user is enabled again.
async fn attack_14_disabling_a_user_ends_its_sessions_for_good(api: &Api) {
    let sessions = [signed_in(api, EMAIL).await, {
        api.pass(630);
        signed_in(api, EMAIL).await
    }];
    let user = sessions[0].text_at("/user_id");
    let stranger = signed_in(api, "bob@example.com").await;
    switch(api, &user, "disable").await;
    for state in ["disabled", "enabled"] {
        for session in &sessions {
            assert!(
                !is_open(api, &session.text_at("/session_token")).await,
                "{state}"
            );
            let request = json!({"session_jwt": session.text_at("/session_jwt")});
            let refused = api.test().post(SESSION, request).await;
            refused.refuses(401, "invalid_session", None);
        }
        switch(api, &user, "enable").await;
    }
    assert!(is_open(api, &stranger.text_at("/session_token")).await);
}
