//! The fields of an API key that an operator chooses.

use ipnet::IpNet;

use super::restrictions::{self, Allowed, MAX_LISTED, MAX_NETWORKS, Preset, Restrictions};
use super::{ApiKey, ApiKeyKind, Scope, name};
use crate::ids::{UserId, WalletId};
use crate::operation::Operation;
use crate::wallet::WalletType;
use crate::{Invalid, Timestamp};

/// Values for the fields of a new or existing key; an absent one is left as it is.
#[derive(Debug, Clone, Default)]
pub struct KeyFields {
    /// A named set of scopes to start from.
    pub preset: Option<Preset>,
    /// Its name.
    pub name: Option<String>,
    /// Its scopes. Not together with a preset.
    pub scopes: Option<Vec<Scope>>,
    /// See [`Restrictions::expires_at`].
    pub expires_at: Option<Timestamp>,
    /// See [`Restrictions::ip_allow`].
    pub ip_allow: Option<Vec<IpNet>>,
    /// See [`Restrictions::operations`].
    pub operations: Option<Vec<Operation>>,
    /// See [`Restrictions::user_ids`].
    pub user_ids: Option<Vec<UserId>>,
    /// See [`Restrictions::wallet_ids`].
    pub wallet_ids: Option<Vec<WalletId>>,
    /// See [`Restrictions::wallet_types`].
    pub wallet_types: Option<Vec<WalletType>>,
    /// See [`Restrictions::require_session`].
    pub require_session: Option<bool>,
}

/// The names of the fields, as operators write and read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the field of that name")]
pub enum KeyField {
    Name,
    Scopes,
    ExpiresAt,
    IpAllow,
    Operations,
    UserIds,
    WalletIds,
    WalletTypes,
    RequireSession,
}

impl KeyField {
    /// All fields.
    pub const ALL: [Self; 9] = [
        Self::Name,
        Self::Scopes,
        Self::ExpiresAt,
        Self::IpAllow,
        Self::Operations,
        Self::UserIds,
        Self::WalletIds,
        Self::WalletTypes,
        Self::RequireSession,
    ];

    /// The name, such as `expires_at`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Scopes => "scopes",
            Self::ExpiresAt => "expires_at",
            Self::IpAllow => "ip_allow",
            Self::Operations => "operations",
            Self::UserIds => "user_ids",
            Self::WalletIds => "wallet_ids",
            Self::WalletTypes => "wallet_types",
            Self::RequireSession => "require_session",
        }
    }

    fn clear(self, key: &mut ApiKey) {
        let restrictions = &mut key.restrictions;
        match self {
            Self::Name => key.name.clear(),
            Self::Scopes => key.scopes.clear(),
            Self::ExpiresAt => restrictions.expires_at = None,
            Self::IpAllow => restrictions.ip_allow = None,
            Self::Operations => restrictions.operations = None,
            Self::UserIds => restrictions.user_ids = None,
            Self::WalletIds => restrictions.wallet_ids = None,
            Self::WalletTypes => restrictions.wallet_types = None,
            Self::RequireSession => restrictions.require_session = false,
        }
    }

    fn differs(self, a: &ApiKey, b: &ApiKey) -> bool {
        let (old, new) = (&a.restrictions, &b.restrictions);
        match self {
            Self::Name => a.name != b.name,
            Self::Scopes => a.scopes != b.scopes,
            Self::ExpiresAt => old.expires_at != new.expires_at,
            Self::IpAllow => old.ip_allow != new.ip_allow,
            Self::Operations => old.operations != new.operations,
            Self::UserIds => old.user_ids != new.user_ids,
            Self::WalletIds => old.wallet_ids != new.wallet_ids,
            Self::WalletTypes => old.wallet_types != new.wallet_types,
            Self::RequireSession => old.require_session != new.require_session,
        }
    }

    /// The fields in which two keys differ.
    pub fn differences(a: &ApiKey, b: &ApiKey) -> Vec<Self> {
        let all = Self::ALL.into_iter();
        all.filter(|field| field.differs(a, b)).collect()
    }
}

impl std::str::FromStr for KeyField {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|field| field.as_str() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(" ");
            Invalid::unknown("clear", format!("unknown field; valid fields: {known}"))
        })
    }
}

impl KeyFields {
    /// Only scopes; none if the list is empty.
    pub fn scoped(scopes: Vec<Scope>) -> Self {
        Self {
            scopes: Some(scopes).filter(|scopes| !scopes.is_empty()),
            ..Self::default()
        }
    }

    /// Sets the fields of a key, after clearing some of them.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn apply(
        self,
        clear: &[KeyField],
        mut key: ApiKey,
        now: Timestamp,
    ) -> Result<ApiKey, Invalid> {
        for field in clear {
            field.clear(&mut key);
        }
        if let Some(text) = self.name {
            key.name = name(&text)?;
        }
        match (self.preset, self.scopes) {
            (Some(_), Some(_)) => {
                let message = "send either preset or scopes; a preset is a list of scopes";
                return Err(Invalid::value("preset", message));
            }
            (Some(preset), None) => {
                key.scopes = preset.scopes().into();
                key.restrictions.require_session |= preset.require_session();
            }
            (None, Some(scopes)) => key.scopes = listed("scopes", scopes)?,
            (None, None) => {}
        }
        let restrictions = &mut key.restrictions;
        if let Some(at) = self.expires_at {
            restrictions.expires_at = Some(restrictions::expires_at(at, now)?);
        }
        set(
            "ip_allow",
            MAX_NETWORKS,
            self.ip_allow,
            &mut restrictions.ip_allow,
        )?;
        set(
            "operations",
            MAX_LISTED,
            self.operations,
            &mut restrictions.operations,
        )?;
        set(
            "user_ids",
            MAX_LISTED,
            self.user_ids,
            &mut restrictions.user_ids,
        )?;
        set(
            "wallet_ids",
            MAX_LISTED,
            self.wallet_ids,
            &mut restrictions.wallet_ids,
        )?;
        set(
            "wallet_types",
            MAX_LISTED,
            self.wallet_types,
            &mut restrictions.wallet_types,
        )?;
        if let Some(required) = self.require_session {
            restrictions.require_session = required;
        }
        check_kind(&key)?;
        Ok(key)
    }
}

fn listed<T: PartialEq + Clone>(field: &'static str, values: Vec<T>) -> Result<Vec<T>, Invalid> {
    Ok(Allowed::new(field, MAX_LISTED, values)?.values().to_vec())
}

fn set<T: PartialEq>(
    field: &'static str,
    most: usize,
    values: Option<Vec<T>>,
    to: &mut Option<Allowed<T>>,
) -> Result<(), Invalid> {
    if let Some(values) = values {
        *to = Some(Allowed::new(field, most, values)?);
    }
    Ok(())
}

/// A public token only starts sign-ins, so it has no scopes and no restrictions but its expiry.
fn check_kind(key: &ApiKey) -> Result<(), Invalid> {
    if key.kind == ApiKeyKind::Secret {
        return Ok(());
    }
    let plain = ApiKey {
        scopes: Vec::new(),
        restrictions: Restrictions {
            expires_at: key.restrictions.expires_at,
            ..Restrictions::default()
        },
        ..key.clone()
    };
    match KeyField::differences(&plain, key).first() {
        None => Ok(()),
        Some(field) => Err(Invalid::value(
            field.as_str(),
            "a public token can have a name and an expiry only",
        )),
    }
}
