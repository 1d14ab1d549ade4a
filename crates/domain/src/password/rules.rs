//! Which passwords may be set: long enough, and nothing that is tried first (P-1, P-2, P-8).
//!
//! There are no rules about kinds of characters, no expiry and no hints (P-2).

use std::collections::HashSet;
use std::sync::LazyLock;

use super::Password;
use crate::Invalid;

/// Passwords that many people have, in small letters.
static COMMON: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("common.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect()
});
/// A word of fewer letters than this says nothing about whose it is.
const SHORTEST_WORD: usize = 3;
/// Longest piece, in bytes, that is looked for in a repetition.
const LONGEST_PIECE: usize = 64;

/// What a new password is held against.
#[derive(Default)]
pub struct Rules {
    /// Least length in code points.
    pub least: usize,
    /// Words that belong to the App or the user, as they are written: names, the part of an address before the `@`.
    pub words: Vec<String>,
}

impl Rules {
    /// Checks a password that shall be set. Compared is the whole password, whatever its letters' case.
    ///
    /// # Errors
    /// Too short, common, one piece over and over, or one of the words. The message says which, and never repeats it.
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
                "{param} is one of the passwords that are used most and tried first; choose another one, such as four random words"
            ));
        }
        if let Some(piece) = repeated_piece(&text)
            && (piece.chars().count() < least || COMMON.contains(piece))
        {
            return refuse(format!(
                "{param} repeats one short piece over and over, which is tried early; choose another one, such as four random words"
            ));
        }
        if self.words.iter().any(|word| is_made_of(&text, word)) {
            return refuse(format!(
                "{param} is a name that belongs to the account or the App, which is tried first; choose another one, such as four random words"
            ));
        }
        Ok(())
    }
}

/// The shortest piece out of which the text is made by repeating it twice or more.
fn repeated_piece(text: &str) -> Option<&str> {
    let longest = (text.len() / 2).min(LONGEST_PIECE);
    (1..=longest)
        .filter(|length| text.len().is_multiple_of(*length))
        .filter_map(|length| text.get(..length))
        .find(|piece| {
            text.as_bytes()
                .chunks(piece.len())
                .all(|chunk| chunk == piece.as_bytes())
        })
}

/// Whether the text is the word, with nothing but digits and signs around it.
fn is_made_of(text: &str, word: &str) -> bool {
    let word = letters(word);
    word.chars().count() >= SHORTEST_WORD
        && text
            .trim_matches(|c: char| !c.is_alphabetic())
            .chars()
            .filter(|c| c.is_alphanumeric())
            .eq(word.chars())
}

/// A word in small letters, without blanks, signs, and what stands around its letters.
fn letters(word: &str) -> String {
    let small = word.to_lowercase();
    small
        .trim_matches(|c: char| !c.is_alphabetic())
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect()
}
