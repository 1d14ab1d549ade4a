//! Import and export of private keys.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_contract::sealing::{self, Manner, Recipient};
use vestry_domain::Environment;
use vestry_domain::api_key::Scope;
use vestry_domain::key_transfer::{AeadAlgorithm, ExportedKey};

use crate::flows::sent;
use crate::harness::{Api, Client, Response, assert_response_snapshot, on_both};
use crate::logs::log;

const BEGIN: &str = "/v1/wallets/import/begin";
const IMPORT: &str = "/v1/wallets/import";

/// From the documentation of web3.js.
pub(crate) const KEY: &str = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";
pub(crate) const ADDRESS: &str = "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23";
/// The second account of anvil.
const OTHER_KEY: &str = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
const OTHER_ADDRESS: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
/// The first BIP-39 phrase, and its first two Ethereum keys (MetaMask, bip-utils).
const PHRASE: &str =
    "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
const OF_PHRASE: [&str; 2] = [
    "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
    "0x6Fac4D18c912343BF86fa7049364Dd4E424Ab9C0",
];

on_both! {
    a_sealed_key_becomes_a_wallet
    every_suite_and_every_base64_is_accepted
    a_phrase_becomes_a_wallet
    every_unopenable_message_is_refused_alike
    the_key_of_another_address_is_refused
    an_address_is_imported_once
    a_begin_names_what_it_refuses
    an_import_names_what_it_refuses
    too_many_begins_are_refused
    a_key_is_exported_sealed
    an_export_names_what_it_refuses
    neither_dump_nor_log_holds_an_imported_or_exported_key
}

async fn user(api: &Api, email: &str) -> String {
    sent(api, &api.test(), email).await.user_id
}

fn begin(address: &str) -> Value {
    json!({
        "public_address": address,
        "wallet_type": "ethereum",
        "encryption_type": "HPKE",
        "entropy_type": "private_key",
    })
}

async fn begun(client: &Client<'_>, request: Value) -> Vec<u8> {
    let response = client.post(BEGIN, request).await.ok();
    assert_eq!(response.body.as_object().unwrap().len(), 2);
    assert_eq!(response.body["encryption_type"], "HPKE");
    let key = response.text_at("/encryption_public_key");
    STANDARD.decode(key).unwrap()
}

fn sealed(user_id: &str, address: &str, plaintext: &str, public_key: &[u8]) -> Value {
    let message = sealing::seal(public_key, plaintext.as_bytes(), Manner::default());
    let mut wallet = begin(address);
    wallet["ciphertext"] = STANDARD.encode(message.ciphertext).into();
    wallet["encapsulated_key"] = STANDARD.encode(message.encapsulated_key).into();
    json!({"user_id": user_id, "wallet": wallet})
}

/// Begins, seals and imports.
pub(crate) async fn imported(
    client: &Client<'_>,
    user_id: &str,
    address: &str,
    key: &str,
) -> Response {
    let public_key = begun(client, begin(address)).await;
    let request = sealed(user_id, address, key, &public_key);
    client.post(IMPORT, request).await
}

/// A client whose key may export, of an App that allows it or not.
pub(crate) async fn exporter(api: &Api, is_on: bool) -> String {
    let change = [("wallet_export".to_owned(), is_on.to_string())];
    api.service
        .set_app(Principal::cli(), api.app.id, &change)
        .await
        .unwrap();
    api.pass(1);
    api.new_key(Environment::Test, &[Scope::WalletsExport])
        .await
}

