//! The form of a key: its fields as text, and their values.

use std::str::FromStr;

use vestry_domain::api_key::{self, ApiKey, ApiKeyKind, KeyField, KeyFields, Preset};
use vestry_domain::scope::Scope;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Invalid, Timestamp};

use crate::form::Form;

const DAY: i64 = 24 * 60 * 60;
/// The proposed lifetimes, in days.
pub(super) const LIFETIMES: [(&str, &str); 4] = [
    ("30", "In 30 days"),
    ("90", "In 90 days"),
    ("365", "In 1 year"),
    ("never", "Never"),
];
/// Leaves the expiry as it is.
const KEEP: &str = "keep";

/// The fields as text.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyInput {
    pub(super) is_public: bool,
    pub(super) name: String,
    pub(super) preset: String,
    pub(super) scopes: Vec<String>,
    pub(super) expires_in: String,
    pub(super) wallet_types: Vec<String>,
    pub(super) ip_allow: String,
    pub(super) user_ids: String,
    pub(super) wallet_ids: String,
    pub(super) operations: String,
    pub(super) require_session: bool,
}

/// A change of a key.
pub(super) struct Change {
    pub(super) clear: Vec<KeyField>,
    pub(super) set: KeyFields,
}

impl KeyInput {
    /// The proposal for a new key.
    pub(super) fn proposed(is_public: bool) -> Self {
        Self {
            is_public,
            preset: Preset::SignIn.as_str().to_owned(),
            expires_in: if is_public { "never" } else { "90" }.to_owned(),
            ..Self::default()
        }
    }

    /// The fields of an existing key.
    pub(super) fn of(key: &ApiKey) -> Self {
        let of = &key.restrictions;
        let scopes = Scope::ALL.into_iter().filter(|scope| key.allows(*scope));
        let types = of.wallet_types.iter().flat_map(|types| types.values());
        Self {
            is_public: key.kind == ApiKeyKind::Public,
            name: key.name.clone(),
            preset: String::new(),
            scopes: scopes.map(|scope| scope.as_str().to_owned()).collect(),
            expires_in: KEEP.to_owned(),
            wallet_types: types.map(|own| own.as_str().to_owned()).collect(),
            ip_allow: of
                .ip_allow
                .as_ref()
                .map_or_else(String::new, |list| lines(list.values())),
            user_ids: of
                .user_ids
                .as_ref()
                .map_or_else(String::new, |list| lines(list.values())),
            wallet_ids: of
                .wallet_ids
                .as_ref()
                .map_or_else(String::new, |list| lines(list.values())),
            operations: of.operations.as_ref().map_or_else(String::new, |list| {
                let names = list.values().iter().map(|own| own.as_str());
                names.collect::<Vec<_>>().join("\n")
            }),
            require_session: of.require_session,
        }
    }

