//! Typed object ids: a prefix and a KSUID.
//!
//! A KSUID has 20 bytes: big-endian seconds since 1,400,000,000 (2014-05-13) in four of them, and 16 random ones. It is written as 27
//! base62 characters. Its text sorts by time, so an id is also a paging cursor. Each kind is a type of its own, so a session id passed as a
//! user id does not compile.

use std::fmt;
use std::str::FromStr;

use crate::{Invalid, Timestamp};

const EPOCH: i64 = 1_400_000_000;
const BYTES: usize = 20;
const CHARS: usize = 27;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The encoding of the largest 20-byte number.
const LARGEST: [u8; CHARS] = *b"aWgEPTl1tmebfsQzFP4bxwgy80V";

const BASE: u64 = 62;
/// Number of digits that fit into 32 bits together.
const DIGITS: usize = 5;
/// Number of values that these digits can express.
const GROUP: u64 = BASE.pow(5);

/// The 27 base62 characters of an id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(test, derive(Debug))]
struct Ksuid([u8; CHARS]);

impl Ksuid {
    fn new(at: Timestamp, random: [u8; 16]) -> Self {
        // The four timestamp bytes end in the year 2150. A clock outside their range is clamped, not wrapped.
        let seconds = u32::try_from(at.unix().saturating_sub(EPOCH).max(0)).unwrap_or(u32::MAX);
        let mut bytes = [0_u8; BYTES];
        let (time, rest) = bytes.split_at_mut(4);
        time.copy_from_slice(&seconds.to_be_bytes());
        rest.copy_from_slice(&random);
        Self::encode(bytes)
    }

    /// Long division, least significant digits first. It handles five digits at a time, because every request reads and writes a dozen ids.
    fn encode(bytes: [u8; BYTES]) -> Self {
        let mut number = limbs(bytes);
        let mut text = [b'0'; CHARS];
        for digits in text.rchunks_mut(DIGITS) {
            let mut rest = 0_u64;
            for limb in &mut number {
                let value = (rest << u32::BITS) | u64::from(*limb);
                *limb = low_half(value / GROUP);
                rest = value % GROUP;
            }
            for digit in digits.iter_mut().rev() {
                *digit = usize::try_from(rest % BASE)
                    .ok()
                    .and_then(|value| ALPHABET.get(value))
                    .copied()
                    .unwrap_or(b'0');
                rest /= BASE;
            }
        }
        Self(text)
    }

    /// The number that the characters, all from [`ALPHABET`], encode.
    fn decode(self) -> [u8; BYTES] {
        let mut number = [0_u32; BYTES / 4];
        for digits in self.0.rchunks(DIGITS).rev() {
            let mut carry = 0_u64;
            let mut weight = 1_u64;
            for digit in digits {
                carry = carry * BASE + value_of(*digit);
                weight *= BASE;
            }
            for limb in number.iter_mut().rev() {
                let value = u64::from(*limb) * weight + carry;
                *limb = low_half(value);
                carry = value >> u32::BITS;
            }
        }
        let mut bytes = [0_u8; BYTES];
        for (place, limb) in bytes.chunks_exact_mut(4).zip(number) {
            place.copy_from_slice(&limb.to_be_bytes());
        }
        bytes
    }

    /// Each number has exactly one encoding, so a valid text can be kept as it is.
    fn parse(text: &str) -> Option<Self> {
        let chars = text.as_bytes().first_chunk().copied()?;
        // Characters sort like the digits they stand for, so texts compare like their numbers.
        let is_read = text.len() == CHARS
            && text
                .bytes()
                .all(|character| character.is_ascii_alphanumeric())
            && chars <= LARGEST;
        is_read.then_some(Self(chars))
    }

    /// The id at this distance after this one, with the same timestamp; `None` if it would exceed that timestamp's last id.
    fn following(&self, distance: u64) -> Option<Self> {
        let bytes = self.decode();
        let (time, random) = bytes.split_first_chunk::<4>()?;
        let place = u128::from_be_bytes(random.try_into().ok()?);
        let place = place.checked_add(u128::from(distance))?.to_be_bytes();
        let mut following = [0_u8; BYTES];
        let (head, tail) = following.split_at_mut(4);
        head.copy_from_slice(time);
        tail.copy_from_slice(&place);
        Some(Self::encode(following))
    }

    fn timestamp(&self) -> Timestamp {
        let seconds = self.decode().first_chunk().copied();
        let seconds = seconds.map_or(0, u32::from_be_bytes);
        Timestamp::from_unix(EPOCH.saturating_add(i64::from(seconds)))
    }
}

/// The number as 32-bit limbs, the most significant first.
fn limbs(bytes: [u8; BYTES]) -> [u32; BYTES / 4] {
    let mut limbs = [0; BYTES / 4];
    for (limb, four) in limbs.iter_mut().zip(bytes.as_chunks().0) {
        *limb = u32::from_be_bytes(*four);
    }
    limbs
}

