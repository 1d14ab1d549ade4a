//! Restricted keys: what a key is not allowed to do, it cannot do by any route.

mod model;

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_domain::action::{Requirement, Target};
use vestry_domain::api_key::{self, KeyField, KeyFields, Scope};
use vestry_domain::ids::{ApiKeyId, UserId, WalletId};
use vestry_domain::operation::Operation;
use vestry_domain::timestamp::Seconds;
use vestry_domain::wallet::WalletType;

use super::people::{self, Pocket};
use super::tenants::{Attempt, Names, absent, all, attempts, own};
use crate::flows::{sent, signed_in};
use crate::harness::{Api, Client, Response, START, described, on_both};

on_both! {
    rk_1_operations
    rk_1_scopes
    rk_1_networks
    rk_1_expiry
    rk_1_wallet_types
    rk_1_calls_without_an_owner
    rk_1_named_scopes
    rk_2_a_signer_signs_only_for_users_who_are_present
    rk_3_no_replay_of_what_is_refused_now
    rk_4_every_refusal_is_audited
    rk_5_changes_hold_within_a_second
    rk_6_a_rotated_key_has_the_same_restrictions
    rk_8_unlisted_objects_get_the_response_of_absent_ones
    rk_8_listed_objects_can_be_reached
    rk_8_a_key_of_some_users_creates_none
    rk_8_hidden_addresses_stay_hidden
    rk_8_repeats_get_the_same_response
    rk_8_unlisted_users_lose_nothing
}

/// The operations that need a secret key.
fn operations() -> impl Iterator<Item = (&'static str, String, Operation)> {
    described()
        .all()
        .filter(|operation| operation.is_keyed)
        .map(|operation| {
            let path = (operation.path.split('/'))
                .map(|segment| match segment.starts_with('{') {
                    true => "x",
                    false => segment,
                })
                .collect::<Vec<_>>()
                .join("/");
            (&*operation.method, path, operation.id.parse().unwrap())
        })
}

/// Whether a call was refused for this restriction.
fn is_refused(response: &Response, param: &str) -> bool {
    (response.status, response.code(), response.param()) == (403, "key_not_allowed", Some(param))
}

/// RK-7: each route that needs a key is an operation, and the operation names its scope.
#[test]
fn rk_7_every_route_has_an_action() {
    let mut routes: Vec<Operation> = operations().map(|(_, _, operation)| operation).collect();
    routes.sort();
    let mut known = Operation::ALL.to_vec();
    known.sort();
    assert_eq!(
        routes, known,
        "an operation without a route, or the other way round"
    );
    for (path, item) in described().document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let Ok(known) = operation["operationId"]
                .as_str()
                .unwrap()
                .parse::<Operation>()
            else {
                continue;
            };
            let text = operation["description"].as_str().unwrap_or_default();
            if let Requirement::Scope(scope) = known.action().requirement() {
                assert!(
                    text.contains(&format!("`{scope}`")),
                    "{path} does not name {scope}"
                );
            }
        }
    }
}

async fn rk_1_operations(api: &Api) {
    for (method, path, operation) in operations() {
        let other = match operation {
            Operation::GetUser => Operation::GetWallet,
            _ => Operation::GetUser,
        };
        for (allowed, is_allowed) in [(operation, true), (other, false)] {
            let key = api
                .restricted(KeyFields {
                    operations: Some(vec![allowed]),
                    ..KeyFields::default()
                })
                .await;
            let response = key.send(method, &path, None).await;
            assert_eq!(
                is_refused(&response, "operation"),
                !is_allowed,
                "{operation} with {allowed}: {}",
                response.text
            );
        }
    }
}

/// Each call as it names an object, with a key that has its scope only, and with a key that has all others.
async fn rk_1_scopes(api: &Api) {
    let own = own(api).await;
    let nothing = absent(&own);
    let mut refused = Vec::new();
    for attempt in attempts(&nothing) {
        let operation: Operation = attempt.operation.parse().unwrap();
        let Requirement::Scope(scope) = operation.action().requirement() else {
            continue;
        };
        let others = Scope::ALL
            .into_iter()
            .filter(|other| *other != scope)
            .collect();
        let inside = api.restricted(KeyFields::scoped(vec![scope])).await;
        let outside = api.restricted(KeyFields::scoped(others)).await;
        let inside = send(&inside, &attempt).await;
        assert_ne!(inside.status, 403, "{}: {}", attempt.title, inside.text);
        let outside = send(&outside, &attempt).await;
        if outside.status == 400 {
            // The body is read first, and this one is not valid.
            continue;
        }
        assert!(
            is_refused(&outside, "scope"),
            "{}: {}",
            attempt.title,
            outside.text
        );
        assert!(outside.text.contains(scope.as_str()), "{}", outside.text);
        refused.push(operation);
    }
    refused.sort();
    refused.dedup();
    assert!(refused.len() > 40, "{refused:?}");
}

