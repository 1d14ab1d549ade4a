//! Refusals that several chains share.

use vestry_domain::Invalid;
use vestry_domain::signing::MessageRequest;

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