fn low_half(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

/// The value of a character of [`ALPHABET`].
fn value_of(character: u8) -> u64 {
    let (first, value) = match character {
        b'a'.. => (b'a', 36),
        b'A'.. => (b'A', 10),
        _ => (b'0', 0),
    };
    u64::from(character.saturating_sub(first)) + value
}

/// The operations common to all ids, for generic code.
pub trait Id: fmt::Display + Copy + Ord + Sized {
    /// The prefix without its underscore.
    const PREFIX: &'static str;

    /// Creates an id from a timestamp and 16 random bytes.
    fn new(at: Timestamp, random: [u8; 16]) -> Self;

    /// The id at this distance after this one, with the same timestamp; `None` if it would exceed that timestamp's last id.
    fn following(&self, distance: u64) -> Option<Self>;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $name(Ksuid);

            impl $name {
                /// The time at which the id was created; equals the object's `created_at`.
                pub fn timestamp(&self) -> Timestamp {
                    self.0.timestamp()
                }
            }

            impl Id for $name {
                const PREFIX: &'static str = $prefix;

                fn new(at: Timestamp, random: [u8; 16]) -> Self {
                    Self(Ksuid::new(at, random))
                }

                fn following(&self, distance: u64) -> Option<Self> {
                    self.0.following(distance).map(Self)
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    // Allocated once: a growing string would be allocated twice.
                    const HEAD: &str = concat!($prefix, "_");
                    let mut text = [0; HEAD.len() + CHARS];
                    let (head, tail) = text.split_at_mut(HEAD.len());
                    head.copy_from_slice(HEAD.as_bytes());
                    tail.copy_from_slice(&self.0.0);
                    f.write_str(std::str::from_utf8(&text).unwrap_or_default())
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::Display::fmt(self, f)
                }
            }

            impl FromStr for $name {
                type Err = Invalid;

                fn from_str(text: &str) -> Result<Self, Invalid> {
                    text.strip_prefix(concat!($prefix, "_"))
                        .and_then(Ksuid::parse)
                        .map(Self)
                        .ok_or_else(|| Invalid::value("id", concat!("must be ", $prefix, "_ followed by 27 letters or digits")))
                }
            }

            impl serde::Serialize for $name {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let text = String::deserialize(deserializer)?;
                    text.parse().map_err(|invalid: Invalid| serde::de::Error::custom(invalid.message))
                }
            }
        )*
    };
}

// Append-only, and alphabetical by prefix: a prefix that was ever used is stored in someone's database.
ids! {
    /// An App: the container of all users, keys, sessions and wallets of one customer.
    AppId "app";
    /// A chain of the audit log.
    AuditChainId "auditchain";
    /// An entry of the audit log.
    AuditEntryId "aud";
    /// A user's e-mail address.
    EmailId "email";
    /// An event.
    EventId "event";
    /// A job of the outbox.
    JobId "evt";
    /// A link between a user and their identity at a provider.
    ProviderLinkId "idpuser";
    /// An API key or public token.
    ApiKeyId "key";
    /// A key of the management API.
    ManagementKeyId "key";
    /// A link that lets an operator in.
    OperatorLinkId "inv";
    /// A captured message of the test environment.
    MessageId "msg";
    /// A connection to an identity provider, as named in its callback URL.
    OauthCallbackId "oauthcb";
    /// A user's phone number.
    PhoneNumberId "pn";
    /// A registered redirect URL.
    RedirectUrlId "redirect";
    /// A session.
    SessionId "sess";
    /// A signing key of session JWTs; its id is the `kid`.
    SigningKeyId "jwk";
    /// An authenticator app of a user.
    TotpId "totp";
    /// A user.
    UserId "user";
    /// A wallet.
    WalletId "wallet";
    /// A key pair that encrypts a private key for import; never shown to callers.
    WalletImportId "walletimp";
    /// The private key behind a wallet.
    WalletKeyId "walletpk";
    /// A challenge for the holder of a wallet to sign.
    WalletRegistrationId "walletrr";
    /// A passkey of a user.
    WebauthnCredentialId "webauthn";
    /// A delivery of an event to a webhook endpoint.
    WebhookDeliveryId "whdel";
    /// A webhook endpoint.
    WebhookEndpointId "whep";
    /// A replay of many events to a webhook endpoint.
    WebhookReplayId "whrep";
    /// A signing secret of a webhook endpoint; its id is never shown to callers.
    WebhookSecretId "whsecret";
}

impl AppId {
    /// The service's own App, for objects that belong to the deployment rather than to a customer's App. Generated ids are never from the
    /// year 2014, so none can collide with it.
    pub const BUILT_IN: Self = Self(Ksuid(*b"000000000000000000000000001"));
}

impl AppId {
    /// The id with the timestamp and random part of a management key, under which its requests are counted.
    pub(crate) const fn like(key: ManagementKeyId) -> Self {
        Self(key.0)
    }
}

impl OauthCallbackId {
    /// The callback of the built-in provider in the App's test world. It has no database row: it is the App's own id under another prefix,
    /// and generated ids never collide with it.
    pub const fn of_test_provider(app: AppId) -> Self {
        Self(app.0)
    }

    /// The App whose test provider would have this callback.
    pub const fn app_of_test_provider(self) -> AppId {
        AppId(self.0)
    }
}

#[cfg(test)]
mod tests;
