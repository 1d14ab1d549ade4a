//! Apps and their settings.

use serde::{Deserialize, Serialize};

use crate::event::EventKind;
use crate::ids::AppId;
use crate::limits::Limit;
use crate::passkey::{PasskeyDomain, UserVerification, check_origin};
use crate::redirect::RedirectTarget;
use crate::session::{FingerprintMatch, SessionLimits};
use crate::signing_key::Algorithm;
use crate::test_clock::TestClock;
use crate::timestamp::Seconds;
use crate::wallet::WalletType;
use crate::webhook::Endpoint;
use crate::{Environment, Invalid, Timestamp, phone, siwe, text};

/// The container of all users, keys, sessions and wallets of one customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// The id.
    pub id: AppId,
    /// The name end users see in messages.
    pub name: String,
    /// The settings that the App can change.
    pub settings: AppSettings,
    /// The clock of its test environment.
    pub test_clock: TestClock,
    /// The optional event types that its webhook endpoints request.
    pub named_events: NamedEvents,
    /// When it was disabled; `None` if it is enabled.
    pub disabled_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The optional event types that webhook endpoints request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedEvents {
    /// In the test environment.
    pub test: Vec<String>,
    /// In the live environment.
    pub live: Vec<String>,
}

impl NamedEvents {
    /// The optional event types that these endpoints request.
    pub fn by<'a>(endpoints: impl IntoIterator<Item = &'a Endpoint>) -> Self {
        let mut named = Self::default();
        for endpoint in endpoints {
            let list = match endpoint.world.environment {
                Environment::Test => &mut named.test,
                Environment::Live => &mut named.live,
            };
            let kinds = endpoint.types.optional();
            list.extend(kinds.map(|kind| kind.as_str().to_owned()));
        }
        for list in [&mut named.test, &mut named.live] {
            list.sort_unstable();
            list.dedup();
        }
        named
    }

    fn of(&self, environment: Environment) -> &[String] {
        match environment {
            Environment::Test => &self.test,
            Environment::Live => &self.live,
        }
    }
}

impl App {
    /// Whether events of a type are recorded in an environment. An optional type must be listed in the setting `events_optional` or
    /// requested by an endpoint.
    pub fn wants(&self, environment: Environment, kind: EventKind) -> bool {
        let by_endpoints = self.named_events.of(environment).iter();
        let mut named = self.settings.events_optional.iter().chain(by_endpoints);
        !kind.is_optional() || named.any(|name| name == kind.as_str())
    }
}