async fn send(client: &Client<'_>, attempt: &Attempt) -> Response {
    let Attempt {
        method, path, body, ..
    } = attempt;
    client.send(method, path, body.clone()).await
}

async fn rk_1_networks(api: &Api) {
    let from = async |network: &str| {
        api.restricted(KeyFields {
            ip_allow: Some(vec![api_key::network(network).unwrap()]),
            ..KeyFields::default()
        })
        .await
    };
    let (inside, outside) = (from("127.0.0.0/8").await, from("203.0.113.0/24").await);
    for (method, path, operation) in operations() {
        // The peer is no trusted proxy, so the header counts for nothing.
        for header in ["203.0.113.7", "127.0.0.1"] {
            let inside = inside.clone().header("X-Forwarded-For", header);
            let response = inside.send(method, &path, None).await;
            assert!(
                !is_refused(&response, "ip"),
                "{operation}: {}",
                response.text
            );
            let outside = outside.clone().header("X-Forwarded-For", header);
            let response = outside.send(method, &path, None).await;
            assert!(
                is_refused(&response, "ip"),
                "{operation}: {}",
                response.text
            );
        }
    }
}

async fn rk_1_expiry(api: &Api) {
    let key = api
        .restricted(KeyFields {
            expires_at: Some(START + Seconds(10)),
            ..KeyFields::default()
        })
        .await;
    api.pass(9);
    key.get("/v1/wallets/list").await.ok();
    api.pass(1);
    for (method, path, _) in operations() {
        let response = key.send(method, &path, None).await;
        response.refuses(401, "invalid_api_key", None);
    }
}

async fn wallet(api: &Api, user: &Value, wallet_type: &str) -> Value {
    let request = json!({"user_id": user, "wallet_type": wallet_type});
    let created = api.test().post("/v1/wallets/create", request).await.ok();
    created.body["id"].clone()
}

async fn rk_1_wallet_types(api: &Api) {
    let user = json!(signed_in(api, "ada@example.com").await.text_at("/user_id"));
    let id = wallet(api, &user, "ethereum").await;
    let path = format!("/v1/wallets/{}", id.as_str().unwrap());
    let create = |wallet_type| json!({"user_id": user, "wallet_type": wallet_type});
    for (types, is_allowed) in [
        (vec![WalletType::Ethereum], true),
        (vec![WalletType::Solana, WalletType::Polkadot], false),
    ] {
        let key = api
            .restricted(KeyFields {
                wallet_types: Some(types),
                ..KeyFields::default()
            })
            .await;
        for (method, path, body) in [
            ("GET", path.clone(), None),
            ("GET", format!("{path}/audit"), None),
            (
                "POST",
                format!("{path}/sign_message"),
                Some(json!({"message": "x"})),
            ),
            ("POST", format!("{path}/disable"), Some(json!({}))),
            ("POST", format!("{path}/enable"), None),
            (
                "POST",
                "/v1/wallets/create".to_owned(),
                Some(create("ethereum")),
            ),
            (
                "POST",
                "/v1/auth/users/create".to_owned(),
                Some(json!({"email": "bob@example.com", "wallet_type": "ethereum"})),
            ),
        ] {
            let response = key.send(method, &path, body).await;
            match is_allowed {
                true => drop(response.ok()),
                false => response.refuses(403, "key_not_allowed", Some("wallet_type")),
            }
        }
        let response = key.post("/v1/wallets/create", create("XLM")).await;
        response.refuses(403, "key_not_allowed", Some("wallet_type"));
    }
}

