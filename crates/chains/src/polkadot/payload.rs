//! `SignerPayloadJSON` of polkadot.js: the fields of a transaction, which is assembled offline.

use parity_scale_codec::{Compact, Encode};
use serde_json::Value;
use vestry_domain::{Invalid, number};

use super::extensions::{Part, parts};
use super::names_the_wallet;
use super::transaction::{Parts, SignsTransaction};
use crate::Signer;
use crate::object::Object;

/// The maximum length of an encoded call in bytes: as much as fits into a request body in hex.
pub(super) const MAX_METHOD: usize = 128 * 1024;
/// The minimum length of a call, which names its pallet and its function.
const METHOD_MIN: usize = 2;
/// The maximum number of extensions. Chains have about twelve; there are 27 names in all, none of which may repeat.
const MAX_EXTENSIONS: usize = 32;
/// The length limit, in bytes, of an extension's name in an error message.
const MAX_NAME: usize = 64;
/// The maximum length of an encoded asset in bytes: a location on another chain with eight junctions of up to 40 bytes each.
const MAX_ASSET: usize = 512;
/// The extrinsic version that wallets request.
const VERSION: u64 = 4;
/// The option that requests the transaction along with its signature.
pub(super) const WITH_SIGNED_TRANSACTION: &str = "withSignedTransaction";
/// The members that no extension adds.
const OTHERS: &[&str] = &[
    "address",
    "method",
    "version",
    "signedExtensions",
    "blockNumber",
    WITH_SIGNED_TRANSACTION,
];
/// The one-byte era of a transaction that never expires.
const IMMORTAL: u8 = 0;

/// Reads a payload.
///
/// # Errors
/// [`Invalid`] with the path of the field.
pub(super) fn read(object: &Object<'_>, signer: Signer<'_>) -> Result<SignsTransaction, Invalid> {
    let parts = Part::ALL.map(Part::field);
    object.only(&[OTHERS, parts.as_slice()].concat())?;
    names_the_wallet(object, signer)?;
    version(object)?;
    // Not signed, but validated all the same.
    object.hex_number::<u64>("blockNumber")?;
    object.flag(WITH_SIGNED_TRANSACTION)?;
    let method = method(object)?;
    let parts = assemble(object, method)?;
    Ok(SignsTransaction::assembled(parts, signer))
}

fn version(object: &Object<'_>) -> Result<(), Invalid> {
    match object.present("version") {
        None => Err(object.missing("version")),
        Some(version) if number::natural(version) == Some(VERSION) => Ok(()),
        Some(_) => Err(object.refusal("version", "must be 4, the only supported version")),
    }
}

fn method(object: &Object<'_>) -> Result<Vec<u8>, Invalid> {
    let method = object
        .hex_bytes("method", MAX_METHOD)?
        .ok_or_else(|| object.missing("method"))?;
    if method.len() < METHOD_MIN {
        return Err(object.refusal("method", "is too short for a call"));
    }
    Ok(method)
}

/// Assembles the parts of all extensions in the order of the extensions.
fn assemble(object: &Object<'_>, method: Vec<u8>) -> Result<Parts, Invalid> {
    let wanted = wanted(object)?;
    let mut values = Vec::with_capacity(Part::ALL.len());
    for part in Part::ALL {
        let value = value(object, part)?;
        if wanted.contains(&part) {
            let value = value.ok_or_else(|| object.missing(part.field()))?;
            values.push((part, value.bytes));
        } else if value.is_some_and(|value| value.matters) {
            // Omitting it would sign something else than was requested.
            let fault = "is not covered by any of the signedExtensions";
            return Err(object.refusal(part.field(), fault));
        }
    }
    metadata(object)?;
    if wanted.contains(&Part::BlockHash) {
        immortal(object)?;
    }
    let mut parts = Parts {
        method,
        sent: Vec::new(),
        signed_only: Vec::new(),
    };
    for part in wanted {
        let place = match part.is_sent() {
            true => &mut parts.sent,
            false => &mut parts.signed_only,
        };
        for (_, bytes) in values.iter().filter(|(of, _)| *of == part) {
            place.extend_from_slice(bytes);
        }
    }
    Ok(parts)
}

/// The values that the named extensions add, in order.
///
/// Duplicates are rejected: polkadot.js would write such a value once, a chain would read it twice.
fn wanted(object: &Object<'_>) -> Result<Vec<Part>, Invalid> {
    const FIELD: &str = "signedExtensions";
    let names = match object.present(FIELD) {
        None => return Err(object.missing(FIELD)),
        Some(Value::Array(names)) if names.len() <= MAX_EXTENSIONS => names,
        Some(Value::Array(_)) => {
            let fault = format!("must have at most {MAX_EXTENSIONS} entries");
            return Err(object.refusal(FIELD, &fault));
        }
        Some(_) => return Err(object.refusal(FIELD, "must be an array of strings")),
    };
    let mut wanted = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let name = name
            .as_str()
            .ok_or_else(|| object.refusal(FIELD, "must be an array of strings"))?;
        let added = parts(name).ok_or_else(|| object.refusal(FIELD, &unknown(index, name)))?;
        if seen.contains(&name) || added.iter().any(|part| wanted.contains(part)) {
            let fault =
                format!("has an extension at index {index} that adds the same data as another one");
            return Err(object.refusal(FIELD, &fault));
        }
        seen.push(name);
        wanted.extend_from_slice(added);
    }
    // Without it the genesisHash would be an unsigned claim: the same signature would be valid on any chain.
    if !wanted.contains(&Part::GenesisHash) {
        return Err(object.refusal(
            FIELD,
            "lacks CheckGenesis, which binds the signature to a chain",
        ));
    }
    Ok(wanted)
}