async fn a_sealed_key_becomes_a_wallet(api: &Api) {
    let user_id = user(api, "ada@example.com").await;
    let response = imported(&api.test(), &user_id, ADDRESS, KEY).await.ok();
    assert_response_snapshot!(response, @r#"
    {
      "body": {
        "account_index": null,
        "app_id": "[app id]",
        "created_at": 1800000000,
        "delegated": false,
        "id": "[wallet id]",
        "is_default": true,
        "is_imported": true,
        "is_read_only": false,
        "public_address": "[ethereum address]",
        "updated_at": 1800000000,
        "user_id": "[user id]",
        "verified": true,
        "wallet_client_type": null,
        "wallet_pk_id": "[walletpk id]",
        "wallet_type": "ethereum"
      },
      "status": 200
    }
    "#);
    assert_eq!(response.body["public_address"], ADDRESS);
    assert_eq!(response.body["user_id"], *user_id);
    let path = format!("/v1/wallets/{}", response.text_at("/id"));
    let shown = api.test().get(&path).await.ok();
    assert_eq!(shown.body["public_address"], ADDRESS);
    assert_eq!(shown.body["is_imported"], true);
    let request = json!({"message": "Some data"});
    let signing = format!("{path}/sign_message");
    let signed = api.test().post(&signing, request).await.ok();
    // The signature of this text by this key, from the documentation of web3.js.
    assert_eq!(
        signed.body["signature"],
        "0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c"
    );
    let create = json!({"user_id": user_id, "wallet_type": "ethereum"});
    let created = api.test().post("/v1/wallets/create", create).await.ok();
    assert_eq!(created.body, shown.body, "it is the default wallet");
}

async fn every_suite_and_every_base64_is_accepted(api: &Api) {
    let client = api.test();
    let keys = [
        (KEY, ADDRESS),
        (OTHER_KEY, OTHER_ADDRESS),
        (
            "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
            "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        ),
    ];
    let suites = [
        ("x25519", AeadAlgorithm::ChaCha20Poly1305, "0x"),
        ("x25519", AeadAlgorithm::Aes256Gcm, ""),
        ("p256", AeadAlgorithm::ChaCha20Poly1305, ""),
        ("p256", AeadAlgorithm::Aes256Gcm, "0x"),
    ];
    for (turn, (kem, aead, prefix)) in suites.into_iter().enumerate() {
        let user_id = user(api, &format!("ada{turn}@example.com")).await;
        // With all optional fields, and with none: then both algorithms are tried.
        for (number, is_said) in [(0, true), (1, false), (2, true)] {
            let (key, address) = keys[number];
            let mut request = begin(address);
            request["kem"] = kem.into();
            let public_key = begun(&client, request).await;
            let context: &[u8] = if is_said { b"\xfb\xff\xbe agreed" } else { b"" };
            let manner = Manner {
                aead,
                is_named: is_said,
                info: context,
                aad: context,
            };
            let text = format!("{prefix}{key}");
            let message = sealing::seal(&public_key, text.as_bytes(), manner);
            let mut wallet = begin(address);
            wallet["ciphertext"] = URL_SAFE_NO_PAD.encode(message.ciphertext).into();
            wallet["encapsulated_key"] = URL_SAFE_NO_PAD.encode(message.encapsulated_key).into();
            if is_said {
                wallet["hpke_config"] = json!({
                    "aead_algorithm": aead.as_str(),
                    "info": URL_SAFE_NO_PAD.encode(context),
                    "aad": STANDARD.encode(context),
                });
            }
            let request = json!({"user_id": user_id, "wallet": wallet});
            let response = client.post(IMPORT, request).await.ok();
            assert_eq!(response.body["public_address"], address);
            assert_eq!(response.body["is_default"], number == 0);
        }
        // The next suite gets the same keys.
        let path = format!("/v1/auth/users/{user_id}/delete");
        client.delete(&path, None).await.ok();
    }
}

/// The index is given at the beginning, in the import, in both, or nowhere.
async fn a_phrase_becomes_a_wallet(api: &Api) {
    let client = api.test();
    let user_id = user(api, "ada@example.com").await;
    let hd = |address: &str, index: Option<i64>| {
        let mut wallet = begin(address);
        wallet["entropy_type"] = "hd".into();
        wallet["account_index"] = index.into();
        wallet
    };
    let import = async |address: &str, early: Option<i64>, late: Option<i64>| {
        let public_key = begun(&client, hd(address, early)).await;
        let mut request = sealed(&user_id, address, PHRASE, &public_key);
        request["wallet"]["entropy_type"] = "hd".into();
        request["wallet"]["account_index"] = late.into();
        client.post(IMPORT, request).await
    };
    let [first, second] = OF_PHRASE;
    import(second, None, None)
        .await
        .refuses(400, "address_mismatch", None);
    import(first, Some(1), None)
        .await
        .refuses(400, "address_mismatch", None);
    import(second, Some(1), Some(0))
        .await
        .refuses(400, "decryption_failed", None);
    let response = import(first, None, None).await.ok();
    assert_eq!(response.body["account_index"], 0);
    let response = import(second, Some(1), None).await.ok();
    assert_eq!(response.body["account_index"], 1);
    let path = format!("/v1/auth/users/{user_id}/delete");
    client.delete(&path, None).await.ok();
    let user_id = user(api, "eve@example.com").await;
    let public_key = begun(&client, hd(second, None)).await;
    let mut request = sealed(&user_id, second, PHRASE, &public_key);
    request["wallet"]["entropy_type"] = "hd".into();
    request["wallet"]["account_index"] = 1.into();
    let response = client.post(IMPORT, request).await.ok();
    assert_eq!(response.body["account_index"], 1);
    let path = format!("/v1/wallets/{}", response.text_at("/id"));
    assert_eq!(client.get(&path).await.ok().body["public_address"], second);
}

async fn every_unopenable_message_is_refused_alike(api: &Api) {
    let client = api.test().header("X-Request-Id", "one");
    let (ada, eve) = (
        user(api, "ada@example.com").await,
        user(api, "eve@example.com").await,
    );
    let mut bound = begin(ADDRESS);
    bound["user_id"] = ada.clone().into();
    let public_key = begun(&client, bound).await;
    let right = sealed(&ada, ADDRESS, KEY, &public_key);
    let mut wrong: Vec<(&str, Value)> = Vec::new();
    let mut change = |what: &'static str, edit: &dyn Fn(&mut Value)| {
        let mut request = right.clone();
        edit(&mut request);
        wrong.push((what, request));
    };
    change("another user", &|request| {
        request["user_id"] = eve.clone().into()
    });
    change("another address", &|request| {
        request["wallet"]["public_address"] = OTHER_ADDRESS.into();
    });
    change("another type", &|request| {
        request["wallet"]["wallet_type"] = "bitcoin".into();
        request["wallet"]["public_address"] = "tb1q6rz28mcfaxtmd6v789l9rrlrusdprr9pqcpvkl".into();
    });
    change("a phrase", &|request| {
        request["wallet"]["entropy_type"] = "hd".into()
    });
    change("another algorithm", &|request| {
        request["wallet"]["hpke_config"] = json!({"aead_algorithm": "AES_GCM256"});
    });
    change("another info", &|request| {
        request["wallet"]["hpke_config"] = json!({"info": "AAAA"});
    });
    change("other data", &|request| {
        request["wallet"]["hpke_config"] = json!({"aad": "AAAA"});
    });
    change("no ciphertext", &|request| {
        request["wallet"]["ciphertext"] = "AAAA".into()
    });
    for bytes in [
        vec![0; 32],
        vec![9; 31],
        vec![9; 65],
        [&[1][..], &[0; 31]].concat(),
    ] {
        change("another point", &|request| {
            request["wallet"]["encapsulated_key"] = STANDARD.encode(&bytes).into();
        });
    }
    let refusal = client
        .post(IMPORT, sealed(&ada, OTHER_ADDRESS, KEY, &public_key))
        .await;
    refusal.refuses(400, "decryption_failed", None);
    for (what, request) in wrong {
        let response = client.post(IMPORT, request).await;
        assert_eq!(
            (response.status, response.text),
            (400, refusal.text.clone()),
            "{what}"
        );
    }
    // Where nothing was begun: another environment and another App, each with its own user.
    let other_app = api.other_app().await;
    for stranger in [api.live(), other_app] {
        let stranger = stranger.header("X-Request-Id", "one");
        let create = json!({"email": "ada@example.com"});
        let created = stranger.post("/v1/auth/users/create", create).await.ok();
        let mut moved = right.clone();
        moved["user_id"] = created.text_at("/user_id").into();
        let response = stranger.post(IMPORT, moved).await;
        assert_eq!((response.status, &response.text), (400, &refusal.text));
    }
    client.post(IMPORT, right.clone()).await.ok();
    let used = client.post(IMPORT, right).await;
    assert_eq!((used.status, &used.text), (400, &refusal.text));
    let public_key = begun(&client, begin(OTHER_ADDRESS)).await;
    let late = sealed(&ada, OTHER_ADDRESS, OTHER_KEY, &public_key);
    api.pass(900);
    let expired = client.post(IMPORT, late).await;
    assert_eq!((expired.status, &expired.text), (400, &refusal.text));
}

async fn the_key_of_another_address_is_refused(api: &Api) {
    let client = api.test();
    let user_id = user(api, "ada@example.com").await;
    for plaintext in [
        OTHER_KEY,
        "",
        "hello",
        PHRASE,
        &"0".repeat(64),
        &"f".repeat(64),
    ] {
        let response = imported(&client, &user_id, ADDRESS, plaintext).await;
        response.refuses(400, "address_mismatch", None);
    }
    let wallets = client.get("/v1/wallets/list").await.ok();
    assert_eq!(wallets.body["total_count"], 0);
}

async fn an_address_is_imported_once(api: &Api) {
    let client = api.test();
    let (ada, eve) = (
        user(api, "ada@example.com").await,
        user(api, "eve@example.com").await,
    );
    let first = imported(&client, &ada, ADDRESS, KEY).await.ok();
    for (user_id, address) in [
        (&ada, ADDRESS),
        (&eve, ADDRESS),
        (&eve, &ADDRESS.to_lowercase()),
    ] {
        let again = imported(&client, user_id, address, KEY).await;
        again.refuses(409, "duplicate", Some("wallet.public_address"));
    }
    let live = api.live();
    let create = json!({"email": "ada@example.com"});
    let created = live.post("/v1/auth/users/create", create).await.ok();
    let response = imported(&live, &created.text_at("/user_id"), ADDRESS, KEY).await;
    assert_eq!(response.ok().body["is_default"], false, "that user has one");
    let path = format!("/v1/auth/users/wallets/{}/delete", first.text_at("/id"));
    let kept = client.delete(&path, None).await;
    kept.refuses(403, "policy_denied", None);
}

async fn a_begin_names_what_it_refuses(api: &Api) {
    let client = api.test();
    let absent = format!("user_{}", "0".repeat(27));
    for field in [
        "public_address",
        "wallet_type",
        "encryption_type",
        "entropy_type",
    ] {
        let mut request = begin(ADDRESS);
        request.as_object_mut().unwrap().remove(field);
        let response = client.post(BEGIN, request).await;
        response.refuses(400, "missing_field", Some(field));
        let mut request = begin(ADDRESS);
        for wrong in [json!(7), json!("no such thing"), json!([]), json!({})] {
            request[field] = wrong;
            let response = client.post(BEGIN, request.clone()).await;
            response.refuses(400, "invalid_field", Some(field));
        }
    }
    for (field, wrong) in [
        ("kem", json!("X25519")),
        ("kem", json!("")),
        ("account_index", json!(0)),
        ("account_index", json!("0")),
        ("user_id", json!("ada")),
    ] {
        let mut request = begin(ADDRESS);
        request[field] = wrong;
        let response = client.post(BEGIN, request).await;
        response.refuses(400, "invalid_field", Some(field));
    }
    for index in [json!(-1), json!(2_147_483_648_i64), json!(1.5)] {
        let mut request = begin(ADDRESS);
        request["entropy_type"] = "hd".into();
        request["account_index"] = index;
        let response = client.post(BEGIN, request).await;
        response.refuses(400, "invalid_field", Some("account_index"));
    }
    let mut request = begin(ADDRESS);
    request["user_id"] = absent.into();
    let response = client.post(BEGIN, request).await;
    response.refuses(404, "not_found", Some("user"));
    let key = api.new_key(Environment::Test, &[Scope::WalletsSign]).await;
    let response = api.with_key(&key).post(BEGIN, begin(ADDRESS)).await;
    response.refuses(403, "key_not_allowed", Some("scope"));
}

async fn an_import_names_what_it_refuses(api: &Api) {
    let client = api.test();
    let user_id = user(api, "ada@example.com").await;
    let public_key = begun(&client, begin(ADDRESS)).await;
    let right = sealed(&user_id, ADDRESS, KEY, &public_key);
    for field in ["user_id", "wallet"] {
        let mut request = right.clone();
        request.as_object_mut().unwrap().remove(field);
        let response = client.post(IMPORT, request.clone()).await;
        response.refuses(400, "missing_field", Some(field));
        request[field] = "no such thing".into();
        let response = client.post(IMPORT, request).await;
        response.refuses(400, "invalid_field", Some(field));
    }
    for field in [
        "public_address",
        "wallet_type",
        "encryption_type",
        "entropy_type",
        "ciphertext",
        "encapsulated_key",
    ] {
        let param = format!("wallet.{field}");
        let mut request = right.clone();
        request["wallet"].as_object_mut().unwrap().remove(field);
        let response = client.post(IMPORT, request).await;
        response.refuses(400, "missing_field", Some(&param));
        for wrong in [json!(7), json!("no such thing"), json!([])] {
            let mut request = right.clone();
            request["wallet"][field] = wrong;
            let response = client.post(IMPORT, request).await;
            response.refuses(400, "invalid_field", Some(&param));
        }
    }
    for (field, wrong) in [
        ("ciphertext", json!(STANDARD.encode([0; 1025]))),
        ("account_index", json!(0)),
        ("hpke_config", json!("AES_GCM256")),
    ] {
        let mut request = right.clone();
        request["wallet"][field] = wrong;
        let response = client.post(IMPORT, request).await;
        let param = format!("wallet.{field}");
        response.refuses(400, "invalid_field", Some(&param));
    }
    for (field, wrong) in [
        ("aead_algorithm", json!("AES_GCM128")),
        ("info", json!("no base64")),
        ("aad", json!(7)),
    ] {
        let mut request = right.clone();
        request["wallet"]["hpke_config"] = json!({field: wrong});
        let response = client.post(IMPORT, request).await;
        let param = format!("wallet.hpke_config.{field}");
        response.refuses(400, "invalid_field", Some(&param));
    }
    for field in ["info", "aad"] {
        let mut request = right.clone();
        request["wallet"]["hpke_config"] = json!({field: STANDARD.encode([0; 1025])});
        let response = client.post(IMPORT, request).await;
        let param = format!("wallet.hpke_config.{field}");
        response.refuses(400, "invalid_field", Some(&param));
    }
    let mut request = right.clone();
    request["user_id"] = format!("user_{}", "0".repeat(27)).into();
    let response = client.post(IMPORT, request).await;
    response.refuses(404, "not_found", Some("user"));
    let key = api.new_key(Environment::Test, &[Scope::WalletsSign]).await;
    let response = api.with_key(&key).post(IMPORT, right.clone()).await;
    response.refuses(403, "key_not_allowed", Some("scope"));
    client.post(IMPORT, right).await.ok();
}

async fn too_many_begins_are_refused(api: &Api) {
    let client = api.test();
    for _ in 0..16 {
        begun(&client, begin(ADDRESS)).await;
    }
    let response = client.post(BEGIN, begin(ADDRESS)).await;
    response.refuses(429, "too_many_attempts", None);
    assert_eq!(response.header("retry-after"), Some("900"));
    begun(&client, begin(OTHER_ADDRESS)).await;
    api.pass(900);
    begun(&client, begin(ADDRESS)).await;
}

async fn a_key_is_exported_sealed(api: &Api) {
    let user_id = user(api, "ada@example.com").await;
    let wallet = imported(&api.test(), &user_id, ADDRESS, KEY).await.ok();
    let exporter = exporter(api, true).await;
    let recipient = Recipient::fresh();
    let path = format!("/v1/wallets/{}/export", wallet.text_at("/id"));
    for encoded in [
        STANDARD.encode(&recipient.public_key),
        URL_SAFE_NO_PAD.encode(&recipient.public_key),
    ] {
        let request = json!({"recipient_public_key": encoded, "entropy_type": "private_key"});
        let response = api.with_key(&exporter).post(&path, request).await.ok();
        assert_eq!(response.body.as_object().unwrap().len(), 3);
        assert_eq!(response.body["encryption_type"], "HPKE");
        let bytes = |pointer| STANDARD.decode(response.text_at(pointer)).unwrap();
        let exported = ExportedKey {
            encapsulated_key: bytes("/encapsulated_key"),
            ciphertext: bytes("/ciphertext"),
        };
        let key = recipient.open(&exported).unwrap();
        let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digits, KEY);
    }
}

