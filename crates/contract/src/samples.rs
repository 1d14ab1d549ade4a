//! Test data: records with every field set, from a seeded source.
//!
//! Each record is made one second after the previous one, and its id encodes its `created_at`, as in the service. Texts are odd on purpose:
//! empty, in several scripts, and with characters that would break a careless query.

use serde_json::{Map, Value, json};
use vestry_domain::api_key::{self, Allowed, ApiKey, ApiKeyKind, MAX_LISTED, Restrictions, Scope};
use vestry_domain::app::{App, AppSettings, AttachedIdentifiers, NamedEvents};
use vestry_domain::code::{Code, CodePurpose, MethodId};
use vestry_domain::email::Email;
use vestry_domain::envelope::{AppKey, KeyPurpose, Mac, Sealed, WalletKey, WrappedKey};
use vestry_domain::event::{Actor, EventKind, Fact, NewEvent, Via};
use vestry_domain::idempotency::{Claim, KeyDigest};
use vestry_domain::ids::{EmailId, Id, PhoneNumberId, WebhookEndpointId};
use vestry_domain::key_transfer::{EntropyType, ImportKey, Kem, Origin};
use vestry_domain::link::{Link, LinkPurpose};
use vestry_domain::management_key::{ManagementKey, Rights};
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::message::{CapturedMessage, Channel, Message, MessageKind, OutboxJob, Priority};
use vestry_domain::metadata::Metadata;
use vestry_domain::operation::Operation;
use vestry_domain::operator::{Grants, Operator, OperatorLink, Role};
use vestry_domain::passkey::{
    AuthenticatorType, Ceremony, Passkey, PasskeyChallenge, PasskeyDomain, UserHandle,
    UserVerification,
};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::pkce::CodeChallenge;
use vestry_domain::provider::{
    AppleKey, ClientSecretHint, Connection, ConnectionSettings, Flow, Pending, ProvenIdentity,
    ProviderLink, ProviderName, TestGrant, TokenEndpointAuth,
};
use vestry_domain::redirect::{CallerState, RedirectKind, RedirectTarget};
use vestry_domain::session::{DeviceFingerprint, Factor, FingerprintMatch, Proof, Session};
use vestry_domain::signing_key::{Algorithm, SigningKey};
use vestry_domain::test_clock::{Mode, TestClock};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::totp::{RECOVERY_CODES, StoredRecoveryCode, Totp};
use vestry_domain::user::{User, UserDisabled, UserEmail, UserPhone, UserStatus};
use vestry_domain::wallet::{Disabled, DisabledReason, StoredWallet, Wallet, WalletType};
use vestry_domain::wallet_sign_in::WalletChallenge;
use vestry_domain::webhook::{
    Attempt, Delivery, DeliveryState, Endpoint, EndpointUrl, EventTypes, Missed, Replay,
    SealedSecret,
};
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::{RedirectUrl, StoredConnection};

use crate::rng::{self, Rng};

/// The time of the first sample: 2026-01-01T00:00:00Z.
const BEGINNING: Timestamp = Timestamp::from_unix(1_767_225_600);

/// Texts that must be stored unchanged. None holds a NUL, which the domain rejects.
pub const ODD_TEXTS: [&str; 14] = [
    "",
    " ",
    "Ada",
    "O'Brien\"; DROP TABLE users;--",
    "100%_\\",
    "$1 ?1 :name @name {}",
    "null",
    "Zoë Müller-Lüdenscheidt",
    "עברית \u{202e}ltr\u{202c}",
    "е\u{301}\u{302}\u{303} (Cyrillic, with marks)",
    "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "line one\nline two\r\n\ttab",
    "\u{fffd}\u{feff}\u{10ffff}",
    "A very long text that goes on and on so that it does not fit into any small buffer: \
     0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\
     0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
];

/// A seeded source of records.
#[derive(Debug)]
pub struct Samples {
    rng: Rng,
    now: Timestamp,
    step: Seconds,
}

impl Samples {
    /// A source with a fresh seed, which is printed ([`rng::seed`]).
    pub fn fresh() -> Self {
        Self::from_seed(rng::seed())
    }

    /// A source with the given seed.
    pub fn from_seed(seed: u64) -> Self {
        Self {
            rng: Rng::from_seed(seed),
            now: BEGINNING,
            step: Seconds(1),
        }
    }

    /// The time of the latest record.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Stops the clock: all further records are made in the same second.
    pub const fn stop_clock(&mut self) {
        self.step = Seconds(0);
    }

    /// Advances the clock by a second and returns the new time.
    pub fn tick(&mut self) -> Timestamp {
        self.now = self.now + self.step;
        self.now
    }

    /// A random number below the given one.
    pub fn below(&mut self, end: usize) -> usize {
        self.rng.below(end)
    }

