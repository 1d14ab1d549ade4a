//! Steps shared by many tests.

use serde_json::{Value, json};
use vestry_chains::Chains;
use vestry_domain::wallet::WalletType;
use vestry_domain::{Environment, Secret};

use super::client::{Answer, Api};
use super::database::Database;
use super::installation::text;

/// A user and one of its wallets.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    pub(crate) user_id: String,
    pub(crate) wallet_id: String,
    pub(crate) address: String,
}

/// Creates a user with the default wallet.
pub(crate) async fn new_owner(api: &Api, email: &str) -> Owner {
    let body = json!({ "email": email, "include_user": true });
    let created = api.post("/v1/auth/users/create", &body).await.ok();
    let wallet = &created["user"]["wallets"][0];
    Owner {
        user_id: text(&created, "user_id"),
        wallet_id: text(wallet, "id"),
        address: text(wallet, "public_address"),
    }
}

/// A new user with a wallet of any type, beside the default one.
pub(crate) async fn new_owner_of(api: &Api, email: &str, wallet_type: WalletType) -> Owner {
    let owner = new_owner(api, email).await;
    let body = json!({ "user_id": owner.user_id, "wallet_type": wallet_type.as_str() });
    let wallet = api.post("/v1/wallets/create", &body).await.ok();
    Owner {
        wallet_id: text(&wallet, "id"),
        address: text(&wallet, "public_address"),
        ..owner
    }
}

/// Has the owner's wallet sign a message.
pub(crate) async fn sign(api: &Api, owner: &Owner, message: &str) -> Answer {
    let path = format!("/v1/wallets/{}/sign_message", owner.wallet_id);
    api.post(&path, &json!({ "message": message })).await
}

/// Waits for the code in the newest captured mail to this address.
pub(crate) async fn captured_code(api: &Api, email: &str) -> String {
    let path = format!("/v1/test/messages?to={email}&wait=20");
    let found = api.get(&path).await.ok();
    text(&found["messages"][0], "code")
}

/// Signs a user in with a mailed code. Returns the response of `otps/verify`.
pub(crate) async fn sign_in(api: &Api, email: &str) -> Value {
    let method_id = send_code(api, email).await;
    let code = captured_code(api, email).await;
    let body = json!({ "method_id": method_id, "otp": code, "session_expires_in": 60 });
    api.post("/v1/auth/otps/verify", &body).await.ok()
}

/// Sends a code, creating the user if needed. Returns the ID of the address.
pub(crate) async fn send_code(api: &Api, email: &str) -> String {
    let body = json!({ "email": email, "expires_in": 10 });
    let sent = api.post("/v1/auth/otps/email/login_or_create", &body).await;
    text(&sent.ok(), "email_id")
}

/// Checks a wallet's signature of the message with the public key from the database, which must match the wallet's address.
pub(crate) async fn assert_signed(
    database: &Database,
    owner: &Owner,
    message: &str,
    signature: &str,
) {
    let query = format!(
        "SELECT wallet_id AS one, {} AS two FROM wallet_keys WHERE wallet_id = '{}'",
        database.hex("public_key"),
        owner.wallet_id
    );
    let keys = database.pairs(&query).await;
    let [(_, public_key)] = keys.as_slice() else {
        panic!("{} has {} keys", owner.wallet_id, keys.len());
    };
    assert_signed_by(public_key, owner, message, signature);
}

/// The same with a given public key, in hex.
#[track_caller]
pub(crate) fn assert_signed_by(public_key: &str, owner: &Owner, message: &str, signature: &str) {
    let chains = Chains::new(&Secret::new([7; 32]));
    let chain = chains.get(WalletType::Ethereum);
    let address = chain
        .address(&unhex(public_key), Environment::Test)
        .unwrap();
    assert_eq!(address, owner.address);
    let message = message.as_bytes();
    chains
        .verify_own(WalletType::Ethereum, &address, message, signature)
        .unwrap();
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}