async fn an_export_names_what_it_refuses(api: &Api) {
    let user_id = user(api, "ada@example.com").await;
    let wallet = imported(&api.test(), &user_id, ADDRESS, KEY).await.ok();
    let path = format!("/v1/wallets/{}/export", wallet.text_at("/id"));
    let recipient = STANDARD.encode(Recipient::fresh().public_key);
    let right = json!({"recipient_public_key": recipient, "entropy_type": "private_key"});
    let off = exporter(api, false).await;
    let response = api.with_key(&off).post(&path, right.clone()).await;
    response.refuses(403, "feature_disabled", None);
    let on = exporter(api, true).await;
    let client = api.with_key(&on);
    // A key without scopes has all but this one.
    let response = api.test().post(&path, right.clone()).await;
    response.refuses(403, "key_not_allowed", None);
    for field in ["recipient_public_key", "entropy_type"] {
        let mut request = right.clone();
        request.as_object_mut().unwrap().remove(field);
        let response = client.post(&path, request).await;
        response.refuses(400, "missing_field", Some(field));
    }
    let zeros = STANDARD.encode([0; 32]);
    for (field, wrong) in [
        ("recipient_public_key", json!("no base64!")),
        ("recipient_public_key", json!(STANDARD.encode([9; 31]))),
        ("recipient_public_key", json!(STANDARD.encode([9; 65]))),
        ("recipient_public_key", json!(zeros)),
        ("recipient_public_key", json!(7)),
        ("entropy_type", json!("hd")),
        ("entropy_type", json!("seed")),
    ] {
        let mut request = right.clone();
        request[field] = wrong;
        let response = client.post(&path, request).await;
        response.refuses(400, "invalid_field", Some(field));
    }
    let absent = format!("/v1/wallets/wallet_{}/export", "0".repeat(27));
    let response = client.post(&absent, right.clone()).await;
    response.refuses(404, "not_found", Some("wallet"));
    client.post(&path, right).await.ok();
}