/// The error for an unknown extension.
///
/// Its data cannot be guessed, and a wrong guess would sign something else. The name is repeated if it can be a name.
fn unknown(index: usize, name: &str) -> String {
    let is_name = (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let what = match is_name {
        true => format!("{name}, which is not a supported extension"),
        false => "an invalid extension name".to_owned(),
    };
    format!(
        "has at index {index} {what}; to sign any payload, send its bytes in the raw form {{address, data, type}}"
    )
}

/// An encoded value.
struct Encoded {
    bytes: Vec<u8>,
    /// Whether a transaction without the value would be a different one. This is not asked for fields that polkadot.js fills in for every
    /// chain.
    matters: bool,
}

fn value(object: &Object<'_>, part: Part) -> Result<Option<Encoded>, Invalid> {
    let field = part.field();
    let filled_in = |bytes| Encoded {
        bytes,
        matters: false,
    };
    let value = match part {
        Part::Era => era(object, field)?,
        Part::Nonce => object
            .hex_number::<u32>(field)?
            .map(|nonce| filled_in(Compact(nonce).encode())),
        Part::Tip => object.hex_number::<u128>(field)?.map(|tip| Encoded {
            bytes: Compact(tip).encode(),
            matters: tip != 0,
        }),
        Part::AssetId => Some(asset(object, field)?),
        Part::Mode => Some(mode(object, field)?),
        Part::SpecVersion | Part::TransactionVersion => object
            .hex_number::<u32>(field)?
            .map(|version| filled_in(version.encode())),
        Part::GenesisHash | Part::BlockHash => {
            object.hex_hash(field)?.map(|hash| filled_in(hash.encode()))
        }
        Part::MetadataHash => {
            let hash = object.hex_hash(field)?;
            Some(Encoded {
                bytes: hash.encode(),
                matters: hash.is_some(),
            })
        }
    };
    Ok(value)
}

/// `0x00`, or the two bytes of a mortal era: the low 4 bits encode the period, the others the phase in which the transaction was created
/// (`sp_runtime::generic::Era`).
fn era(object: &Object<'_>, field: &'static str) -> Result<Option<Encoded>, Invalid> {
    let Some(bytes) = object.hex_bytes(field, 2)? else {
        return Ok(None);
    };
    let matters = match bytes.as_slice() {
        [IMMORTAL] => false,
        [low, high] if *low != IMMORTAL && is_mortal(u16::from_le_bytes([*low, *high])) => true,
        _ => return Err(object.refusal(field, "must be 0x00 or the two bytes of a mortal era")),
    };
    Ok(Some(Encoded { bytes, matters }))
}

fn is_mortal(encoded: u16) -> bool {
    let period = 2_u32 << (encoded & 0b1111);
    // The phases of long periods are counted in steps.
    let step = (period >> 12).max(1);
    let phase = u32::from(encoded >> 4).saturating_mul(step);
    period >= 4 && phase < period
}

/// An immortal transaction is signed over the genesis hash instead of a block hash (`CheckMortality` of Substrate). With any other hash the
/// chain reports a bad signature.
fn immortal(object: &Object<'_>) -> Result<(), Invalid> {
    let [era, block, genesis] = [Part::Era, Part::BlockHash, Part::GenesisHash].map(Part::field);
    let is_immortal = object.hex_bytes(era, 2)?.as_deref() == Some(&[IMMORTAL]);
    if is_immortal && object.hex_hash(block)? != object.hex_hash(genesis)? {
        let fault = "must be the genesisHash, because era is immortal (0x00)";
        return Err(object.refusal(block, fault));
    }
    Ok(())
}

/// The asset that pays the fee, in the form of polkadot.js: an encoded option, `0x00` for none or `0x01` before the asset. The format of an
/// asset depends on the chain, so it is not interpreted.
fn asset(object: &Object<'_>, field: &'static str) -> Result<Encoded, Invalid> {
    let bytes = object
        .hex_bytes(field, MAX_ASSET)?
        .unwrap_or_else(|| vec![0]);
    let matters = match bytes.as_slice() {
        [0] => false,
        [1, _, ..] => true,
        _ => {
            let fault = "must be an encoded option: 0x00, or 0x01 and the encoded asset";
            return Err(object.refusal(field, fault));
        }
    };
    Ok(Encoded { bytes, matters })
}

fn mode(object: &Object<'_>, field: &'static str) -> Result<Encoded, Invalid> {
    let mode = match object.present(field) {
        None => 0,
        Some(mode) => number::natural(mode)
            .and_then(|mode| u8::try_from(mode).ok())
            .filter(|mode| *mode <= 1)
            .ok_or_else(|| object.refusal(field, "must be the number 0 or 1"))?,
    };
    Ok(Encoded {
        bytes: vec![mode],
        matters: mode != 0,
    })
}

/// In mode 1 the chain expects the metadata hash, in mode 0 none (RFC 78 of the Fellowship).
fn metadata(object: &Object<'_>) -> Result<(), Invalid> {
    let field = Part::MetadataHash.field();
    let checked = mode(object, Part::Mode.field())?.matters;
    match (checked, object.present(field).is_some()) {
        (true, false) => Err(object.missing(field)),
        (false, true) => Err(object.refusal(field, "is only allowed with mode 1")),
        _ => Ok(()),
    }
}
