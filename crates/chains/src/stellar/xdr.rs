//! XDR (RFC 4506) in requests.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use stellar_xdr::{Limits, ReadXdr, WriteXdr};

/// The maximum size in bytes. The public network accepts transactions of 129 KiB (`tx_max_size_bytes`, set by validator vote); as base64
/// this fills a request of 256 KiB.
const MAX_XDR: usize = 192 * 1024;
/// The maximum nesting depth, as in the network's own reader of contract values. Recursion uses stack for each level.
const MAX_DEPTH: u32 = 500;

/// Reads base64 of XDR without trailing data. The value must re-encode to the same bytes, so padding must be zeros.
///
/// # Errors
/// What is wrong, to be put after the name of the field.
pub(super) fn read<T: ReadXdr + WriteXdr>(text: &str, what: &str) -> Result<T, String> {
    if text.len() > MAX_XDR.div_ceil(3).saturating_mul(4) {
        return Err(format!("must be at most {MAX_XDR} bytes of XDR"));
    }
    let bytes = STANDARD
        .decode(text)
        .map_err(|_malformed| "must be standard base64 with padding".to_owned())?;
    let malformed = || format!("must be the XDR of {what}, complete and with nothing after it");
    let value = T::from_xdr(&bytes, limits()).map_err(|_malformed| malformed())?;
    match value.to_xdr(limits()) {
        Ok(written) if written == bytes => Ok(value),
        _ => Err(malformed()),
    }
}

/// The XDR of a value read here, in base64; `None` if it exceeds the limits.
pub(super) fn write<T: WriteXdr>(value: &T) -> Option<String> {
    let bytes = value.to_xdr(limits()).ok()?;
    Some(STANDARD.encode(bytes))
}

/// SHA-256 of the XDR of a value read here.
pub(super) fn hash<T: WriteXdr>(value: &T) -> Option<[u8; 32]> {
    let bytes = value.to_xdr(limits()).ok()?;
    Some(Sha256::digest(bytes).into())
}

/// Limits with room for the added signature.
const fn limits() -> Limits {
    Limits {
        depth: MAX_DEPTH,
        len: MAX_XDR + 1024,
    }
}
