//! `wallets/registrations/*` and `wallets/verify`.

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use vestry_chains::Chains;
use vestry_domain::Secret;
use vestry_domain::wallet::WalletType;

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::stopwatch::Stopwatch;

pub(super) async fn run(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    let chains = Chains::new(&Secret::new([7; 32]));
    let chain = chains
        .get(WalletType::Ethereum)
        .ok_or("there is no Ethereum")?;
    let mut keys = Vec::new();
    for number in 1..=u32::try_from(stopwatch.calls)? {
        let mut bytes = [42; 32];
        if let Some(end) = bytes.last_chunk_mut() {
            *end = number.to_be_bytes();
        }
        let key = chain.private_key(&bytes)?;
        let address = chain.address(&chain.public_key(&key)?)?;
        keys.push((key, address));
    }
    let claim = |address: &str| json!({"wallet_type": "ethereum", "public_address": address});
    let begin = keys
        .iter()
        .map(|(_, address)| Call::post("/v1/auth/wallets/registrations/begin", claim(address)))
        .collect();
    let begun = stopwatch
        .measure(api, "wallets registrations begin (new user)", begin)
        .await?;
    let verify = keys
        .iter()
        .zip(&begun)
        .map(|((key, address), begun)| {
            let challenge = text(begun, "/challenge")?;
            let signature = chain.sign_message(key, challenge.as_bytes())?;
            let mut body = claim(address);
            if let Some(body) = body.as_object_mut() {
                let signature = format!("0x{}", HEXLOWER.encode(&signature));
                body.insert("signature".to_owned(), Value::from(signature));
                body.insert("session_expires_in".to_owned(), Value::from(60));
            }
            Ok(Call::post("/v1/auth/wallets/verify", body))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch
        .measure(api, "wallets verify (sign-in)", verify)
        .await?;
    Ok(())
}
