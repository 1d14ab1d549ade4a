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
    /// What the App can change.
    pub settings: AppSettings,
    /// The clock of its test environment.
    pub test_clock: TestClock,
    /// What its webhook endpoints name.
    pub named_events: NamedEvents,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Types of events that are written on demand only, and that webhook endpoints name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedEvents {
    /// In the test environment.
    pub test: Vec<String>,
    /// In the live environment.
    pub live: Vec<String>,
}

impl NamedEvents {
    /// Those that these endpoints name.
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
    /// Whether such events are written in an environment: a type that is written on demand only must be listed by the setting
    /// `events_optional`, or named by an endpoint.
    pub fn wants(&self, environment: Environment, kind: EventKind) -> bool {
        let by_endpoints = self.named_events.of(environment).iter();
        let mut named = self.settings.events_optional.iter().chain(by_endpoints);
        !kind.is_optional() || named.any(|name| name == kind.as_str())
    }
}

/// What an App can change with `vestry app set`. Absent names take their default, and unknown
/// ones are passed over: a newer release may have written them. `vestry app set` refuses what it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AppSettings {
    /// Algorithm of new signing keys.
    pub jwt_algorithm: Algorithm,
    /// Lifetime of session JWTs in seconds, 60 to 300 (S-12).
    pub jwt_lifetime_seconds: i64,
    /// Minutes past its `exp` for which a session JWT still names its session, 0 to 525600: whoever finds an older one renews nothing
    /// with it.
    pub jwt_renewal_window: i64,
    /// What `otps/verify` compares when the send step named a device.
    pub device_fingerprint_match: FingerprintMatch,
    /// Whether users of login-or-create calls start as `pending` when the call does not say.
    pub login_requires_verification: bool,
    /// Whether users of `users/create` start as `pending` when the call does not say.
    pub create_requires_verification: bool,
    /// Longest life of a session in minutes, 5 to 525600, whatever is asked for.
    pub session_absolute_minutes: i64,
    /// Minutes without a verify after which a session ends; 0 means never.
    pub session_idle_minutes: i64,
    /// Minutes for which a proved factor counts as fresh for a sensitive change, 1 to 1440 (S-7).
    pub freshness_minutes: i64,
    /// Whether a change of a way to sign in ends the user's other sessions (S-6).
    pub end_sessions_on_change: bool,
    /// Whether a change of a way to sign in is told to every verified address of the user (S-6).
    pub notify_on_change: bool,
    /// Whether known and unknown identifiers get the same answer from calls that send (attack 9).
    pub enumeration_safe: bool,
    /// What an address or number is worth that the App attached to a founded account and nobody has proved.
    pub attached_identifiers: AttachedIdentifiers,
    /// Users that login-or-create calls may create in an hour, 0 means no limit (attack 8).
    pub new_users_per_hour: u32,
    /// Text messages an hour, 0 means no limit (OTP-10).
    pub sms_per_hour: u32,
    /// Text messages an hour to one country, 0 means no limit.
    pub sms_country_per_hour: u32,
    /// Text messages an hour to one prefix, 0 means no limit; see [`NumberRange::prefix`](crate::phone::NumberRange).
    pub sms_prefix_per_hour: u32,
    /// Countries that text messages are sent to, ISO 3166-1; empty means all.
    pub sms_countries: Vec<String>,
    /// Longest life of a magic link in minutes, 5 to 10080, whatever is asked for (ML-7).
    pub magic_link_max_minutes: i64,
    /// Least length of a new password in characters, 8 to 64.
    pub password_min_length: i64,
    /// Whether passwords are the only factor of this App; new ones then have at least 15 characters (P-1).
    pub password_only_factor: bool,
    /// Whether a password is refused (503) while the list of breached passwords cannot be read, or accepted (P-9).
    pub breach_check_fail_closed: bool,
    /// Hosts, each with a port or without, whose sign-in messages wallets may sign (EIP-4361); none by default.
    pub siwe_domains: Vec<String>,
    /// Chain ids of EIP-155 that Ethereum's sign-in messages may name, 1 to 20; our own challenges name the first.
    pub siwe_chain_ids: Vec<u64>,
    /// Clusters that Solana's sign-in messages may name, 1 to 4 of `mainnet`, `testnet`, `devnet`, `localnet`; our own
    /// challenges name the first.
    pub siws_clusters: Vec<String>,
    /// Whether private keys can be exported, by keys with the scope `wallets:export`; not by default.
    pub wallet_export: bool,
    /// Whether a sign-in through a provider or a mailed link must be begun with a `code_challenge`; not where the App compares
    /// a provider's `state` by itself (RFC 9700, section 4.7.1).
    pub require_code_challenge: bool,
    /// The App's own callback, a registered login URL, of test sign-ins that a secret key begins without naming where they end.
    pub oauth_test_redirect_uri: Option<String>,
    /// The same for live.
    pub oauth_live_redirect_uri: Option<String>,
    /// Sign-ins with a public token that may stay unfinished, of one client address (IPv6: one /64) in ten minutes; 0 means no
    /// limit.
    pub oauth_failures_per_address: u32,
    /// Requests a minute with test keys; absent: the service's own limit; 0: no limit.
    pub test_per_minute: Option<u32>,
    /// Requests a minute with live keys; absent: the service's own limit; 0: no limit.
    pub live_per_minute: Option<u32>,
    /// Domains to which passkeys may be bound, at most 20; `localhost` belongs to test worlds without being listed.
    pub webauthn_domains: Vec<String>,
    /// Origins that may use passkeys, exactly, at most 50; empty: `https` on the domain and all names below it.
    pub webauthn_origins: Vec<String>,
    /// Origins of other sites' pages in which the App may stand as a frame and use passkeys, at most 50.
    pub webauthn_top_origins: Vec<String>,
    /// Whether passkeys check who is using them.
    pub webauthn_user_verification: UserVerification,
    /// Days for which events are kept, 7 to 365; absent: 30 in live worlds, 7 in test worlds.
    pub event_retention_days: Option<i64>,
    /// Types of events that are only written where they are listed here: `sign_in.failed`, `password.reset_requested`,
    /// `wallet.signed`, `message.sent`.
    pub events_optional: Vec<String>,
    /// Whether events show addresses, numbers and wallets' addresses beside their ids, as they are when they are shown or sent.
    pub event_addresses: bool,
    /// Days without a success after which a webhook endpoint is sent nothing any more, 1 to 30; 0 means never.
    pub webhook_disable_after_days: i64,
}

