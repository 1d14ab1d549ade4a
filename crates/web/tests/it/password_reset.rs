//! Password resets over HTTP: bounds, shapes, errors, on both databases.

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::flows::signed_in;
use crate::harness::{Api, Lane, Options, Response, assert_response_snapshot, on_both, on_with};
use crate::totps;

const BEGIN: &str = "/v1/auth/passwords/reset/begin";
const COMPLETE: &str = "/v1/auth/passwords/reset/complete";
const VERIFY: &str = "/v1/auth/passwords/verify";
const UPDATE: &str = "/v1/auth/passwords/session/update";
const LOGIN: &str = "https://app.example.com/login";
const ADA: &str = "ada@example.com";
const FIRST: &str = "correct horse battery";
const SECOND: &str = "staple of another horse";

on_both! {
    a_forgotten_password_is_reset
    without_a_session_none_is_created
    s_6_other_sessions_end_and_notices_go_out
    begin_names_what_it_refuses
    complete_names_what_it_refuses
    ml_4_redirects_are_registered_or_refused
    ml_3_used_expired_replaced_and_unknown_tokens_get_one_response
    ml_6_a_link_is_valid_for_its_purpose_only
    a_refused_password_says_why_and_costs_no_link
    attack_13_a_session_of_another_user_is_refused
    p_13_a_second_factor_is_required
    otp_7_a_reset_may_be_bound_to_its_device
    otp_10_too_many_resets_say_when_to_retry
    attack_9_known_and_unknown_addresses_get_one_response
    attack_25_foreign_resets_do_not_exist
    a_live_reset_goes_by_mail
}

/// Registers a default login URL, which resets use, in both environments.
async fn with_url(api: &Api) {
    for environment in Environment::ALL {
        let world = World::new(api.app.id, environment);
        let kind = RedirectKind::Login;
        let added = api
            .service
            .add_redirect_url(Principal::cli(), world, kind, LOGIN, true);
        added.await.unwrap();
    }
}

/// The newest mail of this kind to an address.
async fn mail_to(api: &Api, email: &str, kind: &str) -> Value {
    api.deliver().await;
    let path = format!("/v1/test/messages?to={email}&kind={kind}");
    let found = api.test().get(&path).await.ok();
    found.body["messages"][0].clone()
}

/// Sends a link to a known address; returns its token.
async fn token_to(api: &Api, email: &str) -> String {
    api.test().post(BEGIN, json!({"email": email})).await.ok();
    let mail = mail_to(api, email, "password_reset").await;
    mail["token"].as_str().unwrap().to_owned()
}

async fn complete(api: &Api, token: &str, password: &str) -> Response {
    let request = json!({"token": token, "password": password});
    api.test().post(COMPLETE, request).await
}

/// A user who is signed in and has a password: id and session token.
async fn with_password(api: &Api, email: &str) -> (String, String) {
    let session = signed_in(api, email).await;
    let token = session.text_at("/session_token");
    let request = json!({"session_token": token, "password": FIRST});
    api.test().post(UPDATE, request).await.ok();
    (session.text_at("/user_id"), token)
}

/// The status of `passwords/verify` for a password.
async fn status_of(api: &Api, user: &str, password: &str) -> u16 {
    let request = json!({"user_id": user, "password": password});
    api.test().post(VERIFY, request).await.status
}

