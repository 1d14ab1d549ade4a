//! Scopes of management keys.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::scope::Scope;

macro_rules! scopes {
    ($($(#[$doc:meta])* $scope:ident $name:literal $(includes $read:ident)?;)*) => {
        /// A permission of a management key.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ManagementScope {
            $($(#[$doc])* $scope,)*
        }

        impl ManagementScope {
            /// All scopes.
            pub const ALL: &[Self] = &[$(Self::$scope,)*];

            /// The name, such as `keys:write`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$scope => $name,)*
                }
            }

            /// The scope that this one includes.
            const fn included(self) -> Option<Self> {
                match self {
                    $($(Self::$scope => Some(Self::$read),)?)*
                    _ => None,
                }
            }
        }
    };
}

scopes! {
    /// Read Apps and the status of the deployment.
    AppsRead "apps:read";
    /// Create, rename, disable and enable Apps.
    AppsWrite "apps:write" includes AppsRead;
    /// Read the settings of Apps.
    SettingsRead "settings:read";
    /// Change the settings of Apps.
    SettingsWrite "settings:write" includes SettingsRead;
    /// Read API keys and signing keys.
    KeysRead "keys:read";
    /// Create, change, rotate and revoke API keys and signing keys.
    KeysWrite "keys:write" includes KeysRead;
    /// Read identity providers.
    ProvidersRead "providers:read";
    /// Set and remove identity providers.
    ProvidersWrite "providers:write" includes ProvidersRead;
    /// Read redirect URLs.
    RedirectUrlsRead "redirect_urls:read";
    /// Add, change and remove redirect URLs.
    RedirectUrlsWrite "redirect_urls:write" includes RedirectUrlsRead;
    /// Read webhook endpoints and deliveries.
    WebhooksRead "webhooks:read";
    /// Create, change, test and delete webhook endpoints, and replay deliveries.
    WebhooksWrite "webhooks:write" includes WebhooksRead;
    /// Read operators and invitations.
    OperatorsRead "operators:read";
    /// Invite, disable and remove operators.
    OperatorsWrite "operators:write" includes OperatorsRead;
    /// Read the configuration document of Apps.
    ConfigRead "config:read";
    /// Apply a configuration document: settings, redirect URLs, identity providers and webhook endpoints.
    ConfigWrite "config:write" includes ConfigRead;
    /// Read the audit log.
    AuditRead "audit:read";
    /// Read users.
    UsersRead "users:read";
    /// Create, change, disable and delete users.
    UsersWrite "users:write";
    /// List and end sessions.
    SessionsWrite "sessions:write";
    /// Read wallets.
    WalletsRead "wallets:read";
    /// Disable and enable wallets.
    WalletsWrite "wallets:write";
    /// Read events.
    EventsRead "events:read";
}

impl ManagementScope {
    /// The scope with the name of an API key's scope; `None` if management keys have none of that name.
    pub fn named_like(scope: Scope) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|known| known.as_str() == scope.as_str())
    }

    /// Whether a key with this scope may do what needs `needed`.
    pub fn covers(self, needed: Self) -> bool {
        self == needed || self.included() == Some(needed)
    }
}

impl fmt::Display for ManagementScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ManagementScope {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut all = Self::ALL.iter().copied();
        all.find(|scope| scope.as_str() == text).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|scope| scope.as_str()).collect();
            Invalid::unknown(
                "scope",
                format!("unknown scope; valid scopes: {}", known.join(" ")),
            )
        })
    }
}

impl serde::Serialize for ManagementScope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for ManagementScope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|invalid: Invalid| serde::de::Error::custom(invalid.message))
    }
}