/// A call that names no user, or no wallet, cannot be limited to the listed ones.
async fn rk_1_calls_without_an_owner(api: &Api) {
    let user = signed_in(api, "ada@example.com").await.text_at("/user_id");
    let user: UserId = user.parse().unwrap();
    let wallet = wallet(api, &json!(user), "ethereum").await;
    let of_user = api
        .restricted(KeyFields {
            user_ids: Some(vec![user]),
            ..KeyFields::default()
        })
        .await;
    let of_wallet = api
        .restricted(KeyFields {
            wallet_ids: Some(vec![wallet.as_str().unwrap().parse().unwrap()]),
            ..KeyFields::default()
        })
        .await;
    let calls = [
        ("POST", "/v1/auth/users/create", Some(json!({})), false),
        ("POST", "/v1/auth/users/search", Some(json!({})), false),
        ("GET", "/v1/events", None, false),
        ("GET", "/v1/events/head", None, false),
        ("GET", "/v1/wallets/list", None, false),
        ("GET", "/v1/auth/jwks/default", None, false),
        ("GET", "/v1/test/messages", None, false),
        ("GET", "/v1/test/clock", None, false),
    ];
    let by_user = format!("/v1/auth/users/{user}");
    let calls = calls
        .into_iter()
        .chain([("GET", by_user.as_str(), None, true)]);
    for (method, path, body, names_user) in calls {
        let response = of_user.send(method, path, body.clone()).await;
        match names_user {
            true => drop(response.ok()),
            false => response.refuses(403, "key_not_allowed", Some("user_ids")),
        }
        let response = of_wallet.send(method, path, body).await;
        response.refuses(403, "key_not_allowed", Some("wallet_ids"));
    }
}

/// `require_named_scopes`: a key without named scopes neither deletes nor signs nor creates wallets.
async fn rk_1_named_scopes(api: &Api) {
    let user = json!(signed_in(api, "ada@example.com").await.text_at("/user_id"));
    let id = wallet(api, &user, "ethereum").await;
    let on = [("require_named_scopes".to_owned(), "true".to_owned())];
    let set = api.service.set_app(Principal::cli(), api.app.id, &on);
    set.await.unwrap();
    api.pass(1);
    let named = api.restricted(KeyFields::scoped(Scope::ALL.to_vec())).await;
    let sign = format!("/v1/wallets/{}/sign_message", id.as_str().unwrap());
    let calls = [
        ("POST", sign, Some(json!({"message": "x"}))),
        (
            "POST",
            "/v1/wallets/create".to_owned(),
            Some(json!({"user_id": user, "wallet_type": "solana"})),
        ),
        (
            "DELETE",
            format!("/v1/auth/users/{}/delete", user.as_str().unwrap()),
            None,
        ),
    ];
    for (method, path, body) in &calls {
        let unnamed = api.test().send(method, path, body.clone()).await;
        unnamed.refuses(403, "key_not_allowed", Some("scope"));
    }
    let path = format!("/v1/auth/users/{}", user.as_str().unwrap());
    api.test().get(&path).await.ok();
    for (method, path, body) in calls {
        named.send(method, &path, body).await.ok();
    }
}

fn signing(wallet: &Value) -> [(String, Value); 3] {
    let path = |call: &str| format!("/v1/wallets/{}/{call}", wallet.as_str().unwrap());
    [
        (path("sign_message"), json!({"message": "x"})),
        (
            path("rpc"),
            json!({"method": "personal_sign", "params": {"message": "x"}}),
        ),
        (
            path("sign_transaction"),
            json!({"eth_transaction": {
                "to": "0xe9534c9faf3cdbc636c25e1981a80efae03f187a", "value": "0x1", "nonce": "0x8", "maxPriorityFeePerGas": "0x1",
                "maxFeePerGas": "0x1", "gas": "0x5208", "chainId": "0x5"
            }}),
        ),
    ]
}

async fn signer(api: &Api) -> Client<'_> {
    api.restricted(KeyFields {
        preset: Some(api_key::Preset::Signer),
        ..KeyFields::default()
    })
    .await
}

