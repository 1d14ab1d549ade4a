//! Restrictions of an API key: what a key cannot do although its scopes allow it.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::Scope;
use crate::ids::{UserId, WalletId};
use crate::management_scope::ManagementScope;
use crate::operation::Operation;
use crate::timestamp::Seconds;
use crate::wallet::WalletType;
use crate::{Environment, Invalid, Timestamp};

/// Maximum number of networks in `ip_allow`.
pub const MAX_NETWORKS: usize = 50;
/// Maximum length of every other list.
pub const MAX_LISTED: usize = 100;
/// How far ahead a key can expire: five years.
pub const MAX_LIFETIME: Seconds = Seconds(5 * 366 * 24 * 60 * 60);

/// A list of allowed values, in the order given and without duplicates. Never empty: an empty list could be mistaken for no restriction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Allowed<T>(Vec<T>);

impl<T: PartialEq> Allowed<T> {
    /// Creates a list.
    ///
    /// # Errors
    /// [`Invalid`] naming the field, if the list is empty or longer than `most`.
    pub fn new(field: &'static str, most: usize, values: Vec<T>) -> Result<Self, Invalid> {
        if values.is_empty() || values.len() > most {
            return Err(Invalid::value(
                field,
                format!("{field} must list 1 to {most} values; leave it out for no restriction"),
            ));
        }
        Ok(Self(without_duplicates(values)))
    }

    /// Whether the value is in the list.
    pub fn contains(&self, value: &T) -> bool {
        self.0.contains(value)
    }

    /// The values, in the order given.
    pub fn values(&self) -> &[T] {
        &self.0
    }
}

fn without_duplicates<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut unique = Vec::with_capacity(values.len());
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

/// Refuses an empty list, which no build has written.
impl<'de, T: Deserialize<'de> + PartialEq> Deserialize<'de> for Allowed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = Vec::<T>::deserialize(deserializer)?;
        if values.is_empty() {
            return Err(D::Error::custom("an empty list"));
        }
        Ok(Self(values))
    }
}

/// The restrictions of a key; all of them must be met. The default has none.
///
/// The stored form is JSON. A name or value that this build does not know is an error, so that a key never gains rights by it (RK-10).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restrictions {
    /// When the key expires.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub expires_at: Option<Timestamp>,
    /// Networks of the client address, 1 to [`MAX_NETWORKS`].
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub ip_allow: Option<Allowed<IpNet>>,
    /// Operations, 1 to [`MAX_LISTED`].
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub operations: Option<Allowed<Operation>>,
    /// Users, 1 to [`MAX_LISTED`].
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub user_ids: Option<Allowed<UserId>>,
    /// Wallets, 1 to [`MAX_LISTED`].
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub wallet_ids: Option<Allowed<WalletId>>,
    /// Wallet types.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub wallet_types: Option<Allowed<WalletType>>,
    /// Whether signing and exporting need a live session of the wallet's owner.
    #[serde(default, skip_serializing_if = "is_false")]
    pub require_session: bool,
}

