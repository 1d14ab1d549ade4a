//! The settings on the page, by group: what each means, and how its field is read.

use serde_json::Value;
use vestry_domain::Invalid;

/// Settings that belong together.
pub(super) struct Group {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) settings: &'static [Setting],
}

/// A setting.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) unit: &'static str,
    pub(super) text: &'static str,
    /// The value at which changing it weakens the protection of wallets.
    pub(super) guarded_at: Option<bool>,
}

/// How a setting is typed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// On or off.
    Switch,
    /// A whole number; an empty field is an error.
    Number,
    /// A whole number, or nothing.
    OptionalNumber,
    /// A text, or nothing.
    OptionalText,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Words, separated by commas.
    Words,
    /// Numbers, separated by commas.
    Numbers,
}

impl Setting {
    const fn new(name: &'static str, kind: Kind, unit: &'static str, text: &'static str) -> Self {
        Self {
            name,
            kind,
            unit,
            text,
            guarded_at: None,
        }
    }

    const fn guarded(self, at: bool) -> Self {
        Self {
            guarded_at: Some(at),
            ..self
        }
    }

    pub(super) fn is_switch(&self) -> bool {
        self.kind == Kind::Switch
    }

    pub(super) fn choices(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Choice(words) => words,
            _ => &[],
        }
    }

    pub(super) fn is_numeric(&self) -> bool {
        matches!(self.kind, Kind::Number | Kind::OptionalNumber)
    }

    /// The value of a text. Its bounds are those of the setting itself, which are checked later.
    pub(super) fn read(&self, text: &str) -> Result<Value, Invalid> {
        let text = text.trim();
        let number = |text: &str| {
            let number = text.parse::<i64>().map(Value::from);
            number.map_err(|_malformed| {
                let message = format!("{} must be a whole number", self.name);
                Invalid::value(self.name, message)
            })
        };
        let parts = text.split([',', ' ']).filter(|part| !part.is_empty());
        match self.kind {
            Kind::Switch => Ok(Value::Bool(text == "on")),
            Kind::OptionalNumber | Kind::OptionalText if text.is_empty() => Ok(Value::Null),
            Kind::Number | Kind::OptionalNumber => number(text),
            Kind::OptionalText | Kind::Choice(_) => Ok(Value::from(text)),
            Kind::Words => Ok(parts.map(Value::from).collect()),
            Kind::Numbers => parts.map(number).collect(),
        }
    }
}