/// RK-2: a stolen `signer` key signs nothing for a user without a live session, and nothing after that session ended.
async fn rk_2_a_signer_signs_only_for_users_who_are_present(api: &Api) {
    let ada = signed_in(api, "ada@example.com").await;
    let eve = signed_in(api, "eve@example.com").await;
    let wallet = wallet(api, &ada.body["user_id"], "ethereum").await;
    let thief = signer(api).await;
    let [token, jwt, other] = [
        ada.text_at("/session_token"),
        ada.text_at("/session_jwt"),
        eve.text_at("/session_token"),
    ];
    let live = thief.clone().header("Vestry-Session", &token);
    for (path, body) in signing(&wallet) {
        for wrong in ["", "x", &jwt, &other, &"0".repeat(64), &format!("{token}x")] {
            let sent = thief.clone().header("Vestry-Session", wrong);
            sent.post(&path, body.clone())
                .await
                .refuses(401, "invalid_session", None);
        }
        thief
            .post(&path, body.clone())
            .await
            .refuses(401, "invalid_session", None);
        let twice = live.clone().header("Vestry-Session", &token);
        twice
            .post(&path, body.clone())
            .await
            .refuses(401, "invalid_session", None);
        live.post(&path, body).await.ok();
    }
    let ended = json!({"session_token": token});
    api.test()
        .delete("/v1/auth/sessions/delete", Some(ended))
        .await
        .ok();
    for (path, body) in signing(&wallet) {
        live.post(&path, body)
            .await
            .refuses(401, "invalid_session", None);
    }
    // An unrestricted key ignores the header.
    let (path, body) = signing(&wallet)[0].clone();
    let full = api.test().header("Vestry-Session", "x");
    full.post(&path, body).await.ok();
}

async fn narrow(api: &Api, key: ApiKeyId, set: KeyFields) {
    let narrowed = (api.service)
        .update_api_key(Principal::cli(), api.app.id.into(), key, &[], set)
        .await;
    narrowed.unwrap();
    api.pass(1);
}

/// RK-3: a stored response is not returned to a key that may no longer make the call, however it was narrowed.
async fn rk_3_no_replay_of_what_is_refused_now(api: &Api) {
    let ada = signed_in(api, "ada@example.com").await;
    let eve = signed_in(api, "eve@example.com").await.text_at("/user_id");
    let user = ada.body["user_id"].clone();
    let token = ada.text_at("/session_token");
    let wallet = wallet(api, &user, "ethereum").await;
    let other: WalletId = "wallet_000000000000000000000000000".parse().unwrap();
    let (sign, message) = signing(&wallet)[0].clone();
    let only = |fields: KeyFields| fields;
    let narrowings: [(&str, KeyFields, u16); 6] = [
        (
            "session",
            only(KeyFields {
                require_session: Some(true),
                ..KeyFields::default()
            }),
            401,
        ),
        (
            "user",
            only(KeyFields {
                user_ids: Some(vec![eve.parse().unwrap()]),
                ..KeyFields::default()
            }),
            404,
        ),
        (
            "wallet",
            only(KeyFields {
                wallet_ids: Some(vec![other]),
                ..KeyFields::default()
            }),
            404,
        ),
        (
            "type",
            only(KeyFields {
                wallet_types: Some(vec![WalletType::Solana]),
                ..KeyFields::default()
            }),
            403,
        ),
        (
            "scope",
            only(KeyFields::scoped(vec![Scope::UsersRead])),
            403,
        ),
        (
            "operation",
            only(KeyFields {
                operations: Some(vec![Operation::GetUser]),
                ..KeyFields::default()
            }),
            403,
        ),
    ];
    for (name, narrowing, status) in narrowings {
        let (id, key) = api.restricted_key(KeyFields::default()).await;
        let client = key.header("Idempotency-Key", &format!("replay-{name}"));
        let first = client.post(&sign, message.clone()).await.ok();
        let again = client.post(&sign, message.clone()).await.ok();
        assert_eq!(
            (first.text, again.header("idempotent-replayed")),
            (again.text.clone(), Some("true"))
        );
        narrow(api, id, narrowing).await;
        let refused = client.post(&sign, message.clone()).await;
        assert_eq!(refused.status, status, "{name}: {}", refused.text);
        assert!(!refused.text.contains("signature\""), "{name}");
        if name == "session" {
            let present = client.header("Vestry-Session", &token);
            assert_eq!(
                present.post(&sign, message.clone()).await.ok().text,
                again.text
            );
        }
    }
    // Creating a wallet and a user: also what the call itself produced.
    let (id, key) = api.restricted_key(KeyFields::default()).await;
    let create = json!({"user_id": user, "wallet_type": "solana"});
    let calls = [
        ("/v1/wallets/create", create),
        ("/v1/auth/users/create", json!({"email": "new@example.com"})),
    ];
    let client = key.header("Idempotency-Key", "replay-create");
    for (path, body) in &calls[..1] {
        client.post(path, body.clone()).await.ok();
    }
    let second = client_with_key(&client, "replay-new-user");
    second.post(calls[1].0, calls[1].1.clone()).await.ok();
    narrow(
        api,
        id,
        KeyFields {
            user_ids: Some(vec![eve.parse().unwrap()]),
            ..KeyFields::default()
        },
    )
    .await;
    assert_eq!(
        client.post(calls[0].0, calls[0].1.clone()).await.status,
        404
    );
    let refused = second.post(calls[1].0, calls[1].1.clone()).await;
    refused.refuses(403, "key_not_allowed", Some("user_ids"));
}

