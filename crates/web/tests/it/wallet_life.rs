//! Disabling and enabling wallets, and the log of their uses.

use serde_json::{Value, json};
use vestry_domain::Environment;
use vestry_domain::api_key::Scope;

use crate::flows::sent;
use crate::harness::{Api, Response, assert_response_snapshot, on_both};

on_both! {
    a_disabled_wallet_signs_nothing
    a_repeated_disable_changes_nothing
    disabling_needs_a_wallet_and_a_scope
    entries_are_listed_newest_first
    the_log_is_shown_in_pages
    the_log_names_what_it_refuses
}

struct Owned {
    user_id: String,
    wallet_id: String,
}

async fn owned(api: &Api, wallet_type: &str) -> Owned {
    let email = format!("{}@example.com", wallet_type.to_lowercase());
    let user_id = sent(api, &api.test(), &email).await.user_id;
    let request = json!({"user_id": user_id, "wallet_type": wallet_type});
    let created = api.test().post("/v1/wallets/create", request).await.ok();
    Owned {
        user_id,
        wallet_id: created.text_at("/id"),
    }
}

async fn call(api: &Api, owned: &Owned, call: &str, body: Value) -> Response {
    let path = format!("/v1/wallets/{}/{call}", owned.wallet_id);
    api.test().post(&path, body).await
}

async fn audit(api: &Api, owned: &Owned, query: &str) -> Response {
    let path = format!("/v1/wallets/{}/audit{query}", owned.wallet_id);
    api.test().get(&path).await
}

/// Every call that signs, with a valid body.
fn signing_calls(wallet_type: &str) -> Vec<(&'static str, Value)> {
    let method = match wallet_type {
        "ethereum" => "personal_sign",
        "solana" => "sol_signMessage",
        "bitcoin" => "btc_signMessage",
        "DOT" => "polkadot_signMessage",
        _ => "xlm_signMessage",
    };
    vec![
        ("sign_message", json!({"message": "hi"})),
        ("sign_transaction", json!({"eth_transaction": {}})),
        (
            "rpc",
            json!({"method": method, "params": {"message": "hi"}}),
        ),
    ]
}

/// CH-7.
async fn a_disabled_wallet_signs_nothing(api: &Api) {
    for wallet_type in ["ethereum", "solana", "bitcoin", "DOT", "XLM"] {
        let owned = owned(api, wallet_type).await;
        let disabled = call(api, &owned, "disable", json!({})).await.ok();
        assert_eq!(disabled.body["is_disabled"], true);
        for (name, body) in signing_calls(wallet_type) {
            let refused = call(api, &owned, name, body).await;
            refused.refuses(403, "wallet_disabled", None);
        }
        // It still exists and is still the default: none is created in its place.
        let path = format!("/v1/wallets/{}", owned.wallet_id);
        let read = api.test().get(&path).await.ok();
        assert_eq!(read.body, disabled.body);
        let request = json!({"user_id": owned.user_id, "wallet_type": wallet_type});
        let again = api.test().post("/v1/wallets/create", request).await.ok();
        assert_eq!(again.body, disabled.body);
        let enabled = call(api, &owned, "enable", json!({})).await.ok();
        assert_eq!(enabled.body["is_disabled"], false);
        let signed = call(api, &owned, "sign_message", json!({"message": "hi"})).await;
        assert_eq!(signed.ok().body["wallet"], enabled.body);
    }
}

