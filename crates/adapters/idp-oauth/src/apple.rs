//! Apple's client secrets: a JWT for each use, signed with the team's key.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use vestry_domain::provider::AppleKey;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Secret, Timestamp};

/// Lifetime of a secret. It is used once, immediately; Apple would allow six months.
const LIFETIME: Seconds = Seconds(300);

/// Creates a client secret for one use: ES256, issued by the team for the client, with Apple as its audience.
/// <https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret>
///
/// # Errors
/// The private key is not a P-256 key, or not in the PEM format in which Apple issues it.
pub(crate) fn client_secret(
    key: &AppleKey,
    private_key: &Secret<String>,
    client_id: &str,
    issuer: &str,
    now: Timestamp,
) -> Result<Secret<String>, &'static str> {
    const NO_KEY: &str = "the client secret is not Apple's private key (a .p8 file: PKCS#8, PEM)";
    let pair = key_pair(private_key).ok_or(NO_KEY)?;
    let header = json!({"alg": "ES256", "kid": key.key_id, "typ": "JWT"});
    let claims = json!({
        "iss": key.team_id,
        "iat": now.unix(),
        "exp": (now + LIFETIME).unix(),
        "aud": issuer,
        "sub": client_id,
    });
    let message = format!("{}.{}", part(&header), part(&claims));
    #[expect(
        clippy::disallowed_methods,
        reason = "the library ignores this parameter and generates its own nonces"
    )]
    let random = aws_lc_rs::rand::SystemRandom::new();
    let signature = pair
        .sign(&random, message.as_bytes())
        .map_err(|_failed| NO_KEY)?;
    let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
    Ok(Secret::new(format!("{message}.{signature}")))
}

fn part(json: &Value) -> String {
    URL_SAFE_NO_PAD.encode(json.to_string())
}

/// Returns the only private key of a PEM file (RFC 7468).
fn key_pair(pem: &Secret<String>) -> Option<EcdsaKeyPair> {
    let (_, rest) = pem.expose().split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let body: Secret<String> = Secret::new(body.split_ascii_whitespace().collect());
    let pkcs8 = Secret::new(STANDARD.decode(body.expose()).ok()?);
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.expose()).ok()
}

#[cfg(test)]
mod tests;