    /// This many random bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.rng.fill(&mut bytes);
        bytes
    }

    /// 32 random bytes.
    pub fn key(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.rng.fill(&mut bytes);
        bytes
    }

    /// This many random lower-case letters, for values that must be unique.
    pub fn letters(&mut self, length: usize) -> String {
        (0..length).map(|_| self.pick(LETTERS)).collect()
    }

    /// One of [`ODD_TEXTS`].
    pub fn text(&mut self) -> String {
        self.pick(&ODD_TEXTS).to_owned()
    }

    /// A new id for the given time.
    pub fn id<I: Id>(&mut self, at: Timestamp) -> I {
        let mut random = [0; 16];
        self.rng.fill(&mut random);
        I::new(at, random)
    }

    /// One of the given values.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        match from.get(self.rng.below(from.len())) {
            Some(value) => *value,
            None => panic!("nothing to pick from"),
        }
    }

    /// The values in random order, so that no result is sorted merely because the input was.
    pub fn shuffled<'a, T>(&mut self, values: &'a [T]) -> Vec<&'a T> {
        let mut left: Vec<&T> = values.iter().collect();
        let mut order = Vec::with_capacity(left.len());
        while !left.is_empty() {
            order.push(left.swap_remove(self.rng.below(left.len())));
        }
        order
    }

    /// A random disabled state of a wallet created at that time, or none.
    fn disabled(&mut self, at: Timestamp) -> Option<Disabled> {
        let reasons = [DisabledReason::Requested, DisabledReason::UnprovenOrigin];
        let reason = self.pick(&reasons);
        self.pick(&[None, Some(Disabled { at, reason })])
    }

    /// A random boolean.
    pub fn coin(&mut self) -> bool {
        self.rng.below(2) == 1
    }

    /// A version number, sometimes the largest possible one.
    pub fn version(&mut self) -> u32 {
        self.pick(&[1, 2, 9, 10, 4_000_000_000, u32::MAX])
    }

    /// An App whose settings all differ from the defaults.
    pub fn app(&mut self) -> App {
        let created_at = self.tick();
        App {
            id: self.id(created_at),
            name: self.text(),
            settings: AppSettings {
                siwe_domains: self
                    .pick(&[&[][..], &["example.com", "localhost:3000"]])
                    .iter()
                    .map(|domain| (*domain).to_owned())
                    .collect(),
                siwe_chain_ids: vec![8453, 1],
                siws_clusters: vec!["devnet".to_owned()],
                jwt_algorithm: self.pick(&[Algorithm::RS256, Algorithm::EdDSA]),
                jwt_lifetime_seconds: 61,
                jwt_renewal_window: 62,
                device_fingerprint_match: self.pick(&[
                    FingerprintMatch::Ip,
                    FingerprintMatch::UserAgent,
                    FingerprintMatch::IpAndUserAgent,
                ]),
                login_requires_verification: false,
                create_requires_verification: true,
                session_absolute_minutes: 5,
                session_idle_minutes: 7,
                freshness_minutes: 16,
                end_sessions_on_change: false,
                notify_on_change: false,
                enumeration_safe: true,
                attached_identifiers: AttachedIdentifiers::Trusted,
                new_users_per_hour: 7_001,
                sms_per_hour: 7_002,
                sms_country_per_hour: 7_003,
                sms_prefix_per_hour: 7_004,
                sms_countries: vec!["US".to_owned(), "DE".to_owned()],
                magic_link_max_minutes: 17,
                password_min_length: 9,
                password_only_factor: true,
                breach_check_fail_closed: false,
                wallet_export: true,
                require_named_scopes: true,
                require_code_challenge: true,
                oauth_test_redirect_uri: Some("https://app.example.com/own".to_owned()),
                oauth_live_redirect_uri: Some("https://shop.example/own?a=b".to_owned()),
                oauth_failures_per_address: 7_005,
                test_per_minute: self.pick(&[Some(0), Some(u32::MAX), None]),
                live_per_minute: self.pick(&[Some(0), Some(1), None]),
                webauthn_domains: vec!["example.com".to_owned()],
                webauthn_origins: vec!["https://app.example.com".to_owned()],
                webauthn_top_origins: vec!["https://shop.example".to_owned()],
                webauthn_user_verification: self
                    .pick(&[UserVerification::Required, UserVerification::Discouraged]),
                event_retention_days: self.pick(&[None, Some(90)]),
                events_optional: vec!["wallet.signed".to_owned()],
                event_addresses: true,
                webhook_disable_after_days: self.pick(&[0, 30]),
            },
            test_clock: self.test_clock(),
            named_events: NamedEvents {
                test: vec!["wallet.signed".to_owned()],
                live: vec!["message.sent".to_owned()],
            },
            disabled_at: self.pick(&[None, Some(created_at)]),
            created_at,
            updated_at: self.moment(),
        }
    }

    /// A test clock that has been set.
    pub fn test_clock(&mut self) -> TestClock {
        let shows = self.moment();
        TestClock {
            revision: i64::try_from(self.below(1_000_000)).unwrap_or(1),
            set_at: self.moment(),
            mode: self.pick(&[
                Mode::Machine,
                Mode::Frozen { shows },
                Mode::Running { shows },
            ]),
        }
    }

    /// An API key of the world.
    pub fn api_key(&mut self, world: World) -> ApiKey {
        let created_at = self.tick();
        let scopes = match self.below(3) {
            0 => Vec::new(),
            1 => Scope::ALL.into(),
            _ => vec![Scope::WalletsExport, Scope::UsersRead],
        };
        ApiKey {
            id: self.id(created_at),
            world,
            kind: self.pick(&[ApiKeyKind::Secret, ApiKeyKind::Public]),
            hash: self.token(),
            last_four: self.pick(&["", "aZ09", "____"]).to_owned(),
            name: self.pick(&["", "signer", "Bücher \"'; --"]).to_owned(),
            scopes,
            restrictions: self.restrictions(created_at),
            created_by: self.pick(&[Actor::Cli, Actor::System]),
            created_at,
            revoked_at: None,
        }
    }

    /// A management key.
    ///
    /// # Panics
    /// Never: the lists have an allowed length.
    pub fn management_key(&mut self) -> ManagementKey {
        let created_at = self.tick();
        let apps = match self.below(2) {
            0 => None,
            _ => Some(vec![self.id(created_at), self.id(created_at)]),
        };
        let environments = match self.below(2) {
            0 => vec![self.pick(&Environment::ALL)],
            _ => Environment::ALL.to_vec(),
        };
        let scopes = match self.below(2) {
            0 => vec![self.pick(ManagementScope::ALL)],
            _ => ManagementScope::ALL.to_vec(),
        };
        let networks = match self.below(2) {
            0 => None,
            _ => api_key::network("203.0.113.0/24")
                .ok()
                .map(|network| vec![network]),
        };
        let rights = match Rights::new(apps, environments, scopes, networks) {
            Ok(rights) => rights,
            Err(refused) => panic!("{refused}"),
        };
        ManagementKey {
            id: self.id(created_at),
            hash: self.token(),
            last_four: self.pick(&["aZ09", "____"]).to_owned(),
            name: self.pick(&["terraform", "Bücher \"'; --"]).to_owned(),
            rights,
            expires_at: created_at + Seconds(86_400),
            created_by: self.pick(&[Actor::Cli, Actor::System]),
            created_at,
            revoked_at: None,
        }
    }

    /// Roles in some Apps, or in all.
    ///
    /// # Panics
    /// Never: the lists have an allowed length.
    pub fn grants(&mut self, created_at: Timestamp) -> Grants {
        let role = self.pick(&[Role::Viewer, Role::Developer, Role::Admin]);
        let made = match self.below(3) {
            0 => Grants::new(Role::Owner, None),
            1 => Grants::new(role, None),
            _ => Grants::new(role, Some(vec![self.id(created_at), self.id(created_at)])),
        };
        match made {
            Ok(grants) => grants,
            Err(refused) => panic!("{refused}"),
        }
    }

    /// An operator.
    pub fn operator(&mut self) -> Operator {
        let created_at = self.tick();
        Operator {
            user_id: self.id(created_at),
            grants: self.grants(created_at),
            created_by: self.pick(&[Actor::Cli, Actor::System]),
            created_at,
            updated_at: self.moment(),
        }
    }

    /// A link for an operator, valid for an hour.
    ///
    /// # Panics
    /// Never: the address is valid.
    pub fn operator_link(&mut self) -> OperatorLink {
        let created_at = self.tick();
        let address = format!("Upper.{}+Tag@Bücher.example.com", self.letters(16));
        let email = match Email::parse(&address) {
            Ok(email) => email,
            Err(refused) => panic!("{address}: {refused}"),
        };
        let grants = self.coin().then(|| self.grants(created_at));
        OperatorLink {
            id: self.id(created_at),
            hash: self.token(),
            email,
            grants,
            created_by: self.pick(&[Actor::Cli, Actor::System]),
            created_at,
            expires_at: created_at + Seconds(3_600),
            used_at: None,
        }
    }

    /// None, some or all restrictions of a key.
    ///
    /// # Panics
    /// Never: the lists have an allowed length.
    pub fn restrictions(&mut self, created_at: Timestamp) -> Restrictions {
        fn allowed<T: PartialEq>(values: Vec<T>) -> Option<Allowed<T>> {
            match Allowed::new("list", MAX_LISTED, values) {
                Ok(allowed) => Some(allowed),
                Err(refused) => panic!("{refused}"),
            }
        }
        let mut restrictions = Restrictions::default();
        if self.below(2) == 0 {
            restrictions.expires_at = Some(created_at + Seconds(86_400));
            restrictions.require_session = true;
            restrictions.ip_allow = ["203.0.113.0/24", "2001:db8::/32"]
                .map(api_key::network)
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
                .ok()
                .and_then(allowed);
        }
        if self.below(2) == 0 {
            restrictions.operations = allowed(vec![Operation::SignMessage, Operation::GetWallet]);
            restrictions.user_ids = allowed(vec![self.id(created_at), self.id(created_at)]);
            restrictions.wallet_ids = allowed(vec![self.id(created_at)]);
            restrictions.wallet_types = allowed(vec![WalletType::Polkadot, WalletType::Ethereum]);
        }
        restrictions
    }

    /// A redirect URL of the world, not the default.
    ///
    /// # Panics
    /// Never: the URL is well formed.
    pub fn redirect_url(&mut self, world: World, kind: RedirectKind) -> RedirectUrl {
        let created_at = self.tick();
        let label = self.letters(12);
        let text = match self.below(3) {
            0 => format!("https://*.{label}.example.com/callback"),
            1 => format!("http://localhost:3000/{label}?next=%2F&q=%25_"),
            _ => format!("https://Bücher.example.com/{label}/../x"),
        };
        let target = match RedirectTarget::parse(&text) {
            Ok(target) => target,
            Err(refused) => panic!("{text}: {refused}"),
        };
        RedirectUrl {
            id: self.id(created_at),
            world,
            kind,
            target,
            is_default: false,
            created_at,
        }
    }

    /// A wrapped App key.
    pub fn app_key(&mut self, world: World, purpose: KeyPurpose, version: u32) -> AppKey {
        AppKey {
            world,
            purpose,
            version,
            wrapped: self.wrapped_key(),
            created_at: self.tick(),
        }
    }

    /// A key wrapped under some root version.
    pub fn wrapped_key(&mut self) -> WrappedKey {
        WrappedKey {
            root_version: self.version(),
            bytes: self.bytes(60),
        }
    }

    /// A signing key of the world.
    pub fn signing_key(&mut self, world: World) -> SigningKey {
        let created_at = self.tick();
        let id = self.id(created_at);
        SigningKey {
            id,
            world,
            algorithm: self.pick(&[Algorithm::ES256, Algorithm::RS256, Algorithm::EdDSA]),
            public_jwk: json!({ "kid": id, "kty": "EC", "x": self.letters(43), "nested": [1, null, { "ü": "\\\"" }] }),
            private: self.sealed(),
            created_at,
            active_from: created_at + Seconds(300),
        }
    }

    /// A user of the world.
    pub fn user(&mut self, world: World) -> User {
        let created_at = self.tick();
        User {
            id: self.id(created_at),
            world,
            first_name: self.text(),
            middle_name: self.text(),
            last_name: self.text(),
            status: self.pick(&[UserStatus::Pending, UserStatus::Active]),
            is_owned: self.coin(),
            disabled: None,
            last_sign_in_at: match self.coin() {
                true => Some(self.moment()),
                false => None,
            },
            metadata: self.metadata(),
            created_at,
            updated_at: self.moment(),
        }
    }

    /// When and why a user was disabled.
    pub fn user_disabled(&mut self) -> UserDisabled {
        UserDisabled {
            at: self.moment(),
            reason: self.text(),
        }
    }

    /// Metadata with the numbers and texts that are most easily corrupted.
    ///
    /// # Panics
    /// Never: the object is within its limits.
    pub fn metadata(&mut self) -> Metadata {
        let mut object = Map::new();
        if self.coin() {
            object.insert("text".to_owned(), self.text().into());
            object.insert(self.text(), "under an odd name".into());
            object.insert("unlikely".to_owned(), self.rng.next().into());
            object.insert(
                "numbers".to_owned(),
                json!([
                    0,
                    -0.0,
                    0.1,
                    1.0,
                    1e300,
                    5e-324,
                    -1.797_693_134_862_315_7e308,
                    9_007_199_254_740_993_i64,
                    i64::MIN,
                    i64::MAX,
                    u64::MAX
                ]),
            );
            object.insert(
                "nested".to_owned(),
                json!({ "": { "a": [[], {}, null, true, false, "\"\\/\u{8}\u{c}\n"] }, "😀": "\u{1f}" }),
            );
        }
        match Metadata::new(object) {
            Ok(metadata) => metadata,
            Err(refused) => panic!("{refused}"),
        }
    }

    /// A unique address of the user.
    pub fn email(&mut self, user: &User) -> UserEmail {
        let label = self.letters(16);
        let address = match self.below(4) {
            0 => format!("{label}@example.com"),
            1 => format!("Upper.{label}+Tag@EXAMPLE.com"),
            2 => format!("üñí-{label}@Bücher.example.com"),
            _ => format!("o'{label}%_*@mail-{label}.example.com"),
        };
        self.email_of(user, &address)
    }

    /// The given address as the user's.
    ///
    /// # Panics
    /// If the address is invalid.
    pub fn email_of(&mut self, user: &User, address: &str) -> UserEmail {
        let created_at = self.tick();
        let email = match Email::parse(address) {
            Ok(email) => email,
            Err(refused) => panic!("{address}: {refused}"),
        };
        UserEmail {
            id: self.id(created_at),
            user_id: user.id,
            email,
            verified: self.coin(),
            created_at,
            updated_at: self.moment(),
            pending_owner: None,
            of_owned: self.coin(),
        }
    }

    /// A unique phone number of the user.
    pub fn phone(&mut self, user: &User) -> UserPhone {
        let created_at = self.tick();
        // Not every well-formed number is in the numbering plan.
        let number = loop {
            let digits = 2_000_000 + self.below(8_000_000);
            if let Ok(number) = PhoneNumber::parse(&format!("+1212{digits}")) {
                break number;
            }
        };
        UserPhone {
            id: self.id(created_at),
            user_id: user.id,
            number,
            verified: self.coin(),
            created_at,
            updated_at: self.moment(),
            pending_owner: None,
            of_owned: self.coin(),
        }
    }

    /// A default wallet of the user, with its key and a unique address.
    pub fn wallet(&mut self, user: &User, wallet_type: WalletType) -> (StoredWallet, WalletKey) {
        let created_at = self.tick();
        let wallet = Wallet {
            id: self.id(created_at),
            world: user.world,
            user_id: user.id,
            key_id: Some(self.id(created_at)),
            wallet_type,
            public_address: format!("0x{}", self.letters(40)),
            verified: self.coin(),
            is_default: true,
            is_read_only: self.coin(),
            is_imported: self.coin(),
            account_index: self.pick(&[None, Some(0), Some(u32::MAX)]),
            disabled: self.disabled(created_at),
            created_at,
            updated_at: self.moment(),
        };
        let key = self.wallet_key(&wallet);
        let mac = self.mac();
        (StoredWallet { wallet, mac }, key)
    }

    /// A read-only wallet of the user, without a key.
    pub fn keyless_wallet(&mut self, user: &User, wallet_type: WalletType) -> StoredWallet {
        let (mut stored, _) = self.wallet(user, wallet_type);
        let wallet = &mut stored.wallet;
        (wallet.key_id, wallet.is_default, wallet.is_read_only) = (None, false, true);
        stored
    }

    /// A challenge for an address, valid for ten minutes.
    pub fn wallet_challenge(&mut self, user: &User, public_address: &str) -> WalletChallenge {
        let created_at = self.tick();
        WalletChallenge {
            id: self.id(created_at),
            world: user.world,
            wallet_type: WalletType::Ethereum,
            public_address: public_address.to_owned(),
            user_id: user.id,
            is_new_user: self.coin(),
            nonce: self.letters(24),
            text: self.text(),
            created_at,
            expires_at: created_at + Seconds(600),
        }
    }

    /// A key pair for importing the key of an address, for this user or, at random, for anyone.
    pub fn import_key(&mut self, user: &User, public_address: &str) -> ImportKey {
        let created_at = self.tick();
        let entropy_type = self.pick(&EntropyType::ALL);
        ImportKey {
            id: self.id(created_at),
            world: user.world,
            origin: Origin {
                wallet_type: WalletType::Ethereum,
                public_address: public_address.to_owned(),
                entropy_type,
            },
            account_index: (entropy_type == EntropyType::Hd).then_some(0x7fff_ffff),
            user_id: self.coin().then_some(user.id),
            kem: self.pick(&Kem::ALL),
            public_key: self.bytes(65),
            private_key: self.sealed(),
            created_at,
            expires_at: created_at + Seconds(900),
        }
    }

    fn wallet_key(&mut self, wallet: &Wallet) -> WalletKey {
        WalletKey {
            id: match wallet.key_id {
                Some(id) => id,
                None => self.id(wallet.created_at),
            },
            wallet_id: wallet.id,
            public_key: self.bytes(33),
            format: self.version(),
            key_version: self.version(),
            wrapped_data_key: self.bytes(60),
            ciphertext: self.bytes(61),
        }
    }

    /// A passkey of the user, from an authenticator with a signature counter.
    ///
    /// # Panics
    /// Never: the domain is valid.
    pub fn passkey(&mut self, user: &User) -> Passkey {
        let created_at = self.tick();
        let length = self.pick(&[16, 32, 64, 1023]);
        Passkey {
            id: self.id(created_at),
            world: user.world,
            user_id: user.id,
            credential_id: self.bytes(length),
            public_key: self.bytes(77),
            sign_count: self.pick(&[1, 7, 2_147_483_648, u32::MAX - 9]),
            backup_eligible: self.coin(),
            backed_up: self.coin(),
            domain: self.passkey_domain(),
            authenticator_type: self.pick(&AuthenticatorType::ALL),
            transports: match self.below(2) {
                0 => Vec::new(),
                _ => vec!["internal".to_owned(), "hybrid".to_owned()],
            },
            user_agent: self.text(),
            created_at,
            updated_at: self.moment(),
            last_used_at: None,
        }
    }

    /// A challenge for the user, valid for a minute.
    pub fn passkey_challenge(&mut self, user: &User, ceremony: Ceremony) -> PasskeyChallenge {
        let created_at = self.tick();
        PasskeyChallenge {
            world: user.world,
            hash: self.token(),
            ceremony,
            user_id: match ceremony {
                Ceremony::Registration => Some(user.id),
                Ceremony::Authentication => self.pick(&[Some(user.id), None]),
            },
            domain: self.passkey_domain(),
            authenticator_type: self.pick(&AuthenticatorType::ALL),
            created_at,
            expires_at: created_at + Seconds(60),
        }
    }

    /// A random user handle.
    pub fn user_handle(&mut self) -> UserHandle {
        UserHandle(self.key())
    }

    fn passkey_domain(&mut self) -> PasskeyDomain {
        let text = self.pick(&["localhost", "example.com", "xn--bcher-kva.example"]);
        match PasskeyDomain::parse(text) {
            Ok(domain) => domain,
            Err(refused) => panic!("{text}: {refused}"),
        }
    }

    /// A connection to an identity provider, with its secret.
    pub fn connection(&mut self, world: World, name: &str) -> StoredConnection {
        let created_at = self.tick();
        let mut url = || format!("https://{}.example.com", self.letters(8));
        let settings = ConnectionSettings {
            issuer: Some(url()),
            authorization_endpoint: Some(url()),
            token_endpoint: Some(url()),
            userinfo_endpoint: None,
            jwks_uri: Some(url()),
            token_endpoint_auth_method: self.coin().then_some(TokenEndpointAuth::ClientSecretPost),
            tenants: vec![self.letters(6), self.letters(6)],
            trust_email_verified: self.coin(),
            apple: self.coin().then(|| AppleKey {
                team_id: self.letters(10),
                key_id: self.letters(10),
            }),
            store_tokens: self.coin(),
            scopes: vec![self.letters(5)],
        };
        StoredConnection {
            connection: Connection {
                callback_id: self.id(created_at),
                world,
                name: provider(name),
                client_id: self.letters(20),
                settings,
                created_at,
                updated_at: self.tick(),
            },
            secret: self.sealed(),
            hint: self.coin().then(|| ClientSecretHint {
                last_four: self.coin().then(|| self.letters(4)),
                updated_at: self.tick(),
            }),
        }
    }

    /// A person's identity at an identity provider.
    pub fn proven_identity(&mut self) -> ProvenIdentity {
        ProvenIdentity {
            issuer: format!("https://{}.example.com", self.letters(8)),
            subject: self.letters(12),
            email: self
                .coin()
                .then(|| format!("{}@example.com", self.letters(8))),
            email_verified: self.coin(),
            name: Some(self.text()),
            given_name: self.coin().then(|| self.text()),
            family_name: None,
        }
    }

    /// An unfinished flow at the built-in provider, valid for ten minutes.
    pub fn oauth_flow(&mut self, world: World) -> Flow {
        let begun_at = self.tick();
        Flow {
            state: self.token(),
            world,
            provider: provider(ProviderName::TEST),
            secrets: self.sealed(),
            redirect_uri: self
                .coin()
                .then(|| "https://app.example.com/own".to_owned()),
            browser: self.coin().then(|| self.token()),
            login_url: self.coin().then(|| "https://app.example.com/in".to_owned()),
            registration_url: self
                .coin()
                .then(|| "https://app.example.com/new".to_owned()),
            challenge: self.challenge(),
            caller_state: self.caller_state(),
            begun_from: self.coin().then(|| "2001:db8::/64".to_owned()),
            test_grant: None,
            trial: self.coin().then(|| self.id(begun_at)),
            expires_at: begun_at + Seconds(600),
        }
    }

    /// The PKCE challenge of a start call, or none at random.
    fn challenge(&mut self) -> Option<CodeChallenge> {
        self.coin().then(|| CodeChallenge(self.token().0))
    }

    /// The caller's state of a start call, or none at random.
    fn caller_state(&mut self) -> Option<CallerState> {
        let text = self.pick(&[None, Some(" "), Some("a=b&c#d%20+~")]);
        text.and_then(|text| CallerState::parse(text).ok())
    }

    /// A grant of the built-in provider.
    pub fn test_grant(&mut self) -> TestGrant {
        TestGrant {
            code: self.token(),
            identity: self.proven_identity(),
        }
    }

    /// A token pending verification, valid for ten minutes.
    pub fn pending(&mut self, world: World) -> Pending {
        let made_at = self.tick();
        Pending {
            token: self.token(),
            world,
            provider: provider("google"),
            state: self.token(),
            identity: self.sealed(),
            challenge: self.challenge(),
            begun_from: self.coin().then(|| "203.0.113.7".to_owned()),
            expires_at: made_at + Seconds(600),
        }
    }

    /// A link of a user with a provider.
    pub fn provider_link(&mut self, user: &User, name: &str) -> ProviderLink {
        let created_at = self.tick();
        let email_id = self.coin().then(|| self.id(created_at));
        ProviderLink {
            id: self.id(created_at),
            world: user.world,
            user_id: user.id,
            provider: provider(name),
            issuer: format!("https://{}.example.com", self.letters(8)),
            subject: self.letters(12),
            email_id,
            created_at,
            updated_at: self.tick(),
        }
    }

    /// The spelling of the address that a code or link was sent to, or none at random.
    fn spelling(&mut self) -> Option<Email> {
        let domain = self.pick(&["B\u{dc}CHER.example", "Example.com"]);
        let text = format!("J\u{f6}rg.{}@{domain}", self.letters(8));
        self.coin().then(|| Email::parse(&text).ok()).flatten()
    }

    /// A code of the user, sent to the given address or number; valid for a minute.
    pub fn code(&mut self, user: &User, method_id: MethodId) -> Code {
        let created_at = self.tick();
        Code {
            world: user.world,
            method_id,
            purpose: CodePurpose::SignIn,
            user_id: user.id,
            for_anybody: self.below(2) == 0,
            mac: self.mac(),
            fingerprint: match self.below(3) {
                0 => None,
                1 => Some(DeviceFingerprint::default()),
                _ => Some(self.fingerprint()),
            },
            user_created: self.coin(),
            asked_as: self.spelling(),
            sent_as_asked: self.coin(),
            created_at,
            expires_at: created_at + Seconds(60),
        }
    }

    /// An unconfirmed authenticator app of the user, valid for half an hour, with its recovery codes.
    pub fn totp(&mut self, user: &User) -> (Totp, Vec<StoredRecoveryCode>) {
        let created_at = self.tick();
        let totp = Totp {
            id: self.id(created_at),
            world: user.world,
            user_id: user.id,
            verified: false,
            seed: self.sealed(),
            expires_at: created_at + Seconds(1_800),
            created_at,
            updated_at: self.moment(),
        };
        let codes = (0..RECOVERY_CODES).map(|number| StoredRecoveryCode {
            number,
            sealed: self.sealed(),
            mac: self.mac(),
            used: false,
        });
        let codes = codes.collect();
        (totp, codes)
    }

    /// A link for an address of the user, valid for an hour.
    pub fn link(&mut self, user: &User, email_id: EmailId, purpose: LinkPurpose) -> Link {
        let created_at = self.tick();
        Link {
            world: user.world,
            email_id,
            purpose,
            user_id: user.id,
            token: self.token(),
            redirect: self.pick(&[None, Some(RedirectKind::Login), Some(RedirectKind::Invite)]),
            landing: if self.coin() {
                Some(format!("https://{}.example.com/in", self.letters(8)))
            } else {
                None
            },
            fingerprint: match self.below(3) {
                0 => None,
                1 => Some(DeviceFingerprint::default()),
                _ => Some(self.fingerprint()),
            },
            origin: if self.coin() {
                Some(self.token())
            } else {
                None
            },
            user_created: self.coin(),
            challenge: self.challenge(),
            asked_as: self.spelling(),
            sent_as_asked: self.coin(),
            created_at,
            expires_at: created_at + Seconds(3_600),
            used_at: None,
            session_id: None,
            handed_at: None,
        }
    }

    /// A session of the user with both kinds of codes as factors.
    pub fn session(&mut self, user: &User) -> Session {
        let created_at = self.tick();
        Session {
            id: self.id(created_at),
            world: user.world,
            user_id: user.id,
            started_at: created_at,
            expires_at: created_at + Seconds(3_600),
            last_active_at: self.moment(),
            created_at,
            updated_at: self.moment(),
            factors: self.factors(),
            device_fingerprint: self.fingerprint(),
            permissions: match self.below(2) {
                0 => Vec::new(),
                _ => ODD_TEXTS.map(str::to_owned).into(),
            },
            deleted_at: None,
        }
    }

    /// No factors, or one of each kind.
    pub fn factors(&mut self) -> Vec<Factor> {
        if self.below(4) == 0 {
            return Vec::new();
        }
        let email_id: EmailId = self.id(self.now);
        let phone_number_id: PhoneNumberId = self.id(self.now);
        vec![
            Factor {
                proof: Proof::EmailCode {
                    email_id,
                    email: self.text(),
                },
                last_verified_at: self.moment(),
            },
            Factor {
                proof: Proof::SmsCode {
                    phone_number_id,
                    phone_number: self.text(),
                },
                last_verified_at: self.moment(),
            },
        ]
    }

    /// A device fingerprint.
    pub fn fingerprint(&mut self) -> DeviceFingerprint {
        DeviceFingerprint {
            ip: self
                .pick(&["", "203.0.113.7", "2001:db8::1%eth0"])
                .to_owned(),
            user_agent: self.text(),
        }
    }

    /// The hash of a unique token.
    pub fn token(&mut self) -> TokenHash {
        TokenHash(self.key())
    }

    /// A keyed hash.
    pub fn mac(&mut self) -> Mac {
        Mac {
            key_version: self.version(),
            tag: self.bytes(32),
        }
    }

    /// A claim on a unique idempotency key, valid for a day, with a lease of 15 seconds.
    pub fn claim(&mut self, world: World) -> Claim {
        let at = self.tick();
        Claim {
            world,
            key: KeyDigest(self.key()),
            request: self.mac(),
            holder: self.letters(32),
            expires_at: at + Seconds(86_400),
            lease_until: at + Seconds(15),
        }
    }

    /// A sealed secret that contains every byte value.
    pub fn sealed(&mut self) -> Sealed {
        let mut bytes = self.bytes(28);
        bytes.extend(0..=u8::MAX);
        Sealed {
            key_version: self.version(),
            bytes,
        }
    }

    /// An outbox job that is due, valid for a minute.
    pub fn job(&mut self, world: World) -> OutboxJob {
        let created_at = self.tick();
        OutboxJob {
            id: self.id(created_at),
            world,
            channel: Channel::Email,
            priority: Priority::SignIn,
            payload: self.sealed(),
            not_before: created_at,
            deliver_before: created_at + Seconds(60),
            attempts: 0,
            failures: 0,
            cause: Some("req_7".to_owned()),
            created_at,
        }
    }

    /// An event about a user, or about none.
    pub fn event(&mut self, world: World) -> NewEvent {
        let created_at = self.tick();
        let (user, email) = (self.id(created_at), self.id(created_at));
        let fact = match self.pick(&[0, 1, 2]) {
            0 => Fact::user_created(user, Via::Create),
            1 => Fact::email_added(user, email),
            _ => Fact::app_created(),
        };
        let key = self.id(created_at);
        NewEvent {
            id: self.id(created_at),
            world,
            kind: fact.kind,
            user_id: fact.user_id,
            wallet_id: fact.wallet_id,
            actor: self.pick(&[Actor::ApiKey(key), Actor::EndUser(user), Actor::Cli]),
            request_id: self.pick(&[None, Some("req_1")]).map(str::to_owned),
            data: fact.data(),
            created_at,
        }
    }

    /// An enabled endpoint that has never failed, at a unique URL.
    ///
    /// # Panics
    /// Never: URL and types are well formed.
    pub fn endpoint(&mut self, world: World) -> Endpoint {
        let created_at = self.tick();
        let label = self.letters(12);
        let url = match (self.below(3), world.environment) {
            (0, _) => format!("https://Bücher.example.com:8443/{label}/../x-{label}"),
            (1, Environment::Test) => format!("http://localhost:3000/{label}?next=%2F&q=%25_'"),
            _ => format!("https://{label}.example.com/events"),
        };
        Endpoint {
            id: self.id(created_at),
            world,
            url: match EndpointUrl::parse(&url, world.environment) {
                Ok(url) => url,
                Err(refused) => panic!("{url}: {refused}"),
            },
            name: self.coin().then(|| self.text()),
            types: self.event_types(),
            disabled: None,
            failing_since: None,
            last_success_at: self.coin().then(|| self.moment()),
            created_at,
            updated_at: self.moment(),
        }
    }

    fn event_types(&mut self) -> EventTypes {
        let names = self.pick(&[
            &["*"][..],
            &["user.*"],
            &["*", "wallet.signed"],
            &["session.created", "user.deleted", "wallet.*"],
        ]);
        match EventTypes::parse(names.iter().copied()) {
            Ok(types) => types,
            Err(refused) => panic!("{names:?}: {refused}"),
        }
    }

    /// The newest secret of an endpoint.
    pub fn webhook_secret(&mut self, world: World, endpoint_id: WebhookEndpointId) -> SealedSecret {
        let created_at = self.tick();
        SealedSecret {
            id: self.id(created_at),
            endpoint_id,
            world,
            sealed: self.sealed(),
            last_four: self.pick(&["", "aZ0=", "+/9A"]).to_owned(),
            created_at,
            expires_at: None,
        }
    }

    /// A due delivery of some event to the endpoint, not attempted yet; a replay at random.
    pub fn delivery(&mut self, endpoint: &Endpoint, position: i64) -> Delivery {
        let created_at = self.tick();
        Delivery {
            id: self.id(created_at),
            world: endpoint.world,
            endpoint_id: endpoint.id,
            event_id: self.id(created_at),
            position,
            kind: self.pick(EventKind::ALL),
            is_replay: self.coin(),
            state: DeliveryState::Waiting,
            attempts: 0,
            due_at: created_at,
            created_at,
        }
    }

    /// A new replay, of either kind at random.
    pub fn replay(&mut self, endpoint: &Endpoint) -> Replay {
        let created_at = self.tick();
        let missed = if self.coin() {
            Missed::Exhausted {
                since: self.moment(),
                after: None,
            }
        } else {
            Missed::Range {
                after: self.pick(&[0, 17]),
                until: self.pick(&[17, i64::MAX]),
            }
        };
        Replay {
            id: self.id(created_at),
            world: endpoint.world,
            endpoint_id: endpoint.id,
            missed,
            count: self.pick(&[0, 1, 100_000]),
            done: 0,
            next_at: created_at,
            created_at,
            ended_at: None,
        }
    }

    /// An attempt of a delivery, with or without a response.
    pub fn attempt(&mut self, delivery: &Delivery, number: u32) -> Attempt {
        let status = self.pick(&[None, Some(200), Some(503), Some(u16::MAX)]);
        Attempt {
            world: delivery.world,
            delivery_id: delivery.id,
            endpoint_id: delivery.endpoint_id,
            number,
            at: self.tick(),
            duration_ms: self.pick(&[0, 1, 15_000, u32::MAX]),
            status,
            error: status.is_none().then(|| self.text()),
            response_excerpt: (status.is_some() && self.coin()).then(|| self.text()),
        }
    }

    /// A captured message to the given recipient.
    pub fn captured(&mut self, world: World, to: &str) -> CapturedMessage {
        let created_at = self.tick();
        CapturedMessage {
            id: self.id(created_at),
            world,
            message: Message {
                channel: self.pick(&[Channel::Email, Channel::Sms]),
                kind: MessageKind::Otp,
                to: to.to_owned(),
                subject: self.text(),
                text: self.text(),
                html: self.text(),
                code: self.text(),
                link: self.text(),
                token: self.text(),
            },
            created_at,
        }
    }

    /// A time for a field that nothing is computed from, sometimes at the ends of the range.
    pub fn moment(&mut self) -> Timestamp {
        let now = self.now.unix();
        Timestamp::from_unix(self.pick(&[now, now, now, 0, -1, i64::MIN, i64::MAX]))
    }
}

const LETTERS: &[char] = &[
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's',
    't', 'u', 'v', 'w', 'x', 'y', 'z',
];

/// The other environment of the same App.
pub const fn other_environment(world: World) -> World {
    let environment = match world.environment {
        Environment::Test => Environment::Live,
        Environment::Live => Environment::Test,
    };
    World::new(world.app_id, environment)
}

/// A provider name that is known to be valid.
fn provider(name: &str) -> ProviderName {
    match ProviderName::parse(name) {
        Ok(name) => name,
        Err(refused) => panic!("{name}: {refused}"),
    }
}

/// The value as a JSON object, for metadata.
///
/// # Panics
/// If it is not an object.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}