/// Reads a value that is present: `null` is none.
pub(crate) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Restrictions {
    /// Whether they allow nothing that others do not.
    pub fn are_within(&self, before: &Self) -> bool {
        fn listed<T: PartialEq>(after: Option<&Allowed<T>>, before: Option<&Allowed<T>>) -> bool {
            match (after, before) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(after), Some(before)) => {
                    after.values().iter().all(|one| before.contains(one))
                }
            }
        }
        let ends = match (self.expires_at, before.expires_at) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(after), Some(before)) => after <= before,
        };
        let networks = match (&self.ip_allow, &before.ip_allow) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(after), Some(before)) => {
                let covers = |net: &IpNet| before.values().iter().any(|one| one.contains(net));
                after.values().iter().all(covers)
            }
        };
        ends && networks
            && listed(self.operations.as_ref(), before.operations.as_ref())
            && listed(self.user_ids.as_ref(), before.user_ids.as_ref())
            && listed(self.wallet_ids.as_ref(), before.wallet_ids.as_ref())
            && listed(self.wallet_types.as_ref(), before.wallet_types.as_ref())
            && (self.require_session || !before.require_session)
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// This build does not know a name or value.
    pub fn from_stored(text: &str) -> Result<Self, serde_json::Error> {
        // As a list, the fields would have no names.
        if !text.starts_with('{') {
            return Err(serde_json::Error::custom("not an object"));
        }
        serde_json::from_str(text)
    }

    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the key is limited to some users or wallets.
    pub const fn names_owners(&self) -> bool {
        self.user_ids.is_some() || self.wallet_ids.is_some()
    }

    /// Whether a key with these restrictions has expired, by the machine's clock.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Whether a request may come from this address; `None` if the address is unknown.
    pub fn allows_address(&self, client: Option<IpAddr>) -> bool {
        address_is_in(self.ip_allow.as_ref(), client)
    }

    /// Whether the key may call this operation.
    pub fn allows_operation(&self, operation: Operation) -> bool {
        (self.operations.as_ref()).is_none_or(|operations| operations.contains(&operation))
    }

    /// Whether a user is within reach of the key.
    pub fn allows_user(&self, user: UserId) -> bool {
        (self.user_ids.as_ref()).is_none_or(|users| users.contains(&user))
    }

    /// Whether a wallet of this user is within reach of the key.
    pub fn allows_wallet(&self, wallet: WalletId, owner: UserId) -> bool {
        (self.wallet_ids.as_ref()).is_none_or(|wallets| wallets.contains(&wallet))
            && self.allows_user(owner)
    }

    /// Whether the key may use wallets of this type.
    pub fn allows_wallet_type(&self, wallet_type: WalletType) -> bool {
        (self.wallet_types.as_ref()).is_none_or(|types| types.contains(&wallet_type))
    }
}

/// Whether an address is in one of the networks; `None` allows any. An unknown address is in none.
pub fn address_is_in(networks: Option<&Allowed<IpNet>>, client: Option<IpAddr>) -> bool {
    let Some(networks) = networks else {
        return true;
    };
    client.is_some_and(|client| {
        let client = client.to_canonical();
        let mut networks = networks.values().iter();
        networks.any(|network| network.contains(&client))
    })
}

/// Parses a network such as `203.0.113.0/24`, or an address on its own.
///
/// # Errors
/// [`Invalid`] naming `ip_allow`: malformed, a prefix of length 0, which allows everything, or bits set after the prefix, which is usually
/// a typing error.
pub fn network(text: &str) -> Result<IpNet, Invalid> {
    let invalid = |message: &'static str| Invalid::value("ip_allow", message);
    let network = text
        .parse()
        .or_else(|_no_network| text.parse::<IpAddr>().map(IpNet::from))
        .map_err(|_malformed| invalid("ip_allow must list networks such as 203.0.113.0/24"))?;
    if matches!(network, IpNet::V6(network) if network.addr().to_ipv4_mapped().is_some()) {
        return Err(invalid(
            "ip_allow must list IPv4 networks as such, without ::ffff:",
        ));
    }
    if network.prefix_len() == 0 {
        return Err(invalid(
            "a network of length 0 in ip_allow would allow every address",
        ));
    }
    if network.trunc() != network {
        return Err(invalid(
            "a network in ip_allow has bits set after its prefix",
        ));
    }
    Ok(network)
}

/// Checks the time at which a key is to expire.
///
/// # Errors
/// [`Invalid`] naming `expires_at`, if it is past or more than five years ahead.
pub fn expires_at(at: Timestamp, now: Timestamp) -> Result<Timestamp, Invalid> {
    if at <= now || at > now + MAX_LIFETIME {
        let message = "expires_at must be in the future, at most five years ahead";
        return Err(Invalid::value("expires_at", message));
    }
    Ok(at)
}

