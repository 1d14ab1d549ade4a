//! Former spellings of commands, still accepted from scripts. No help text mentions them.

use std::ffi::OsString;

/// The groups that once took the App and the environment as `--app` and `--environment`. Both are now positional, as everywhere else.
const GROUPS: [&str; 2] = ["users", "provider"];

/// Returns the command line in its current spelling; `None` if it does not use the former one.
pub(super) fn respelled(words: &[OsString]) -> Option<Vec<OsString>> {
    let group = words
        .iter()
        .position(|word| GROUPS.iter().any(|group| word == group))?;
    let mut words = words.to_vec();
    let arguments = words.split_off(words.len().min(group + 2));
    let (mut first, mut rest) = (Vec::new(), arguments);
    for option in ["--app", "--environment"] {
        first.extend(take(&mut rest, option));
    }
    let was_spelled_so = !first.is_empty();
    words.append(&mut first);
    words.append(&mut rest);
    was_spelled_so.then_some(words)
}

/// Takes an option out, written `--app X` or `--app=X`.
fn take(words: &mut Vec<OsString>, option: &str) -> Option<OsString> {
    let value_of = |word: &OsString| {
        let value = word.to_str()?.strip_prefix(option)?;
        value.strip_prefix('=').map(OsString::from)
    };
    let at = words
        .iter()
        .position(|word| word == option || value_of(word).is_some())?;
    let word = words.remove(at);
    value_of(&word).or_else(|| (at < words.len()).then(|| words.remove(at)))
}
