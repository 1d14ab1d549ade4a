//! Checks whether a text reveals something.

/// Whether the text contains this word on its own, not as part of a longer word or of a fraction of a second.
#[must_use]
pub fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let before = before.chars().next_back();
        let after = rest.chars().nth(word.chars().count());
        let is_inside = |letter: char| letter.is_alphanumeric() || letter == '.';
        !before.is_some_and(is_inside) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// Whether the text contains the secret.
///
/// A six-digit code counts only as a separate word, because the fraction of a second may have the same digits.
#[must_use]
pub fn reveals(text: &str, secret: &str) -> bool {
    let is_code = secret.len() == 6 && secret.bytes().all(|letter| letter.is_ascii_digit());
    match is_code {
        true => has_word(text, secret),
        false => text.contains(secret),
    }
}
