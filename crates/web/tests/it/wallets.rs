//! Wallets and what they sign.

use std::collections::HashSet;

use serde_json::{Value, json};
use vestry_domain::wallet::WalletType;

use crate::flows::sent;
use crate::harness::{Api, assert_response_snapshot, on_both};

const CREATE: &str = "/v1/wallets/create";
const LIST: &str = "/v1/wallets/list";

on_both! {
    a_user_has_one_wallet_of_a_type
    r1_a_hundred_concurrent_calls_create_one_wallet
    a_create_names_what_it_refuses
    a_wallet_signs_messages
    a_message_names_its_bytes
    a_sign_names_what_it_refuses
    an_unknown_wallet_is_not_found
    wallets_are_listed_in_pages
    a_list_names_what_it_refuses
}

/// A user without a wallet.
async fn user(api: &Api, email: &str) -> String {
    sent(api, &api.test(), email).await.user_id
}

async fn wallet(api: &Api, email: &str) -> String {
    let request = json!({"user_id": user(api, email).await, "wallet_type": "ethereum"});
    api.test().post(CREATE, request).await.ok().text_at("/id")
}

/// API-18.
async fn a_user_has_one_wallet_of_a_type(api: &Api) {
    let user_id = user(api, "ada@example.com").await;
    let request = json!({"user_id": user_id, "wallet_type": "ethereum"});
    let created = api.test().post(CREATE, request).await.ok();
    assert_response_snapshot!(created, @r#"
    {
      "body": {
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
      },
      "status": 200
    }
    "#);
    for name in ["ethereum", "ETH"] {
        let request = json!({"user_id": user_id, "wallet_type": name});
        assert_eq!(
            api.test().post(CREATE, request).await.ok().body,
            created.body
        );
    }
    let read = api
        .test()
        .get(&format!("/v1/wallets/{}", created.text_at("/id")))
        .await
        .ok();
    assert_eq!(read.body, created.body);
    let user = api
        .test()
        .get(&format!("/v1/auth/users/{user_id}"))
        .await
        .ok();
    assert_eq!(user.body["wallets"], json!([created.body]));
}

/// R1: all of them return the one wallet. The server's tests run the full numbers, and two processes.
async fn r1_a_hundred_concurrent_calls_create_one_wallet(api: &Api) {
    for round in 0..5 {
        let user_id = user(api, &format!("user{round}@example.com")).await;
        let wallet_type = WalletType::ALL[round].as_str();
        let request = json!({"user_id": user_id, "wallet_type": wallet_type});
        let calls = (0..100).map(|_| async { api.test().post(CREATE, request.clone()).await });
        let responses = futures_util::future::join_all(calls).await;
        let wallets: HashSet<String> = responses
            .into_iter()
            .map(|response| response.ok().text_at("/id"))
            .collect();
        assert_eq!(wallets.len(), 1, "R1: wallets of one user and type");
        let owned = api.test().get(&format!("{LIST}?user_id={user_id}")).await;
        assert_eq!(owned.ok().body["total_count"], 1);
    }
}

async fn a_create_names_what_it_refuses(api: &Api) {
    let user_id = user(api, "ada@example.com").await;
    let absent = format!("user_{}", "0".repeat(27));
    let cases = [
        (json!({"user_id": user_id}), "missing_field", "wallet_type"),
        (
            json!({"wallet_type": "ethereum"}),
            "missing_field",
            "user_id",
        ),
        (
            json!({"user_id": user_id, "wallet_type": ""}),
            "invalid_field",
            "wallet_type",
        ),
        (
            json!({"user_id": user_id, "wallet_type": "doge"}),
            "invalid_field",
            "wallet_type",
        ),
        (
            json!({"user_id": user_id, "wallet_type": 1}),
            "invalid_field",
            "wallet_type",
        ),
        (
            json!({"user_id": "ada", "wallet_type": "ethereum"}),
            "invalid_field",
            "user_id",
        ),
        (
            json!({"user_id": {}, "wallet_type": "ethereum"}),
            "invalid_field",
            "user_id",
        ),
    ];
    for (request, code, param) in cases {
        api.test()
            .post(CREATE, request)
            .await
            .refuses(400, code, Some(param));
    }
    let request = json!({"user_id": absent, "wallet_type": "ethereum"});
    api.test()
        .post(CREATE, request)
        .await
        .refuses(404, "not_found", Some("user"));
    assert_eq!(api.test().get(LIST).await.ok().body["total_count"], 0);
}

async fn a_wallet_signs_messages(api: &Api) {
    let id = wallet(api, "ada@example.com").await;
    let path = format!("/v1/wallets/{id}/sign_message");
    let signed = api
        .test()
        .post(&path, json!({"message": "test"}))
        .await
        .ok();
    assert_response_snapshot!(signed, @r#"
    {
      "body": {
        "signature": "[ethereum signature]",
        "wallet": {
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
        },
        "wallet_id": "[wallet id]"
      },
      "status": 200
    }
    "#);
    let again = api
        .test()
        .post(&path, json!({"message": "test"}))
        .await
        .ok();
    assert_eq!(
        again.body, signed.body,
        "RFC 6979: the same message, the same signature"
    );
    let other = api
        .test()
        .post(&path, json!({"message": "test "}))
        .await
        .ok();
    assert_ne!(other.body["signature"], signed.body["signature"]);
}

/// Three names of the same bytes get the same signature; text that looks like hex is text.
async fn a_message_names_its_bytes(api: &Api) {
    let path = format!(
        "/v1/wallets/{}/sign_message",
        wallet(api, "ada@example.com").await
    );
    let sign = async |request: Value| {
        api.test()
            .post(&path, request)
            .await
            .ok()
            .text_at("/signature")
    };
    let signature = sign(json!({"message": "test"})).await;
    for request in [
        json!({"message": "test", "encoding": "utf-8"}),
        json!({"message": "test", "encoding": null}),
        json!({"message": "74657374", "encoding": "hex"}),
        json!({"message": "0x74657374", "encoding": "hex"}),
        json!({"message": "dGVzdA==", "encoding": "base64"}),
    ] {
        assert_eq!(sign(request.clone()).await, signature, "{request}");
    }
    assert_ne!(sign(json!({"message": "0x74657374"})).await, signature);
    sign(json!({"message": ""})).await;
    sign(json!({"message": "é🔑".repeat(100)})).await;
    sign(json!({"message": "a".repeat(64 * 1024)})).await;
    // NUL is a byte like any other where bytes are given.
    sign(json!({"message": "00", "encoding": "hex"})).await;
}

async fn a_sign_names_what_it_refuses(api: &Api) {
    let path = format!(
        "/v1/wallets/{}/sign_message",
        wallet(api, "ada@example.com").await
    );
    let cases = [
        (json!({}), "missing_field", "message"),
        (json!({"message": null}), "missing_field", "message"),
        (json!({"message": 7}), "invalid_field", "message"),
        (json!({"message": ["test"]}), "invalid_field", "message"),
        (json!({"message": "a\u{0}b"}), "invalid_field", "message"),
        (
            json!({"message": "a".repeat(64 * 1024 + 1)}),
            "invalid_field",
            "message",
        ),
        (
            json!({"message": "abc", "encoding": "hex"}),
            "invalid_field",
            "message",
        ),
        (
            json!({"message": "zz", "encoding": "hex"}),
            "invalid_field",
            "message",
        ),
        (
            json!({"message": "a", "encoding": "base64"}),
            "invalid_field",
            "message",
        ),
        (
            json!({"message": "a", "encoding": "rot13"}),
            "invalid_field",
            "encoding",
        ),
        (
            json!({"message": "a", "encoding": 1}),
            "invalid_field",
            "encoding",
        ),
    ];
    for (request, code, param) in cases {
        let refused = api.test().post(&path, request).await;
        refused.refuses(400, code, Some(param));
        assert_eq!(refused.body.get("signature"), None);
    }
}

async fn an_unknown_wallet_is_not_found(api: &Api) {
    let absent = format!("wallet_{}", "0".repeat(27));
    for id in [
        absent.as_str(),
        "wallet_",
        "0",
        "user_000000000000000000000000000",
    ] {
        let read = api.test().get(&format!("/v1/wallets/{id}")).await;
        read.refuses(404, "not_found", Some("wallet"));
        let signed = api
            .test()
            .post(
                &format!("/v1/wallets/{id}/sign_message"),
                json!({"message": "test"}),
            )
            .await;
        signed.refuses(404, "not_found", Some("wallet"));
    }
}

async fn wallets_are_listed_in_pages(api: &Api) {
    let mut ids = Vec::new();
    for number in 0..12 {
        ids.insert(0, wallet(api, &format!("u{number}@example.com")).await);
        api.pass(1);
    }
    let page = async |query: &str| {
        let page = api.test().get(&format!("{LIST}?{query}")).await.ok();
        let ids = page.body["wallets"].as_array().unwrap().iter();
        let ids: Vec<String> = ids
            .map(|wallet| wallet["id"].as_str().unwrap().to_owned())
            .collect();
        (
            ids,
            page.body["has_more"].as_bool().unwrap(),
            page.body["total_count"].as_i64().unwrap(),
        )
    };
    assert_eq!(page("").await, (ids.clone(), false, 12));
    assert_eq!(page("limit=10").await, (ids[..10].to_vec(), true, 12));
    assert_eq!(
        page(&format!("limit=10&starting_after={}", ids[9])).await,
        (ids[10..].to_vec(), false, 12)
    );
    let owner = api
        .test()
        .get(&format!("/v1/wallets/{}", ids[0]))
        .await
        .ok()
        .text_at("/user_id");
    assert_eq!(
        page(&format!("user_id={owner}")).await,
        (ids[..1].to_vec(), false, 1)
    );
    assert_eq!(
        page(&format!("user_id=user_{}", "0".repeat(27))).await,
        (vec![], false, 0)
    );
    assert_eq!(page("limit=&starting_after=&user_id=&other=1").await.2, 12);
}

async fn a_list_names_what_it_refuses(api: &Api) {
    for (query, param) in [
        ("limit=9", "limit"),
        ("limit=101", "limit"),
        ("limit=ten", "limit"),
        ("limit=10.5", "limit"),
        ("limit=%2B10", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("limit=10&limit=20", "limit"),
        ("user_id=ada", "user_id"),
        (
            "starting_after=user_000000000000000000000000000",
            "starting_after",
        ),
        ("user_id=%00", "user_id"),
        ("x%00=1", "x\u{0}"),
    ] {
        let refused = api.test().get(&format!("{LIST}?{query}")).await;
        refused.refuses(400, "invalid_field", Some(param));
    }
}
