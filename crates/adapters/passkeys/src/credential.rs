//! Parsing of `PublicKeyCredential.toJSON()` (section 5.1.8), given as an object or as its text.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::passkey::MAX_CREDENTIAL_ID;
use vestry_ports::passkeys::{PresentedAssertion, PresentedRegistration};

use crate::client_data::ClientData;

const PARAM: &str = "public_key_credential";
/// Maximum length of a part in bytes; a real one has some hundred, one with RSA and certificates some thousand.
const MAX_PART: usize = 32 * 1024;
/// Maximum number of transports that are stored, and maximum length of a transport's name.
const MAX_TRANSPORTS: (usize, usize) = (8, 32);

/// Browsers omit the padding, older libraries include it; stray bits are refused.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_encode_padding(false),
);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent<R> {
    id: String,
    #[serde(default)]
    raw_id: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    response: R,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attestation {
    #[serde(rename = "clientDataJSON")]
    client_data_json: String,
    attestation_object: String,
    #[serde(default)]
    transports: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion {
    #[serde(rename = "clientDataJSON")]
    client_data_json: String,
    authenticator_data: String,
    signature: String,
    #[serde(default)]
    user_handle: Option<String>,
}

pub(crate) fn read_registration(sent: &Value) -> Result<PresentedRegistration, Invalid> {
    let sent: Sent<Attestation> = read(sent)?;
    let (response, credential_id) = (&sent.response, credential_id(&sent)?);
    let client_data_json = part("response.clientDataJSON", &response.client_data_json)?;
    Ok(PresentedRegistration {
        challenge: challenge(&client_data_json)?,
        credential_id,
        client_data_json,
        attestation_object: part("response.attestationObject", &response.attestation_object)?,
        transports: transports(sent.response.transports.unwrap_or_default()),
    })
}

pub(crate) fn read_assertion(sent: &Value) -> Result<PresentedAssertion, Invalid> {
    let sent: Sent<Assertion> = read(sent)?;
    let (response, credential_id) = (&sent.response, credential_id(&sent)?);
    let client_data_json = part("response.clientDataJSON", &response.client_data_json)?;
    // Some libraries send "" if no user handle was returned.
    let named = response
        .user_handle
        .as_ref()
        .filter(|text| !text.is_empty());
    let user_handle = named.map(|text| part("response.userHandle", text));
    Ok(PresentedAssertion {
        challenge: challenge(&client_data_json)?,
        credential_id,
        client_data_json,
        authenticator_data: part("response.authenticatorData", &response.authenticator_data)?,
        signature: part("response.signature", &response.signature)?,
        user_handle: user_handle.transpose()?,
    })
}

fn read<R: for<'de> Deserialize<'de>>(sent: &Value) -> Result<Sent<R>, Invalid> {
    let read = match sent {
        Value::String(text) => serde_json::from_str(text).ok(),
        other => Sent::deserialize(other).ok(),
    };
    let sent = read.filter(|sent: &Sent<R>| sent.kind == "public-key");
    sent.ok_or_else(|| {
        Invalid::value(
            PARAM,
            "public_key_credential must be the result of PublicKeyCredential.toJSON() in the browser",
        )
    })
}

fn credential_id<R>(sent: &Sent<R>) -> Result<Vec<u8>, Invalid> {
    let id = part("id", &sent.id)?;
    let raw = sent.raw_id.as_ref().map(|raw| part("rawId", raw));
    let agrees = raw.transpose()?.is_none_or(|raw| raw == id);
    if agrees && (1..=MAX_CREDENTIAL_ID).contains(&id.len()) {
        return Ok(id);
    }
    Err(Invalid::value(
        format!("{PARAM}.id"),
        format!("id must have 1 to {MAX_CREDENTIAL_ID} bytes and be equal to rawId"),
    ))
}

fn part(name: &'static str, text: &str) -> Result<Vec<u8>, Invalid> {
    // Four characters encode three bytes.
    let decoded = (text.len() <= MAX_PART / 3 * 4).then(|| BASE64URL.decode(text));
    let decoded = decoded.and_then(Result::ok);
    decoded.ok_or_else(|| {
        Invalid::value(
            format!("{PARAM}.{name}"),
            format!("{name} must be base64url of at most {MAX_PART} bytes"),
        )
    })
}

fn challenge(client_data_json: &[u8]) -> Result<String, Invalid> {
    let data = ClientData::parse(client_data_json).ok_or_else(|| {
        Invalid::value(
            format!("{PARAM}.response.clientDataJSON"),
            "clientDataJSON must be a JSON object with type, challenge and origin",
        )
    })?;
    Ok(data.challenge)
}

/// Returns the transport hints for browsers; malformed ones are dropped.
fn transports(sent: Vec<String>) -> Vec<String> {
    let (most, longest) = MAX_TRANSPORTS;
    let is_name = |name: &String| {
        (1..=longest).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    };
    sent.into_iter().filter(is_name).take(most).collect()
}
