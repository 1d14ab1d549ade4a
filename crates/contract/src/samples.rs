//! Test data: records with every field set, out of a seeded source.
//!
//! Each record is made one second after the one before, and its id carries its `created_at`, as in the service.
//! Texts are odd on purpose: empty, of several scripts, with characters that a careless query would trip over.

use serde_json::{Map, Value, json};
use vestry_domain::api_key::{ApiKey, ApiKeyKind, Scope};
use vestry_domain::app::{App, AppSettings, AttachedIdentifiers, NamedEvents};
use vestry_domain::code::{Code, CodePurpose, MethodId};
use vestry_domain::email::Email;
use vestry_domain::envelope::{AppKey, KeyPurpose, Mac, Sealed, WalletKey, WrappedKey};
use vestry_domain::event::{Actor, EventKind, Fact, NewEvent, Via};
use vestry_domain::idempotency::{Claim, KeyDigest};
use vestry_domain::ids::{EmailId, Id, PhoneNumberId, WebhookEndpointId};
use vestry_domain::key_transfer::{EntropyType, ImportKey, Kem, Origin};
use vestry_domain::link::{Link, LinkPurpose};
use vestry_domain::message::{CapturedMessage, Channel, Message, MessageKind, OutboxJob};
use vestry_domain::metadata::Metadata;
use vestry_domain::passkey::{
    AuthenticatorType, Ceremony, Passkey, PasskeyChallenge, PasskeyDomain, UserHandle,
    UserVerification,
};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::pkce::CodeChallenge;
use vestry_domain::provider::{
    AppleKey, Connection, ConnectionSettings, Flow, Pending, ProvenIdentity, ProviderLink,
    ProviderName, TestGrant, TokenEndpointAuth,
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

/// Where the time of the samples begins: 2026-01-01T00:00:00Z.
const BEGINNING: Timestamp = Timestamp::from_unix(1_767_225_600);

/// Texts that must come back as they went in. None holds a NUL, which the domain refuses.
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
    /// A source of a fresh seed, which is printed ([`rng::seed`]).
    pub fn fresh() -> Self {
        Self::from_seed(rng::seed())
    }

    /// A source of the given seed.
    pub fn from_seed(seed: u64) -> Self {
        Self {
            rng: Rng::from_seed(seed),
            now: BEGINNING,
            step: Seconds(1),
        }
    }

    /// The moment of the record made last.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// From here on all records are made in the same second.
    pub const fn stop_clock(&mut self) {
        self.step = Seconds(0);
    }

    /// Moves on, and says to which moment.
    pub fn tick(&mut self) -> Timestamp {
        self.now = self.now + self.step;
        self.now
    }

    /// A random number below the given one.
    pub fn below(&mut self, end: usize) -> usize {
        self.rng.below(end)
    }

    /// Random bytes, so many.
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

    /// Random lower-case letters, so many; for what must be unique.
    pub fn letters(&mut self, length: usize) -> String {
        (0..length).map(|_| self.pick(LETTERS)).collect()
    }

    /// One of [`ODD_TEXTS`].
    pub fn text(&mut self) -> String {
        self.pick(&ODD_TEXTS).to_owned()
    }

    /// A new id of the given moment.
    pub fn id<I: Id>(&mut self, at: Timestamp) -> I {
        let mut random = [0; 16];
        self.rng.fill(&mut random);
        I::new(at, random)
    }

    /// One of the given values.
    ///
    /// # Panics
    /// There is none.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        match from.get(self.rng.below(from.len())) {
            Some(value) => *value,
            None => panic!("nothing to pick from"),
        }
    }

    /// The values in some other order: what must come back sorted is not put in sorted, nor the other way round.
    pub fn shuffled<'a, T>(&mut self, values: &'a [T]) -> Vec<&'a T> {
        let mut left: Vec<&T> = values.iter().collect();
        let mut order = Vec::with_capacity(left.len());
        while !left.is_empty() {
            order.push(left.swap_remove(self.rng.below(left.len())));
        }
        order
    }

    /// Whether and why a wallet of that age signs nothing.
    fn disabled(&mut self, at: Timestamp) -> Option<Disabled> {
        let reasons = [DisabledReason::Requested, DisabledReason::UnprovenOrigin];
        let reason = self.pick(&reasons);
        self.pick(&[None, Some(Disabled { at, reason })])
    }

    /// Either.
    pub fn coin(&mut self) -> bool {
        self.rng.below(2) == 1
    }

    /// A version number, the largest possible one now and then.
    pub fn version(&mut self) -> u32 {
        self.pick(&[1, 2, 9, 10, 4_000_000_000, u32::MAX])
    }

    /// An App with settings that are all unlike their defaults.
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
            created_at,
            updated_at: self.moment(),
        }
    }

    /// A test clock that was set.
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
            scopes,
            created_at,
            revoked_at: None,
        }
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

    /// A key under some root version.
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
            founded: self.coin(),
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

    /// Since when and why a user may not sign in.
    pub fn user_disabled(&mut self) -> UserDisabled {
        UserDisabled {
            at: self.moment(),
            reason: self.text(),
        }
    }

    /// Metadata with the numbers and texts that get lost most easily.
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

    /// An address of the user that nobody else has.
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

    /// The given address for the user.
    ///
    /// # Panics
    /// The address is not one.
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
            successor: None,
            of_founded: self.coin(),
        }
    }

    /// A number of the user that nobody else has.
    pub fn phone(&mut self, user: &User) -> UserPhone {
        let created_at = self.tick();
        // Not every number of the form is in the numbering plan.
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
            successor: None,
            of_founded: self.coin(),
        }
    }

    /// A default wallet of the user, with its key and an address of its own.
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

    /// A challenge for an address, alive for ten minutes.
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

    /// A key pair for the import of an address, for this user or, as the coin falls, for anybody.
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

    /// A passkey of the user, made by an authenticator that counts.
    ///
    /// # Panics
    /// Never: the domain is one.
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

    /// A challenge for the user, good for a minute.
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
        }
    }

    /// A person of an identity provider.
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

    /// A flow at the built-in provider that was not answered yet, ten minutes long.
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
            expires_at: begun_at + Seconds(600),
        }
    }

    /// The challenge of a start call, if it had one.
    fn challenge(&mut self) -> Option<CodeChallenge> {
        self.coin().then(|| CodeChallenge(self.token().0))
    }

    /// What a start call wants to have back, if anything.
    fn caller_state(&mut self) -> Option<CallerState> {
        let text = self.pick(&[None, Some(" "), Some("a=b&c#d%20+~")]);
        text.and_then(|text| CallerState::parse(text).ok())
    }

    /// An answer of the built-in provider.
    pub fn test_grant(&mut self) -> TestGrant {
        TestGrant {
            code: self.token(),
            identity: self.proven_identity(),
        }
    }

    /// A token that waits to be verified, ten minutes long.
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

    /// The spelling that a code or link may have gone to.
    fn spelling(&mut self) -> Option<Email> {
        let domain = self.pick(&["B\u{dc}CHER.example", "Example.com"]);
        let text = format!("J\u{f6}rg.{}@{domain}", self.letters(8));
        self.coin().then(|| Email::parse(&text).ok()).flatten()
    }

    /// A code of the user, sent to the given address or number; alive for a minute.
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

    /// An authenticator app of the user that waits half an hour for its first code, with its recovery codes.
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

    /// A link for an address of the user, good for an hour.
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

    /// A session of the user that rests on both kinds of codes.
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

    /// No factor, or one of each kind.
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

    /// A device.
    pub fn fingerprint(&mut self) -> DeviceFingerprint {
        DeviceFingerprint {
            ip: self
                .pick(&["", "203.0.113.7", "2001:db8::1%eth0"])
                .to_owned(),
            user_agent: self.text(),
        }
    }

    /// The hash of a token that nobody else has.
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

    /// A run that wants a key which no other sample has, for a day and with a lease of a quarter of a minute.
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

    /// A sealed secret that holds every byte value.
    pub fn sealed(&mut self) -> Sealed {
        let mut bytes = self.bytes(28);
        bytes.extend(0..=u8::MAX);
        Sealed {
            key_version: self.version(),
            bytes,
        }
    }

    /// A job of the outbox whose time has come, good for a minute.
    pub fn job(&mut self, world: World) -> OutboxJob {
        let created_at = self.tick();
        OutboxJob {
            id: self.id(created_at),
            world,
            channel: self.pick(&[Channel::Email, Channel::Sms]),
            payload: self.sealed(),
            not_before: created_at,
            deliver_before: created_at + Seconds(60),
            attempts: 0,
            created_at,
        }
    }

    /// An event about a user, or about nobody.
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

    /// An endpoint that is sent events and has never failed, at a URL that no other sample has.
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

    /// A delivery of some event to the endpoint that was never tried, and is due; a replay as the coin falls.
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

    /// A replay that was just asked for, of either kind.
    pub fn replay(&mut self, endpoint: &Endpoint) -> Replay {
        let created_at = self.tick();
        let missed = if self.coin() {
            Missed::Exhausted {
                since: self.moment(),
                after: None,
            }
        } else {
            Missed::Stretch {
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

    /// An attempt of a delivery, answered or not.
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

    /// Some moment for a field that nothing is computed from: the far ends of time now and then.
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

/// A name that is known to be one.
fn provider(name: &str) -> ProviderName {
    match ProviderName::parse(name) {
        Ok(name) => name,
        Err(refused) => panic!("{name}: {refused}"),
    }
}

/// The JSON object of a value, for metadata.
///
/// # Panics
/// It is not an object.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}
