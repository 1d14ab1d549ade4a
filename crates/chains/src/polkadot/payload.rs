//! `SignerPayloadJSON` of polkadot.js: the fields of a transaction, out of which its bytes are put together offline.

use parity_scale_codec::{Compact, Encode};
use serde_json::Value;
use vestry_domain::{Invalid, number};

use super::extensions::{Part, parts};
use super::names_the_wallet;
use super::transaction::{Parts, SignsTransaction};
use crate::Signer;
use crate::object::Object;

/// Longest encoded call, in bytes: as much as the body of a request can hold in hex.
pub(super) const METHOD_MAX: usize = 128 * 1024;
/// A call names its pallet and its function.
const METHOD_MIN: usize = 2;
/// Most extensions. Chains have about twelve; there are 27 names in all, of which none may come twice.
const EXTENSIONS_MAX: usize = 32;
/// Longest name of an extension that is repeated in a refusal, in bytes.
const NAME_MAX: usize = 64;
/// Longest encoded asset, in bytes: a location of another chain with its eight junctions of up to 40 bytes each.
const ASSET_MAX: usize = 512;
/// The version of extrinsics that wallets ask for.
const VERSION: u64 = 4;
/// Asks for the transaction beside its signature.
pub(super) const WITH_SIGNED_TRANSACTION: &str = "withSignedTransaction";
/// The members besides those that extensions add.
const OTHERS: &[&str] = &[
    "address",
    "method",
    "version",
    "signedExtensions",
    "blockNumber",
    WITH_SIGNED_TRANSACTION,
];
/// An era of one byte: the transaction never expires.
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
    // Not signed, and still not nonsense.
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
        Some(_) => Err(object.refusal("version", "is not 4, the one version that is signed here")),
    }
}

fn method(object: &Object<'_>) -> Result<Vec<u8>, Invalid> {
    let method = object
        .hex_bytes("method", METHOD_MAX)?
        .ok_or_else(|| object.missing("method"))?;
    if method.len() < METHOD_MIN {
        return Err(object.refusal("method", "is too short for a call"));
    }
    Ok(method)
}

