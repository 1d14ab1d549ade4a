//! Refusals that several chains share.

use vestry_domain::Invalid;
use vestry_domain::signing::MessageRequest;

/// The refusal of a member that a transaction object does not have.
pub(crate) fn unknown(path: String, known: &[&str]) -> Invalid {
    let message = format!(
        "{path} is not a known member; known members: {}",
        known.join(", ")
    );
    Invalid::unknown(path, message)
}

/// For chains with one standard for messages.
pub(crate) fn formats(request: &MessageRequest) -> Result<(), Invalid> {
    match request.format {
        None => Ok(()),
        Some(_) => Err(Invalid::value(
            "format",
            "format goes with wallets of type bitcoin only",
        )),
    }
}