pub(super) const GROUPS: &[Group] = &[
    Group {
        id: "sessions",
        name: "Sessions",
        settings: &[
            Setting::new(
                "session_absolute_minutes",
                Kind::Number,
                "minutes",
                "Maximum session lifetime, even if a call requests more.",
            ),
            Setting::new(
                "session_idle_minutes",
                Kind::Number,
                "minutes",
                "Ends sessions that are not verified for this long. 0 turns it off.",
            ),
            Setting::new(
                "freshness_minutes",
                Kind::Number,
                "minutes",
                "How long a verified factor counts for a sensitive change.",
            ),
            Setting::new(
                "end_sessions_on_change",
                Kind::Switch,
                "",
                "Ends a user’s other sessions when a sign-in method changes.",
            ),
            Setting::new(
                "jwt_lifetime_seconds",
                Kind::Number,
                "seconds",
                "Lifetime of a session JWT, 60 to 300.",
            ),
            Setting::new(
                "jwt_renewal_window",
                Kind::Number,
                "minutes",
                "How long after its expiry a JWT can still renew its session.",
            ),
            Setting::new(
                "jwt_algorithm",
                Kind::Choice(&["ES256", "RS256", "EdDSA"]),
                "",
                "Signature algorithm of new signing keys.",
            ),
        ],
    },
    Group {
        id: "sign-in",
        name: "Sign-in",
        settings: &[
            Setting::new(
                "login_requires_verification",
                Kind::Switch,
                "",
                "Login-or-create calls create users as pending unless the call says otherwise.",
            ),
            Setting::new(
                "create_requires_verification",
                Kind::Switch,
                "",
                "User creation calls create users as pending unless the call says otherwise.",
            ),
            Setting::new(
                "attached_identifiers",
                Kind::Choice(&["claim", "trusted"]),
                "",
                "Whether an unverified address that your backend attached needs a session to be verified.",
            ),
            Setting::new(
                "enumeration_safe",
                Kind::Switch,
                "",
                "Calls that send codes respond alike to known and unknown addresses.",
            ),
            Setting::new(
                "notify_on_change",
                Kind::Switch,
                "",
                "Tells all verified addresses of a user when a sign-in method changes.",
            ),
            Setting::new(
                "device_fingerprint_match",
                Kind::Choice(&["off", "ip", "user_agent", "ip_and_user_agent"]),
                "",
                "What must be the same device when a code is verified.",
            ),
            Setting::new(
                "magic_link_max_minutes",
                Kind::Number,
                "minutes",
                "Maximum lifetime of a magic link, even if a call requests more.",
            ),
            Setting::new(
                "password_min_length",
                Kind::Number,
                "characters",
                "Minimum length of a new password, 8 to 64.",
            ),
            Setting::new(
                "password_only_factor",
                Kind::Switch,
                "",
                "Passwords are the only factor, so new ones need at least 15 characters.",
            ),
            Setting::new(
                "breach_check_fail_closed",
                Kind::Switch,
                "",
                "Refuses new passwords while the list of breached ones is unavailable.",
            ),
            Setting::new(
                "require_code_challenge",
                Kind::Switch,
                "",
                "Requires PKCE for sign-ins that return a Vestry token.",
            ),
            Setting::new(
                "oauth_test_redirect_uri",
                Kind::OptionalText,
                "",
                "Your own callback for identity provider sign-ins in test.",
            ),
            Setting::new(
                "oauth_live_redirect_uri",
                Kind::OptionalText,
                "",
                "Your own callback for identity provider sign-ins in live.",
            ),
        ],
    },
    Group {
        id: "passkeys",
        name: "Passkeys and wallet sign-in",
        settings: &[
            Setting::new(
                "webauthn_domains",
                Kind::Words,
                "",
                "Domains to which passkeys may be bound, at most 20.",
            ),
            Setting::new(
                "webauthn_origins",
                Kind::Words,
                "",
                "Origins that may use passkeys. None: HTTPS on the domain and its subdomains.",
            ),
            Setting::new(
                "webauthn_top_origins",
                Kind::Words,
                "",
                "Origins of other sites that may embed your application and use passkeys there.",
            ),
            Setting::new(
                "webauthn_user_verification",
                Kind::Choice(&["preferred", "required", "discouraged"]),
                "",
                "Whether a passkey must verify its user, by PIN or biometrics.",
            ),
            Setting::new(
                "siwe_domains",
                Kind::Words,
                "",
                "Hosts whose sign-in messages wallets may sign.",
            ),
            Setting::new(
                "siwe_chain_ids",
                Kind::Numbers,
                "",
                "EIP-155 chain ids that Ethereum sign-in messages may name. New messages use the first.",
            ),
            Setting::new(
                "siws_clusters",
                Kind::Words,
                "",
                "Clusters that Solana sign-in messages may name. New messages use the first.",
            ),
        ],
    },
    Group {
        id: "limits",
        name: "Limits",
        settings: &[
            Setting::new(
                "test_per_minute",
                Kind::OptionalNumber,
                "per minute",
                "Requests with test keys. Empty: the limit of the deployment; 0: no limit.",
            ),
            Setting::new(
                "live_per_minute",
                Kind::OptionalNumber,
                "per minute",
                "Requests with live keys. Empty: the limit of the deployment; 0: no limit.",
            ),
            Setting::new(
                "new_users_per_hour",
                Kind::Number,
                "per hour",
                "Users created by login-or-create calls. 0: no limit.",
            ),
            Setting::new(
                "sms_per_hour",
                Kind::Number,
                "per hour",
                "Text messages of an environment. 0: no limit.",
            ),
            Setting::new(
                "sms_country_per_hour",
                Kind::Number,
                "per hour",
                "Text messages to one country. 0: no limit.",
            ),
            Setting::new(
                "sms_prefix_per_hour",
                Kind::Number,
                "per hour",
                "Text messages to one range of numbers. 0: no limit.",
            ),
            Setting::new(
                "sms_countries",
                Kind::Words,
                "",
                "Countries that receive text messages, such as DE or CH. None: all.",
            ),
            Setting::new(
                "oauth_failures_per_address",
                Kind::Number,
                "in 10 minutes",
                "Unfinished sign-ins with a public token from one address. 0: no limit.",
            ),
        ],
    },
    Group {
        id: "wallets",
        name: "Wallets and keys",
        settings: &[
            Setting::new(
                "wallet_export",
                Kind::Switch,
                "",
                "Allows private key export by keys with the scope wallets:export.",
            )
            .guarded(false),
            Setting::new(
                "require_named_scopes",
                Kind::Switch,
                "",
                "Keys without named scopes cannot delete objects, sign, or change wallets.",
            )
            .guarded(true),
        ],
    },
    Group {
        id: "events",
        name: "Events and webhooks",
        settings: &[
            Setting::new(
                "event_retention_days",
                Kind::OptionalNumber,
                "days",
                "Retention of events, 7 to 365. Empty: 30 days in live, 7 in test.",
            ),
            Setting::new(
                "events_optional",
                Kind::Words,
                "",
                "Events to record too: sign_in.failed, password.reset_requested, wallet.signed, message.sent.",
            ),
            Setting::new(
                "event_addresses",
                Kind::Switch,
                "",
                "Adds addresses and phone numbers to events when they are read or sent.",
            ),
            Setting::new(
                "webhook_disable_after_days",
                Kind::Number,
                "days",
                "Disables an endpoint after this many days without success. 0: never.",
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use vestry_domain::app::AppSettings;

    use super::*;
    use crate::settings::{typed, values};

    /// Every setting is on the page, once, and its field has the value that it was filled with.
    #[test]
    fn the_page_has_every_setting() {
        let defaults = values(&AppSettings::default());
        let mut named = BTreeSet::new();
        for setting in GROUPS.iter().flat_map(|group| group.settings) {
            assert!(
                named.insert(setting.name.to_owned()),
                "{} twice",
                setting.name
            );
            let default = defaults.get(setting.name).expect(setting.name);
            let text = match default {
                Value::Bool(true) => "on".to_owned(),
                other => typed(other),
            };
            assert_eq!(
                setting.read(&text).as_ref(),
                Ok(default),
                "{}",
                setting.name
            );
            let choices = setting.choices();
            assert!(
                choices.is_empty() || choices.contains(&text.as_str()),
                "{}",
                setting.name
            );
        }
        assert_eq!(named, defaults.keys().cloned().collect());
    }
}
