//! Errors shared by several chains.

use vestry_domain::Invalid;
use vestry_domain::signing::MessageRequest;

/// The error for an unknown member of a transaction object.
pub(crate) fn unknown(path: String, known: &[&str]) -> Invalid {
    let message = format!(
        "{path} is not a known member; known members: {}",
        known.join(", ")
    );
    Invalid::unknown(path, message)
}

/// Rejects `format`, for chains with a single message standard.
pub(crate) fn formats(request: &MessageRequest) -> Result<(), Invalid> {
    match request.format {
        None => Ok(()),
        Some(_) => Err(Invalid::value(
            "format",
            "format is only supported for bitcoin wallets",
        )),
    }
}