/// Puts the parts of all extensions in the order in which the extensions are named.
fn assemble(object: &Object<'_>, method: Vec<u8>) -> Result<Parts, Invalid> {
    let wanted = wanted(object)?;
    let mut values = Vec::with_capacity(Part::ALL.len());
    for part in Part::ALL {
        let value = value(object, part)?;
        if wanted.contains(&part) {
            let value = value.ok_or_else(|| object.missing(part.field()))?;
            values.push((part, value.bytes));
        } else if value.is_some_and(|value| value.matters) {
            // Leaving it out would sign something else than what was asked for.
            let fault = "is signed by none of the signedExtensions";
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

/// What the named extensions add, in their order.
///
/// What comes twice is refused: polkadot.js would write it once, a chain would read it twice.
fn wanted(object: &Object<'_>) -> Result<Vec<Part>, Invalid> {
    const FIELD: &str = "signedExtensions";
    let names = match object.present(FIELD) {
        None => return Err(object.missing(FIELD)),
        Some(Value::Array(names)) if names.len() <= EXTENSIONS_MAX => names,
        Some(Value::Array(_)) => {
            let fault = format!("has more than {EXTENSIONS_MAX} entries");
            return Err(object.refusal(FIELD, &fault));
        }
        Some(_) => return Err(object.refusal(FIELD, "is not an array of strings")),
    };
    let mut wanted = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let name = name
            .as_str()
            .ok_or_else(|| object.refusal(FIELD, "is not an array of strings"))?;
        let added = parts(name).ok_or_else(|| object.refusal(FIELD, &unknown(index, name)))?;
        if seen.contains(&name) || added.iter().any(|part| wanted.contains(part)) {
            let fault =
                format!("has at index {index} an extension that adds what another one adds");
            return Err(object.refusal(FIELD, &fault));
        }
        seen.push(name);
        wanted.extend_from_slice(added);
    }
    // Without it the genesisHash beside it would be a claim: the same signature would hold on any chain.
    if !wanted.contains(&Part::GenesisHash) {
        return Err(object.refusal(
            FIELD,
            "lacks CheckGenesis, which says for which chain it is",
        ));
    }
    Ok(wanted)
}

/// Why an extension is refused: what it adds cannot be guessed, and a wrong guess is a signature over something else. Its name
/// is repeated if it can be one.
fn unknown(index: usize, name: &str) -> String {
    let is_name = (1..=NAME_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let what = match is_name {
        true => format!("{name}, and what that extension adds to a transaction is not known here"),
        false => "what is not the name of an extension".to_owned(),
    };
    format!(
        "has at index {index} {what}; the raw form {{address, data, type}} takes the bytes of any payload"
    )
}

/// A value as it is encoded.
struct Encoded {
    bytes: Vec<u8>,
    /// Whether a transaction without it is another one. The fields that polkadot.js fills in for every chain are not asked
    /// for this.
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

/// `0x00`, or the two bytes of a mortal era: the low 4 bits say the period, the others where in it the transaction was made
/// (`sp_runtime::generic::Era`).
fn era(object: &Object<'_>, field: &'static str) -> Result<Option<Encoded>, Invalid> {
    let Some(bytes) = object.hex_bytes(field, 2)? else {
        return Ok(None);
    };
    let matters = match bytes.as_slice() {
        [IMMORTAL] => false,
        [low, high] if *low != IMMORTAL && is_mortal(u16::from_le_bytes([*low, *high])) => true,
        _ => return Err(object.refusal(field, "is neither 0x00 nor the two bytes of a mortal era")),
    };
    Ok(Some(Encoded { bytes, matters }))
}

fn is_mortal(encoded: u16) -> bool {
    let period = 2_u32 << (encoded & 0b1111);
    // Phases of long periods are counted in steps.
    let step = (period >> 12).max(1);
    let phase = u32::from(encoded >> 4).saturating_mul(step);
    period >= 4 && phase < period
}

/// An immortal transaction is signed over the genesis hash in the place of the hash of a block (`CheckMortality` of Substrate).
/// With another one the chain sees a bad signature.
fn immortal(object: &Object<'_>) -> Result<(), Invalid> {
    let [era, block, genesis] = [Part::Era, Part::BlockHash, Part::GenesisHash].map(Part::field);
    let is_immortal = object.hex_bytes(era, 2)?.as_deref() == Some(&[IMMORTAL]);
    if is_immortal && object.hex_hash(block)? != object.hex_hash(genesis)? {
        let fault = "must be the genesisHash, because era is immortal (0x00)";
        return Err(object.refusal(block, fault));
    }
    Ok(())
}

/// The asset that pays the fee, as polkadot.js writes it: encoded as an option, `0x00` for none and `0x01` in front of one.
/// What an asset looks like is up to the chain, so it is taken as it is.
fn asset(object: &Object<'_>, field: &'static str) -> Result<Encoded, Invalid> {
    let bytes = object
        .hex_bytes(field, ASSET_MAX)?
        .unwrap_or_else(|| vec![0]);
    let matters = match bytes.as_slice() {
        [0] => false,
        [1, _, ..] => true,
        _ => {
            let fault = "is not an encoded option: 0x00, or 0x01 and the encoded asset";
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
            .ok_or_else(|| object.refusal(field, "is neither the number 0 nor 1"))?,
    };
    Ok(Encoded {
        bytes: vec![mode],
        matters: mode != 0,
    })
}

/// The chain expects the hash of its metadata in mode 1 and none in mode 0 (RFC 78 of the Fellowship).
fn metadata(object: &Object<'_>) -> Result<(), Invalid> {
    let field = Part::MetadataHash.field();
    let checked = mode(object, Part::Mode.field())?.matters;
    match (checked, object.present(field).is_some()) {
        (true, false) => Err(object.missing(field)),
        (false, true) => Err(object.refusal(field, "goes with mode 1")),
        _ => Ok(()),
    }
}