fn client_with_key<'a>(client: &Client<'a>, key: &str) -> Client<'a> {
    client
        .without("Idempotency-Key")
        .header("Idempotency-Key", key)
}

/// RK-4: each refusal by a restriction is in the audit log, also one whose response is that of an unknown object or session.
async fn rk_4_every_refusal_is_audited(api: &Api) {
    let ada = signed_in(api, "ada@example.com").await;
    let eve = signed_in(api, "eve@example.com").await.text_at("/user_id");
    let user = ada.text_at("/user_id");
    let wallet = wallet(api, &json!(user), "ethereum").await;
    let (sign, message) = signing(&wallet)[0].clone();
    let reader = api
        .restricted(KeyFields::scoped(vec![Scope::AuditRead]))
        .await;
    let cases = [
        (
            KeyFields {
                operations: Some(vec![Operation::GetUser]),
                ..KeyFields::default()
            },
            403,
        ),
        (
            KeyFields {
                ip_allow: Some(vec![api_key::network("203.0.113.0/24").unwrap()]),
                ..KeyFields::default()
            },
            403,
        ),
        (KeyFields::scoped(vec![Scope::UsersRead]), 403),
        (
            KeyFields {
                user_ids: Some(vec![eve.parse().unwrap()]),
                ..KeyFields::default()
            },
            404,
        ),
        (
            KeyFields {
                wallet_types: Some(vec![WalletType::Solana]),
                ..KeyFields::default()
            },
            403,
        ),
        (
            KeyFields {
                require_session: Some(true),
                ..KeyFields::default()
            },
            401,
        ),
    ];
    for (fields, status) in cases {
        let (id, client) = api.restricted_key(fields).await;
        let refused = client.post(&sign, message.clone()).await;
        assert_eq!(refused.status, status, "{}", refused.text);
        let entries = reader
            .get("/v1/audit?action=request.deny&limit=50")
            .await
            .ok();
        let entries = entries.body["entries"].as_array().unwrap().clone();
        let of_key = |entry: &&Value| entry.to_string().contains(&id.to_string());
        let entry = entries.iter().find(of_key);
        let entry = entry.unwrap_or_else(|| panic!("{status}: {entries:?}"));
        assert!(entry.to_string().contains("key_not_allowed"), "{entry}");
    }
}

/// RK-5: narrowing, expiry and revocation hold within a second. The clock of the test stands still between calls.
async fn rk_5_changes_hold_within_a_second(api: &Api) {
    let (id, key) = api.restricted_key(KeyFields::default()).await;
    let list = "/v1/wallets/list";
    key.get(list).await.ok();
    narrow(
        api,
        id,
        KeyFields {
            operations: Some(vec![Operation::GetUser]),
            ..KeyFields::default()
        },
    )
    .await;
    key.get(list)
        .await
        .refuses(403, "key_not_allowed", Some("operation"));
    let widened = (api.service)
        .update_api_key(
            Principal::cli(),
            api.app.id.into(),
            id,
            &[KeyField::Operations],
            KeyFields::default(),
        )
        .await;
    assert!(widened.unwrap().restrictions.is_none());
    api.pass(1);
    key.get(list).await.ok();
    let soon = api.service.machine_time() + Seconds(2);
    narrow(
        api,
        id,
        KeyFields {
            expires_at: Some(soon),
            ..KeyFields::default()
        },
    )
    .await;
    key.get(list).await.ok();
    api.pass(1);
    key.get(list).await.refuses(401, "invalid_api_key", None);
}