async fn set(api: &Api, name: &str, value: &str) {
    let change = [(name.to_owned(), value.to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &change)
        .await
        .unwrap();
    api.pass(1);
}

async fn a_forgotten_password_is_reset(api: &Api) {
    with_url(api).await;
    let (user, _) = with_password(api, ADA).await;
    let request =
        json!({"email": " Ada@Example.com", "reset_redirect_url": LOGIN, "expires_in": 15});
    let begun = api.test().post(BEGIN, request).await.ok();
    assert_response_snapshot!(begun, @r#"
    {
      "body": {
        "email_id": "[email id]",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    assert_eq!(begun.text_at("/user_id"), user);
    let mail = mail_to(api, ADA, "password_reset").await;
    let token = mail["token"].as_str().unwrap();
    let link = format!("{LOGIN}?token={token}");
    assert_eq!(mail["link"], link);
    for part in ["text", "html"] {
        let part = mail[part].as_str().unwrap();
        assert!(
            part.contains(&link) && part.contains("15 minutes"),
            "{part}"
        );
    }
    let request = json!({
        "token": token, "password": SECOND, "session_expires_in": 60, "permissions": ["orders:read"],
        "device_fingerprint": {"ip": "203.0.113.7", "user_agent": "Mozilla/5.0"},
    });
    let completed = api.test().post(COMPLETE, request).await.ok();
    assert_response_snapshot!(completed, @r#"
    {
      "body": {
        "session": {
          "created_at": 1800000000,
          "deleted": false,
          "deleted_at": 0,
          "device_fingerprint": {
            "ip": "203.0.113.7",
            "user_agent": "Mozilla/5.0"
          },
          "expires_at": 1800003600,
          "factors": [
            {
              "delivery_channel": "email",
              "method": {
                "email": "ada@example.com",
                "email_id": "[email id]",
                "last_verified_at": 1800000000,
                "method_id": "[email id]",
                "method_type": "email"
              },
              "type": "magic_link"
            }
          ],
          "id": "[sess id]",
          "last_active_at": 1800000000,
          "permissions": [
            "orders:read"
          ],
          "started_at": 1800000000,
          "updated_at": 1800000000,
          "user_id": "[user id]"
        },
        "session_jwt": "[jwt]",
        "session_token": "[session token]",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    assert_eq!(completed.text_at("/user_id"), user);
    assert_eq!(status_of(api, &user, FIRST).await, 401);
    assert_eq!(status_of(api, &user, SECOND).await, 200);
    for (name, field) in [
        ("session_token", "session_token"),
        ("session_jwt", "session_jwt"),
    ] {
        let request = json!({name: completed.text_at(&format!("/{field}"))});
        api.test()
            .post("/v1/auth/sessions/verify", request)
            .await
            .ok();
    }
}

async fn without_a_session_none_is_created(api: &Api) {
    with_url(api).await;
    let request = json!({"email": ADA});
    let created = api.test().post("/v1/auth/users/create", request).await.ok();
    let user = created.text_at("/user_id");
    let token = token_to(api, ADA).await;
    let completed = complete(api, &token, FIRST).await.ok();
    let expected =
        json!({"user_id": user, "session_token": "", "session_jwt": "", "session": null});
    assert_eq!(completed.body, expected);
    let found = api.test().get(&format!("/v1/auth/users/{user}")).await.ok();
    assert_eq!(found.body["emails"][0]["verified"], true);
    assert_eq!(status_of(api, &user, FIRST).await, 200);
}

async fn s_6_other_sessions_end_and_notices_go_out(api: &Api) {
    with_url(api).await;
    let (user, session) = with_password(api, ADA).await;
    let other = signed_in(api, ADA).await.text_at("/session_token");
    let token = token_to(api, ADA).await;
    let request = json!({"token": token, "password": SECOND, "session_token": session});
    let completed = api.test().post(COMPLETE, request).await.ok();
    let fresh = completed.text_at("/session_token");
    for (token, status) in [(&session, 401), (&other, 401), (&fresh, 200)] {
        let request = json!({"session_token": token});
        let verified = api.test().post("/v1/auth/sessions/verify", request).await;
        assert_eq!(verified.status, status, "{}", verified.text);
    }
    let notice = mail_to(api, ADA, "security_notice").await;
    let text = notice["text"].as_str().unwrap();
    assert!(text.contains("password was changed") && !text.contains(SECOND));
    assert_eq!(status_of(api, &user, FIRST).await, 401);
}

async fn begin_names_what_it_refuses(api: &Api) {
    with_url(api).await;
    signed_in(api, ADA).await;
    let long = format!("{}@example.com", "a".repeat(300));
    let valid = json!({"email": ADA});
    let with = |field: &str, value: Value| {
        let mut request = valid.clone();
        request[field] = value;
        request
    };
    for (request, code, param) in [
        (json!({}), "missing_field", "email"),
        (with("email", Value::Null), "missing_field", "email"),
        (with("email", json!("")), "invalid_field", "email"),
        (with("email", json!("ada")), "invalid_field", "email"),
        (with("email", json!(7)), "invalid_field", "email"),
        (with("email", json!(long)), "invalid_field", "email"),
        (
            with("email", json!("a@example.com\r\nBcc: eve@example.com")),
            "invalid_field",
            "email",
        ),
        (with("expires_in", json!(4)), "invalid_field", "expires_in"),
        (
            with("expires_in", json!(1_441)),
            "invalid_field",
            "expires_in",
        ),
        (
            with("expires_in", json!(5.5)),
            "invalid_field",
            "expires_in",
        ),
        (
            with("expires_in", json!("60")),
            "invalid_field",
            "expires_in",
        ),
        (
            with("reset_redirect_url", json!(1)),
            "invalid_field",
            "reset_redirect_url",
        ),
        (
            with("device_fingerprint", json!("x")),
            "invalid_field",
            "device_fingerprint",
        ),
        (
            with("device_fingerprint", json!({"ip": 7})),
            "invalid_field",
            "device_fingerprint.ip",
        ),
    ] {
        let response = api.test().post(BEGIN, request).await;
        response.refuses(400, code, Some(param));
    }
    let unknown = json!({"email": "unknown@example.com"});
    let response = api.test().post(BEGIN, unknown).await;
    response.refuses(404, "not_found", Some("email"));
    api.anonymous()
        .post(BEGIN, valid.clone())
        .await
        .refuses(401, "missing_api_key", None);
    let scopes = [vestry_domain::api_key::Scope::UsersRead];
    let scoped = api.new_key(Environment::Test, &scopes).await;
    let response = api.with_key(&scoped).post(BEGIN, valid.clone()).await;
    response.refuses(403, "key_not_allowed", Some("scope"));
    api.deliver().await;
    let mails = "/v1/test/messages?kind=password_reset";
    let mails = api.test().get(mails).await.ok();
    assert_eq!(mails.body["messages"], json!([]), "nothing was sent");
    for minutes in [json!(5), json!(1_440), Value::Null] {
        let request = with("expires_in", minutes);
        api.test().post(BEGIN, request).await.ok();
    }
}

async fn complete_names_what_it_refuses(api: &Api) {
    with_url(api).await;
    signed_in(api, ADA).await;
    let token = token_to(api, ADA).await;
    let valid = json!({"token": token, "password": FIRST});
    let with = |field: &str, value: Value| {
        let mut request = valid.clone();
        request[field] = value;
        request
    };
    for (request, code, param) in [
        (json!({"password": FIRST}), "missing_field", "token"),
        (json!({"token": token}), "missing_field", "password"),
        (with("token", json!(7)), "invalid_field", "token"),
        (with("password", json!(["x"])), "invalid_field", "password"),
        (
            with("password", json!("x".repeat(1_025))),
            "invalid_field",
            "password",
        ),
        (
            with("session_expires_in", json!(4)),
            "invalid_field",
            "session_expires_in",
        ),
        (
            with("session_expires_in", json!(525_601)),
            "invalid_field",
            "session_expires_in",
        ),
        (
            with("session_token", json!(7)),
            "invalid_field",
            "session_token",
        ),
        (
            with("session_jwt", json!(7)),
            "invalid_field",
            "session_jwt",
        ),
        (
            with("permissions", json!("all")),
            "invalid_field",
            "permissions",
        ),
        (
            with("device_fingerprint", json!({"user_agent": 7})),
            "invalid_field",
            "device_fingerprint.user_agent",
        ),
    ] {
        let response = api.test().post(COMPLETE, request).await;
        response.refuses(400, code, Some(param));
    }
    let anonymous = api.anonymous().post(COMPLETE, valid.clone()).await;
    anonymous.refuses(401, "missing_api_key", None);
    let scopes = [vestry_domain::api_key::Scope::UsersWrite];
    let scoped = api.new_key(Environment::Test, &scopes).await;
    let response = api.with_key(&scoped).post(COMPLETE, valid.clone()).await;
    response.refuses(403, "key_not_allowed", Some("scope"));
    api.test().post(COMPLETE, valid).await.ok();
}

async fn ml_4_redirects_are_registered_or_refused(api: &Api) {
    signed_in(api, ADA).await;
    let to = |url: &str| json!({"email": ADA, "reset_redirect_url": url});
    let refused = api.test().post(BEGIN, json!({"email": ADA})).await;
    refused.refuses(400, "redirect_url_missing", Some("reset_redirect_url"));
    with_url(api).await;
    let world = World::new(api.app.id, Environment::Test);
    let invite = "https://app.example.com/invite";
    let added =
        api.service
            .add_redirect_url(Principal::cli(), world, RedirectKind::Invite, invite, true);
    added.await.unwrap();
    for url in [
        invite,
        "https://app.example.com/login/",
        "https://app.example.com/LOGIN",
        "https://app.example.com.evil.example/login",
        "//app.example.com/login",
    ] {
        let refused = api.test().post(BEGIN, to(url)).await;
        refused.refuses(400, "redirect_url_not_allowed", Some("reset_redirect_url"));
    }
    // Empty counts as absent, and the App has a default.
    api.test().post(BEGIN, to("")).await.ok();
    api.test().post(BEGIN, to(LOGIN)).await.ok();
}

async fn ml_3_used_expired_replaced_and_unknown_tokens_get_one_response(api: &Api) {
    with_url(api).await;
    let user = signed_in(api, ADA).await.text_at("/user_id");
    let replaced = token_to(api, ADA).await;
    let expired = token_to(api, ADA).await;
    api.pass(3_600);
    signed_in(api, "bob@example.com").await;
    let deleted = token_to(api, "bob@example.com").await;
    let bob = signed_in(api, "bob@example.com").await.text_at("/user_id");
    let path = format!("/v1/auth/users/{bob}/delete");
    api.test().delete(&path, None).await.ok();
    let client = api.test().header("X-Request-Id", "one");
    let mut bodies = Vec::new();
    let mut refuse = async |token: &str| {
        let request = json!({"token": token, "password": FIRST, "session_expires_in": 60});
        let response = client.post(COMPLETE, request).await;
        response.refuses(400, "invalid_magic_token", None);
        bodies.push(response.body);
    };
    for token in ["", "x", &"0".repeat(48), &replaced, &expired, &deleted] {
        refuse(token).await;
    }
    assert_eq!(status_of(api, &user, FIRST).await, 401);
    let used = token_to(api, ADA).await;
    complete(api, &used, FIRST).await.ok();
    refuse(&used).await;
    assert!(bodies.windows(2).all(|two| two[0] == two[1]), "{bodies:?}");
}

async fn ml_6_a_link_is_valid_for_its_purpose_only(api: &Api) {
    with_url(api).await;
    signed_in(api, ADA).await;
    let request = json!({"email": ADA, "registration_redirect_url": null});
    let world = World::new(api.app.id, Environment::Test);
    let kind = RedirectKind::Registration;
    let added = api
        .service
        .add_redirect_url(Principal::cli(), world, kind, LOGIN, true);
    added.await.unwrap();
    let login = "/v1/auth/magic_links/email/login_or_create";
    api.test().post(login, request).await.ok();
    let signs_in = mail_to(api, ADA, "magic_link").await;
    let signs_in = signs_in["token"].as_str().unwrap();
    let resets = token_to(api, ADA).await;
    let refused = complete(api, signs_in, FIRST).await;
    refused.refuses(400, "invalid_magic_token", None);
    let verify = "/v1/auth/magic_links/verify";
    let refused = api.test().post(verify, json!({"token": resets})).await;
    refused.refuses(400, "invalid_magic_token", None);
    complete(api, &resets, FIRST).await.ok();
    let request = json!({"token": signs_in});
    api.test().post(verify, request).await.ok();
}

async fn a_refused_password_says_why_and_costs_no_link(api: &Api) {
    with_url(api).await;
    signed_in(api, "ada.lovelace@example.com").await;
    let token = token_to(api, "ada.lovelace@example.com").await;
    for (password, why) in [
        ("", "at least 8 characters"),
        ("seven77", "at least 8 characters"),
        ("password123", "most common"),
        ("ada.lovelace", "a name from the account"),
    ] {
        let response = complete(api, &token, password).await;
        response.refuses(400, "invalid_field", Some("password"));
        let said = response.text_at("/error/message");
        assert!(said.contains(why), "{password}: {said}");
    }
    complete(api, &token, FIRST).await.ok();
}

async fn attack_13_a_session_of_another_user_is_refused(api: &Api) {
    with_url(api).await;
    let ada = signed_in(api, ADA).await;
    let eve = signed_in(api, "eve@example.com").await;
    let token = token_to(api, ADA).await;
    let valid = json!({"token": token, "password": FIRST});
    let with = |fields: Value| {
        let mut request = valid.clone();
        let fields = fields.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(fields);
        request
    };
    for fields in [
        json!({"session_token": "0".repeat(64)}),
        json!({"session_token": eve.text_at("/session_token")}),
        json!({"session_jwt": eve.text_at("/session_jwt")}),
        json!({"session_jwt": "x.y.z"}),
    ] {
        let response = api.test().post(COMPLETE, with(fields)).await;
        response.refuses(401, "invalid_session", None);
    }
    let both = json!({
        "session_token": ada.text_at("/session_token"), "session_jwt": eve.text_at("/session_jwt"),
    });
    let response = api.test().post(COMPLETE, with(both)).await;
    response.refuses(400, "invalid_field", Some("session_jwt"));
    let own = json!({"session_jwt": ada.text_at("/session_jwt")});
    let completed = api.test().post(COMPLETE, with(own)).await.ok();
    assert_eq!(completed.body["session"]["id"], ada.body["session"]["id"]);
}

async fn p_13_a_second_factor_is_required(api: &Api) {
    with_url(api).await;
    let user = totps::user(api).await;
    let session = signed_in(api, ADA).await.text_at("/session_token");
    let app = totps::verified(api, &user).await;
    let token = token_to(api, ADA).await;
    for further in [json!({}), json!({"session_expires_in": 60})] {
        let mut request = json!({"token": token, "password": FIRST});
        let further = further.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(further);
        let response = api.test().post(COMPLETE, request).await;
        response.refuses(403, "insufficient_factor", None);
    }
    // The first code ended the earlier sessions, so this one has a single factor.
    let ended = json!({"token": token, "password": FIRST, "session_token": session});
    let response = api.test().post(COMPLETE, ended).await;
    response.refuses(401, "invalid_session", None);
    let plain = signed_in(api, ADA).await.text_at("/session_token");
    let request = json!({"token": token, "password": FIRST, "session_token": plain});
    let response = api.test().post(COMPLETE, request).await;
    response.refuses(403, "insufficient_factor", None);
    let request = json!({
        "user_id": user, "totp": totps::shown(&app, 30), "session_token": plain,
    });
    let verify = "/v1/auth/totps/verify";
    let proved = api.test().post(verify, request).await.ok();
    let proved = proved.text_at("/session_token");
    let request = json!({"token": token, "password": FIRST, "session_token": proved});
    api.pass(15 * 60);
    let response = api.test().post(COMPLETE, request).await;
    response.refuses(403, "insufficient_factor", None);
    let request = json!({
        "user_id": user, "recovery_code": app.body["recovery_codes"][0], "session_token": proved,
    });
    let recovery = "/v1/auth/totps/recovery";
    let proved = api.test().post(recovery, request).await.ok();
    let proved = proved.text_at("/session_token");
    let request = json!({"token": token, "password": FIRST, "session_token": proved});
    api.test().post(COMPLETE, request).await.ok();
    assert_eq!(status_of(api, &user, FIRST).await, 200);
}

async fn otp_7_a_reset_may_be_bound_to_its_device(api: &Api) {
    with_url(api).await;
    set(api, "device_fingerprint_match", "ip").await;
    signed_in(api, ADA).await;
    let device = json!({"ip": "203.0.113.7"});
    let request = json!({"email": ADA, "device_fingerprint": device});
    api.test().post(BEGIN, request).await.ok();
    let mail = mail_to(api, ADA, "password_reset").await;
    let from = |ip: &str| json!({"token": mail["token"], "password": FIRST, "device_fingerprint": {"ip": ip}});
    for _ in 0..20 {
        let response = api.test().post(COMPLETE, from("203.0.113.8")).await;
        response.refuses(400, "invalid_magic_token", None);
    }
    let response = api.test().post(COMPLETE, from("203.0.113.7")).await;
    response.refuses(429, "too_many_attempts", None);
    assert_eq!(response.header("retry-after"), Some("60"));
    api.pass(60);
    api.test().post(COMPLETE, from("203.0.113.7")).await.ok();
}

async fn otp_10_too_many_resets_say_when_to_retry(api: &Api) {
    with_url(api).await;
    signed_in(api, ADA).await;
    api.pass(600);
    // Five, and one beyond the limit (M-5).
    for _ in 0..6 {
        api.test().post(BEGIN, json!({"email": ADA})).await.ok();
        api.pass(20);
    }
    let response = api.test().post(BEGIN, json!({"email": ADA})).await;
    response.refuses(429, "too_many_attempts", None);
    assert_eq!(response.header("retry-after"), Some("480"));
    api.pass(480);
    api.test().post(BEGIN, json!({"email": ADA})).await.ok();
}

/// Attack 9: status, body, headers and limits are the same, and only one of the two gets mail.
async fn attack_9_known_and_unknown_addresses_get_one_response(api: &Api) {
    with_url(api).await;
    set(api, "enumeration_safe", "true").await;
    signed_in(api, "known@example.com").await;
    api.pass(3_600);
    for step in 0..20 {
        let mut responses = Vec::new();
        for who in ["known", "unknown"] {
            let client = api.test().header("X-Request-Id", "one");
            let request = json!({"email": format!("{who}@example.com")});
            let response = client.post(BEGIN, request).await;
            let header = |name| response.header(name).map(str::to_owned);
            responses.push((
                response.shown(),
                header("retry-after"),
                header("content-length"),
            ));
        }
        assert_eq!(responses[0], responses[1], "step {step}");
        api.pass(7);
    }
    let mail = mail_to(api, "known@example.com", "password_reset").await;
    assert!(mail["token"].is_string());
    let mail = mail_to(api, "unknown@example.com", "password_reset").await;
    assert_eq!(mail, Value::Null);
}

async fn attack_25_foreign_resets_do_not_exist(api: &Api) {
    with_url(api).await;
    let user = signed_in(api, ADA).await.text_at("/user_id");
    let token = token_to(api, ADA).await;
    for stranger in [api.live(), api.other_app().await] {
        let request = json!({"token": token, "password": FIRST});
        let response = stranger.post(COMPLETE, request).await;
        response.refuses(400, "invalid_magic_token", None);
    }
    let response = api.live().post(BEGIN, json!({"email": ADA})).await;
    response.refuses(404, "not_found", Some("email"));
    assert_eq!(status_of(api, &user, FIRST).await, 401);
    complete(api, &token, FIRST).await.ok();
}

async fn a_live_reset_goes_by_mail(api: &Api) {
    with_url(api).await;
    let request = json!({"email": "Ada@example.com"});
    let created = api.live().post("/v1/auth/users/create", request).await.ok();
    api.live().post(BEGIN, json!({"email": ADA})).await.ok();
    api.deliver().await;
    let (_, mail) = api.mailer.sent().pop().unwrap();
    // The address is not verified yet, so the mail goes to the spelling in the request.
    assert_eq!(mail.to, ADA, "attack-5");
    let request = json!({"token": mail.token, "password": FIRST});
    let completed = api.live().post(COMPLETE, request).await.ok();
    assert_eq!(completed.text_at("/user_id"), created.text_at("/user_id"));
}

/// OPS-9: a live reset without a transport is 503 for every address, and stores nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_mailer_a_live_reset_is_unavailable() {
    let options = Options {
        has_mailer: false,
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api: &Api| {
        with_url(api).await;
        let request = json!({"email": ADA});
        api.live().post("/v1/auth/users/create", request).await.ok();
        for email in [ADA, "unknown@example.com"] {
            let response = api.live().post(BEGIN, json!({"email": email})).await;
            response.refuses(503, "unavailable", None);
        }
    })
    .await;
}