impl AppSettings {
    /// The chains that sign-in messages of wallets of this type may name, as they name them.
    pub fn sign_in_chains(&self, wallet_type: WalletType) -> Vec<String> {
        match wallet_type {
            WalletType::Ethereum => self.siwe_chain_ids.iter().map(u64::to_string).collect(),
            WalletType::Solana => self.siws_clusters.clone(),
            WalletType::Bitcoin | WalletType::Polkadot | WalletType::Stellar => Vec::new(),
        }
    }
}

/// What an address or number is worth that the App attached to an account which is somebody's already (CL-5, CL-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum AttachedIdentifiers {
    /// It is a claim: it is proved within a session of the user, or opens nothing.
    #[default]
    Claim,
    /// It is the user's: a code that the App sends there proves it and signs in, without a session. Whoever can make the App
    /// attach an address of somebody else gets its owner signed in to his own account.
    Trusted,
}

/// Most domains of one App.
const DOMAINS_MAX: usize = 20;
/// Most origins in one list.
const ORIGINS_MAX: usize = 50;

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
    /// Checks every value against its bounds.
    ///
    /// # Errors
    /// Names the first setting that is out of its bounds.
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

    /// Whether each is a URL that can be registered. Whether it is registered shows when a sign-in is begun.
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
                    "a provider knows one callback: name it without a star",
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
        few("webauthn_domains", &self.webauthn_domains, DOMAINS_MAX)?;
        for domain in &self.webauthn_domains {
            let parsed = PasskeyDomain::parse(domain).map_err(|invalid| Invalid {
                param: "webauthn_domains".into(),
                ..invalid
            })?;
            if parsed.is_localhost() {
                return Err(Invalid::value(
                    "webauthn_domains",
                    "localhost belongs to the test environment and is not listed",
                ));
            }
        }
        for (param, origins) in [
            ("webauthn_origins", &self.webauthn_origins),
            ("webauthn_top_origins", &self.webauthn_top_origins),
        ] {
            few(param, origins, ORIGINS_MAX)?;
            for origin in origins {
                check_origin(param, origin)?;
            }
        }
        Ok(())
    }

    /// How long sessions may live.
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

    /// How long events of a world are kept.
    pub fn event_retention(&self, environment: Environment) -> Seconds {
        let days = self.event_retention_days.unwrap_or(match environment {
            Environment::Test => 7,
            Environment::Live => 30,
        });
        Seconds(days.saturating_mul(86_400))
    }

    /// Least length of a new password in characters (P-1).
    pub fn password_length(&self) -> usize {
        let only = if self.password_only_factor { 15 } else { 8 };
        usize::try_from(self.password_min_length.max(only)).unwrap_or(usize::MAX)
    }

    /// Lifetime of session JWTs.
    pub const fn jwt_lifetime(&self) -> Seconds {
        Seconds(self.jwt_lifetime_seconds)
    }

    /// For how long past its `exp` a session JWT names its session.
    pub const fn jwt_renewal(&self) -> Seconds {
        Seconds::from_minutes(self.jwt_renewal_window)
    }

    /// The App's own callback in one environment, and the setting that names it.
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

    /// Requests a minute in one environment, given the service's own limit.
    pub fn request_limit(&self, environment: Environment, service_default: u32) -> Limit {
        let own = match environment {
            Environment::Test => self.test_per_minute,
            Environment::Live => self.live_per_minute,
        };
        Limit::per_minute(own.unwrap_or(service_default))
    }
}

/// Checks the name of an App: 1 to 100 characters, no control characters (it stands in mail subjects).
///
/// # Errors
/// Empty, too long or with control characters.
pub fn name(value: &str) -> Result<String, Invalid> {
    let value = text::name("name", value.trim())?;
    if value.is_empty() || value.chars().count() > 100 {
        return Err(Invalid::value("name", "name must have 1 to 100 characters"));
    }
    Ok(value)
}
