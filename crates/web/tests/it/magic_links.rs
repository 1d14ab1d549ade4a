//! Magic links.

use futures_util::future::join_all;
use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::flows::signed_in;
use crate::harness::{
    Api, Client, Lane, Options, Response, assert_response_snapshot, on_both, on_with,
};

const LOGIN: &str = "/v1/auth/magic_links/email/login_or_create";
const INVITE: &str = "/v1/auth/magic_links/email/invite";
const CREATE: &str = "/v1/auth/magic_links/create";
const VERIFY: &str = "/v1/auth/magic_links/verify";
const STATUS: &str = "/v1/auth/magic_links/email/login_status";

on_both! {
    a_link_signs_a_new_user_in
    a_link_without_a_session_verifies_the_address
    an_invitation_is_mailed
    a_created_link_tells_the_browser_that_asked
    minutes_are_whole_and_within_bounds
    a_refused_link_creates_nothing
    ml_4_redirects_are_registered_or_refused
    ml_3_used_expired_replaced_and_unknown_links_get_one_response
    a_verify_names_what_it_refuses
    a_status_names_what_it_refuses
    a_session_of_another_user_is_refused
    otp_10_too_many_links_say_when_to_retry
    ml_8_a_link_may_be_bound_to_its_browser
    m_2_a_link_handed_to_a_victim_is_useless
    m_2_parallel_verifiers_of_a_link_are_counted_one_by_one
    m_2_a_link_may_have_to_be_bound
    attack_6_ml_2_no_inspection_uses_a_link_up
    attack_9_known_and_unknown_addresses_get_one_response
    attack_15_ml_4_no_header_changes_a_link
    attack_16_no_header_changes_the_device
    b4_foreign_links_do_not_exist
    a_live_link_goes_by_mail
}

/// Registers a default URL of each kind in both environments.
async fn with_urls(api: &Api) {
    for environment in Environment::ALL {
        for kind in RedirectKind::ALL {
            register(api, environment, kind, &url_of(kind), true).await;
        }
    }
}

async fn register(
    api: &Api,
    environment: Environment,
    kind: RedirectKind,
    url: &str,
    default: bool,
) {
    let world = World::new(api.app.id, environment);
    let added = api
        .service
        .add_redirect_url(Principal::cli(), world, kind, url, default);
    added.await.unwrap();
}

fn url_of(kind: RedirectKind) -> String {
    format!("https://app.example.com/{kind}")
}

/// The newest mail to an address.
async fn mail_to(api: &Api, email: &str) -> Value {
    api.deliver().await;
    let path = format!("/v1/test/messages?to={email}");
    let found = api.test().get(&path).await.ok();
    found.body["messages"][0].clone()
}

/// Sends a link in the test environment and returns its token.
async fn link_to(api: &Api, email: &str) -> String {
    let request = json!({ "email": email });
    api.test().post(LOGIN, request).await.ok();
    let mail = mail_to(api, email).await;
    mail["token"].as_str().unwrap().to_owned()
}

async fn verified(client: &Client<'_>, token: &str, further: Value) -> Response {
    let mut request = json!({ "token": token });
    let fields = further.as_object().unwrap().clone();
    request.as_object_mut().unwrap().extend(fields);
    client.post(VERIFY, request).await
}

async fn mailed(api: &Api) -> usize {
    api.deliver().await;
    let messages = api.test().get("/v1/test/messages").await.ok();
    messages.body["messages"].as_array().unwrap().len()
}

