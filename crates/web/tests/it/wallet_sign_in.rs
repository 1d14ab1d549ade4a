//! Signing in with a wallet, over HTTP. The person's wallet is a managed wallet of the same service's live environment: for the test
//! environment it is an external wallet like any other.

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_domain::rfc3339;

use crate::flows::signed_in;
use crate::harness::{Api, Response, START, assert_response_snapshot, on_both};

const BEGIN: &str = "/v1/auth/wallets/registrations/begin";
const NONCE: &str = "/v1/auth/wallets/registrations/nonce";
const VERIFY: &str = "/v1/auth/wallets/verify";
const SIWE: &str = "/v1/auth/wallets/siwe/verify";

on_both! {
    a_challenge_is_signed_and_signs_in
    m_27_the_wallet_that_signed_is_shown_as_everywhere
    a_sign_in_message_is_signed_and_signs_in
    the_test_environment_accepts_localhost
    a_wallet_joins_a_session
    requests_are_checked_field_by_field
    wrong_used_and_unknown_signatures_get_one_response
    taken_addresses_are_refused
    m_32_create_returns_the_users_own_wallet
}

/// A wallet that a person holds.
struct Pocket {
    id: String,
    address: String,
}

impl Pocket {
    async fn new(api: &Api) -> Self {
        Self::of(api, "someone@example.com").await
    }

    async fn of(api: &Api, email: &str) -> Self {
        let request = json!({"email": email, "include_user": true});
        let created = api.live().post("/v1/auth/users/create", request).await.ok();
        Self {
            id: created.text_at("/user/wallets/0/id"),
            address: created.text_at("/user/wallets/0/public_address"),
        }
    }

    async fn sign(&self, api: &Api, message: &str) -> String {
        let path = format!("/v1/wallets/{}/sign_message", self.id);
        let signed = api.live().post(&path, json!({"message": message})).await;
        signed.ok().text_at("/signature")
    }

    fn request(&self, further: Value) -> Value {
        let mut request = json!({"wallet_type": "ethereum", "public_address": self.address});
        let fields = further.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(fields);
        request
    }

    /// A proof of a fresh challenge.
    async fn proof(&self, api: &Api, further: Value) -> Value {
        let begun = api.test().post(BEGIN, self.request(json!({}))).await.ok();
        let signature = self.sign(api, &begun.text_at("/challenge")).await;
        let mut request = self.request(further);
        request["signature"] = signature.into();
        request
    }

    fn message(&self, nonce: &str) -> String {
        format!(
            "example.com wants you to sign in with your Ethereum account:\n{}\n\n\n\
             URI: https://example.com/login\nVersion: 1\nChain ID: 1\nNonce: {nonce}\nIssued At: {}",
            self.address,
            rfc3339::format(START)
        )
    }
}

