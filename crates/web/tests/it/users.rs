//! `users/create` and `users/{user_id}`.

use serde_json::{Value, json};

use crate::harness::{Api, Client, assert_response_snapshot, on_both};

const CREATE: &str = "/v1/auth/users/create";

on_both! {
    a_user_is_created_with_a_wallet
    a_user_of_a_phone_number_has_no_email
    every_field_of_a_request_comes_back
    the_default_wallet_can_be_named
    null_is_absent_and_unknown_fields_are_ignored
    a_pending_user_is_not_active
    an_identifier_belongs_to_one_user
    a_refused_request_names_its_field_and_changes_nothing
    metadata_over_its_limits_is_refused
    a_body_of_another_kind_is_refused
    an_unknown_user_is_not_found
}

async fn a_user_is_created_with_a_wallet(api: &Api) {
    let request = json!({"email": "Ada@Example.com", "include_user": true});
    let created = api.test().post(CREATE, request).await.ok();
    assert_response_snapshot!(created, @r#"
    {
      "body": {
        "email_id": "[email id]",
        "phone_number_id": "",
        "status": "active",
        "user": {
          "active": true,
          "app_id": "[app id]",
          "created_at": 1800000000,
          "disabled_at": 0,
          "disabled_reason": "",
          "emails": [
            {
              "created_at": 1800000000,
              "email": "Ada@Example.com",
              "id": "[email id]",
              "updated_at": 1800000000,
              "verified": false
            }
          ],
          "external_key": "",
          "first_name": "",
          "idp_providers": [],
          "last_name": "",
          "last_sign_in_at": 0,
          "metadata": {},
          "middle_name": "",
          "phone_numbers": [],
          "status": "active",
          "totps": [],
          "updated_at": 1800000000,
          "user_id": "[user id]",
          "wallets": [
            {
              "app_id": "[app id]",
              "created_at": 1800000000,
              "disabled_reason": "",
              "id": "[wallet id]",
              "is_default": true,
              "is_disabled": false,
              "is_imported": false,
              "is_read_only": false,
              "public_address": "[ethereum address]",
              "updated_at": 1800000000,
              "user_id": "[user id]",
              "verified": true,
              "wallet_type": "ethereum"
            }
          ],
          "webauthn_credentials": []
        },
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    let user = user(api.test(), &created.text_at("/user_id")).await;
    assert_eq!(user, created.body["user"]);
}

async fn a_user_of_a_phone_number_has_no_email(api: &Api) {
    let created = api
        .test()
        .post(CREATE, json!({"phone_number": "+14155552671"}))
        .await
        .ok();
    assert_response_snapshot!(created, @r#"
    {
      "body": {
        "email_id": "",
        "phone_number_id": "[pn id]",
        "status": "active",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    let user = user(api.test(), &created.text_at("/user_id")).await;
    assert_eq!(user["emails"], json!([]));
    assert_eq!(user["phone_numbers"][0]["phone_number"], "+14155552671");
    assert_eq!(
        user["phone_numbers"][0]["id"],
        created.body["phone_number_id"]
    );
    assert_eq!(user["phone_numbers"][0]["verified"], false);
}

async fn every_field_of_a_request_comes_back(api: &Api) {
    let metadata = json!({
        "plan": "pro", "seats": 12, "ratio": 0.1, "big": 9_007_199_254_740_993_i64, "tags": ["a", null, {"b": []}], "ünï": "✓ \u{1f511}",
    });
    let request = json!({
        "email": "ada@example.com", "phone_number": "+14155552671", "first_name": "Ada", "middle_name": "King",
        "last_name": "O'Brien <b>\"x\"</b>", "metadata": metadata, "include_user": true, "wallet_type": "ethereum",
    });
    let created = api.test().post(CREATE, request).await.ok();
    let user = user(api.test(), &created.text_at("/user_id")).await;
    assert_eq!(user["first_name"], "Ada");
    assert_eq!(user["middle_name"], "King");
    assert_eq!(user["last_name"], "O'Brien <b>\"x\"</b>");
    assert_eq!(user["metadata"], metadata);
    assert_eq!(user["emails"][0]["email"], "ada@example.com");
    assert_eq!(user["phone_numbers"][0]["phone_number"], "+14155552671");
    assert_eq!(user, created.body["user"]);
}

async fn the_default_wallet_can_be_named(api: &Api) {
    let cases = [
        ("", "ethereum"),
        ("ethereum", "ethereum"),
        ("ETH", "ethereum"),
        ("solana", "solana"),
        ("BTC", "bitcoin"),
        ("DOT", "DOT"),
        ("stellar", "XLM"),
    ];
    for (number, (name, expected)) in cases.into_iter().enumerate() {
        let request = json!({"email": format!("u{number}@example.com"), "wallet_type": name, "include_user": true});
        let created = api.test().post(CREATE, request).await.ok();
        assert_eq!(
            created.text_at("/user/wallets/0/wallet_type"),
            expected,
            "{name}"
        );
    }
    for name in ["doge", "Ethereum", "dot"] {
        let request = json!({"email": "other@example.com", "wallet_type": name});
        let refused = api.test().post(CREATE, request).await;
        refused.refuses(400, "invalid_field", Some("wallet_type"));
    }
    assert_eq!(wallets(api.test()).await, 7);
}

/// API-21.
async fn null_is_absent_and_unknown_fields_are_ignored(api: &Api) {
    let request = json!({
        "email": "ada@example.com", "phone_number": null, "first_name": null, "requires_verification": null,
        "wallet_type": null, "include_user": null, "metadata": null, "of_tomorrow": {"a": 1},
    });
    let created = api.test().post(CREATE, request).await.ok();
    assert_eq!(created.body.get("user"), None);
    let user = user(api.test(), &created.text_at("/user_id")).await;
    assert_eq!(user["metadata"], json!({}));
    assert_eq!(user["first_name"], "");
}

async fn a_pending_user_is_not_active(api: &Api) {
    for (number, requires) in [Some(true), Some(false), None].into_iter().enumerate() {
        let email = format!("u{number}@example.com");
        let request =
            json!({"email": email, "requires_verification": requires, "include_user": true});
        let created = api.test().post(CREATE, request).await.ok();
        let status = if requires == Some(true) {
            "pending"
        } else {
            "active"
        };
        assert_eq!(created.body["status"], status);
        assert_eq!(created.body["user"]["status"], status);
        assert_eq!(created.body["user"]["active"], status == "active");
    }
}

/// I10, API-2: in any spelling of the address.
async fn an_identifier_belongs_to_one_user(api: &Api) {
    let request = json!({"email": "mike@example.com", "phone_number": "+14155552671"});
    let first = api.test().post(CREATE, request).await.ok();
    for email in ["mike@example.com", "MIKE@example.COM", " mike@example.com "] {
        let again = api.test().post(CREATE, json!({"email": email})).await;
        again.refuses(409, "duplicate", Some("email"));
    }
    let look_alike = json!({"email": "ｍike@example.com"});
    let refused = api.test().post(CREATE, look_alike).await;
    refused.refuses(400, "invalid_field", Some("email"));
    let again = api
        .test()
        .post(CREATE, json!({"phone_number": "+1 415-555-2671"}))
        .await;
    assert!([400, 409].contains(&again.status), "{}", again.text);
    let again = api
        .test()
        .post(CREATE, json!({"phone_number": "+14155552671"}))
        .await;
    again.refuses(409, "duplicate", Some("phone_number"));
    let both = json!({"email": "new@example.com", "phone_number": "+14155552671"});
    api.test()
        .post(CREATE, both)
        .await
        .refuses(409, "duplicate", Some("phone_number"));
    assert_eq!(wallets(api.test()).await, 1);
    // The other environment is independent.
    let live = api
        .live()
        .post(CREATE, json!({"email": "mike@example.com"}))
        .await
        .ok();
    assert_ne!(live.body["user_id"], first.body["user_id"]);
}

/// The bad-input list: each refusal names the field, and nothing is stored afterwards.
async fn a_refused_request_names_its_field_and_changes_nothing(api: &Api) {
    let long = format!("{}@example.com", "a".repeat(300));
    let cases = [
        (json!({}), "missing_field", "email"),
        (
            json!({"email": null, "phone_number": null}),
            "missing_field",
            "email",
        ),
        (json!({"email": ""}), "invalid_field", "email"),
        (
            json!({"email": "ada.example.com"}),
            "invalid_field",
            "email",
        ),
        (json!({"email": "ada@"}), "invalid_field", "email"),
        (
            json!({"email": "ada@@example.com"}),
            "invalid_field",
            "email",
        ),
        (json!({"email": long}), "invalid_field", "email"),
        (
            json!({"email": "ada@example.com\u{0}"}),
            "invalid_field",
            "email",
        ),
        (
            json!({"email": "ada@example.com\r\nBcc: eve@example.com"}),
            "invalid_field",
            "email",
        ),
        (json!({"email": 7}), "invalid_field", "email"),
        (
            json!({"email": ["ada@example.com"]}),
            "invalid_field",
            "email",
        ),
        (json!({"phone_number": ""}), "invalid_field", "phone_number"),
        (
            json!({"phone_number": "4155552671"}),
            "invalid_field",
            "phone_number",
        ),
        (
            json!({"phone_number": "+1"}),
            "invalid_field",
            "phone_number",
        ),
        (
            json!({"phone_number": 14_155_552_671_i64}),
            "invalid_field",
            "phone_number",
        ),
        (
            json!({"email": "a@example.com", "first_name": "a\u{0}"}),
            "invalid_field",
            "first_name",
        ),
        (
            json!({"email": "a@example.com", "middle_name": "a\nb"}),
            "invalid_field",
            "middle_name",
        ),
        (
            json!({"email": "a@example.com", "last_name": "a".repeat(256)}),
            "invalid_field",
            "last_name",
        ),
        (
            json!({"email": "a@example.com", "unknown": "\u{0}"}),
            "invalid_field",
            "unknown",
        ),
        (
            json!({"email": "a@example.com", "requires_verification": "true"}),
            "invalid_field",
            "requires_verification",
        ),
        (
            json!({"email": "a@example.com", "include_user": 1}),
            "invalid_field",
            "include_user",
        ),
        (
            json!({"email": "a@example.com", "metadata": "{}"}),
            "invalid_field",
            "metadata",
        ),
        (
            json!({"email": "a@example.com", "metadata": []}),
            "invalid_field",
            "metadata",
        ),
        (
            json!({"email": "a@example.com", "metadata": {"a": {"b": ["x\u{0}"]}}}),
            "invalid_field",
            "metadata.a.b[0]",
        ),
    ];
    for (request, code, param) in cases {
        api.test()
            .post(CREATE, request)
            .await
            .refuses(400, code, Some(param));
    }
    assert_eq!(wallets(api.test()).await, 0);
    api.test()
        .post(CREATE, json!({"email": "a@example.com"}))
        .await
        .ok();
}

async fn metadata_over_its_limits_is_refused(api: &Api) {
    let nested = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    let keys = |count: usize| -> Value {
        (0..count)
            .map(|key| (key.to_string(), json!(key)))
            .collect()
    };
    let sized = |bytes: usize| json!({ "k": "x".repeat(bytes - r#"{"k":""}"#.len()) });
    for (number, metadata) in [nested(8), keys(50), sized(16 * 1024)]
        .into_iter()
        .enumerate()
    {
        let request = json!({"email": format!("fits{number}@example.com"), "metadata": metadata});
        api.test().post(CREATE, request).await.ok();
    }
    for metadata in [nested(9), nested(90), keys(51), sized(16 * 1024 + 1)] {
        let request = json!({"email": "ada@example.com", "metadata": metadata});
        api.test()
            .post(CREATE, request)
            .await
            .refuses(400, "invalid_field", Some("metadata"));
    }
    // Deeper than JSON parsers accept by default.
    for levels in [120, 50_000] {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        let body = format!(r#"{{"email": "ada@example.com", "metadata": {{"a": {open}{close}}}}}"#);
        let json = api.test().header("Content-Type", "application/json");
        let refused = json.send_bytes("POST", CREATE, body.as_bytes()).await;
        refused.refuses(400, "invalid_field", Some("metadata"));
    }
    api.test()
        .post(CREATE, json!({"email": "ada@example.com"}))
        .await
        .ok();
}

/// Two parsers may read different requests from a body with a duplicate field.
async fn a_body_of_another_kind_is_refused(api: &Api) {
    let json = api.test().header("Content-Type", "application/json");
    let repeated = br#"{"email": "ada@example.com", "email": "eve@example.com"}"#;
    let refused = json.send_bytes("POST", CREATE, repeated).await;
    refused.refuses(400, "invalid_request", Some("email"));
    let repeated =
        br#"{"email": "ada@example.com", "metadata": {"role": "user", "role": "admin"}}"#;
    let refused = json.send_bytes("POST", CREATE, repeated).await;
    refused.refuses(400, "invalid_request", Some("metadata.role"));
    for body in [
        "[]",
        "null",
        "7",
        "\"ada@example.com\"",
        "{",
        "{\"email\": \"ada@example.com\"",
        "{email: 1}",
        "\u{feff}{}",
    ] {
        let refused = json.send_bytes("POST", CREATE, body.as_bytes()).await;
        refused.refuses(400, "invalid_request", None);
        assert!(
            !refused.text.contains("line") && !refused.text.contains("column"),
            "{}",
            refused.text
        );
    }
    api.test()
        .send_bytes("POST", CREATE, b"")
        .await
        .refuses(400, "invalid_request", None);
    assert_eq!(wallets(api.test()).await, 0);
}

async fn an_unknown_user_is_not_found(api: &Api) {
    let absent = format!("user_{}", "0".repeat(27));
    for id in [
        absent.as_str(),
        "user_",
        "user_x",
        "me",
        "app_000000000000000000000000000",
        "%00",
        "..%2f..",
        "user_%F0%9F%94%91",
    ] {
        let refused = api.test().get(&format!("/v1/auth/users/{id}")).await;
        refused.refuses(404, "not_found", Some("user"));
    }
    let refused = api.test().get(&format!("/v1/auth/users/{absent}")).await;
    assert_response_snapshot!(refused, @r#"
    {
      "body": {
        "error": {
          "code": "not_found",
          "message": "user does not exist",
          "param": "user"
        },
        "error_message": "user does not exist",
        "error_type": "not_found",
        "request_id": "[request id]",
        "status_code": 404
      },
      "status": 404
    }
    "#);
}

async fn user(client: Client<'_>, id: &str) -> Value {
    client.get(&format!("/v1/auth/users/{id}")).await.ok().body
}

/// The number of wallets in the environment: one for each user that `users/create` made.
async fn wallets(client: Client<'_>) -> i64 {
    client.get("/v1/wallets/list").await.ok().body["total_count"]
        .as_i64()
        .unwrap()
}
