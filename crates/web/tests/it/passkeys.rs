//! Passkeys, answered by an independent WebAuthn implementation.

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_contract::browser::Browser;
use vestry_domain::{Environment, World};
use vestry_ports::store::Store;
use vestry_store_sql::SqlStore;

use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, Client, Response, START, assert_response_snapshot, on_both};

const BEGIN: &str = "/v1/auth/webauthn/registrations/begin";
const CREATE: &str = "/v1/auth/webauthn/registrations/create";
const AUTHENTICATE: &str = "/v1/auth/webauthn/authentication/begin";
const VERIFY: &str = "/v1/auth/webauthn/verify";
const PAGE: &str = "http://localhost:3000";

on_both! {
    a_passkey_is_registered_and_signs_in
    a_discoverable_passkey_identifies_its_user
    a_passkey_continues_a_session
    w_1_a_challenge_is_used_up_by_a_right_or_wrong_response
    w_1_a_challenge_lives_five_minutes
    w_1_a_challenge_is_for_one_user_and_one_ceremony
    w_2_the_page_must_be_of_the_domain
    w_2_a_copied_passkey_is_refused
    w_2_verification_is_enforced_if_the_app_requires_it
    w_3_a_credential_belongs_to_one_user
    w_3_the_handle_is_random_and_stays
    requests_are_checked
    domains_are_those_of_the_app
    foreign_users_and_passkeys_do_not_exist
    a_pending_user_verifies_an_identifier_first
    a_deleted_passkey_ends_the_sessions
    the_last_sign_in_method_stays
    attack_1_a_planted_passkey_is_removed_by_the_first_proof
}

/// An active user with an address that is not yet proved.
async fn user(client: &Client<'_>, email: &str) -> String {
    let created = client.post("/v1/auth/users/create", json!({"email": email}));
    created.await.ok().text_at("/user_id")
}

async fn begin(client: &Client<'_>, user: &str) -> Value {
    let request = json!({"domain": "localhost", "user_id": user});
    let begun = client.post(BEGIN, request).await.ok();
    begun.body["public_key_credential_creation_options"].clone()
}

/// Registers a passkey of the browser for the user; returns its id.
async fn registered(client: &Client<'_>, browser: &mut Browser, user: &str) -> String {
    let credential = browser.create(&begin(client, user).await).await;
    let request = json!({"user_id": user, "public_key_credential": credential});
    let created = client.post(CREATE, request).await.ok();
    created.text_at("/webauthn_credential_id")
}

async fn challenge(client: &Client<'_>, user: Option<&str>) -> Value {
    let mut request = json!({"domain": "localhost"});
    if let Some(user) = user {
        request["user_id"] = user.into();
    }
    let begun = client.post(AUTHENTICATE, request).await.ok();
    begun.body["public_key_credential_request_options"].clone()
}

/// The browser's response to a fresh challenge.
async fn response(client: &Client<'_>, browser: &mut Browser, user: Option<&str>) -> Value {
    browser.get(&challenge(client, user).await).await
}

async fn verify(client: &Client<'_>, credential: &Value) -> Response {
    let request = json!({"public_key_credential": credential, "session_expires_in": 60});
    client.post(VERIFY, request).await
}

async fn passkeys_of(client: &Client<'_>, user: &str) -> Value {
    let found = client.get(&format!("/v1/auth/users/{user}")).await.ok();
    found.body["webauthn_credentials"].clone()
}

