//! The excerpt of a response body that is stored for people to read.

/// Maximum number of bytes that are stored.
const MAX_LENGTH: usize = 1024;

/// Returns the beginning of a body, cut between two characters; `None` if it is empty or not text. Anything after the beginning is ignored.
pub(crate) fn excerpt(body: &[u8]) -> Option<String> {
    let beginning = body.get(..MAX_LENGTH).unwrap_or(body);
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => text,
        // The cut split a character.
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
