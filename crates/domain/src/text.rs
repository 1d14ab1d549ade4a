//! Plain text fields: their lengths, and the characters that stores or mail headers cannot hold.

use unicode_normalization::UnicodeNormalization;

use crate::Invalid;

/// Maximum length of a name in characters.
pub const MAX_NAME: usize = 255;

/// Rejects NUL, which Postgres cannot store and which truncates strings in C code downstream.
///
/// # Errors
/// If the text contains U+0000.
pub fn no_nul(param: &'static str, text: &str) -> Result<(), Invalid> {
    if text.contains('\0') {
        return Err(Invalid::value(
            param,
            format!("{param} must not contain the NUL character"),
        ));
    }
    Ok(())
}

/// Checks a part of a person's name: at most 255 characters, no control characters.
///
/// # Errors
/// If it is too long or contains a control character (including line breaks, because names are used in mail headers).
pub fn name(param: &'static str, text: &str) -> Result<String, Invalid> {
    no_nul(param, text)?;
    if text.chars().any(char::is_control) {
        return Err(Invalid::value(
            param,
            format!("{param} must not contain control characters"),
        ));
    }
    if text.chars().count() > MAX_NAME {
        return Err(Invalid::value(
            param,
            format!("{param} must have at most {MAX_NAME} characters"),
        ));
    }
    Ok(text.to_owned())
}

/// Converts to lower case in NFC: the form in which local parts of addresses are compared, and parts of addresses are searched.
///
/// Lower-casing can leave a letter and a mark that have a composed form, such as `J` with a caron. It is therefore done between two
/// normalizations. Letters are mapped one by one. The only one without a simple mapping in `char::to_lowercase` is U+0130.
pub fn lower(text: &str) -> String {
    text.nfc().flat_map(char::to_lowercase).nfc().collect()
}

/// Converts a name to its search form: NFKC and case folding, repeated until nothing changes, because folding can undo a normalization and
/// vice versa.
///
/// Two rounds are enough in practice; the bound makes termination obvious.
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
