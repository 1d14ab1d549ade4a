//! `{psbt, encoding, sign_inputs, finalize}`: the fields of a PSBT request.

use std::collections::BTreeMap;

use alloy_primitives::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use vestry_domain::{Invalid, number};

use super::sighash::Sighash;
use crate::hex_digits::after_prefix;
use crate::object::Object;

/// The maximum size of a PSBT in bytes: ten times the largest transaction that nodes relay (100,000 bytes without witnesses), because it
/// also holds the transactions whose outputs are spent.
const MAX_PSBT: usize = 1024 * 1024;
/// The maximum number of entries in `sign_inputs`. An input has at least 41 bytes, so no transaction of 100,000 bytes has more.
const MAX_LISTED: usize = 2500;

/// The text encoding of a PSBT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Base64,
    Hex,
}

/// An input that the caller wants to be signed.
pub(super) struct Listed {
    /// Its index in `sign_inputs`, for error messages.
    pub(super) place: usize,
    /// The signature hash type that the caller agrees to.
    pub(super) sighash: Option<Sighash>,
}

pub(super) struct Request {
    pub(super) psbt: Vec<u8>,
    pub(super) encoding: Encoding,
    /// Requested inputs by index; if absent, every input of the wallet is signed.
    pub(super) sign_inputs: Option<BTreeMap<usize, Listed>>,
    pub(super) finalize: bool,
}

impl Encoding {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Hex => "hex",
        }
    }

    pub(super) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Base64 => STANDARD.encode(bytes),
            Self::Hex => hex::encode(bytes),
        }
    }
}

impl Request {
    pub(super) fn read(object: &Object<'_>) -> Result<Self, Invalid> {
        object.only(&["psbt", "encoding", "sign_inputs", "finalize"])?;
        let encoding = match object.optional_text("encoding")? {
            None | Some("base64") => Encoding::Base64,
            Some("hex") => Encoding::Hex,
            Some(_) => {
                return Err(object.refusal("encoding", "must be base64 or hex"));
            }
        };
        Ok(Self {
            psbt: decode(object.text("psbt")?, encoding, &object.path("psbt"))?,
            encoding,
            sign_inputs: sign_inputs(object)?,
            finalize: object.flag("finalize")?,
        })
    }
}

fn decode(text: &str, encoding: Encoding, path: &str) -> Result<Vec<u8>, Invalid> {
    let refuse = |what: &str| Invalid::value(path.to_owned(), format!("{path} {what}"));
    let too_long = || refuse("is longer than 1 MiB");
    // Checked before the text is decoded. Base64 has four characters for three bytes.
    let characters_max = match encoding {
        Encoding::Base64 => MAX_PSBT.div_ceil(3).saturating_mul(4),
        Encoding::Hex => "0x".len() + MAX_PSBT.saturating_mul(2),
    };
    if text.len() > characters_max {
        return Err(too_long());
    }
    let bytes = match encoding {
        Encoding::Base64 => STANDARD
            .decode(text)
            .map_err(|_malformed| refuse("is not standard base64 with padding"))?,
        Encoding::Hex => after_prefix(text)
            .and_then(|digits| hex::decode(digits).ok())
            .ok_or_else(|| refuse("is not hex: an even number of the digits 0-9 a-f"))?,
    };
    if bytes.len() > MAX_PSBT {
        return Err(too_long());
    }
    Ok(bytes)
}

fn sign_inputs(object: &Object<'_>) -> Result<Option<BTreeMap<usize, Listed>>, Invalid> {
    const FIELD: &str = "sign_inputs";
    let Some(value) = object.present(FIELD) else {
        return Ok(None);
    };
    let entries = value
        .as_array()
        .ok_or_else(|| object.refusal(FIELD, "must be a list of objects with an `index`"))?;
    if entries.is_empty() || entries.len() > MAX_LISTED {
        let rule = format!("must have 1 to {MAX_LISTED} entries");
        return Err(object.refusal(FIELD, &rule));
    }
    let path = object.path(FIELD);
    let mut listed = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let path = format!("{path}[{place}]");
        let (index, sighash) = listed_input(entry, &path)?;
        if listed.insert(index, Listed { place, sighash }).is_some() {
            let path = format!("{path}.index");
            let message = format!("{path} is listed twice");
            return Err(Invalid::value(path, message));
        }
    }
    Ok(Some(listed))
}

fn listed_input(entry: &Value, path: &str) -> Result<(usize, Option<Sighash>), Invalid> {
    let object = Object::in_field(entry, path)?;
    object.only(&["index", "sighash"])?;
    let index = object
        .present("index")
        .ok_or_else(|| object.missing("index"))?;
    let index = number::natural(index)
        .and_then(|index| usize::try_from(index).ok())
        .ok_or_else(|| object.refusal("index", "must be an input index, from 0"))?;
    let sighash = object
        .present("sighash")
        .map(|value| {
            Sighash::of_json(value).ok_or_else(|| {
                object.refusal(
                    "sighash",
                    "must be DEFAULT, ALL, NONE or SINGLE (the last three optionally with |ANYONECANPAY), or the type's number",
                )
            })
        })
        .transpose()?;
    Ok((index, sighash))
}
