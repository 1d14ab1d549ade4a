use base64::prelude::{BASE64_STANDARD, Engine};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

fn verify(secret: &str, id: &str, sent_at: &str, signatures: &str, body: &[u8], now: i64) -> bool {
    let key = secret.strip_prefix("whsec_").and_then(|text| BASE64_STANDARD.decode(text).ok());
    let is_recent = sent_at.parse().is_ok_and(|at: i64| now.abs_diff(at) <= 300);
    let Some(mut mac) = key.and_then(|key| Hmac::<Sha256>::new_from_slice(&key).ok()) else { return false };
    mac.update(format!("{id}.{sent_at}.").as_bytes());
    mac.update(body);
    let mut tags = signatures.split(' ').filter_map(|one| BASE64_STANDARD.decode(one.strip_prefix("v1,")?).ok());
    is_recent && tags.any(|tag| mac.clone().verify_slice(&tag).is_ok())
}
