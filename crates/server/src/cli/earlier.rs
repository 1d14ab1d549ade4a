//! How commands were spelled before, for the scripts that still do. No help shows it.

use std::ffi::OsString;

/// The groups that once took the App and the environment by `--app` and `--environment`. Now they stand behind the command, as
/// everywhere else.
const GROUPS: [&str; 2] = ["users", "provider"];

/// The same command line as it is spelled now; `None` when it is not spelled as before.
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