/// The settings that `vestry app set` changes.
///
/// Missing names have their default. Unknown ones are ignored, because a newer release may have written them; `vestry app set` itself
/// rejects them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AppSettings {
    /// Algorithm of new signing keys.
    pub jwt_algorithm: Algorithm,
    /// Lifetime of session JWTs in seconds, 60 to 300 (S-12).
    pub jwt_lifetime_seconds: i64,
    /// Minutes after its `exp` for which a session JWT can still renew its session, 0 to 525600. This bounds the use of an old JWT that
    /// leaks.
    pub jwt_renewal_window: i64,
    /// What `otps/verify` compares if the send step named a device.
    pub device_fingerprint_match: FingerprintMatch,
    /// Whether login-or-create calls create users as `pending` unless the call says otherwise.
    pub login_requires_verification: bool,
    /// Whether `users/create` creates users as `pending` unless the call says otherwise.
    pub create_requires_verification: bool,
    /// Maximum session lifetime in minutes, 5 to 525600, whatever a call requests.
    pub session_absolute_minutes: i64,
    /// Minutes without verification after which a session ends; 0 means never.
    pub session_idle_minutes: i64,
    /// Minutes for which a verified factor counts as fresh for a sensitive change, 1 to 1440 (S-7).
    pub freshness_minutes: i64,
    /// Whether changing a sign-in method ends the user's other sessions (S-6).
    pub end_sessions_on_change: bool,
    /// Whether all verified addresses of the user are notified when a sign-in method changes (S-6).
    pub notify_on_change: bool,
    /// Whether send calls respond identically to known and unknown identifiers (attack 9).
    pub enumeration_safe: bool,
    /// How far to trust an address or number that the App attached to an account with a proven owner, before the user verifies it.
    pub attached_identifiers: AttachedIdentifiers,
    /// Users that login-or-create calls can create per hour; 0 means no limit (attack 8).
    pub new_users_per_hour: u32,
    /// Text messages per hour; 0 means no limit (OTP-10).
    pub sms_per_hour: u32,
    /// Text messages per hour to one country; 0 means no limit.
    pub sms_country_per_hour: u32,
    /// Text messages per hour to one prefix; 0 means no limit. See [`NumberRange::prefix`](crate::phone::NumberRange).
    pub sms_prefix_per_hour: u32,
    /// Countries to which text messages are sent, as ISO 3166-1 codes; empty means all.
    pub sms_countries: Vec<String>,
    /// Maximum lifetime of a magic link in minutes, 5 to 10080, whatever a call requests (ML-7).
    pub magic_link_max_minutes: i64,
    /// Minimum length of a new password in characters, 8 to 64.
    pub password_min_length: i64,
    /// Whether passwords are the only factor of this App; new ones must then have at least 15 characters (P-1).
    pub password_only_factor: bool,
    /// Whether passwords are refused (503) rather than accepted while the breached-password list is unavailable (P-9).
    pub breach_check_fail_closed: bool,
    /// Hosts, with optional ports, whose sign-in messages wallets may sign (EIP-4361); none by default.
    pub siwe_domains: Vec<String>,
    /// EIP-155 chain ids accepted in Ethereum sign-in messages, 1 to 20. Challenges issued by this service use the first.
    pub siwe_chain_ids: Vec<u64>,
    /// Clusters accepted in Solana sign-in messages, 1 to 4 of `mainnet`, `testnet`, `devnet`, `localnet`. Challenges issued by this
    /// service use the first.
    pub siws_clusters: Vec<String>,
    /// Whether keys with the scope `wallets:export` can export private keys; off by default.
    pub wallet_export: bool,
    /// Whether only keys with named scopes can delete objects and use the scopes `wallets:sign` and `wallets:write`.
    pub require_named_scopes: bool,
    /// Whether sign-ins through a provider or a magic link require a `code_challenge`. Does not apply where the App checks a provider's
    /// `state` itself (RFC 9700, section 4.7.1).
    pub require_code_challenge: bool,
    /// The App's own callback for test sign-ins that a secret key starts without a redirect URI; a registered login URL.
    pub oauth_test_redirect_uri: Option<String>,
    /// Same for the live environment.
    pub oauth_live_redirect_uri: Option<String>,
    /// Unfinished sign-ins with a public token per client address (IPv6: per /64) in ten minutes; 0 means no limit.
    pub oauth_failures_per_address: u32,
    /// Requests per minute with test keys. If absent, the service's own limit applies; 0 means no limit.
    pub test_per_minute: Option<u32>,
    /// Requests per minute with live keys. If absent, the service's own limit applies; 0 means no limit.
    pub live_per_minute: Option<u32>,
    /// Domains to which passkeys may be bound, at most 20. Test worlds also accept `localhost`, which is never listed.
    pub webauthn_domains: Vec<String>,
    /// Exact origins that may use passkeys, at most 50. If empty: `https` on the domain and all its subdomains.
    pub webauthn_origins: Vec<String>,
    /// Origins of other sites that may embed the App in a frame and use passkeys there, at most 50.
    pub webauthn_top_origins: Vec<String>,
    /// Whether passkeys must verify their user.
    pub webauthn_user_verification: UserVerification,
    /// Event retention in days, 7 to 365. If absent: 30 in live worlds, 7 in test worlds.
    pub event_retention_days: Option<i64>,
    /// Optional event types to record: `sign_in.failed`, `password.reset_requested`, `wallet.signed`, `message.sent`.
    pub events_optional: Vec<String>,
    /// Whether events show e-mail addresses, phone numbers and wallet addresses next to their ids, with their value at the time of reading
    /// or sending.
    pub event_addresses: bool,
    /// Days without a successful delivery after which a webhook endpoint is disabled, 1 to 30; 0 means never.
    pub webhook_disable_after_days: i64,
}

impl AppSettings {
    /// The chains accepted in sign-in messages of wallets of this type, as those messages name them.
    pub fn sign_in_chains(&self, wallet_type: WalletType) -> Vec<String> {
        match wallet_type {
            WalletType::Ethereum => self.siwe_chain_ids.iter().map(u64::to_string).collect(),
            WalletType::Solana => self.siws_clusters.clone(),
            WalletType::Bitcoin | WalletType::Polkadot | WalletType::Stellar => Vec::new(),
        }
    }
}