/// Neither the private key, in any form, nor a private half of the key pairs.
async fn neither_dump_nor_log_holds_an_imported_or_exported_key(api: &Api) {
    // The log is shared by all tests; earlier lines do not belong to this one.
    let before = log().text().len();
    let user_id = user(api, "ada@example.com").await;
    begun(&api.test(), begin(OTHER_ADDRESS)).await;
    let wallet = imported(&api.test(), &user_id, ADDRESS, KEY).await.ok();
    imported(&api.test(), &user_id, OTHER_ADDRESS, KEY)
        .await
        .refuses(400, "address_mismatch", None);
    let exporter = exporter(api, true).await;
    let recipient = STANDARD.encode(Recipient::fresh().public_key);
    let request = json!({"recipient_public_key": recipient, "entropy_type": "private_key"});
    let path = format!("/v1/wallets/{}/export", wallet.text_at("/id"));
    api.with_key(&exporter).post(&path, request).await.ok();
    let pairs = KEY.as_bytes().chunks(2);
    let raw: Vec<u8> = pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let decimal: Vec<String> = raw.iter().map(u8::to_string).collect();
    let forms = [
        raw.clone(),
        KEY.as_bytes().to_vec(),
        KEY.to_uppercase().into_bytes(),
        STANDARD.encode(&raw).into_bytes(),
        decimal.join(", ").into_bytes(),
    ];
    let dump = api.place.dump().await;
    let log = log().text().into_bytes().split_off(before);
    let holds = |text: &[u8], form: &[u8]| text.windows(form.len()).any(|part| part == form);
    assert!(holds(&dump, ADDRESS.as_bytes()), "the dump is one");
    assert!(holds(&log, b"/v1/wallets/import"), "the log is one");
    for form in forms {
        assert!(!holds(&dump, &form) && !holds(&log, &form));
    }
}
