//! Plain text fields: lengths and the characters that no store or mail header can take.

use unicode_normalization::UnicodeNormalization;

use crate::Invalid;

/// Most characters of a name.
pub const NAME_MAX: usize = 255;

/// Refuses NUL, which Postgres cannot store and which cuts strings in C code downstream.
///
/// # Errors
/// The text contains U+0000.
pub fn no_nul(param: &'static str, text: &str) -> Result<(), Invalid> {
    if text.contains('\0') {
        return Err(Invalid::value(
            param,
            format!("{param} must not contain the NUL character"),
        ));
    }
    Ok(())
}

/// A person's name part: at most 255 characters, no control characters.
///
/// # Errors
/// Too long, or a control character (line ends included: names are put into mail headers).
pub fn name(param: &'static str, text: &str) -> Result<String, Invalid> {
    no_nul(param, text)?;
    if text.chars().any(char::is_control) {
        return Err(Invalid::value(
            param,
            format!("{param} must not contain control characters"),
        ));
    }
    if text.chars().count() > NAME_MAX {
        return Err(Invalid::value(
            param,
            format!("{param} must have at most {NAME_MAX} characters"),
        ));
    }
    Ok(text.to_owned())
}

/// Small letters in NFC: the form in which local parts of addresses are compared, and parts of addresses are searched for.
///
/// Lower-casing can leave a letter and a mark that have a composed form, such as `J` with a caron, and so it comes between two
/// normalizations. Letters are mapped one by one. The only one that has no simple mapping in `char::to_lowercase` is U+0130.
pub fn lower(text: &str) -> String {
    text.nfc().flat_map(char::to_lowercase).nfc().collect()
}

/// The form in which names of people are searched for: NFKC and case folding, repeated until nothing changes, because folding can undo a
/// normalization and the reverse.
/// In practice two rounds are enough; the bound only makes the end visible.
pub fn fold(text: &str) -> String {
    let mut current = text.to_owned();
    for _ in 0..8 {
        let next: String = caseless::default_case_fold_str(&current.nfkc().collect::<String>())
            .nfkc()
            .collect();
        if next == current {
            break;
        }
        current = next;
    }
    current
}
