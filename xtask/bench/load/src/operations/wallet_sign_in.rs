//! `wallets/registrations/*` and `wallets/verify`.

use serde_json::{Value, json};
use vestry_chains::{Chains, Signer};
use vestry_domain::signing::SigningRequest;
use vestry_domain::wallet::WalletType;
use vestry_domain::{Environment, Secret};

use super::Flow;
use crate::Failure;
use crate::api::{Call, text};

pub(super) async fn run(flow: Flow<'_>) -> Result<(), Failure> {
    let chains = Chains::new(&Secret::new([7; 32]));
    let chain = chains.get(WalletType::Ethereum);
    let mut keys = Vec::new();
    for number in 1..=u32::try_from(flow.stopwatch.calls)? {
        let mut bytes = [42; 32];
        if let Some(end) = bytes.last_chunk_mut() {
            *end = number.to_be_bytes();
        }
        let key = chain.private_key(&bytes)?;
        let public_key = chain.public_key(&key)?;
        let address = chain.address(&public_key, Environment::Test)?;
        keys.push((key, public_key, address));
    }
    let claim = |address: &str| json!({"wallet_type": "ethereum", "public_address": address});
    let begun = flow.each(
        "wallets registrations begin (new user)",
        &keys,
        |(_, _, address)| {
            let path = "/v1/auth/wallets/registrations/begin";
            Ok(Call::post(path, claim(address)))
        },
    );
    let begun: Vec<_> = keys.iter().zip(begun.await?).collect();
    flow.each("wallets verify (sign-in)", &begun, |(key, begun)| {
        let (key, public_key, address) = key;
        let request = SigningRequest::message(text(begun, "/challenge")?);
        let signer = Signer {
            public_key,
            address,
            environment: Environment::Test,
        };
        // Ethereum signatures need no randomness.
        let signed = chain
            .prepare(&request, signer)?
            .sign(key, &mut |_: &mut [u8]| {})?;
        let mut body = claim(address);
        if let Some(body) = body.as_object_mut() {
            body.extend(signed.fields);
            body.insert("session_expires_in".to_owned(), Value::from(60));
        }
        Ok(Call::post("/v1/auth/wallets/verify", body))
    })
    .await?;
    Ok(())
}
