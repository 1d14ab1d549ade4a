//! Off-chain messages (OCMS): text that cannot be mistaken for a transaction and that names its signers.
//!
//! Version 0 is Anza's proposal "Off-Chain Message Signing"; version 1 is that of sRFC discussion 3, which `@solana/offchain-messages`
//! implements.

use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::signing::Fields;

use super::encoding::Encoding;
use super::message::SignsBytes;
use crate::Signer;
use crate::object::Object;

/// The first byte is the prefix of a message version that Solana never assigns.
const SIGNING_DOMAIN: &[u8; 16] = b"\xffsolana offchain";
/// The maximum length of the text in bytes.
const MAX_TEXT: usize = 65_515;
/// The maximum length in bytes of a whole message of format 0 or 1, which devices with little memory can sign.
const MAX_SHORT: usize = 1232;
/// The length in bytes of a version 0 message with one signer, without its text.
const V0_HEAD: usize = 16 + 1 + 32 + 1 + 1 + 32 + 2;

/// `sol_signOffchainMessage`: `message`, text; `version`, 0 or 1; for version 0 `application_domain`, base58 of 32 bytes, zeros by default.
///
/// The wallet is the only signer.
pub(super) fn of_params(params: &Object<'_>, signer: Signer<'_>) -> Result<SignsBytes, Invalid> {
    let text = params.text("message")?;
    if text.is_empty() || text.len() > MAX_TEXT {
        let rule = format!("must be 1 to {MAX_TEXT} bytes");
        return Err(params.refusal("message", &rule));
    }
    let domain = params.optional_text("application_domain")?;
    let bytes = match (params.number("version")?, domain) {
        (0, domain) => {
            let domain = domain.map_or(Some([0; 32]), read_domain).ok_or_else(|| {
                params.refusal("application_domain", "must be base58 of 32 bytes")
            })?;
            version_0(&domain, signer.public_key, text)
                .ok_or_else(|| params.refusal("message", "is too long"))?
        }
        (1, None) => version_1(signer.public_key, text),
        (1, Some(_)) => {
            return Err(params.refusal("application_domain", "is only supported for version 0"));
        }
        _ => return Err(params.refusal("version", "must be 0 or 1")),
    };
    let whole = Value::String(Encoding::Base64.write(&bytes));
    Ok(SignsBytes {
        bytes,
        encoding: Encoding::Base58,
        public_key: signer.public_key.to_vec(),
        known: Fields::from_iter([("offchain_message".to_owned(), whole)]),
    })
}

fn read_domain(text: &str) -> Option<[u8; 32]> {
    let mut domain = [0; 32];
    let length = bs58::decode(text).onto(&mut domain).ok()?;
    (length == domain.len()).then_some(domain)
}

/// Returns `None` if the length of the text does not fit into two bytes.
fn version_0(domain: &[u8; 32], signer: &[u8], text: &str) -> Option<Vec<u8>> {
    let length = u16::try_from(text.len()).ok()?;
    Some(
        [
            SIGNING_DOMAIN.as_slice(),
            &[0],
            domain.as_slice(),
            &[format(text), 1],
            signer,
            &length.to_le_bytes(),
            text.as_bytes(),
        ]
        .concat(),
    )
}

/// The message format. 0: short and printable ASCII. 1: short and any UTF-8. 2: longer.
///
/// Implementations differ on whether the limit applies to the text (1,212 or 1,232 bytes) or the whole message. A short whole is short for
/// all of them, and format 2 has room for the rest.
fn format(text: &str) -> u8 {
    let is_short = text.len() <= MAX_SHORT.saturating_sub(V0_HEAD);
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match (is_short, is_plain) {
        (true, true) => 0,
        (true, false) => 1,
        (false, _) => 2,
    }
}

/// A single signer needs no sorting.
fn version_1(signer: &[u8], text: &str) -> Vec<u8> {
    [SIGNING_DOMAIN.as_slice(), &[1, 1], signer, text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// anza-xyz/solana-sdk, `offchain-message/src/lib.rs`, `test_offchain_message_utf8`: its hash is SHA-256 of the message,
    /// whose domain and signer are zeros.
    #[test]
    fn version_0_is_written_as_the_sdk_writes_it() {
        let message = version_0(&[0; 32], &[0; 32], "Тестовое сообщение").unwrap();
        assert_eq!(
            bs58::encode(Sha256::digest(message)).into_string(),
            "E5tkTdEzcYTe5deSvw5jqzwPUEVBT83P4aHCYxjtzEW8"
        );
    }
}