    pub(super) fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            is_public: form.text("kind") == "public",
            name: text("name"),
            preset: text("preset"),
            scopes: form.all("scopes"),
            expires_in: text("expires_in"),
            wallet_types: form.all("wallet_types"),
            ip_allow: text("ip_allow"),
            user_ids: text("user_ids"),
            wallet_ids: text("wallet_ids"),
            operations: text("operations"),
            require_session: form.text("require_session") == "on",
        }
    }

    pub(super) fn has_scope(&self, scope: &Scope) -> bool {
        self.scopes.iter().any(|own| own == scope.as_str())
    }

    pub(super) fn has_wallet_type(&self, name: &str) -> bool {
        self.wallet_types.iter().any(|own| own == name)
    }

    /// The fields of a new key.
    pub(super) fn parsed(&self, now: Timestamp) -> Result<KeyFields, Invalid> {
        let mut fields = KeyFields {
            name: Some(self.name.clone()),
            expires_at: self.expiry(now)?,
            ..KeyFields::default()
        };
        if self.is_public {
            return Ok(fields);
        }
        match self.preset.as_str() {
            "custom" => {
                let scopes: Vec<Scope> = values("scopes", self.scopes.iter().map(String::as_str))?;
                if scopes.is_empty() {
                    return Err(Invalid::value("scopes", "select at least one scope"));
                }
                fields.scopes = Some(scopes);
            }
            preset => fields.preset = Some(preset.parse()?),
        }
        self.restrict(&mut fields)?;
        Ok(fields)
    }

    /// The change of a key to these values.
    pub(super) fn change(&self, key: &ApiKey, now: Timestamp) -> Result<Change, Invalid> {
        let mut set = KeyFields {
            name: Some(self.name.clone()),
            expires_at: self.expiry(now)?,
            ..KeyFields::default()
        };
        let mut clear = Vec::new();
        if self.expires_in == "never" {
            clear.push(KeyField::ExpiresAt);
        }
        if key.kind == ApiKeyKind::Public {
            return Ok(Change { clear, set });
        }
        let scopes: Vec<Scope> = values("scopes", self.scopes.iter().map(String::as_str))?;
        if scopes.is_empty() {
            let message = "select at least one scope, or revoke the key";
            return Err(Invalid::value("scopes", message));
        }
        // A key without named scopes keeps it that way until one of them is taken away.
        let allowed = Scope::ALL.into_iter().filter(|scope| key.allows(*scope));
        if allowed.ne(Scope::ALL
            .into_iter()
            .filter(|scope| scopes.contains(scope)))
        {
            set.scopes = Some(scopes);
        }
        self.restrict(&mut set)?;
        for (is_empty, field) in [
            (set.ip_allow.is_none(), KeyField::IpAllow),
            (set.operations.is_none(), KeyField::Operations),
            (set.user_ids.is_none(), KeyField::UserIds),
            (set.wallet_ids.is_none(), KeyField::WalletIds),
            (set.wallet_types.is_none(), KeyField::WalletTypes),
            (set.require_session.is_none(), KeyField::RequireSession),
        ] {
            if is_empty {
                clear.push(field);
            }
        }
        Ok(Change { clear, set })
    }

    fn restrict(&self, fields: &mut KeyFields) -> Result<(), Invalid> {
        let networks = self
            .ip_allow
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let networks = networks.map(|(at, line)| {
            api_key::network(line.trim()).map_err(|invalid| on_line(at, invalid))
        });
        fields.ip_allow = some(networks.collect::<Result<_, _>>()?);
        fields.user_ids = some(values("user_ids", self.user_ids.split_whitespace())?);
        fields.wallet_ids = some(values("wallet_ids", self.wallet_ids.split_whitespace())?);
        fields.operations = some(values("operations", self.operations.split_whitespace())?);
        fields.wallet_types = some(values(
            "wallet_types",
            self.wallet_types.iter().map(String::as_str),
        )?);
        fields.require_session = self.require_session.then_some(true);
        Ok(())
    }

    /// The new expiry; `None` to leave it as it is, or for none.
    fn expiry(&self, now: Timestamp) -> Result<Option<Timestamp>, Invalid> {
        match self.expires_in.as_str() {
            KEEP | "never" => Ok(None),
            days => {
                let days = days
                    .parse::<i64>()
                    .ok()
                    .filter(|days| (1..=1826).contains(days));
                let days =
                    days.ok_or_else(|| Invalid::value("expires_in", "select one of the times"))?;
                Ok(Some(now + Seconds(days * DAY)))
            }
        }
    }
}

fn lines<T: ToString>(values: &[T]) -> String {
    let values = values.iter().map(ToString::to_string);
    values.collect::<Vec<_>>().join("\n")
}

fn some<T>(values: Vec<T>) -> Option<Vec<T>> {
    (!values.is_empty()).then_some(values)
}

fn on_line(at: usize, invalid: Invalid) -> Invalid {
    Invalid {
        message: format!("line {}: {}", at + 1, invalid.message).into(),
        ..invalid
    }
}

/// Parses the values of a list. An error names the list and the position.
fn values<'a, T: FromStr<Err = Invalid>>(
    field: &'static str,
    values: impl Iterator<Item = &'a str>,
) -> Result<Vec<T>, Invalid> {
    let values = values.enumerate().map(|(at, value)| {
        value.parse().map_err(|invalid: Invalid| Invalid {
            param: field.into(),
            message: format!("value {}: {}", at + 1, invalid.message).into(),
            ..invalid
        })
    });
    values.collect()
}