async fn a_challenge_is_signed_and_signs_in(api: &Api) {
    let pocket = Pocket::new(api).await;
    let mut begun = api.test().post(BEGIN, pocket.request(json!({}))).await.ok();
    let challenge = begun.text_at("/challenge");
    let asked = format!(
        "id.example.com wants you to sign in with your Ethereum account:\n{}\n\nSign in to Demo. ",
        pocket.address
    );
    assert!(challenge.starts_with(&asked), "{challenge}");
    begun.body["challenge"] = json!("");
    assert_response_snapshot!(begun, @r#"
    {
      "body": {
        "app_id": "[app id]",
        "challenge": "",
        "created_at": 1800000000,
        "expires_at": 1800000600,
        "id": "[walletrr id]",
        "public_address": "[ethereum address]",
        "updated_at": 1800000000,
        "user_id": "[user id]",
        "wallet_type": "ethereum"
      },
      "status": 200
    }
    "#);
    let signature = pocket.sign(api, &challenge).await;
    let request = pocket.request(json!({"signature": signature, "session_expires_in": 60}));
    let verified = api.test().post(VERIFY, request).await.ok();
    assert_eq!(verified.body["user_id"], begun.body["user_id"]);
    assert_response_snapshot!(verified, @r#"
    {
      "body": {
        "app_id": "[app id]",
        "created_at": 1800000000,
        "disabled_reason": "",
        "id": "[wallet id]",
        "is_default": false,
        "is_disabled": false,
        "is_imported": false,
        "is_read_only": true,
        "public_address": "[ethereum address]",
        "session": {
          "created_at": 1800000000,
          "deleted": false,
          "deleted_at": 0,
          "device_fingerprint": {
            "ip": "",
            "user_agent": ""
          },
          "expires_at": 1800003600,
          "factors": [
            {
              "delivery_channel": "eth_wallet",
              "method": {
                "last_verified_at": 1800000000,
                "method_id": "[wallet id]",
                "method_type": "wallet",
                "wallet_id": "[wallet id]",
                "wallet_public_address": "[ethereum address]",
                "wallet_type": "ethereum"
              },
              "type": "wallet"
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
        "updated_at": 1800000000,
        "user_id": "[user id]",
        "verified": true,
        "wallet_type": "ethereum"
      },
      "status": 200
    }
    "#);
    // The wallet without its key appears wherever wallets do, and signs nothing.
    let id = verified.text_at("/id");
    let shown = api.test().get(&format!("/v1/wallets/{id}")).await.ok();
    assert_eq!(shown.body["is_read_only"], true);
    let user = verified.text_at("/user_id");
    let full = api.test().get(&format!("/v1/auth/users/{user}")).await.ok();
    assert_eq!(full.body["wallets"], json!([shown.body]));
    assert_eq!(full.body["status"], "active");
    let listed = api.test().get("/v1/wallets/list").await.ok();
    assert_eq!(listed.body["wallets"], json!([shown.body]));
    for call in ["sign_message", "disable", "enable"] {
        let path = format!("/v1/wallets/{id}/{call}");
        let refused = api.test().post(&path, json!({"message": "hi"})).await;
        refused.refuses(403, "wallet_read_only", None);
    }
}

/// By the letter of the document: a user who has a wallet of the type gets it, and no other one is created, no matter who holds its key.
async fn m_32_create_returns_the_users_own_wallet(api: &Api) {
    let pocket = Pocket::new(api).await;
    let request = pocket.proof(api, json!({})).await;
    let own = api.test().post(VERIFY, request).await.ok();
    let user = own.text_at("/user_id");
    let create = async |wallet_type: &str| {
        let request = json!({"user_id": user, "wallet_type": wallet_type});
        api.test().post("/v1/wallets/create", request).await.ok()
    };
    for _ in 0..2 {
        let response = create("ethereum").await;
        assert_eq!(response.body["id"], own.body["id"]);
        assert_eq!(response.body["is_read_only"], true);
        assert_eq!(response.body["is_default"], false);
    }
    // There is none of another type yet.
    let made = create("solana").await;
    assert_eq!(made.body["is_read_only"], false);
    assert_eq!(made.body["is_default"], true);
    assert_eq!(create("solana").await.body["id"], made.body["id"]);
    let path = format!("/v1/auth/users/{user}");
    let shown = api.test().get(&path).await.ok();
    assert_eq!(shown.body["wallets"].as_array().unwrap().len(), 2);
    // A wallet with a locally held key comes first: this user had one before signing in with another wallet.
    let session = signed_in(api, "ada@example.com").await;
    let ada = session.text_at("/user_id");
    let request = json!({"user_id": ada, "wallet_type": "ethereum"});
    let managed = api.test().post("/v1/wallets/create", request.clone()).await;
    let other = Pocket::of(api, "another@example.com").await;
    let fields = json!({"session_token": session.text_at("/session_token")});
    let begin = other.request(json!({"user_id": ada}));
    let begun = api.test().post(BEGIN, begin).await.ok();
    let signature = other.sign(api, &begun.text_at("/challenge")).await;
    let mut proof = other.request(fields);
    proof["signature"] = signature.into();
    api.test().post(VERIFY, proof).await.ok();
    let again = api.test().post("/v1/wallets/create", request).await.ok();
    assert_eq!(again.text, managed.ok().text);
}

/// All fields that responses have for a wallet, including whether it is disabled; for both forms of signed text.
async fn m_27_the_wallet_that_signed_is_shown_as_everywhere(api: &Api) {
    let pocket = Pocket::new(api).await;
    let request = pocket.proof(api, json!({})).await;
    let by_challenge = api.test().post(VERIFY, request).await.ok();
    let nonce = api.test().post(NONCE, pocket.request(json!({}))).await.ok();
    let message = pocket.message(&nonce.text_at("/nonce"));
    let message = message.replace("example.com", "localhost");
    let signature = pocket.sign(api, &message).await;
    let request = pocket.request(json!({"signature": signature, "siwe_challenge": message}));
    let by_message = api.test().post(SIWE, request).await.ok();
    let path = format!("/v1/wallets/{}", by_challenge.text_at("/id"));
    let shown = api.test().get(&path).await.ok();
    for name in shown.body.as_object().unwrap().keys() {
        for verified in [&by_challenge, &by_message] {
            assert_eq!(verified.body[name], shown.body[name], "{name}");
        }
    }
    assert_eq!(by_message.body["is_disabled"], false);
}

async fn a_sign_in_message_is_signed_and_signs_in(api: &Api) {
    let domains = [("siwe_domains".to_owned(), r#"["example.com"]"#.to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &domains)
        .await
        .unwrap();
    api.pass(1);
    let pocket = Pocket::new(api).await;
    let nonce = api.test().post(NONCE, pocket.request(json!({}))).await.ok();
    assert_eq!(nonce.body["user_created"], true);
    let message = pocket.message(&nonce.text_at("/nonce"));
    let signature = pocket.sign(api, &message).await;
    let request =
        |message: &str| pocket.request(json!({"signature": signature, "siwe_challenge": message}));
    for odd in [
        message.replace("example.com wants", "evil.com wants"),
        message.replace("Version: 1", "Version: 2"),
        message.replace("URI: https://example.com", "URI: https://evil.com"),
        message.replace("Issued At: 2027", "Issued At: 2028"),
        format!("{message}\n"),
        String::new(),
    ] {
        let refused = api.test().post(SIWE, request(&odd)).await;
        refused.refuses(400, "invalid_field", Some("siwe_challenge"));
    }
    let verified = api.test().post(SIWE, request(&message)).await.ok();
    assert_eq!(verified.body["user_id"], nonce.body["user_id"]);
    assert_eq!(verified.body["session"], Value::Null);
    let again = api.test().post(SIWE, request(&message)).await;
    again.refuses(401, "invalid_credentials", None);
    let nonce = api.test().post(NONCE, pocket.request(json!({}))).await.ok();
    assert_eq!(nonce.body["user_created"], false);
    assert_eq!(nonce.body["user_id"], verified.body["user_id"]);
}

/// As for passkeys: `localhost` needs no listing, and is accepted in the test environment only.
async fn the_test_environment_accepts_localhost(api: &Api) {
    let pocket = Pocket::new(api).await;
    for (domain, uri, fits) in [
        ("localhost", "http://localhost/login", true),
        ("localhost:3000", "http://localhost:3000/login", true),
        ("localhost:3000", "http://localhost:4000/login", false),
        ("localhost:3000", "https://example.com/login", false),
        (
            "localhost.evil.com",
            "https://localhost.evil.com/login",
            false,
        ),
        ("127.0.0.1:3000", "http://127.0.0.1:3000/login", false),
        ("example.com", "https://example.com/login", false),
    ] {
        let nonce = api.test().post(NONCE, pocket.request(json!({}))).await.ok();
        let message = pocket.message(&nonce.text_at("/nonce"));
        let message = message.replace("https://example.com/login", uri);
        let message = message.replace("example.com wants", &format!("{domain} wants"));
        let signature = pocket.sign(api, &message).await;
        let request = pocket.request(json!({"signature": signature, "siwe_challenge": message}));
        let response = api.test().post(SIWE, request).await;
        if fits {
            response.ok();
        } else {
            response.refuses(400, "invalid_field", Some("siwe_challenge"));
        }
    }
    let elsewhere = Pocket {
        id: String::new(),
        address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed".to_owned(),
    };
    let live = api.live();
    let nonce = live.post(NONCE, elsewhere.request(json!({}))).await.ok();
    let message = elsewhere.message(&nonce.text_at("/nonce"));
    let message = message.replace("https://example.com", "http://localhost");
    let message = message.replace("example.com wants", "localhost wants");
    let signature = format!("0x{}1b", "1".repeat(128));
    let request = elsewhere.request(json!({"signature": signature, "siwe_challenge": message}));
    let refused = live.post(SIWE, request).await;
    refused.refuses(400, "invalid_field", Some("siwe_challenge"));
}

async fn a_wallet_joins_a_session(api: &Api) {
    let pocket = Pocket::new(api).await;
    let first = signed_in(api, "ada@example.com").await;
    let other = signed_in(api, "bob@example.com").await;
    let user = first.text_at("/user_id");
    let begun = pocket.request(json!({"user_id": user}));
    let begun = api.test().post(BEGIN, begun).await.ok();
    assert_eq!(begun.body["user_id"], user.as_str());
    let signature = pocket.sign(api, &begun.text_at("/challenge")).await;
    let with = |session: &Response| {
        pocket.request(json!({
            "signature": signature, "session_token": session.body["session_token"],
        }))
    };
    let refused = api.test().post(VERIFY, with(&other)).await;
    refused.refuses(401, "invalid_session", None);
    let second = api.test().post(VERIFY, with(&first)).await.ok();
    assert_eq!(second.body["session"]["id"], first.body["session"]["id"]);
    assert_eq!(
        second.body["session"]["factors"][1]["delivery_channel"],
        "eth_wallet"
    );
    assert_ne!(second.body["session_token"], first.body["session_token"]);
}

async fn requests_are_checked_field_by_field(api: &Api) {
    let pocket = Pocket::new(api).await;
    for path in [BEGIN, NONCE, VERIFY, SIWE] {
        let whole = pocket.request(json!({"signature": "0x00", "siwe_challenge": "x"}));
        for (name, odd, code) in [
            ("wallet_type", Value::Null, "missing_field"),
            ("wallet_type", json!("bitcoin"), "invalid_field"),
            ("wallet_type", json!("dogecoin"), "invalid_field"),
            ("public_address", Value::Null, "missing_field"),
            ("public_address", json!(""), "invalid_field"),
            ("public_address", json!("0x00"), "invalid_field"),
            ("public_address", json!(7), "invalid_field"),
        ] {
            let mut request = whole.clone();
            request[name] = odd;
            let refused = api.test().post(path, request).await;
            refused.refuses(400, code, Some(name));
        }
    }
    for path in [BEGIN, NONCE] {
        let request = pocket.request(json!({"user_id": "user_1"}));
        let refused = api.test().post(path, request).await;
        refused.refuses(400, "invalid_field", Some("user_id"));
        let absent = format!("user_{}", "0".repeat(27));
        let request = pocket.request(json!({"user_id": absent}));
        let refused = api.test().post(path, request).await;
        refused.refuses(404, "not_found", Some("user"));
    }
    for path in [VERIFY, SIWE] {
        let refused = api.test().post(path, pocket.request(json!({}))).await;
        refused.refuses(400, "missing_field", Some("signature"));
        for (name, odd) in [
            ("session_expires_in", json!(4)),
            ("session_expires_in", json!(525_601)),
            ("device_fingerprint", json!("x")),
        ] {
            let mut request = pocket.request(json!({"signature": "0x00", "siwe_challenge": "x"}));
            request[name] = odd;
            let refused = api.test().post(path, request).await;
            refused.refuses(400, "invalid_field", Some(name));
        }
    }
    let request = pocket.request(json!({"signature": "0x00"}));
    let refused = api.test().post(SIWE, request).await;
    refused.refuses(400, "missing_field", Some("siwe_challenge"));
}

/// One response, byte for byte; a signature of another environment or App is an unknown one (I11).
async fn wrong_used_and_unknown_signatures_get_one_response(api: &Api) {
    let pocket = Pocket::new(api).await;
    let mut responses = Vec::new();
    let proof = pocket.proof(api, json!({})).await;
    let stranger = api.other_app().await.header("X-Request-Id", "one");
    responses.push(stranger.post(VERIFY, proof.clone()).await);
    let client = api.test().header("X-Request-Id", "one");
    for signature in ["", "0x", "0x00", &"1".repeat(130), "not hex"] {
        let request = pocket.request(json!({"signature": signature}));
        responses.push(client.post(VERIFY, request).await);
    }
    let other = pocket.sign(api, "something else").await;
    let request = pocket.request(json!({"signature": other}));
    responses.push(client.post(VERIFY, request).await);
    api.test().post(VERIFY, proof.clone()).await.ok();
    responses.push(client.post(VERIFY, proof).await);
    let late = pocket.proof(api, json!({})).await;
    api.pass(600);
    responses.push(client.post(VERIFY, late).await);
    for response in &responses {
        response.refuses(401, "invalid_credentials", None);
        assert_eq!(response.text, responses[0].text);
    }
}

async fn taken_addresses_are_refused(api: &Api) {
    let pocket = Pocket::new(api).await;
    let proof = pocket.proof(api, json!({})).await;
    api.test().post(VERIFY, proof).await.ok();
    let request = json!({"email": "ada@example.com", "include_user": true});
    let ada = api.test().post("/v1/auth/users/create", request).await.ok();
    for path in [BEGIN, NONCE] {
        let request = pocket.request(json!({"user_id": ada.body["user_id"]}));
        let refused = api.test().post(path, request).await;
        refused.refuses(409, "duplicate", Some("public_address"));
        // Vestry holds the key of this one: it signs no one in.
        let managed = &ada.body["user"]["wallets"][0]["public_address"];
        let request = json!({"wallet_type": "ethereum", "public_address": managed});
        let refused = api.test().post(path, request).await;
        refused.refuses(409, "duplicate", Some("public_address"));
    }
}