/// A repeated call changes nothing, not even the times.
async fn a_repeated_disable_changes_nothing(api: &Api) {
    let owned = owned(api, "ethereum").await;
    for (name, is_disabled) in [("enable", false), ("disable", true), ("enable", false)] {
        let first = call(api, &owned, name, json!({})).await.ok();
        api.pass(60);
        let second = call(api, &owned, name, json!({})).await.ok();
        assert_eq!(first.body["is_disabled"], is_disabled);
        assert_eq!(first.body, second.body);
    }
    let disabled = call(api, &owned, "disable", json!({})).await.ok();
    assert_response_snapshot!(disabled, @r#"
    {
      "body": {
        "app_id": "[app id]",
        "created_at": 1800000000,
        "disabled_reason": "requested",
        "id": "[wallet id]",
        "is_default": true,
        "is_disabled": true,
        "is_imported": false,
        "is_read_only": false,
        "public_address": "[ethereum address]",
        "updated_at": 1800000180,
        "user_id": "[user id]",
        "verified": true,
        "wallet_type": "ethereum"
      },
      "status": 200
    }
    "#);
}

async fn disabling_needs_a_wallet_and_a_scope(api: &Api) {
    let owned = owned(api, "ethereum").await;
    let reader = api
        .new_key(Environment::Test, &[Scope::WalletsRead, Scope::WalletsSign])
        .await;
    for name in ["disable", "enable"] {
        let path = format!("/v1/wallets/{}/{name}", owned.wallet_id);
        for client in [api.live(), api.other_app().await] {
            client
                .post(&path, json!({}))
                .await
                .refuses(404, "not_found", Some("wallet"));
        }
        let unknown = format!("/v1/wallets/wallet_{}/{name}", "0".repeat(27));
        let refused = api.test().post(&unknown, json!({})).await;
        refused.refuses(404, "not_found", Some("wallet"));
        let refused = api.with_key(&reader).post(&path, json!({})).await;
        refused.refuses(403, "key_not_allowed", Some("scope"));
    }
    let page = audit(api, &owned, "").await.ok();
    assert_eq!(page.body["entries"].as_array().unwrap().len(), 1);
}

async fn entries_are_listed_newest_first(api: &Api) {
    let owned = owned(api, "ethereum").await;
    call(api, &owned, "sign_message", json!({"message": "test"}))
        .await
        .ok();
    api.pass(60);
    let params = json!({"method": "personal_sign", "params": {"message": "test"}});
    call(api, &owned, "rpc", params).await.ok();
    call(api, &owned, "disable", json!({})).await.ok();
    call(api, &owned, "sign_message", json!({"message": "test"}))
        .await
        .refuses(403, "wallet_disabled", None);
    let page = audit(api, &owned, "").await.ok();
    let entries = page.body["entries"].as_array().unwrap();
    let actions: Vec<_> = entries
        .iter()
        .map(|entry| entry["action"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(actions, ["disable", "rpc", "sign_message", "create"]);
    assert_response_snapshot!(page, @r#"
    {
      "body": {
        "entries": [
          {
            "action": "disable",
            "actor": {
              "id": "[key id]",
              "type": "api_key"
            },
            "api_key_id": "[key id]",
            "chain": "[auditchain id]",
            "created_at": 1800000060,
            "detail": "",
            "hash": "[session token]",
            "id": "[aud id]",
            "payload_sha256": null,
            "request_id": "[request id]",
            "result_sha256": null,
            "sequence": 4,
            "wallet_id": "[wallet id]"
          },
          {
            "action": "rpc",
            "actor": {
              "id": "[key id]",
              "type": "api_key"
            },
            "api_key_id": "[key id]",
            "chain": "[auditchain id]",
            "created_at": 1800000060,
            "detail": "personal_sign",
            "hash": "[session token]",
            "id": "[aud id]",
            "payload_sha256": "[session token]",
            "request_id": "[request id]",
            "result_sha256": "[session token]",
            "sequence": 3,
            "wallet_id": "[wallet id]"
          },
          {
            "action": "sign_message",
            "actor": {
              "id": "[key id]",
              "type": "api_key"
            },
            "api_key_id": "[key id]",
            "chain": "[auditchain id]",
            "created_at": 1800000000,
            "detail": "",
            "hash": "[session token]",
            "id": "[aud id]",
            "payload_sha256": "[session token]",
            "request_id": "[request id]",
            "result_sha256": "[session token]",
            "sequence": 2,
            "wallet_id": "[wallet id]"
          },
          {
            "action": "create",
            "actor": {
              "id": "[key id]",
              "type": "api_key"
            },
            "api_key_id": "[key id]",
            "chain": "[auditchain id]",
            "created_at": 1800000000,
            "detail": "",
            "hash": "[session token]",
            "id": "[aud id]",
            "payload_sha256": null,
            "request_id": "[request id]",
            "result_sha256": null,
            "sequence": 1,
            "wallet_id": "[wallet id]"
          }
        ],
        "has_more": false
      },
      "status": 200
    }
    "#);
}

async fn the_log_is_shown_in_pages(api: &Api) {
    let owned = owned(api, "solana").await;
    for number in 0..23 {
        let message = json!({"message": format!("{number}")});
        call(api, &owned, "sign_message", message).await.ok();
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = audit(api, &owned, &format!("?limit=10{after}")).await.ok();
        let entries = page.body["entries"].as_array().unwrap().clone();
        after = format!(
            "&starting_after={}",
            entries.last().unwrap()["id"].as_str().unwrap()
        );
        seen.extend(entries);
        if page.body["has_more"] == false {
            break;
        }
    }
    let places: Vec<i64> = seen
        .iter()
        .map(|entry| entry["sequence"].as_i64().unwrap())
        .collect();
    assert_eq!(places, (1..=24).rev().collect::<Vec<_>>());
}

async fn the_log_names_what_it_refuses(api: &Api) {
    let owned = owned(api, "ethereum").await;
    for (query, param) in [
        ("?limit=9", "limit"),
        ("?limit=101", "limit"),
        ("?limit=ten", "limit"),
        ("?starting_after=x", "starting_after"),
        (
            "?starting_after=wallet_000000000000000000000000000",
            "starting_after",
        ),
    ] {
        let refused = audit(api, &owned, query).await;
        refused.refuses(400, "invalid_field", Some(param));
    }
    let path = format!("/v1/wallets/{}/audit", owned.wallet_id);
    for client in [api.live(), api.other_app().await] {
        let refused = client.get(&path).await;
        refused.refuses(404, "not_found", Some("wallet"));
    }
    let signer = api.new_key(Environment::Test, &[Scope::WalletsSign]).await;
    let refused = api.with_key(&signer).get(&path).await;
    refused.refuses(403, "key_not_allowed", Some("scope"));
}