async fn a_passkey_is_registered_and_signs_in(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::at(PAGE));
    let user = user(&test, "ada@example.com").await;
    let request = json!({"domain": "localhost", "user_id": user});
    let begun = test.post(BEGIN, request).await.ok();
    assert_response_snapshot!(begun, @r#"
    {
      "body": {
        "public_key_credential_creation_options": {
          "publicKey": {
            "attestation": "none",
            "authenticatorSelection": {
              "authenticatorAttachment": "platform",
              "requireResidentKey": false,
              "residentKey": "preferred",
              "userVerification": "preferred"
            },
            "challenge": "[32 bytes]",
            "excludeCredentials": [],
            "pubKeyCredParams": [
              {
                "alg": -7,
                "type": "public-key"
              },
              {
                "alg": -8,
                "type": "public-key"
              },
              {
                "alg": -35,
                "type": "public-key"
              },
              {
                "alg": -36,
                "type": "public-key"
              },
              {
                "alg": -257,
                "type": "public-key"
              }
            ],
            "rp": {
              "id": "localhost",
              "name": "Demo"
            },
            "timeout": 300000,
            "user": {
              "displayName": "ada@example.com",
              "id": "[32 bytes]",
              "name": "ada@example.com"
            }
          }
        },
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    let options = &begun.body["public_key_credential_creation_options"];
    let credential = browser.create(options).await;
    let request = json!({
        "user_id": user, "public_key_credential": credential,
        "device_fingerprint": {"ip": "203.0.113.7", "user_agent": "Mozilla/5.0"},
    });
    let created = test.post(CREATE, request).await.ok();
    assert_response_snapshot!(created, @r#"
    {
      "body": {
        "user_id": "[user id]",
        "webauthn_credential_id": "[webauthn id]"
      },
      "status": 200
    }
    "#);

    api.pass(60);
    let request = json!({"domain": "localhost", "user_id": user});
    let begun = test.post(AUTHENTICATE, request).await.ok();
    let options = &begun.body["public_key_credential_request_options"]["publicKey"];
    assert_eq!(begun.body["user_id"], user.as_str());
    assert_eq!(options["rpId"], "localhost");
    assert_eq!(
        (&options["timeout"], &options["userVerification"]),
        (&json!(300_000), &json!("preferred"))
    );
    assert_eq!(options["allowCredentials"][0]["id"], credential["id"]);
    let options = &begun.body["public_key_credential_request_options"];
    let credential = browser.get(options).await;
    let request = json!({
        "public_key_credential": credential, "session_expires_in": 60,
        "device_fingerprint": {"ip": "203.0.113.7", "user_agent": "Mozilla/5.0"},
    });
    let verified = test.post(VERIFY, request).await.ok();
    assert_response_snapshot!(verified, @r#"
    {
      "body": {
        "session": {
          "created_at": 1800000060,
          "deleted": false,
          "deleted_at": 0,
          "device_fingerprint": {
            "ip": "203.0.113.7",
            "user_agent": "Mozilla/5.0"
          },
          "expires_at": 1800003660,
          "factors": [
            {
              "delivery_channel": "webauthn_credential",
              "method": {
                "last_verified_at": 1800000060,
                "method_id": "[webauthn id]",
                "method_type": "webauthn",
                "webauthn_credential_id": "[webauthn id]"
              },
              "type": "webauthn"
            }
          ],
          "id": "[sess id]",
          "last_active_at": 1800000060,
          "permissions": [],
          "started_at": 1800000060,
          "updated_at": 1800000060,
          "user_id": "[user id]"
        },
        "session_jwt": "[jwt]",
        "session_token": "[session token]",
        "user_id": "[user id]",
        "webauthn_credential_id": "[webauthn id]"
      },
      "status": 200
    }
    "#);
    let known = test.get(&format!("/v1/auth/users/{user}")).await.ok();
    let passkey = &known.body["webauthn_credentials"];
    assert_eq!(
        *passkey,
        json!([{
            "id": created.body["webauthn_credential_id"], "user_id": user, "domain": "localhost",
            "authenticator_type": "platform", "user_agent": "Mozilla/5.0", "verified": true,
            "created_at": 1_800_000_000, "updated_at": 1_800_000_060, "last_used_at": 1_800_000_060,
        }])
    );
}

/// No user is named; and the credential is sent as a string, as some clients do.
async fn a_discoverable_passkey_identifies_its_user(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::at(PAGE));
    let user = user(&test, "ada@example.com").await;
    let created = begin(&test, &user).await;
    let credential = browser.create(&created).await.to_string();
    let request = json!({"user_id": user, "public_key_credential": credential});
    let created = test.post(CREATE, request).await.ok();
    let begun = test.post(AUTHENTICATE, json!({"domain": "localhost", "user_id": ""}));
    let begun = begun.await.ok();
    assert_eq!(begun.body["user_id"], "");
    let options = &begun.body["public_key_credential_request_options"];
    assert_eq!(options["publicKey"]["allowCredentials"], json!([]));
    let credential = browser.get(options).await;
    let request = json!({"public_key_credential": credential.to_string()});
    let verified = test.post(VERIFY, request).await.ok();
    assert_eq!(verified.body["user_id"], user.as_str());
    assert_eq!(
        verified.body["webauthn_credential_id"],
        created.body["webauthn_credential_id"]
    );
    assert_eq!(
        (&verified.body["session"], &verified.body["session_token"]),
        (&Value::Null, &json!(""))
    );
    // Without its user handle it names no user.
    let mut nameless = response(&test, &mut browser, None).await;
    nameless["response"]["userHandle"] = Value::Null;
    verify(&test, &nameless)
        .await
        .refuses(401, "invalid_credentials", None);
    // With another user's handle it belongs to no user.
    let mut another = response(&test, &mut browser, None).await;
    another["response"]["userHandle"] = "A".repeat(43).into();
    verify(&test, &another)
        .await
        .refuses(401, "invalid_credentials", None);
}

async fn a_passkey_continues_a_session(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::at(PAGE));
    let first = signed_in(api, "ada@example.com").await;
    let user = first.text_at("/user_id");
    registered(&test, &mut browser, &user).await;
    let credential = response(&test, &mut browser, Some(&user)).await;
    let request = json!({
        "public_key_credential": credential, "session_token": first.body["session_token"],
    });
    let second = test.post(VERIFY, request).await.ok();
    assert_eq!(second.body["session"]["id"], first.body["session"]["id"]);
    assert_ne!(second.body["session_token"], first.body["session_token"]);
    let channels: Vec<&str> = second.body["session"]["factors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|factor| factor["delivery_channel"].as_str().unwrap())
        .collect();
    assert_eq!(channels, ["email", "webauthn_credential"]);
    // A session of another user is not continued.
    let other = signed_in(api, "grace@example.com").await;
    let credential = response(&test, &mut browser, Some(&user)).await;
    let request = json!({
        "public_key_credential": credential, "session_token": other.body["session_token"],
    });
    let refused = test.post(VERIFY, request).await;
    refused.refuses(401, "invalid_session", None);
}

async fn w_1_a_challenge_is_used_up_by_a_right_or_wrong_response(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::at(PAGE));
    let user = user(&test, "ada@example.com").await;
    let options = begin(&test, &user).await;
    let credential = browser.create(&options).await;
    let request = json!({"user_id": user, "public_key_credential": null});
    let refused = test.post(CREATE, request).await;
    refused.refuses(400, "missing_field", Some("public_key_credential"));
    let refused = test
        .post(VERIFY, json!({"public_key_credential": null}))
        .await;
    refused.refuses(400, "missing_field", Some("public_key_credential"));
    // A faulty registration uses its challenge up.
    let mut flawed = credential.clone();
    flawed["response"]["attestationObject"] = "oA".into();
    for sent in [&flawed, &credential] {
        let request = json!({"user_id": user, "public_key_credential": sent});
        let refused = test.post(CREATE, request).await;
        refused.refuses(400, "invalid_field", Some("public_key_credential"));
    }
    registered(&test, &mut browser, &user).await;
    let right = response(&test, &mut browser, Some(&user)).await;
    verify(&test, &right).await.ok();
    verify(&test, &right)
        .await
        .refuses(401, "invalid_credentials", None);
    let right = response(&test, &mut browser, Some(&user)).await;
    let mut wrong = right.clone();
    wrong["response"]["signature"] = "MAYCAQECAQE".into();
    for sent in [&wrong, &right] {
        verify(&test, sent)
            .await
            .refuses(401, "invalid_credentials", None);
    }
}

async fn w_1_a_challenge_lives_five_minutes(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::at(PAGE));
    let user = user(&test, "ada@example.com").await;
    let credential = browser.create(&begin(&test, &user).await).await;
    api.pass(300);
    let request = json!({"user_id": user, "public_key_credential": credential});
    let late = test.post(CREATE, request).await;
    late.refuses(400, "invalid_field", Some("public_key_credential"));
    registered(&test, &mut browser, &user).await;
    let (early, late) = (
        response(&test, &mut browser, Some(&user)).await,
        response(&test, &mut browser, Some(&user)).await,
    );
    api.pass(299);
    verify(&test, &early).await.ok();
    api.pass(1);
    verify(&test, &late)
        .await
        .refuses(401, "invalid_credentials", None);
}

async fn w_1_a_challenge_is_for_one_user_and_one_ceremony(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::at(PAGE));
    let ada = user(&test, "ada@example.com").await;
    let grace = user(&test, "grace@example.com").await;
    let credential = browser.create(&begin(&test, &ada).await).await;
    let request = json!({"user_id": grace, "public_key_credential": credential});
    let refused = test.post(CREATE, request).await;
    refused.refuses(400, "invalid_field", Some("public_key_credential"));
    assert_eq!(passkeys_of(&test, &grace).await, json!([]));
    // It still exists for the user it was created for.
    let request = json!({"user_id": ada, "public_key_credential": credential});
    test.post(CREATE, request).await.ok();
    // One user's passkey does not response another's challenge.
    let mut hers = Browser::at(PAGE);
    registered(&test, &mut hers, &grace).await;
    let mut options = challenge(&test, Some(&ada)).await;
    options["publicKey"]["allowCredentials"] = json!([]);
    let crossed = hers.get(&options).await;
    verify(&test, &crossed)
        .await
        .refuses(401, "invalid_credentials", None);
    // A registration challenge does not sign in.
    let mut options = challenge(&test, Some(&ada)).await;
    let registration = begin(&test, &ada).await;
    options["publicKey"]["challenge"] = registration["publicKey"]["challenge"].clone();
    let crossed = browser.get(&options).await;
    verify(&test, &crossed)
        .await
        .refuses(401, "invalid_credentials", None);
}