/// RK-6
async fn rk_6_a_rotated_key_has_the_same_restrictions(api: &Api) {
    let user: UserId = "user_000000000000000000000000000".parse().unwrap();
    let fields = KeyFields {
        name: Some("signer".to_owned()),
        scopes: Some(vec![Scope::WalletsSign, Scope::WalletsRead]),
        expires_at: Some(START + Seconds(1000)),
        ip_allow: Some(vec![api_key::network("127.0.0.1").unwrap()]),
        operations: Some(vec![Operation::SignMessage]),
        user_ids: Some(vec![user]),
        wallet_ids: Some(vec!["wallet_000000000000000000000000000".parse().unwrap()]),
        wallet_types: Some(vec![WalletType::Bitcoin]),
        require_session: Some(true),
        preset: None,
    };
    let (old, _) = api.restricted_key(fields).await;
    let rotated = api
        .service
        .rotate_api_key(Principal::cli(), api.app.id.into(), old)
        .await
        .unwrap();
    let keys = api
        .service
        .list_api_keys(Principal::cli(), api.app.id.into())
        .await
        .unwrap();
    let old = keys.iter().find(|key| key.id == old).unwrap();
    assert_eq!(KeyField::differences(old, &rotated.record), []);
    assert!(!old.restrictions.is_none());
    assert_eq!(
        (old.kind, old.world),
        (rotated.record.kind, rotated.record.world)
    );
}

/// RK-8: with a key of other users, and with one of other wallets, every name of an object gets the response of a name that never existed,
/// byte for byte. Nothing of the owner's is touched.
async fn rk_8_unlisted_objects_get_the_response_of_absent_ones(api: &Api) {
    let own = own(api).await;
    let path = format!("/v1/auth/users/{}", own["user_id"].as_str().unwrap());
    let before = api.test().get(&path).await.ok();
    let nothing = absent(&own);
    let eve = signed_in(api, "eve@example.com").await.text_at("/user_id");
    let mut compared = 0;
    for fields in [
        KeyFields {
            user_ids: Some(vec![eve.parse().unwrap()]),
            ..KeyFields::default()
        },
        KeyFields {
            wallet_ids: Some(vec!["wallet_000000000000000000000000001".parse().unwrap()]),
            ..KeyFields::default()
        },
    ] {
        let key = api.restricted(fields).await;
        let unlisted = all(&key, &own).await;
        let absent = all(&key, &nothing).await;
        for ((title, unlisted), (_, absent)) in unlisted.iter().zip(&absent) {
            assert!(
                [400, 401, 403, 404].contains(&unlisted.status) || is_empty_list(unlisted),
                "{title}: {} {}",
                unlisted.status,
                unlisted.text
            );
            assert_eq!(
                (unlisted.status, &unlisted.text),
                (absent.status, &absent.text),
                "{title}"
            );
            compared += 1;
        }
    }
    println!("RK-8: {compared} calls with unlisted names");
    assert!(compared > 80, "{compared}");
    let after = api.test().get(&path).await.ok();
    assert_eq!(before.body, after.body);
}

/// A list of wallets of an unknown user is empty.
fn is_empty_list(response: &Response) -> bool {
    response.status == 200 && response.body["wallets"] == json!([])
}

/// The same calls with a key that lists the user, and one that lists the wallet too: no restriction is in the way.
async fn rk_8_listed_objects_can_be_reached(api: &Api) {
    let own = own(api).await;
    let user: UserId = own["user_id"].as_str().unwrap().parse().unwrap();
    let wallet: WalletId = own["wallet_id"].as_str().unwrap().parse().unwrap();
    let of_user = api
        .restricted(KeyFields {
            user_ids: Some(vec![user]),
            ..KeyFields::default()
        })
        .await;
    let of_wallet = api
        .restricted(KeyFields {
            user_ids: Some(vec![user]),
            wallet_ids: Some(vec![wallet]),
            ..KeyFields::default()
        })
        .await;
    let mut reached = 0;
    for attempt in attempts(&own) {
        let operation: Operation = attempt.operation.parse().unwrap();
        if ends_something(operation) {
            continue;
        }
        let target = operation.action().target();
        let (key, is_named) = match target {
            Target::Nothing => (&of_user, false),
            Target::User => (&of_user, true),
            Target::Wallet => (&of_wallet, true),
        };
        let response = send(key, &attempt).await;
        let outside = ["user_ids", "wallet_ids"].map(|param| is_refused(&response, param));
        if !is_named && response.status != 400 {
            assert_eq!(
                outside,
                [true, false],
                "{}: {}",
                attempt.title,
                response.text
            );
        }
        if is_named {
            assert_ne!(response.status, 500, "{}: {}", attempt.title, response.text);
            if names_user(&own, &attempt) {
                assert_eq!(
                    outside,
                    [false, false],
                    "{}: {}",
                    attempt.title,
                    response.text
                );
            }
            reached += usize::from(response.status == 200);
        }
    }
    println!("RK-8: {reached} calls reached a listed object");
    assert!(reached > 20, "{reached}");
}

