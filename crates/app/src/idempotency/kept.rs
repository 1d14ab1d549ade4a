//! An answer as it is kept: with what it rests on, in one sealed piece, so that nobody who writes the database parts them.

use vestry_domain::Secret;

use crate::condition::Condition;

/// Ends the conditions, each of which has a line.
const END: &[u8] = b"\n\n";

/// An answer, and what let its call pass.
pub(super) struct Kept {
    pub(super) conditions: Vec<Condition>,
    pub(super) answer: Secret<Vec<u8>>,
}

/// The bytes that are sealed.
pub(super) fn written(conditions: &[Condition], answer: &[u8]) -> Secret<Vec<u8>> {
    let conditions: Vec<String> = conditions.iter().map(Condition::written).collect();
    Secret::new([conditions.join("\n").as_bytes(), END, answer].concat())
}

/// Reads what [`written`] wrote; `None` for anything else.
pub(super) fn read(bytes: &[u8]) -> Option<Kept> {
    let end = bytes.windows(END.len()).position(|window| window == END)?;
    let (conditions, rest) = bytes.split_at_checked(end)?;
    let conditions = str::from_utf8(conditions).ok()?;
    let conditions = conditions.lines().map(Condition::parse);
    Some(Kept {
        conditions: conditions.collect::<Option<_>>()?,
        answer: Secret::new(rest.get(END.len()..)?.to_vec()),
    })
}

#[cfg(test)]
mod tests;