/// Trust in an address or number that the App attached to an account with a proven owner (CL-5, CL-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum AttachedIdentifiers {
    /// An unverified claim: it cannot be used to sign in until it is verified in a session of the user.
    #[default]
    Claim,
    /// Trusted: a code sent there verifies it and signs in, without a session. If an attacker gets the App to attach another person's
    /// address, that person is signed in to the attacker's account.
    Trusted,
}

/// Maximum number of Apps in a deployment. Apps cannot be deleted, and background work visits each.
pub const MAX_APPS: usize = 10_000;
/// Maximum number of domains of one App.
const MAX_DOMAINS: usize = 20;
/// Maximum number of origins in one list.
const MAX_ORIGINS: usize = 50;

impl Default for AppSettings {
    fn default() -> Self {
        Self {
            jwt_algorithm: Algorithm::ES256,
            jwt_lifetime_seconds: 300,
            jwt_renewal_window: 1440,
            device_fingerprint_match: FingerprintMatch::Off,
            login_requires_verification: true,
            create_requires_verification: false,
            session_absolute_minutes: 525_600,
            session_idle_minutes: 0,
            freshness_minutes: 15,
            end_sessions_on_change: true,
            notify_on_change: true,
            enumeration_safe: false,
            attached_identifiers: AttachedIdentifiers::Claim,
            new_users_per_hour: 10_000,
            sms_per_hour: 2_000,
            sms_country_per_hour: 1_000,
            sms_prefix_per_hour: 100,
            sms_countries: Vec::new(),
            magic_link_max_minutes: 10_080,
            password_min_length: 8,
            password_only_factor: false,
            breach_check_fail_closed: true,
            siwe_domains: Vec::new(),
            siwe_chain_ids: vec![1],
            siws_clusters: vec!["mainnet".to_owned()],
            wallet_export: false,
            require_named_scopes: false,
            require_code_challenge: false,
            oauth_test_redirect_uri: None,
            oauth_live_redirect_uri: None,
            oauth_failures_per_address: 600,
            test_per_minute: None,
            live_per_minute: None,
            webauthn_domains: Vec::new(),
            webauthn_origins: Vec::new(),
            webauthn_top_origins: Vec::new(),
            webauthn_user_verification: UserVerification::Preferred,
            event_retention_days: None,
            events_optional: Vec::new(),
            event_addresses: false,
            webhook_disable_after_days: 5,
        }
    }
}

