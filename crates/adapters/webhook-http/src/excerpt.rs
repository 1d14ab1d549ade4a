//! What of a body is kept, for people to read.

/// Most bytes that are kept.
const LONGEST: usize = 1024;

/// The beginning of a body, cut between two characters; `None` where there is nothing, or something else than text. What comes
/// after the beginning is not looked at.
pub(crate) fn excerpt(body: &[u8]) -> Option<String> {
    let beginning = body.get(..LONGEST).unwrap_or(body);
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => text,
        // Our own cut went through a character.
        Err(error) if error.error_len().is_none() && beginning.len() < body.len() => {
            std::str::from_utf8(beginning.get(..error.valid_up_to())?).ok()?
        }
        Err(_binary) => return None,
    };
    let is_text = !text.is_empty() && !text.chars().any(is_unreadable);
    is_text.then(|| text.to_owned())
}

fn is_unreadable(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\r' | '\t')
}

#[cfg(test)]
mod tests;
