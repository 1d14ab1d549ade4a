//! Storage format of a response: the response and its preconditions are encrypted together, so they cannot be separated in the database.

use serde_json::Value;
use vestry_domain::Secret;
use vestry_domain::ids::UserId;

use crate::kernel::replay_guard::ReplayGuard;

/// Terminator of the conditions, which are one per line.
const END: &[u8] = b"\n\n";

/// A stored response and the preconditions of its call.
pub(super) struct StoredResponse {
    pub(super) conditions: Vec<ReplayGuard>,
    pub(super) answer: Secret<Vec<u8>>,
}

/// Returns the bytes to encrypt.
pub(super) fn written(conditions: &[ReplayGuard], answer: &[u8]) -> Secret<Vec<u8>> {
    let conditions: Vec<String> = conditions.iter().map(ReplayGuard::written).collect();
    Secret::new([conditions.join("\n").as_bytes(), END, answer].concat())
}

/// Parses the output of [`written`]; `None` for anything else.
pub(super) fn read(bytes: &[u8]) -> Option<StoredResponse> {
    let end = bytes.windows(END.len()).position(|window| window == END)?;
    let (conditions, rest) = bytes.split_at_checked(end)?;
    let conditions = str::from_utf8(conditions).ok()?;
    let conditions = conditions.lines().map(ReplayGuard::parse);
    Some(StoredResponse {
        conditions: conditions.collect::<Option<_>>()?,
        answer: Secret::new(rest.get(END.len()..)?.to_vec()),
    })
}

/// Returns the user that a successful response names, directly or as the owner of its session or wallet.
pub(super) fn user_of(answer: &[u8]) -> Option<UserId> {
    let start = answer.iter().position(|byte| *byte == b'{')?;
    let body: Value = serde_json::from_slice(answer.get(start..)?).ok()?;
    let places = [
        "/user_id",
        "/session/user_id",
        "/user/user_id",
        "/wallet/user_id",
    ];
    let mut named = places
        .iter()
        .filter_map(|place| body.pointer(place)?.as_str());
    named.find_map(|id| id.parse().ok())
}

#[cfg(test)]
mod tests;