/// Whether an attempt names something of the user; a few are completed with other fields only.
fn names_user(own: &Names, attempt: &Attempt) -> bool {
    let sent = format!("{} {:?}", attempt.path, attempt.body);
    let mut named = [
        "user_id",
        "wallet_id",
        "session_token",
        "session_jwt",
        "session_id",
        "totp_id",
        "method_id",
        "token",
    ]
    .into_iter();
    named.any(|name| sent.contains(own[name].as_str().unwrap()))
}

/// Whether later calls would miss what this one ends.
fn ends_something(operation: Operation) -> bool {
    operation.action().deletes()
        || matches!(operation, Operation::DisableUser | Operation::DisableWallet)
}

/// A sign-in of an address without a user would create one, which is not listed.
async fn rk_8_a_key_of_some_users_creates_none(api: &Api) {
    let ada = sent(api, &api.test(), "ada@example.com").await;
    let key = api
        .restricted(KeyFields {
            user_ids: Some(vec![ada.user_id.parse().unwrap()]),
            ..KeyFields::default()
        })
        .await;
    people::with_urls(api).await;
    sent(api, &api.test(), "eve@example.com").await;
    for path in [
        "/v1/auth/otps/email/login_or_create",
        "/v1/auth/magic_links/email/login_or_create",
        "/v1/auth/magic_links/email/invite",
    ] {
        let listed = json!({"email": "ada@example.com"});
        key.post(path, listed).await.ok();
        for email in ["eve@example.com", "new@example.com"] {
            let response = key.post(path, json!({ "email": email })).await;
            response.refuses(404, "not_found", Some("user"));
        }
    }
    let pocket = Pocket::new(api).await;
    let begin = json!({"wallet_type": "ethereum", "public_address": pocket.address});
    let path = "/v1/auth/wallets/registrations/begin";
    let response = key.post(path, begin).await;
    response.refuses(404, "not_found", Some("user"));
    let found = api
        .test()
        .post("/v1/auth/users/search", json!({}))
        .await
        .ok();
    assert_eq!(
        found.body["users"].as_array().unwrap().len(),
        2,
        "{}",
        found.text
    );
}

/// With `enumeration_safe`, a send to an unlisted address looks like one to a listed or an unknown address, and sends nothing.
async fn rk_8_hidden_addresses_stay_hidden(api: &Api) {
    people::enumeration_safe(api).await;
    people::with_urls(api).await;
    let ada = sent(api, &api.test(), "ada@example.com").await;
    sent(api, &api.test(), "eve@example.com").await;
    let key = api
        .restricted(KeyFields {
            user_ids: Some(vec![ada.user_id.parse().unwrap()]),
            ..KeyFields::default()
        })
        .await;
    api.deliver().await;
    for path in ["/v1/auth/otps/email/send", "/v1/auth/passwords/reset/begin"] {
        let mut fields = Vec::new();
        for email in ["ada@example.com", "eve@example.com", "nobody@example.com"] {
            let response = key.post(path, json!({ "email": email })).await.ok();
            let body = response.body.as_object().unwrap();
            fields.push(body.keys().cloned().collect::<Vec<_>>());
        }
        assert!(
            fields.iter().all(|shown| *shown == fields[0]),
            "{path}: {fields:?}"
        );
    }
    api.deliver().await;
    let mails = api
        .test()
        .get("/v1/test/messages?to=eve@example.com")
        .await
        .ok();
    assert_eq!(
        mails.body["messages"].as_array().unwrap().len(),
        1,
        "{}",
        mails.text
    );
}