async fn a_link_signs_a_new_user_in(api: &Api) {
    with_urls(api).await;
    let request = json!({"email": "Ada@example.com", "expires_in": 15});
    let sent = api.test().post(LOGIN, request).await.ok();
    assert_response_snapshot!(sent, @r#"
    {
      "body": {
        "created_at": 1800000000,
        "email_id": "[email id]",
        "status": "pending",
        "updated_at": 1800000000,
        "user_created": true,
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    let mail = mail_to(api, "Ada@example.com").await;
    let token = mail["token"].as_str().unwrap();
    let is_plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    assert!(token.len() == 48 && is_plain, "{token}");
    let link = format!("https://app.example.com/registration?token={token}");
    assert_eq!(
        (&mail["link"], &mail["kind"]),
        (&json!(link), &json!("magic_link"))
    );
    for part in ["text", "html"] {
        let part = mail[part].as_str().unwrap();
        assert!(
            part.contains(&link) && part.contains("15 minutes"),
            "{part}"
        );
        assert!(part.contains(mail["code"].as_str().unwrap()), "{part}");
    }
    let further = json!({
        "session_expires_in": 60,
        "device_fingerprint": {"ip": "203.0.113.7", "user_agent": "Mozilla/5.0"},
    });
    let verified = verified(&api.test(), token, further).await.ok();
    assert_response_snapshot!(verified, @r#"
    {
      "body": {
        "method_id": "[email id]",
        "method_type": "email",
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
                "email": "Ada@example.com",
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
          "permissions": [],
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
    assert_eq!(verified.body["user_id"], sent.body["user_id"]);
    let user = api
        .test()
        .get(&format!("/v1/auth/users/{}", sent.text_at("/user_id")))
        .await
        .ok();
    assert_eq!(
        (&user.body["status"], &user.body["emails"][0]["verified"]),
        (&json!("active"), &json!(true))
    );
    // An existing user is led to the login URL.
    let request = json!({"email": "ada@EXAMPLE.com"});
    api.test().post(LOGIN, request).await.ok();
    let mail = mail_to(api, "Ada@example.com").await;
    assert!(
        mail["link"]
            .as_str()
            .unwrap()
            .starts_with("https://app.example.com/login?token=")
    );
}

async fn a_link_without_a_session_verifies_the_address(api: &Api) {
    with_urls(api).await;
    let token = link_to(api, "ada@example.com").await;
    let verified = verified(&api.test(), &token, json!({})).await.ok();
    assert_response_snapshot!(verified, @r#"
    {
      "body": {
        "method_id": "[email id]",
        "method_type": "email",
        "session": null,
        "session_jwt": "",
        "session_token": "",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
}

async fn an_invitation_is_mailed(api: &Api) {
    with_urls(api).await;
    let request = json!({
        "email": "ada@example.com", "first_name": "Ada", "middle_name": "King", "last_name": "Lovelace",
        "invite_redirect_url": url_of(RedirectKind::Invite), "invite_expires_in": 10_080,
    });
    let invited = api.test().post(INVITE, request.clone()).await.ok();
    assert_response_snapshot!(invited, @r#"
    {
      "body": {
        "email_id": "[email id]",
        "status": "pending",
        "user_created": true,
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    // One after the other: the capture order of two mails of one batch is undefined.
    api.deliver().await;
    api.pass(20);
    let again = api.test().post(INVITE, request).await.ok();
    assert_eq!(again.body["user_created"], false);
    let mail = mail_to(api, "ada@example.com").await;
    assert_eq!(
        (&mail["kind"], &mail["code"]),
        (&json!("invite"), &json!(""))
    );
    assert!(
        mail["text"].as_str().unwrap().starts_with("Hello Ada,"),
        "{mail}"
    );
    let user = api
        .test()
        .get(&format!("/v1/auth/users/{}", invited.text_at("/user_id")))
        .await
        .ok();
    for (name, value) in [
        ("first_name", "Ada"),
        ("middle_name", "King"),
        ("last_name", "Lovelace"),
    ] {
        assert_eq!(user.body[name], value);
    }
    api.pass(10_079 * 60);
    let token = mail["token"].as_str().unwrap();
    verified(&api.test(), token, json!({})).await.ok();
}

/// `create`, and `login_status` with each of its responses.
async fn a_created_link_tells_the_browser_that_asked(api: &Api) {
    let ada = json!({"email": "ada@example.com"});
    api.test().post("/v1/auth/users/create", ada).await.ok();
    let made = api
        .test()
        .post(CREATE, json!({"email": "ada@example.com"}))
        .await
        .ok();
    assert_response_snapshot!(made, @r#"
    {
      "body": {
        "email_id": "[email id]",
        "request_origin_token": "[origin token]",
        "token": "[link token]",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    assert_eq!(mailed(api).await, 0);
    let status = async || {
        let request = json!({
            "email_id": made.body["email_id"], "request_origin_token": made.body["request_origin_token"],
        });
        api.test().post(STATUS, request).await
    };
    status().await.refuses(400, "magic_link_not_verified", None);
    let first = verified(
        &api.test(),
        &made.text_at("/token"),
        json!({"session_expires_in": 60}),
    )
    .await
    .ok();
    let used = status().await.ok();
    assert_response_snapshot!(used, @r#"
    {
      "body": {
        "session_jwt": "[jwt]",
        "session_token": "[session token]",
        "status": "active",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    let mut ids = Vec::new();
    for token in [&first.body["session_token"], &used.body["session_token"]] {
        let request = json!({ "session_token": token });
        let session = api
            .test()
            .post("/v1/auth/sessions/verify", request)
            .await
            .ok();
        ids.push(session.text_at("/session/id"));
    }
    assert_ne!(ids[0], ids[1], "each browser has a session of its own");
    status()
        .await
        .refuses(400, "invalid_request_origin_token", None);
    // Without a session the response is the same each time, for ten minutes.
    let made = api
        .test()
        .post(CREATE, json!({"user_id": made.body["user_id"]}))
        .await
        .ok();
    verified(&api.test(), &made.text_at("/token"), json!({}))
        .await
        .ok();
    let request = json!({
        "email_id": made.body["email_id"], "request_origin_token": made.body["request_origin_token"],
    });
    for _ in 0..2 {
        let used = api.test().post(STATUS, request.clone()).await.ok();
        assert_eq!(
            (&used.body["session_token"], &used.body["session_jwt"]),
            (&json!(""), &json!(""))
        );
    }
    api.pass(600);
    api.test()
        .post(STATUS, request)
        .await
        .refuses(400, "magic_link_expired", None);
}

/// ML-7, and the bad-input list: 4, 10081, 60.5 and "60".
async fn minutes_are_whole_and_within_bounds(api: &Api) {
    with_urls(api).await;
    api.test()
        .post("/v1/auth/users/create", json!({"email": "ada@example.com"}))
        .await
        .ok();
    for (path, param) in [
        (LOGIN, "expires_in"),
        (LOGIN, "login_expires_in"),
        (LOGIN, "registration_expires_in"),
        (INVITE, "invite_expires_in"),
        (CREATE, "expires_in"),
    ] {
        for minutes in [
            json!(4),
            json!(0),
            json!(-1),
            json!(10_081),
            json!(60.5),
            json!("60"),
            json!(true),
            json!([60]),
            json!(u64::MAX),
        ] {
            let request = json!({"email": "ada@example.com", param: minutes});
            api.test()
                .post(path, request)
                .await
                .refuses(400, "invalid_field", Some(param));
        }
    }
    assert_eq!(mailed(api).await, 0);
    for (number, minutes) in [json!(5), json!(10_080), Value::Null]
        .into_iter()
        .enumerate()
    {
        let request = json!({
            "email": format!("u{number}@example.com"), "login_expires_in": minutes, "registration_expires_in": minutes,
            "expires_in": minutes,
        });
        api.test().post(LOGIN, request).await.ok();
        let request =
            json!({"email": format!("u{number}@example.com"), "invite_expires_in": minutes});
        api.test().post(INVITE, request).await.ok();
        let request = json!({"email": format!("u{number}@example.com"), "expires_in": minutes});
        api.test().post(CREATE, request).await.ok();
    }
    assert_eq!(mailed(api).await, 6);
}

async fn a_refused_link_creates_nothing(api: &Api) {
    with_urls(api).await;
    let long = format!("{}@example.com", "a".repeat(300));
    let cases = [
        (json!({}), "missing_field", "email"),
        (json!({"email": null}), "missing_field", "email"),
        (json!({"email": ""}), "invalid_field", "email"),
        (json!({"email": "ada"}), "invalid_field", "email"),
        (json!({"email": 7}), "invalid_field", "email"),
        (json!({"email": long}), "invalid_field", "email"),
        (
            json!({"email": "a\r\nBcc: eve@example.com"}),
            "invalid_field",
            "email",
        ),
        (
            json!({"email": "ada@example.com", "device_fingerprint": "x"}),
            "invalid_field",
            "device_fingerprint",
        ),
        (
            json!({"email": "ada@example.com", "device_fingerprint": {"ip": 7}}),
            "invalid_field",
            "device_fingerprint.ip",
        ),
        (
            json!({"email": "ada@example.com", "device_fingerprint": {"user_agent": "a\nb"}}),
            "invalid_field",
            "device_fingerprint.user_agent",
        ),
    ];
    for path in [LOGIN, INVITE] {
        for (request, code, param) in &cases {
            api.test()
                .post(path, request.clone())
                .await
                .refuses(400, code, Some(param));
        }
    }
    for (path, request, param) in [
        (
            LOGIN,
            json!({"email": "ada@example.com", "requires_verification": "yes"}),
            "requires_verification",
        ),
        (
            LOGIN,
            json!({"email": "ada@example.com", "login_redirect_url": 1}),
            "login_redirect_url",
        ),
        (
            LOGIN,
            json!({"email": "ada@example.com", "registration_redirect_url": {}}),
            "registration_redirect_url",
        ),
        (
            INVITE,
            json!({"email": "ada@example.com", "invite_redirect_url": []}),
            "invite_redirect_url",
        ),
        (
            INVITE,
            json!({"email": "ada@example.com", "first_name": "a\r\nSubject: x"}),
            "first_name",
        ),
        (
            INVITE,
            json!({"email": "ada@example.com", "middle_name": "a".repeat(256)}),
            "middle_name",
        ),
        (
            INVITE,
            json!({"email": "ada@example.com", "last_name": 1}),
            "last_name",
        ),
        (CREATE, json!({"user_id": "ada"}), "user_id"),
        (CREATE, json!({"user_id": 1}), "user_id"),
        (CREATE, json!({"email": "ada"}), "email"),
    ] {
        api.test()
            .post(path, request)
            .await
            .refuses(400, "invalid_field", Some(param));
    }
    api.test()
        .post(CREATE, json!({}))
        .await
        .refuses(400, "missing_field", Some("user_id"));
    let absent = json!({"user_id": format!("user_{}", "0".repeat(27))});
    api.test()
        .post(CREATE, absent)
        .await
        .refuses(404, "not_found", Some("user"));
    let absent = json!({"email": "ada@example.com"});
    api.test()
        .post(CREATE, absent)
        .await
        .refuses(404, "not_found", Some("email"));
    assert_eq!(mailed(api).await, 0);
    let first = api
        .test()
        .post(LOGIN, json!({"email": "ada@example.com"}))
        .await
        .ok();
    assert_eq!(first.body["user_created"], true);
}

async fn ml_4_redirects_are_registered_or_refused(api: &Api) {
    let ada = "ada@example.com";
    for (path, param) in [
        (LOGIN, "login_redirect_url"),
        (INVITE, "invite_redirect_url"),
    ] {
        let refused = api.test().post(path, json!({ "email": ada })).await;
        refused.refuses(400, "redirect_url_missing", Some(param));
    }
    register(
        api,
        Environment::Test,
        RedirectKind::Login,
        "https://*.example.com/in?next=%2F",
        false,
    )
    .await;
    register(
        api,
        Environment::Test,
        RedirectKind::Registration,
        "http://localhost:3000/new",
        true,
    )
    .await;
    register(
        api,
        Environment::Live,
        RedirectKind::Login,
        "https://app.example.com/live",
        true,
    )
    .await;
    let login = |url: &str| json!({"email": ada, "login_redirect_url": url});
    for url in [
        "https://app.example.com/live",
        "http://localhost:3000/new",
        "https://*.example.com/in?next=%2F",
        "https://app.example.com/in",
        "https://app.example.com/in?next=%2f",
        "https://app.example.com.evil.example/in?next=%2F",
        "https://evil.example/?.example.com/in?next=%2F",
        "//app.example.com/in?next=%2F",
    ] {
        let refused = api.test().post(LOGIN, login(url)).await;
        refused.refuses(400, "redirect_url_not_allowed", Some("login_redirect_url"));
    }
    for (path, request, param) in [
        (
            INVITE,
            json!({"email": ada, "invite_redirect_url": "http://localhost:3000/new"}),
            "invite_redirect_url",
        ),
        (
            LOGIN,
            json!({
                "email": ada, "login_redirect_url": "https://a.example.com/in?next=%2F",
                "registration_redirect_url": "x",
            }),
            "registration_redirect_url",
        ),
    ] {
        let refused = api.test().post(path, request).await;
        refused.refuses(400, "redirect_url_not_allowed", Some(param));
    }
    assert_eq!(mailed(api).await, 0);
    for expected in [
        "http://localhost:3000/new?token=",
        "https://a.example.com/in?next=%2F&token=",
    ] {
        api.test()
            .post(LOGIN, login("https://a.example.com/in?next=%2F"))
            .await
            .ok();
        let mail = mail_to(api, ada).await;
        let (link, token) = (
            mail["link"].as_str().unwrap(),
            mail["token"].as_str().unwrap(),
        );
        assert_eq!(link, format!("{expected}{token}"));
        api.pass(20);
    }
}

/// One and the same response, byte for byte, so that it reveals nothing (ML-3).
async fn ml_3_used_expired_replaced_and_unknown_links_get_one_response(api: &Api) {
    with_urls(api).await;
    let same_id = api.test().header("X-Request-Id", "one");
    let used = link_to(api, "used@example.com").await;
    verified(&api.test(), &used, json!({})).await.ok();
    let replaced = link_to(api, "replaced@example.com").await;
    link_to(api, "replaced@example.com").await;
    let expired = link_to(api, "expired.link@example.com").await;
    api.pass(3_600);
    let never = "0".repeat(48);
    let mut responses = Vec::new();
    for token in [
        &*used,
        &replaced,
        &expired,
        &never,
        "",
        "x",
        "' OR 1=1 --",
        &"x".repeat(10_000),
    ] {
        responses.push(verified(&same_id, token, json!({})).await);
        responses.push(verified(&same_id, token, json!({"session_expires_in": 60})).await);
    }
    for response in &responses {
        assert_eq!((response.status, &response.text), (400, &responses[0].text));
    }
    assert_response_snapshot!(responses[0], @r#"
    {
      "body": {
        "error": {
          "code": "invalid_magic_token",
          "message": "the link is unknown, expired or already used; send a new one"
        },
        "error_message": "the link is unknown, expired or already used; send a new one",
        "error_type": "invalid_magic_token",
        "request_id": "one",
        "status_code": 400
      },
      "status": 400
    }
    "#);
}

async fn a_verify_names_what_it_refuses(api: &Api) {
    with_urls(api).await;
    let token = link_to(api, "ada@example.com").await;
    for (request, code, param) in [
        (json!({}), "missing_field", "token"),
        (json!({"token": null}), "missing_field", "token"),
        (json!({"token": 1}), "invalid_field", "token"),
        (json!({"token": "\u{0}"}), "invalid_field", "token"),
        (
            json!({"token": token, "session_expires_in": 4}),
            "invalid_field",
            "session_expires_in",
        ),
        (
            json!({"token": token, "session_expires_in": 525_601}),
            "invalid_field",
            "session_expires_in",
        ),
        (
            json!({"token": token, "session_expires_in": "60"}),
            "invalid_field",
            "session_expires_in",
        ),
        (
            json!({"token": token, "session_token": 1}),
            "invalid_field",
            "session_token",
        ),
        (
            json!({"token": token, "session_jwt": {}}),
            "invalid_field",
            "session_jwt",
        ),
        (
            json!({"token": token, "request_origin_token": 1}),
            "invalid_field",
            "request_origin_token",
        ),
        (
            json!({"token": token, "device_fingerprint": []}),
            "invalid_field",
            "device_fingerprint",
        ),
    ] {
        api.test()
            .post(VERIFY, request)
            .await
            .refuses(400, code, Some(param));
    }
    // None of it has cost the link.
    verified(&api.test(), &token, json!({})).await.ok();
}

async fn a_status_names_what_it_refuses(api: &Api) {
    let id = format!("email_{}", "0".repeat(27));
    for (request, code, param) in [
        (json!({}), "missing_field", "email_id"),
        (
            json!({"email_id": id}),
            "missing_field",
            "request_origin_token",
        ),
        (
            json!({"email_id": "ada@example.com", "request_origin_token": "x"}),
            "invalid_field",
            "email_id",
        ),
        (
            json!({"email_id": id, "request_origin_token": 1}),
            "invalid_field",
            "request_origin_token",
        ),
    ] {
        api.test()
            .post(STATUS, request)
            .await
            .refuses(400, code, Some(param));
    }
    let absent = json!({"email_id": id, "request_origin_token": "x"});
    api.test()
        .post(STATUS, absent)
        .await
        .refuses(400, "invalid_request_origin_token", None);
}

/// Attack 13: a session of another user is never upgraded, and the attempt does not cost the link.
async fn a_session_of_another_user_is_refused(api: &Api) {
    with_urls(api).await;
    let eve = signed_in(api, "eve@example.com").await;
    let token = link_to(api, "ada@example.com").await;
    for session in [
        json!({"session_token": eve.body["session_token"]}),
        json!({"session_jwt": eve.body["session_jwt"]}),
        json!({"session_token": "a".repeat(64)}),
        json!({"session_jwt": "a.b.c"}),
    ] {
        verified(&api.test(), &token, session)
            .await
            .refuses(401, "invalid_session", None);
    }
    let ada = verified(&api.test(), &token, json!({"session_expires_in": 60}))
        .await
        .ok();
    let token = link_to(api, "ada@example.com").await;
    let further = json!({"session_token": ada.body["session_token"]});
    let again = verified(&api.test(), &token, further).await.ok();
    assert_eq!(again.body["session"]["id"], ada.body["session"]["id"]);
    assert_ne!(again.body["session_token"], ada.body["session_token"]);
}

async fn otp_10_too_many_links_say_when_to_retry(api: &Api) {
    with_urls(api).await;
    let request = json!({"email": "ada@example.com"});
    // Five, and one of each kind beyond the limit (M-5).
    for path in [LOGIN, INVITE, LOGIN, INVITE, LOGIN, INVITE, LOGIN] {
        api.test().post(path, request.clone()).await.ok();
        api.pass(20);
    }
    for path in [LOGIN, INVITE] {
        let refused = api.test().post(path, request.clone()).await;
        refused.refuses(429, "too_many_attempts", None);
        assert_eq!(refused.header("retry-after"), Some("460"));
    }
    api.pass(460);
    api.test().post(LOGIN, request).await.ok();
}

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Sends a link bound to the verifier's challenge; returns the mail.
async fn bound_link_to(api: &Api, email: &str) -> Value {
    let request = json!({
        "email": email,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "a b&c",
    });
    api.test().post(LOGIN, request).await.ok();
    mail_to(api, email).await
}

async fn verified_by(api: &Api, token: &str, verifier: &str) -> Response {
    verified(&api.test(), token, json!({"code_verifier": verifier})).await
}

/// M-2: the requester of a link keeps its verifier. In another browser, with another verifier or none, the link opens nothing.
async fn m_2_a_link_handed_to_a_victim_is_useless(api: &Api) {
    with_urls(api).await;
    for wrong in [4, 5] {
        let mail = bound_link_to(api, "ada@example.com").await;
        let token = mail["token"].as_str().unwrap();
        let link = mail["link"].as_str().unwrap();
        assert!(link.ends_with(&format!("?token={token}&state=a%20b%26c")));
        let others = [
            json!({}),
            json!({"code_verifier": ""}),
            json!({"code_verifier": CHALLENGE}),
        ];
        for further in others.iter().cycle().take(wrong) {
            let refused = verified(&api.test(), token, further.clone()).await;
            refused.refuses(400, "invalid_magic_token", None);
        }
        let right = verified_by(api, token, VERIFIER).await;
        if wrong == 4 {
            right.ok();
        } else {
            right.refuses(400, "invalid_magic_token", None);
        }
    }
    // Requested without a challenge: the page's own verifier reveals that.
    let token = link_to(api, "ada@example.com").await;
    let refused = verified_by(api, &token, VERIFIER).await;
    refused.refuses(400, "invalid_magic_token", None);
    verified(&api.test(), &token, json!({})).await.ok();
}

/// M-2: of forty concurrent verifiers, wrong ones void the link before any later right one; of right ones a single one wins.
async fn m_2_parallel_verifiers_of_a_link_are_counted_one_by_one(api: &Api) {
    with_urls(api).await;
    for (verifier, winners) in [("wrong", 0), (VERIFIER, 1)] {
        let mail = bound_link_to(api, "ada@example.com").await;
        let token = mail["token"].as_str().unwrap();
        let all = (0..40).map(|_| verified_by(api, token, verifier));
        let responses = join_all(all).await;
        let won = responses.iter().filter(|response| response.status == 200);
        assert_eq!(won.count(), winners);
        let late = verified_by(api, token, VERIFIER).await;
        late.refuses(400, "invalid_magic_token", None);
    }
}

/// M-2: the App may require a challenge; a refused call sends nothing and creates no user.
async fn m_2_a_link_may_have_to_be_bound(api: &Api) {
    with_urls(api).await;
    for (further, code, field) in [
        (
            json!({"code_challenge": "x"}),
            "invalid_field",
            "code_challenge",
        ),
        (
            json!({"code_challenge": ""}),
            "invalid_field",
            "code_challenge",
        ),
        (
            json!({"code_challenge": CHALLENGE, "code_challenge_method": "plain"}),
            "invalid_field",
            "code_challenge_method",
        ),
        (
            json!({"code_challenge_method": "S256"}),
            "missing_field",
            "code_challenge",
        ),
        (json!({"state": ""}), "invalid_field", "state"),
        (json!({"state": "x".repeat(513)}), "invalid_field", "state"),
    ] {
        let mut request = json!({"email": "ada@example.com"});
        let further = further.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(further);
        let refused = api.test().post(LOGIN, request).await;
        refused.refuses(400, code, Some(field));
    }
    let changes = [("require_code_challenge".to_owned(), "true".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &changes)
        .await
        .unwrap();
    api.pass(1);
    let request = json!({"email": "ada@example.com"});
    let refused = api.test().post(LOGIN, request).await;
    refused.refuses(400, "missing_field", Some("code_challenge"));
    assert_eq!(mailed(api).await, 0);
    let mail = bound_link_to(api, "ada@example.com").await;
    let token = mail["token"].as_str().unwrap();
    verified_by(api, token, VERIFIER).await.ok();
}

/// ML-8: a link bound to its browser is refused elsewhere, and still valid in that browser.
async fn ml_8_a_link_may_be_bound_to_its_browser(api: &Api) {
    api.test()
        .post("/v1/auth/users/create", json!({"email": "ada@example.com"}))
        .await
        .ok();
    let made = api
        .test()
        .post(CREATE, json!({"email": "ada@example.com"}))
        .await
        .ok();
    let token = made.text_at("/token");
    for origin in ["", "x", &token] {
        let refused = verified(&api.test(), &token, json!({"request_origin_token": origin})).await;
        refused.refuses(400, "invalid_request_origin_token", None);
    }
    let further = json!({"request_origin_token": made.body["request_origin_token"]});
    verified(&api.test(), &token, further).await.ok();
}

/// Attack 6, ML-2: however a mail scanner or a browser inspects a URL, the link remains valid, once.
async fn attack_6_ml_2_no_inspection_uses_a_link_up(api: &Api) {
    with_urls(api).await;
    let token = link_to(api, "ada@example.com").await;
    let clients = [
        api.anonymous(),
        api.test(),
        api.test().header("Cookie", &format!("session={token}")),
        api.anonymous()
            .header("Sec-Purpose", "prefetch")
            .header("User-Agent", "Mozilla/5.0 (Safe Links)"),
    ];
    let mut looks = 0;
    for _ in 0..2 {
        for path in [LOGIN, INVITE, CREATE, VERIFY, STATUS] {
            for query in [
                format!("?token={token}"),
                format!("/{token}"),
                format!("/?token={token}"),
            ] {
                for (number, method) in ["GET", "HEAD", "OPTIONS"].into_iter().enumerate() {
                    let client = &clients[(looks + number) % clients.len()];
                    let response = client.send(method, &format!("{path}{query}"), None).await;
                    assert!(
                        [401, 404, 405].contains(&response.status),
                        "{method} {path}: {}",
                        response.status
                    );
                    assert!(!response.text.contains(&token));
                    looks += 1;
                }
            }
        }
        // Nor does a GET with a body count as the call.
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"] {
            let response = api
                .test()
                .send(method, VERIFY, Some(json!({ "token": token })))
                .await;
            assert_eq!(response.status, 405, "{method}");
            looks += 1;
        }
    }
    assert!(looks >= 100, "{looks}");
    verified(&api.test(), &token, json!({"session_expires_in": 60}))
        .await
        .ok();
    verified(&api.test(), &token, json!({}))
        .await
        .refuses(400, "invalid_magic_token", None);
}

/// Attack 9: status, headers and body are the same except for ids, over twenty repeats and into the limit.
async fn attack_9_known_and_unknown_addresses_get_one_response(api: &Api) {
    with_urls(api).await;
    let safe = [("enumeration_safe".to_owned(), "true".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &safe)
        .await
        .unwrap();
    api.pass(1);
    signed_in(api, "known@example.com").await;
    api.pass(3_600);
    for step in 0..20 {
        for path in [LOGIN, INVITE] {
            let mut responses = Vec::new();
            for who in ["known", "unknown"] {
                let client = api.test().header("X-Request-Id", "one");
                let response = client
                    .post(path, json!({"email": format!("{who}@example.com")}))
                    .await;
                let retry = response.header("retry-after").map(str::to_owned);
                responses.push((
                    response.shown(),
                    retry,
                    response.header("content-length").map(str::to_owned),
                ));
            }
            assert_eq!(responses[0], responses[1], "{path}, step {step}");
        }
        api.pass(7);
    }
}

/// Attack 15: no request header appears in the mail, the link or the response; the link is the registered one.
async fn attack_15_ml_4_no_header_changes_a_link(api: &Api) {
    const EVIL: &str = "evil.example";
    with_urls(api).await;
    let plain = [
        "Forwarded",
        "X-Forwarded-Host",
        "X-Forwarded-Server",
        "X-Forwarded-For",
        "X-Forwarded-Port",
        "X-Forwarded-Prefix",
        "X-Forwarded-Scheme",
        "X-Original-Host",
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-Host",
        "X-Real-IP",
        "X-ProxyUser-Ip",
        "X-Client-IP",
        "True-Client-IP",
        "CF-Connecting-IP",
        "Origin",
        "Referer",
        "Via",
        "X-HTTP-Host-Override",
        "User-Agent",
    ];
    let mut client = api.test();
    for header in plain {
        let value = match header {
            "Forwarded" => format!("for={EVIL};host={EVIL};proto=http;by={EVIL}"),
            "Origin" | "Referer" | "X-Original-URL" | "X-Rewrite-URL" => format!("https://{EVIL}/"),
            _ => EVIL.to_owned(),
        };
        client = client.header(header, &value);
    }
    api.test()
        .post("/v1/auth/users/create", json!({"email": "ada@example.com"}))
        .await
        .ok();
    let mut connection = api.connect().await;
    for (number, path) in [LOGIN, INVITE, CREATE, LOGIN].into_iter().enumerate() {
        let email = if number == 3 {
            "bob@example.com"
        } else {
            "ada@example.com"
        };
        let body = json!({ "email": email }).to_string();
        let json = client.clone().header("Content-Type", "application/json");
        let head = json.head("POST", path, body.len());
        let head = head.replace("Host: id.example.com", &format!("Host: {EVIL}"));
        assert!(head.contains("Host: evil.example\r\n"));
        connection.send(head.as_bytes()).await;
        connection.send(body.as_bytes()).await;
        let raw = connection.receive().await.unwrap();
        assert!(!format!("{:?}", raw.headers).contains(EVIL));
        let response = json.checked("POST", path, raw).ok();
        assert!(!response.text.contains(EVIL), "{}", response.text);
    }
    api.deliver().await;
    let messages = api.test().get("/v1/test/messages").await.ok();
    assert!(!messages.text.contains(EVIL), "{}", messages.text);
    let messages = messages.body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3);
    for mail in messages {
        let token = mail["token"].as_str().unwrap();
        let links = RedirectKind::ALL.map(|kind| format!("{}?token={token}", url_of(kind)));
        assert!(
            links.contains(&mail["link"].as_str().unwrap().to_owned()),
            "{mail}"
        );
    }
}

/// Attack 16: the device is the one in the body from the App's backend, not a header of the backend's request.
async fn attack_16_no_header_changes_the_device(api: &Api) {
    with_urls(api).await;
    let bound = [("device_fingerprint_match".to_owned(), "ip".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &bound)
        .await
        .unwrap();
    api.pass(1);
    let device = json!({"ip": "203.0.113.7"});
    let request = json!({"email": "ada@example.com", "device_fingerprint": device});
    api.test().post(LOGIN, request).await.ok();
    let mail = mail_to(api, "ada@example.com").await;
    let token = mail["token"].as_str().unwrap();
    let spoofed = api
        .test()
        .header("X-Forwarded-For", "203.0.113.7")
        .header("Forwarded", "for=203.0.113.7")
        .header("X-Real-IP", "203.0.113.7");
    for further in [
        json!({}),
        json!({"device_fingerprint": {"ip": "198.51.100.1"}}),
    ] {
        let refused = verified(&spoofed, token, further).await;
        refused.refuses(400, "invalid_magic_token", None);
    }
    verified(&api.test(), token, json!({ "device_fingerprint": device }))
        .await
        .ok();
}

/// B4, attack 25: for another App or environment the link never existed.
async fn b4_foreign_links_do_not_exist(api: &Api) {
    with_urls(api).await;
    let token = link_to(api, "ada@example.com").await;
    let made = api
        .test()
        .post(CREATE, json!({"email": "ada@example.com"}))
        .await
        .ok();
    let other_app = api.other_app().await;
    for stranger in [other_app, api.live()] {
        let stranger = stranger.header("X-Request-Id", "one");
        let pairs = [
            (
                VERIFY,
                json!({ "token": token }),
                json!({"token": "0".repeat(48)}),
            ),
            (
                STATUS,
                json!({"email_id": made.body["email_id"], "request_origin_token": made.body["request_origin_token"]}),
                json!({"email_id": format!("email_{}", "0".repeat(27)), "request_origin_token": "0".repeat(128)}),
            ),
            (
                CREATE,
                json!({"user_id": made.body["user_id"]}),
                json!({"user_id": format!("user_{}", "0".repeat(27))}),
            ),
            (
                CREATE,
                json!({"email": "ada@example.com"}),
                json!({"email": "eve@example.com"}),
            ),
        ];
        for (path, foreign, absent) in pairs {
            let (foreign, absent) = (
                stranger.post(path, foreign).await,
                stranger.post(path, absent).await,
            );
            assert!(
                [400, 404].contains(&foreign.status),
                "{path}: {}",
                foreign.text
            );
            assert_eq!(
                (foreign.status, foreign.text),
                (absent.status, absent.text),
                "{path}"
            );
        }
    }
    verified(&api.test(), &token, json!({})).await.ok();
}

/// A live key sends, and returns none of it (S-17).
async fn a_live_link_goes_by_mail(api: &Api) {
    with_urls(api).await;
    api.live()
        .post(LOGIN, json!({"email": "expired@vestry.test"}))
        .await
        .ok();
    api.deliver().await;
    let mail = api.mailer.sent().pop().unwrap().1;
    assert!(!mail.html.is_empty() && mail.html.contains(&mail.token));
    verified(&api.live(), &mail.token, json!({"session_expires_in": 60}))
        .await
        .ok();
    let messages = api.test().get("/v1/test/messages").await.ok();
    assert_eq!(messages.body["messages"], json!([]));
}

/// OPS-9: live mail without a transport is refused at once and creates nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_links_without_a_transport_are_unavailable() {
    let options = Options {
        has_mailer: false,
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api| {
        with_urls(api).await;
        let request = json!({"email": "ada@example.com"});
        for path in [LOGIN, INVITE] {
            api.live()
                .post(path, request.clone())
                .await
                .refuses(503, "unavailable", None);
        }
        api.live().post("/v1/auth/users/create", request).await.ok();
    })
    .await;
}
