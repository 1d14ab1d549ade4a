//! The sources of settings: the environment overrides the file, and both override the defaults.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use toml::{Table, Value};

use super::credentials;
use super::keys::{self, Key, Kind};
use crate::failure::{Context, Failure};

const PREFIX: &str = "VESTRY_";
/// Variables of the test suite. Developers keep them exported; they configure nothing here.
const TEST_PREFIX: &str = "VESTRY_TEST_";
/// Credentials for clients of the API, such as `vestry listen`. Every command runs in a shell that exports them.
pub(super) const CREDENTIALS: [&str; 3] =
    ["VESTRY_KEY", "VESTRY_MANAGE_KEY", "VESTRY_WEBHOOK_SECRET"];

/// The source of a value, named in every error.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    File(PathBuf),
    Variable(String),
    /// A file that systemd passed to the service.
    Credential(PathBuf),
    Default,
}

/// The suffix after the name of a key.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) | Self::Credential(path) => write!(f, " in {}", path.display()),
            Self::Variable(name) => write!(f, " in {name}"),
            Self::Default => Ok(()),
        }
    }
}

struct Entry {
    /// The value as written in the environment.
    text: String,
    origin: Origin,
}

/// All settings by name, not yet parsed.
pub(super) struct Entries(BTreeMap<&'static str, Entry>);

impl Entries {
    /// Reads the file, if given, and the environment of the process.
    pub(super) fn read(file: Option<&Path>) -> Result<Self, Failure> {
        #[expect(clippy::disallowed_methods, reason = "this is where settings are read")]
        let variables = std::env::vars_os();
        match file {
            None => Self::from_parts(None, variables),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .context(format!("cannot read the settings file {}", path.display()))?;
                Self::from_parts(Some((path, &text)), variables)
            }
        }
    }

    pub(super) fn from_parts(
        file: Option<(&Path, &str)>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, Failure> {
        let mut entries = Self(BTreeMap::new());
        if let Some((path, text)) = file {
            entries.take_file(path, text)?;
        }
        let mut passed = None;
        for (name, value) in variables {
            let Some(name) = name.to_str() else { continue };
            if name == credentials::DIRECTORY {
                passed = Some(PathBuf::from(value));
                continue;
            }
            let is_setting = name.starts_with(PREFIX)
                && !name.starts_with(TEST_PREFIX)
                && !CREDENTIALS.contains(&name);
            if is_setting {
                entries.take_variable(name, &value)?;
            }
        }
        for key in keys::KEYS {
            if let Some(default) = key.default {
                entries.set_default(key.name, default);
            }
        }
        if let Some(directory) = passed {
            entries.take_credentials(&directory)?;
        }
        Ok(entries)
    }

    /// Whether a later reading has another value.
    fn differs(&self, later: &Self, name: &str) -> bool {
        let text = |entries: &Self| entries.0.get(name).map(|entry| entry.text.clone());
        text(self) != text(later)
    }

    /// The settings that have another value in a later reading, in the order of [`keys::KEYS`].
    pub(super) fn changed(&self, later: &Self) -> Vec<&'static str> {
        let names = keys::KEYS.iter().map(|key| key.name);
        names.filter(|name| self.differs(later, name)).collect()
    }

    /// Takes the values of these settings from a later reading.
    pub(super) fn take(&mut self, names: &[&'static str], mut later: Self) {
        for name in names {
            match later.0.remove(name) {
                Some(entry) => drop(self.0.insert(name, entry)),
                None => drop(self.0.remove(name)),
            }
        }
    }

    /// Leaves out settings in the environment, which cannot change while the process runs.
    pub(super) fn without_variables(mut self) -> Self {
        self.0
            .retain(|_, entry| !matches!(entry.origin, Origin::Variable(_)));
        self
    }

    /// Sets what systemd passed to the service, where the file and the environment set nothing.
    fn take_credentials(&mut self, directory: &Path) -> Result<(), Failure> {
        for credential in credentials::read(directory)? {
            let entry = self.0.get(credential.key);
            if entry.is_none_or(|entry| entry.origin == Origin::Default) {
                let entry = Entry {
                    text: credential.text,
                    origin: Origin::Credential(credential.path),
                };
                self.0.insert(credential.key, entry);
            }
        }
        Ok(())
    }

    /// Sets a default. It replaces an earlier default but no configured value.
    pub(super) fn set_default(&mut self, name: &'static str, text: &str) {
        let entry = self.0.get(name);
        if entry.is_none_or(|entry| entry.origin == Origin::Default) {
            let entry = Entry {
                text: text.to_owned(),
                origin: Origin::Default,
            };
            self.0.insert(name, entry);
        }
    }

    fn take_file(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        // The parser's own error quotes the line, which may contain a password. The line number is enough.
        let table: Table = toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(1, |before| before.matches('\n').count() + 1);
            Failure::new(format!(
                "{} is not valid TOML: line {line}: {}",
                path.display(),
                error.message()
            ))
        })?;
        self.take_table(path, "", table)
    }

    fn take_table(&mut self, path: &Path, above: &str, table: Table) -> Result<(), Failure> {
        for (name, value) in table {
            let name = format!("{above}{name}");
            let origin = Origin::File(path.to_owned());
            match (keys::find(&name), value) {
                (None, Value::Table(below)) if is_section(&name) => {
                    self.take_table(path, &format!("{name}."), below)?;
                }
                (None, _) => return Err(unknown(&name, &origin)),
                (Some(key), _) if key.environment_only => {
                    return Err(Failure::new(format!(
                        "{name}{origin}: can be set only in the environment, as {}",
                        variable_of(key)
                    )));
                }
                (Some(key), value) => {
                    let text = text_of(key, value).ok_or_else(|| {
                        Failure::new(format!("{name}{origin}: must be {}", shape(key.kind)))
                    })?;
                    self.0.insert(key.name, Entry { text, origin });
                }
            }
        }
        Ok(())
    }

    fn take_variable(&mut self, variable: &str, value: &OsString) -> Result<(), Failure> {
        let origin = Origin::Variable(variable.to_owned());
        let name = variable
            .strip_prefix(PREFIX)
            .unwrap_or_default()
            .to_lowercase()
            .replace("__", ".");
        let key = keys::find(&name).ok_or_else(|| unknown(&name, &origin))?;
        let text = value
            .to_str()
            .ok_or_else(|| Failure::new(format!("{name}{origin}: must be UTF-8")))?
            .to_owned();
        // Shells and compose files unset a variable by making it empty.
        if !text.is_empty() {
            self.0.insert(key.name, Entry { text, origin });
        }
        Ok(())
    }

    /// An error about a value, naming its key and source but not the value itself.
    pub(super) fn refuse(&self, name: &str, why: &str) -> Failure {
        let origin = self
            .0
            .get(name)
            .map_or(&Origin::Default, |entry| &entry.origin);
        Failure::new(format!("{name}{origin}: {why}"))
    }

    fn get(&self, name: &'static str) -> Option<&str> {
        self.0.get(name).map(|entry| entry.text.as_str())
    }

    /// A string, if set.
    pub(super) fn text(&self, name: &'static str) -> Result<Option<String>, Failure> {
        match self.get(name) {
            Some("") => Err(self.refuse(name, "must not be empty")),
            other => Ok(other.map(str::to_owned)),
        }
    }

    /// Whether a setting is `off` or empty. A variable of the environment that is empty is not set.
    pub(super) fn is_off(&self, name: &'static str) -> bool {
        matches!(self.get(name), Some("off" | ""))
    }

    /// Whether a setting has its default.
    pub(super) fn is_default(&self, name: &'static str) -> bool {
        let entry = self.0.get(name);
        entry.is_some_and(|entry| entry.origin == Origin::Default)
    }

    /// A required string.
    pub(super) fn required_text(&self, name: &'static str) -> Result<String, Failure> {
        let variable = keys::find(name).map(variable_of).unwrap_or_default();
        self.text(name)?.ok_or_else(|| {
            Failure::new(format!(
                "{name} is not set; set it in vestry.toml or {variable}"
            ))
        })
    }

    /// `true` or `false`.
    pub(super) fn switch(&self, name: &'static str) -> Result<bool, Failure> {
        self.parsed(name, "must be true or false")
    }

    /// A whole number within bounds.
    pub(super) fn number<N>(
        &self,
        name: &'static str,
        bounds: RangeInclusive<N>,
    ) -> Result<N, Failure>
    where
        N: FromStr + PartialOrd + fmt::Display,
    {
        let why = format!(
            "must be a whole number from {} to {}",
            bounds.start(),
            bounds.end()
        );
        let number = self.parsed(name, &why)?;
        if bounds.contains(&number) {
            Ok(number)
        } else {
            Err(self.refuse(name, &why))
        }
    }

    /// A duration in whole seconds.
    pub(super) fn seconds(
        &self,
        name: &'static str,
        bounds: RangeInclusive<u64>,
    ) -> Result<Duration, Failure> {
        self.number(name, bounds).map(Duration::from_secs)
    }

    /// A value of any type; `why` describes a valid one.
    pub(super) fn parsed<T: FromStr>(&self, name: &'static str, why: &str) -> Result<T, Failure> {
        self.get(name)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| self.refuse(name, why))
    }

    /// One of several words.
    pub(super) fn one_of<T: Copy>(
        &self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Result<T, Failure> {
        let text = self.get(name).unwrap_or_default();
        let chosen = choices.iter().find(|(word, _)| *word == text);
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let words: Vec<String> = choices
                .iter()
                .map(|(word, _)| format!("{word:?}"))
                .collect();
            let words = match words.split_last() {
                Some((last, others)) if !others.is_empty() => {
                    format!("{} or {last}", others.join(", "))
                }
                _ => words.concat(),
            };
            self.refuse(name, &format!("must be {words}"))
        })
    }

    /// A list of values.
    pub(super) fn list<T: FromStr>(
        &self,
        name: &'static str,
        why: &str,
    ) -> Result<Vec<T>, Failure> {
        let text = self.get(name).unwrap_or_default();
        text.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| item.parse().ok())
            .collect::<Option<Vec<T>>>()
            .ok_or_else(|| self.refuse(name, why))
    }
}