/// A request that is sent again with its `Idempotency-Key` gets the same response, for unlisted and absent names alike, until the key reaches
/// the name.
async fn rk_8_repeats_get_the_same_response(api: &Api) {
    people::enumeration_safe(api).await;
    people::with_urls(api).await;
    let ada = sent(api, &api.test(), "ada@example.com").await;
    let eve = signed_in(api, "eve@example.com").await;
    let wallet = wallet(api, &eve.body["user_id"], "ethereum").await;
    let (id, key) = api
        .restricted_key(KeyFields {
            user_ids: Some(vec![ada.user_id.parse().unwrap()]),
            ..KeyFields::default()
        })
        .await;
    let absent = json!("wallet_000000000000000000000000000");
    let (unlisted, message) = signing(&wallet)[0].clone();
    let calls = [
        (
            "/v1/auth/otps/email/send".to_owned(),
            json!({"email": "eve@example.com"}),
        ),
        (
            "/v1/auth/otps/email/send".to_owned(),
            json!({"email": "nobody@example.com"}),
        ),
        (
            "/v1/auth/passwords/reset/begin".to_owned(),
            json!({"email": "eve@example.com"}),
        ),
        (
            "/v1/auth/passwords/reset/begin".to_owned(),
            json!({"email": "nobody@example.com"}),
        ),
        (unlisted.clone(), message.clone()),
        (signing(&absent)[0].0.clone(), message.clone()),
        (
            format!("/v1/auth/users/{}/disable", eve.text_at("/user_id")),
            json!({}),
        ),
    ];
    for (number, (path, body)) in calls.into_iter().enumerate() {
        let client = key
            .clone()
            .header("Idempotency-Key", &format!("repeat-{number}"));
        let first = client.post(&path, body.clone()).await;
        assert!([200, 404].contains(&first.status), "{path}: {}", first.text);
        let second = client.post(&path, body).await;
        assert_eq!(
            second.header("idempotent-replayed"),
            Some("true"),
            "{path}: {}",
            second.text
        );
        assert_eq!(
            (first.status, first.code()),
            (second.status, second.code()),
            "{path}"
        );
    }
    let widened = (api.service).update_api_key(
        Principal::cli(),
        api.app.id.into(),
        id,
        &[KeyField::UserIds],
        KeyFields::default(),
    );
    widened.await.unwrap();
    api.pass(1);
    let client = key.clone().header("Idempotency-Key", "repeat-4");
    let wrong = client.post(&unlisted, message.clone()).await;
    wrong.refuses(409, "idempotency_key_reused", None);
    let client = key.header("Idempotency-Key", "repeat-again");
    client.post(&unlisted, message).await.ok();
}

/// Refused calls use up nothing of an unlisted user: no attempt at a code, no link, no challenge.
async fn rk_8_unlisted_users_lose_nothing(api: &Api) {
    people::with_urls(api).await;
    let ada = sent(api, &api.test(), "ada@example.com").await;
    // The first proof of an address removes links from before.
    signed_in(api, "eve@example.com").await;
    let eve = sent(api, &api.test(), "eve@example.com").await;
    let key = api
        .restricted(KeyFields {
            user_ids: Some(vec![ada.user_id.parse().unwrap()]),
            ..KeyFields::default()
        })
        .await;
    let link = api
        .test()
        .post(
            "/v1/auth/magic_links/create",
            json!({"user_id": eve.user_id}),
        )
        .await
        .ok();
    let link = json!({"token": link.body["token"]});
    for attempt in 0..10 {
        let code = if attempt % 2 == 0 {
            &*eve.code
        } else {
            people::not(&eve.code)
        };
        let body = json!({"method_id": eve.method_id, "otp": code});
        let refused = key.post(people::CODES, body).await;
        refused.refuses(400, "invalid_otp", None);
        let refused = key.post("/v1/auth/magic_links/verify", link.clone()).await;
        assert_eq!(refused.code(), "invalid_magic_token", "{}", refused.text);
    }
    let body = json!({"method_id": eve.method_id, "otp": eve.code});
    api.test().post(people::CODES, body).await.ok();
    api.test()
        .post("/v1/auth/magic_links/verify", link)
        .await
        .ok();
}
