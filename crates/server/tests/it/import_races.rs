//! R2 and R10: imports of one key, and imports during creates, with two server processes on one Postgres and with one on SQLite.
//!
//! The counts are those for each change.

use std::collections::HashSet;
use std::fmt::Write as _;

use data_encoding::BASE64;
use serde_json::{Value, json};
use vestry_chains::Chains;
use vestry_contract::fakes::SeededEntropy;
use vestry_contract::sealing::{self, Manner};
use vestry_domain::wallet::WalletType;
use vestry_domain::{Environment, Secret};
use vestry_ports::entropy::Bytes;

use crate::on_both_databases;
use crate::races::{Field, all_at_once, rounds};
use crate::support::client::Api;
use crate::support::installation::{Installation, text};

on_both_databases! {
    /// R2, R10
    one_wallet_of_twenty_imports_beside_creates => super::one_wallet_of_twenty_imports_beside_creates;
}

/// Each message is sent twice.
const MESSAGES: usize = 10;
const CREATES: usize = 4;

/// A private key as text, and its address.
fn drawn(chains: &Chains, entropy: &SeededEntropy) -> (String, String) {
    let chain = chains.get(WalletType::Ethereum);
    let key = chain.generate(&mut Bytes(entropy)).unwrap();
    let public_key = chain.public_key(&key).unwrap();
    let address = chain.address(&public_key, Environment::Test).unwrap();
    let digits = key.expose().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    });
    (digits, address)
}

/// A unique message for a new key pair.
async fn message(api: &Api, user_id: &str, key: &str, address: &str) -> Value {
    let mut wallet = json!({
        "public_address": address,
        "wallet_type": "ethereum",
        "encryption_type": "HPKE",
        "entropy_type": "private_key",
    });
    let begun = api.post("/v1/wallets/import/begin", &wallet).await.ok();
    let public_key = text(&begun, "encryption_public_key");
    let public_key = BASE64.decode(public_key.as_bytes()).unwrap();
    let message = sealing::seal(&public_key, key.as_bytes(), Manner::default());
    wallet["ciphertext"] = BASE64.encode(&message.ciphertext).into();
    wallet["encapsulated_key"] = BASE64.encode(&message.encapsulated_key).into();
    json!({"user_id": user_id, "wallet": wallet})
}

/// Concurrent imports of one key and creates for its user: one import succeeds, and the others find the address taken or their message
/// used. Every create returns the one default wallet, and each wallet signs.
async fn one_wallet_of_twenty_imports_beside_creates(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let chains = Chains::new(&Secret::new([7; 32]));
    let entropy = SeededEntropy::fresh();
    let (mut wallets, mut defaults_imported) = (0, 0);
    for round in 0..rounds() {
        let body = json!({ "email": format!("user{round}@example.com") });
        let created = clients[0]
            .post("/v1/auth/otps/email/login_or_create", &body)
            .await
            .ok();
        let user_id = text(&created, "user_id");
        let (key, address) = drawn(&chains, &entropy);
        let mut messages = Vec::new();
        for _ in 0..MESSAGES {
            messages.push(message(&clients[0], &user_id, &key, &address).await);
        }
        let create = json!({ "user_id": user_id, "wallet_type": "ethereum" });
        let calls = 2 * MESSAGES + CREATES;
        // The creates are at a random place among the imports.
        let first = (round * 7) % (2 * MESSAGES);
        let creates = first..first + CREATES;
        let answers = all_at_once(&clients, calls, |number, api| {
            let (path, body) = if creates.contains(&number) {
                ("/v1/wallets/create", create.clone())
            } else {
                let import = if number < first {
                    number
                } else {
                    number - CREATES
                };
                ("/v1/wallets/import", messages[import / 2].clone())
            };
            async move { api.post(path, &body).await }
        })
        .await;
        let mut imported = Vec::new();
        let mut made = HashSet::new();
        for (number, answer) in answers.into_iter().enumerate() {
            match (creates.contains(&number), answer.status) {
                (true, _) => {
                    made.insert(text(&answer.ok(), "id"));
                }
                (false, 200) => imported.push(answer.ok()),
                (false, 409) => assert_eq!(answer.error(409), "duplicate"),
                (false, _) => assert_eq!(answer.error(400), "decryption_failed"),
            }
        }
        assert_eq!((imported.len(), made.len()), (1, 1), "round {round}");
        let imported = &imported[0];
        let is_default = made.contains(&text(imported, "id"));
        assert_eq!(imported["is_default"], is_default, "round {round}");
        assert_eq!(imported["public_address"], address.as_str());
        let path = format!("/v1/wallets/{}/sign_message", text(imported, "id"));
        let body = json!({ "message": "hello" });
        clients[1 % clients.len()].post(&path, &body).await.ok();
        wallets += if is_default { 1 } else { 2 };
        defaults_imported += usize::from(is_default);
    }
    let kept = installation
        .database
        .pairs("SELECT id AS one, wallet_id AS two FROM wallet_keys")
        .await;
    assert_eq!(kept.len(), wallets);
    let defaults = installation
        .database
        .pairs("SELECT id AS one, user_id AS two FROM wallets WHERE is_default")
        .await;
    assert_eq!(defaults.len(), rounds());
    println!(
        "R10: the imported wallet became the default in {defaults_imported} of {} rounds",
        rounds()
    );
    field.stop("R10", rounds(), 2 * MESSAGES + CREATES).await;
}