/// The environment variable of a key.
fn variable_of(key: &Key) -> String {
    format!("{PREFIX}{}", key.name.to_uppercase().replace('.', "__"))
}

fn is_section(name: &str) -> bool {
    let start = format!("{name}.");
    keys::KEYS.iter().any(|key| key.name.starts_with(&start))
}

fn unknown(name: &str, origin: &Origin) -> Failure {
    let hint = keys::nearest(name).map_or_else(String::new, |known| {
        match origin {
            Origin::Variable(_) => keys::find(known).map(variable_of),
            Origin::File(_) | Origin::Credential(_) | Origin::Default => Some(known.to_owned()),
        }
        .map_or_else(String::new, |known| format!("; did you mean {known}?"))
    });
    Failure::new(format!("unknown setting {name}{origin}{hint}"))
}

const fn shape(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "a quoted string",
        Kind::Number => "a whole number without quotes",
        Kind::Switch => "true or false without quotes",
        Kind::List => "a list of strings, such as [\"a\", \"b\"]",
    }
}

/// The value as written in the environment, if it has the right type.
fn text_of(key: &Key, value: Value) -> Option<String> {
    match (key.kind, value) {
        (Kind::Text, Value::String(text)) => Some(text),
        (Kind::Number, Value::Integer(number)) => Some(number.to_string()),
        (Kind::Switch, Value::Boolean(switch)) => Some(switch.to_string()),
        (Kind::List, Value::Array(items)) => {
            let texts = items
                .iter()
                .map(Value::as_str)
                .collect::<Option<Vec<_>>>()?;
            Some(texts.join(","))
        }
        (Kind::Text | Kind::Number | Kind::Switch | Kind::List, _) => None,
    }
}