impl AppSettings {
    /// Checks that every value is within its bounds.
    ///
    /// # Errors
    /// Names the first setting that is out of bounds.
    pub fn validated(self) -> Result<Self, Invalid> {
        let within = |param: &'static str, value: i64, least: i64, most: i64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(Invalid::value(
                param,
                format!("{param} must be a whole number from {least} to {most}"),
            ))
        };
        within("jwt_lifetime_seconds", self.jwt_lifetime_seconds, 60, 300)?;
        within("jwt_renewal_window", self.jwt_renewal_window, 0, 525_600)?;
        within(
            "session_absolute_minutes",
            self.session_absolute_minutes,
            5,
            525_600,
        )?;
        within(
            "session_idle_minutes",
            self.session_idle_minutes,
            0,
            525_600,
        )?;
        within("freshness_minutes", self.freshness_minutes, 1, 1440)?;
        for code in &self.sms_countries {
            phone::country(code)?;
        }
        within(
            "magic_link_max_minutes",
            self.magic_link_max_minutes,
            5,
            10_080,
        )?;
        within("password_min_length", self.password_min_length, 8, 64)?;
        if let Some(days) = self.event_retention_days {
            within("event_retention_days", days, 7, 365)?;
        }
        within(
            "webhook_disable_after_days",
            self.webhook_disable_after_days,
            0,
            30,
        )?;
        self.check_optional_events()?;
        self.check_webauthn()?;
        siwe::check_domains(&self.siwe_domains)?;
        siwe::check_chains(&self.siwe_chain_ids, &self.siws_clusters)?;
        self.check_callbacks()?;
        Ok(self)
    }

    /// Checks that each can be registered as a redirect URL. Whether it is registered is checked when a sign-in starts.
    fn check_callbacks(&self) -> Result<(), Invalid> {
        for environment in Environment::ALL {
            let (param, Some(url)) = self.own_callback(environment) else {
                continue;
            };
            let target = RedirectTarget::parse(url).map_err(|invalid| Invalid {
                param: param.into(),
                ..invalid
            })?;
            if target.is_pattern() {
                return Err(Invalid::value(
                    param,
                    "oauth redirect URI must not contain a wildcard",
                ));
            }
        }
        Ok(())
    }

    fn check_optional_events(&self) -> Result<(), Invalid> {
        let optional = |name: &String| {
            let kind = name.parse::<EventKind>();
            kind.is_ok_and(EventKind::is_optional)
        };
        if self.events_optional.iter().all(optional) {
            return Ok(());
        }
        let kinds = EventKind::ALL.iter().filter(|kind| kind.is_optional());
        let known: Vec<_> = kinds.map(|kind| kind.as_str()).collect();
        let message = format!("events_optional may list {}", known.join(", "));
        Err(Invalid::value("events_optional", message))
    }

    fn check_webauthn(&self) -> Result<(), Invalid> {
        let few = |param: &'static str, list: &[String], most: usize| {
            if list.len() <= most {
                return Ok(());
            }
            Err(Invalid::value(
                param,
                format!("{param} must have at most {most} entries"),
            ))
        };
        few("webauthn_domains", &self.webauthn_domains, MAX_DOMAINS)?;
        for domain in &self.webauthn_domains {
            let parsed = PasskeyDomain::parse(domain).map_err(|invalid| Invalid {
                param: "webauthn_domains".into(),
                ..invalid
            })?;
            if parsed.is_localhost() {
                return Err(Invalid::value(
                    "webauthn_domains",
                    "webauthn_domains must not contain localhost; the test environment always allows it",
                ));
            }
        }
        for (param, origins) in [
            ("webauthn_origins", &self.webauthn_origins),
            ("webauthn_top_origins", &self.webauthn_top_origins),
        ] {
            few(param, origins, MAX_ORIGINS)?;
            for origin in origins {
                check_origin(param, origin)?;
            }
        }
        Ok(())
    }

    /// The limits on session lifetimes.
    pub const fn session_limits(&self) -> SessionLimits {
        let idle = if self.session_idle_minutes == 0 {
            None
        } else {
            Some(Seconds::from_minutes(self.session_idle_minutes))
        };
        SessionLimits {
            absolute: Seconds::from_minutes(self.session_absolute_minutes),
            idle,
        }
    }

    /// How long a proved factor counts as fresh (S-7).
    pub const fn freshness(&self) -> Seconds {
        Seconds::from_minutes(self.freshness_minutes)
    }

    /// How long events of an environment are retained.
    pub fn event_retention(&self, environment: Environment) -> Seconds {
        let days = self.event_retention_days.unwrap_or(match environment {
            Environment::Test => 7,
            Environment::Live => 30,
        });
        Seconds(days.saturating_mul(86_400))
    }

    /// Minimum length of a new password in characters (P-1).
    pub fn password_length(&self) -> usize {
        let only = if self.password_only_factor { 15 } else { 8 };
        usize::try_from(self.password_min_length.max(only)).unwrap_or(usize::MAX)
    }

    /// Lifetime of session JWTs.
    pub const fn jwt_lifetime(&self) -> Seconds {
        Seconds(self.jwt_lifetime_seconds)
    }

    /// How long after its `exp` a session JWT can still renew its session.
    pub const fn jwt_renewal(&self) -> Seconds {
        Seconds::from_minutes(self.jwt_renewal_window)
    }

    /// The App's own callback in one environment, with the name of its setting.
    pub fn own_callback(&self, environment: Environment) -> (&'static str, Option<&str>) {
        match environment {
            Environment::Test => (
                "oauth_test_redirect_uri",
                self.oauth_test_redirect_uri.as_deref(),
            ),
            Environment::Live => (
                "oauth_live_redirect_uri",
                self.oauth_live_redirect_uri.as_deref(),
            ),
        }
    }

    /// Requests per minute in one environment, given the service's default limit.
    pub fn request_limit(&self, environment: Environment, service_default: u32) -> Limit {
        let own = match environment {
            Environment::Test => self.test_per_minute,
            Environment::Live => self.live_per_minute,
        };
        Limit::per_minute(own.unwrap_or(service_default))
    }
}

/// Checks the name of an App: 1 to 100 characters, no control characters (it appears in mail subjects).
///
/// # Errors
/// If it is empty, too long or contains control characters.
pub fn name(value: &str) -> Result<String, Invalid> {
    let value = text::name("name", value.trim())?;
    if value.is_empty() || value.chars().count() > 100 {
        return Err(Invalid::value("name", "name must have 1 to 100 characters"));
    }
    Ok(value)
}