/// A restriction of a key for which a call was refused. Its name is that of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restriction {
    /// The client address is not in `ip_allow`.
    Ip,
    /// The operation is not in `operations`.
    Operation(Operation),
    /// The key's named scopes do not include this one.
    Scope(Scope),
    /// The App requires keys with named scopes for calls like this one.
    UnnamedScopes,
    /// The call names no user, so it cannot be limited to the key's users.
    Users,
    /// The call names no wallet, so it cannot be limited to the key's wallets.
    Wallets,
    /// The wallet's type is not in `wallet_types`.
    WalletType(WalletType),
    /// The management key lacks this scope, or (`None`) no management key can make the call.
    ManagementScope(Option<ManagementScope>),
    /// The management key is not for this environment.
    Environment(Environment),
    /// The call needs a management key for all Apps.
    AllApps,
    /// A management key makes viewers only.
    Role,
    /// A management key changes no operator who is disabled.
    DisabledOperator,
}

impl Restriction {
    /// The name of the restriction, as in error responses.
    pub const fn param(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Operation(_) => "operation",
            Self::Scope(_) | Self::UnnamedScopes | Self::ManagementScope(_) => "scope",
            Self::Users => "user_ids",
            Self::Wallets => "wallet_ids",
            Self::WalletType(_) => "wallet_type",
            Self::Environment(_) => "environment",
            Self::AllApps => "apps",
            Self::Role => "role",
            Self::DisabledOperator => "disabled",
        }
    }
}

impl fmt::Display for Restriction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip => f.write_str("the API key is not allowed from this address"),
            Self::Operation(operation) => {
                write!(f, "the API key is not allowed to call {operation}")
            }
            Self::Scope(scope) => {
                write!(f, "the API key lacks the scope {scope}; use a key that has it")
            }
            Self::UnnamedScopes => f.write_str(
                "this App requires a key with named scopes for this call; create one with vestry key create --scope",
            ),
            Self::Users => f.write_str(
                "the API key is limited to some users, and this call names none",
            ),
            Self::Wallets => f.write_str(
                "the API key is limited to some wallets, and this call names none",
            ),
            Self::WalletType(wallet_type) => {
                write!(f, "the API key is not allowed to use {wallet_type} wallets")
            }
            Self::ManagementScope(Some(scope)) => {
                write!(f, "the management key lacks the scope {scope}")
            }
            Self::ManagementScope(None) => f.write_str("no management key can make this call"),
            Self::Environment(environment) => {
                write!(f, "the management key is not for the {environment} environment")
            }
            Self::AllApps => f.write_str("this call needs a management key for all Apps"),
            Self::Role => f.write_str("a management key makes viewers only"),
            Self::DisabledOperator => f.write_str(
                "a management key cannot enable or remove a disabled operator; use vestry operator",
            ),
        }
    }
}

/// A named set of rights, to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// `sign-in`: for a backend that signs users in and shows their wallets.
    SignIn,
    /// `signer`: for a program that signs with wallets of users who are present.
    Signer,
    /// `read-only`: for reports and support tools.
    ReadOnly,
    /// `full`: everything except exporting private keys and reading the audit log.
    Full,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 4] = [Self::SignIn, Self::Signer, Self::ReadOnly, Self::Full];

    /// The name, such as `sign-in`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign-in",
            Self::Signer => "signer",
            Self::ReadOnly => "read-only",
            Self::Full => "full",
        }
    }

    /// Its scopes; empty means none are named.
    pub const fn scopes(self) -> &'static [Scope] {
        match self {
            Self::SignIn => &[
                Scope::UsersRead,
                Scope::UsersWrite,
                Scope::AuthWrite,
                Scope::SessionsWrite,
                Scope::WalletsRead,
                Scope::WalletsWrite,
            ],
            Self::Signer => &[Scope::WalletsRead, Scope::WalletsSign],
            Self::ReadOnly => &[Scope::UsersRead, Scope::WalletsRead, Scope::EventsRead],
            Self::Full => &[],
        }
    }

    /// Whether its keys sign only for users who are present.
    pub const fn require_session(self) -> bool {
        matches!(self, Self::Signer)
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Preset {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|preset| preset.as_str() == text);
        found.ok_or_else(|| {
            Invalid::unknown(
                "preset",
                "unknown preset; valid presets: sign-in signer read-only full",
            )
        })
    }
}

#[cfg(test)]
mod tests;
