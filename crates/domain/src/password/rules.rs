//! Rules for new passwords: long enough, and not among the first guesses (P-1, P-2, P-8).
//!
//! There are no rules about character classes, no expiry and no hints (P-2).

use std::collections::HashSet;
use std::sync::LazyLock;

use super::Password;
use crate::Invalid;

/// Common passwords, in lower case.
static COMMON: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("common.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect()
});
/// Minimum length of a word; shorter ones are not specific to anyone.
const SHORTEST_WORD: usize = 3;
/// Maximum length in bytes of a repeated piece.
const MAX_PIECE: usize = 64;

/// The rules for a new password.
#[derive(Default)]
pub struct Rules {
    /// Minimum length in code points.
    pub least: usize,
    /// Words related to the App or the user, as written: names, the part of an address before the `@`.
    pub words: Vec<String>,
}

impl Rules {
    /// Checks a new password as a whole, ignoring case.
    ///
    /// # Errors
    /// If it is too short, common, a repeated piece, or one of the words. The message says which, and never repeats the password.
    pub fn check(&self, param: &'static str, password: &Password) -> Result<(), Invalid> {
        let refuse = |why: String| Err(Invalid::value(param, why));
        let least = self.least;
        if password.length() < least {
            return refuse(format!("{param} must have at least {least} characters"));
        }
        let text = password.normalized.expose().to_lowercase();
        let text = zeroize::Zeroizing::new(text);
        if COMMON.contains(text.as_str()) {
            return refuse(format!(
                "{param} is one of the most common passwords; choose a different one, such as four random words"
            ));
        }
        if let Some(piece) = repeated_piece(&text)
            && (piece.chars().count() < least || COMMON.contains(piece))
        {
            return refuse(format!(
                "{param} repeats one short piece, which is easy to guess; choose a different one, such as four random words"
            ));
        }
        if self.words.iter().any(|word| is_made_of(&text, word)) {
            return refuse(format!(
                "{param} is a name from the account or the App, which is easy to guess; choose a different one, such as four random words"
            ));
        }
        Ok(())
    }
}

/// The shortest piece that makes up the text when repeated twice or more.
fn repeated_piece(text: &str) -> Option<&str> {
    let longest = (text.len() / 2).min(MAX_PIECE);
    (1..=longest)
        .filter(|length| text.len().is_multiple_of(*length))
        .filter_map(|length| text.get(..length))
        .find(|piece| {
            text.as_bytes()
                .chunks(piece.len())
                .all(|chunk| chunk == piece.as_bytes())
        })
}

/// Whether the text is the word surrounded by nothing but digits and symbols.
fn is_made_of(text: &str, word: &str) -> bool {
    let word = letters(word);
    word.chars().count() >= SHORTEST_WORD
        && text
            .trim_matches(|c: char| !c.is_alphabetic())
            .chars()
            .filter(|c| c.is_alphanumeric())
            .eq(word.chars())
}

/// A word in lower case, without spaces, symbols and anything around its letters.
fn letters(word: &str) -> String {
    let small = word.to_lowercase();
    small
        .trim_matches(|c: char| !c.is_alphabetic())
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect()
}