async fn set(api: &Api, name: &str, value: &str) {
    let change = [(name.to_owned(), value.to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &change)
        .await
        .unwrap();
    // Every process follows within a second.
    api.pass(1);
}

async fn w_2_the_page_must_be_of_the_domain(api: &Api) {
    set(api, "webauthn_domains", r#"["example.com"]"#).await;
    let live = api.live();
    let user = user(&live, "ada@example.com").await;
    let mut browser = Browser::at("https://app.example.com");
    let begun = json!({"domain": "example.com", "user_id": user});
    let begun = live.post(BEGIN, begun).await.ok();
    let options = &begun.body["public_key_credential_creation_options"];
    let credential = browser.create(options).await;
    let request = json!({"user_id": user, "public_key_credential": credential});
    live.post(CREATE, request).await.ok();
    for (page, listed, status) in [
        ("https://example.com", "[]", 200),
        ("https://other.example.com", "[]", 200),
        ("https://example.com:8443", "[]", 401),
        (
            "https://app.example.com",
            r#"["https://app.example.com"]"#,
            200,
        ),
        ("https://example.com", r#"["https://app.example.com"]"#, 401),
        (
            "https://example.com:8443",
            r#"["https://example.com:8443"]"#,
            200,
        ),
    ] {
        set(api, "webauthn_origins", listed).await;
        browser.go_to(page);
        let begun = live.post(AUTHENTICATE, json!({"domain": "example.com"}));
        let begun = begun.await.ok();
        let options = &begun.body["public_key_credential_request_options"];
        let credential = browser.get(options).await;
        let verified = verify(&live, &credential).await;
        assert_eq!(
            verified.status, status,
            "{page} {listed}: {}",
            verified.text
        );
    }
}

/// A counter below the last one seen is refused; the last one is kept.
async fn w_2_a_copied_passkey_is_refused(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::counting(PAGE));
    let user = user(&test, "ada@example.com").await;
    registered(&test, &mut browser, &user).await;
    let (earlier, later) = (
        response(&test, &mut browser, Some(&user)).await,
        response(&test, &mut browser, Some(&user)).await,
    );
    verify(&test, &later).await.ok();
    verify(&test, &earlier)
        .await
        .refuses(401, "invalid_credentials", None);
    let next = response(&test, &mut browser, Some(&user)).await;
    verify(&test, &next).await.ok();
}

async fn w_2_verification_is_enforced_if_the_app_requires_it(api: &Api) {
    let test = api.test();
    let mut careless = Browser::without_verification(PAGE);
    let user = user(&test, "ada@example.com").await;
    registered(&test, &mut careless, &user).await;
    let credential = response(&test, &mut careless, Some(&user)).await;
    verify(&test, &credential).await.ok();
    let before = challenge(&test, Some(&user)).await;
    set(api, "webauthn_user_verification", "required").await;
    assert_eq!(
        challenge(&test, Some(&user)).await["publicKey"]["userVerification"],
        "required"
    );
    // The browser was asked before; its response is judged by the current settings.
    let credential = careless.get(&before).await;
    verify(&test, &credential)
        .await
        .refuses(401, "invalid_credentials", None);
    let mut careful = Browser::at(PAGE);
    registered(&test, &mut careful, &user).await;
    let credential = response(&test, &mut careful, Some(&user)).await;
    verify(&test, &credential).await.ok();
}

async fn w_3_a_credential_belongs_to_one_user(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::at(PAGE));
    let ada = user(&test, "ada@example.com").await;
    let grace = user(&test, "grace@example.com").await;
    let credential = browser.create(&begin(&test, &ada).await).await;
    let request = json!({"user_id": ada, "public_key_credential": credential});
    test.post(CREATE, request).await.ok();
    // The browser gets the list, so that it does not create a second passkey on the same authenticator.
    let excluded = &begin(&test, &ada).await["publicKey"]["excludeCredentials"];
    assert_eq!(
        *excluded,
        json!([{"type": "public-key", "id": credential["id"], "transports": ["internal", "hybrid"]}])
    );
    // Another user's options, answered with Ada's credential id.
    let options = begin(&test, &grace).await;
    let mut stolen = credential.clone();
    let data = json!({
        "type": "webauthn.create", "challenge": options["publicKey"]["challenge"], "origin": PAGE,
    });
    stolen["response"]["clientDataJSON"] = base64url(data.to_string().as_bytes()).into();
    let request = json!({"user_id": grace, "public_key_credential": stolen});
    let refused = test.post(CREATE, request).await;
    refused.refuses(409, "duplicate", Some("public_key_credential"));
    assert_eq!(passkeys_of(&test, &grace).await, json!([]));
}

fn base64url(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

async fn w_3_the_handle_is_random_and_stays(api: &Api) {
    let test = api.test();
    let ada = user(&test, "ada@example.com").await;
    let grace = user(&test, "grace@example.com").await;
    let handle = async |user: &str| begin(&test, user).await["publicKey"]["user"].clone();
    let (first, second) = (handle(&ada).await, handle(&ada).await);
    assert_eq!(first, second);
    let other = handle(&grace).await;
    assert_ne!(first["id"], other["id"]);
    assert_eq!(other["name"], "grace@example.com");
    let id = first["id"].as_str().unwrap();
    assert_eq!(id.len(), 43, "32 bytes");
    for name in ["ada@example.com", ada.as_str()] {
        assert_ne!(id, base64url(name.as_bytes()));
    }
}

async fn requests_are_checked(api: &Api) {
    let test = api.test();
    let user = user(&test, "ada@example.com").await;
    let credential = json!({"id": "AA", "type": "public-key", "response": {}});
    for (path, request, code, param) in [
        (BEGIN, json!({"user_id": user}), "missing_field", "domain"),
        (
            BEGIN,
            json!({"domain": "localhost"}),
            "missing_field",
            "user_id",
        ),
        (
            BEGIN,
            json!({"domain": "localhost", "user_id": "x"}),
            "invalid_field",
            "user_id",
        ),
        (
            BEGIN,
            json!({"domain": 1, "user_id": user}),
            "invalid_field",
            "domain",
        ),
        (
            BEGIN,
            json!({"domain": "localhost", "user_id": user, "authenticator_type": "usb"}),
            "invalid_field",
            "authenticator_type",
        ),
        (
            CREATE,
            json!({"user_id": user}),
            "missing_field",
            "public_key_credential",
        ),
        (
            CREATE,
            json!({"public_key_credential": credential}),
            "missing_field",
            "user_id",
        ),
        (
            CREATE,
            json!({"user_id": user, "public_key_credential": credential}),
            "invalid_field",
            "public_key_credential",
        ),
        (
            CREATE,
            json!({"user_id": user, "public_key_credential": "{"}),
            "invalid_field",
            "public_key_credential",
        ),
        (AUTHENTICATE, json!({}), "missing_field", "domain"),
        (
            AUTHENTICATE,
            json!({"domain": "localhost", "user_id": "user_x"}),
            "invalid_field",
            "user_id",
        ),
        (VERIFY, json!({}), "missing_field", "public_key_credential"),
        (
            VERIFY,
            json!({"public_key_credential": credential}),
            "invalid_field",
            "public_key_credential",
        ),
        (
            VERIFY,
            json!({"public_key_credential": credential, "session_expires_in": 4}),
            "invalid_field",
            "session_expires_in",
        ),
    ] {
        let refused = test.post(path, request.clone()).await;
        assert_eq!(
            (refused.status, refused.code(), refused.param()),
            (400, code, Some(param)),
            "{path} {request}"
        );
    }
    // Well-formed in all but one part.
    let part = json!({
        "id": "AA", "type": "public-key",
        "response": {"clientDataJSON": "e30", "authenticatorData": "AA", "signature": "A"},
    });
    let refused = test
        .post(VERIFY, json!({"public_key_credential": part}))
        .await;
    let param = "public_key_credential.response.clientDataJSON";
    refused.refuses(400, "invalid_field", Some(param));
}

async fn domains_are_those_of_the_app(api: &Api) {
    let user = user(&api.test(), "ada@example.com").await;
    let theirs = self::user(&api.live(), "ada@example.com").await;
    for domain in ["example.com", "LOCALHOST", "", "localhost:3000"] {
        let begin = json!({"domain": domain, "user_id": user});
        let refused = api.test().post(BEGIN, begin).await;
        refused.refuses(400, "invalid_field", Some("domain"));
        let refused = api
            .test()
            .post(AUTHENTICATE, json!({"domain": domain}))
            .await;
        refused.refuses(400, "invalid_field", Some("domain"));
    }
    // `localhost` is for the test environment only.
    let begin = json!({"domain": "localhost", "user_id": theirs});
    let refused = api.live().post(BEGIN, begin).await;
    refused.refuses(400, "invalid_field", Some("domain"));
    set(api, "webauthn_domains", r#"["example.com"]"#).await;
    for (client, user) in [(api.test(), &user), (api.live(), &theirs)] {
        let begin = json!({"domain": "example.com", "user_id": user});
        client.post(BEGIN, begin).await.ok();
    }
}

/// I11, B4: foreign and nonexistent ones look the same.
async fn foreign_users_and_passkeys_do_not_exist(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::at(PAGE));
    let user = user(&test, "ada@example.com").await;
    let passkey = registered(&test, &mut browser, &user).await;
    set(api, "webauthn_domains", r#"["example.com"]"#).await;
    let unknown = format!("user_{}", "0".repeat(27));
    let nothing = format!("webauthn_{}", "0".repeat(27));
    let stranger = api.other_app().await;
    let delete = |id: &str| format!("/v1/auth/users/webauthn_credentials/{id}/delete");
    for (client, domain, user, passkey) in [
        (&stranger, "localhost", &user, &passkey),
        (&api.live(), "example.com", &user, &passkey),
        (&test, "localhost", &unknown, &nothing),
    ] {
        let request = json!({"domain": domain, "user_id": user});
        for path in [BEGIN, AUTHENTICATE] {
            let refused = client.post(path, request.clone()).await;
            refused.refuses(404, "not_found", Some("user"));
        }
        let credential = browser.get(&challenge(&test, None).await).await;
        if passkey != &nothing {
            let refused = verify(client, &credential).await;
            refused.refuses(401, "invalid_credentials", None);
        }
        let mut other = Browser::at(PAGE);
        let created = other
            .create(&begin(&test, &self::user_of(&test).await).await)
            .await;
        let request = json!({"user_id": user, "public_key_credential": created});
        let refused = client.post(CREATE, request).await;
        refused.refuses(404, "not_found", Some("user"));
        let refused = client.delete(&delete(passkey), None).await;
        refused.refuses(404, "not_found", Some("webauthn_credential"));
    }
    assert_eq!(passkeys_of(&test, &user).await.as_array().unwrap().len(), 1);
}

/// Another user each time.
async fn user_of(client: &Client<'_>) -> String {
    let request = json!({"email": "someone@example.com"});
    let sent = client
        .post("/v1/auth/otps/email/login_or_create", request)
        .await
        .ok();
    sent.text_at("/user_id")
}

async fn a_pending_user_verifies_an_identifier_first(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::at(PAGE));
    let request = json!({"email": "ada@example.com", "requires_verification": true});
    let created = test.post("/v1/auth/users/create", request).await.ok();
    let user = created.text_at("/user_id");
    registered(&test, &mut browser, &user).await;
    let credential = response(&test, &mut browser, Some(&user)).await;
    let refused = verify(&test, &credential).await;
    refused.refuses(403, "insufficient_factor", None);
}

/// S-6: when a passkey is added or removed, the sessions end and the owner is notified.
async fn a_deleted_passkey_ends_the_sessions(api: &Api) {
    let (test, mut browser) = (api.test(), Browser::at(PAGE));
    let signed_in = signed_in(api, "ada@example.com").await;
    let user = signed_in.text_at("/user_id");
    let passkey = registered(&test, &mut browser, &user).await;
    let credential = response(&test, &mut browser, Some(&user)).await;
    let by_passkey = verify(&test, &credential).await.ok();
    let alive = async |token: &Value| {
        let request = json!({"session_token": token});
        let verified = test.post("/v1/auth/sessions/verify", request).await;
        verified.status == 200
    };
    let first = &signed_in.body["session_token"];
    assert!(alive(first).await, "another sign-in method ends nothing");
    let path = format!("/v1/auth/users/webauthn_credentials/{passkey}/delete");
    let deleted = test.delete(&path, None).await.ok();
    assert_response_snapshot!(deleted, @r#"
    {
      "body": {
        "message": "Successfully deleted user webauthn_credential",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    assert!(!alive(first).await && !alive(&by_passkey.body["session_token"]).await);
    assert_eq!(passkeys_of(&test, &user).await, json!([]));
    let again = test.delete(&path, None).await;
    again.refuses(404, "not_found", Some("webauthn_credential"));
    let credential = response(&test, &mut browser, None).await;
    let refused = verify(&test, &credential).await;
    refused.refuses(401, "invalid_credentials", None);
    api.deliver().await;
    let notices = "/v1/test/messages?to=ada@example.com&kind=security_notice";
    let notices = test.get(notices).await.ok();
    let mut texts: Vec<&str> = notices.body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["text"].as_str().unwrap().lines().next().unwrap())
        .collect();
    // The order of two mails of one second is undefined.
    texts.sort_unstable();
    assert_eq!(
        texts,
        [
            "A passkey was added to your account.",
            "A passkey was removed from your account."
        ]
    );
}

async fn the_last_sign_in_method_stays(api: &Api) {
    let test = api.test();
    let (mut first, mut second) = (Browser::at(PAGE), Browser::at(PAGE));
    let user = user(&test, "ada@example.com").await;
    let one = registered(&test, &mut first, &user).await;
    let two = registered(&test, &mut second, &user).await;
    // The account was founded by an identifier that is gone, and its address is a claim, which cannot sign in.
    let store = SqlStore::connect(&api.place.settings).await.unwrap();
    let mut tx = store.begin().await.unwrap();
    let world = World::new(api.app.id, Environment::Test);
    let id = user.parse().unwrap();
    tx.users().mark_owned(&world, id, START).await.unwrap();
    tx.commit().await.unwrap();
    let path = |id: &str| format!("/v1/auth/users/webauthn_credentials/{id}/delete");
    test.delete(&path(&one), None).await.ok();
    let refused = test.delete(&path(&two), None).await;
    refused.refuses(409, "last_sign_in_method", None);
    let credential = response(&test, &mut second, Some(&user)).await;
    verify(&test, &credential).await.ok();
}

/// An attacker creates an account with another person's address, adds a passkey, and waits.
async fn attack_1_a_planted_passkey_is_removed_by_the_first_proof(api: &Api) {
    let (test, mut attacker) = (api.test(), Browser::at(PAGE));
    let user = user(&test, "victim@example.com").await;
    registered(&test, &mut attacker, &user).await;
    let (before, waiting) = (
        response(&test, &mut attacker, Some(&user)).await,
        begin(&test, &user).await,
    );
    verify(&test, &before).await.ok();
    let kept = response(&test, &mut attacker, Some(&user)).await;
    let sent = sent(api, &test, "victim@example.com").await;
    verified(&test, &sent, json!({})).await.ok();
    assert_eq!(passkeys_of(&test, &user).await, json!([]));
    verify(&test, &kept)
        .await
        .refuses(401, "invalid_credentials", None);
    let mut late = Browser::at(PAGE);
    let credential = late.create(&waiting).await;
    let request = json!({"user_id": user, "public_key_credential": credential});
    let refused = test.post(CREATE, request).await;
    refused.refuses(400, "invalid_field", Some("public_key_credential"));
}
