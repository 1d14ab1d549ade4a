//! Wallets.

use std::fmt;
use std::str::FromStr;

use crate::envelope::{Mac, join_with_lengths};
use crate::ids::{UserId, WalletId, WalletKeyId};
use crate::{Invalid, Timestamp, World};

/// The chain that a wallet belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WalletType {
    /// `ethereum`: secp256k1, EIP-55 address.
    Ethereum,
    /// `solana`: ed25519, base58 address.
    Solana,
    /// `bitcoin`: secp256k1, bech32 address.
    Bitcoin,
    /// `DOT`: sr25519, SS58 address.
    Polkadot,
    /// `XLM`: ed25519, strkey address.
    Stellar,
}

impl WalletType {
    /// All five types.
    pub const ALL: [Self; 5] = [
        Self::Ethereum,
        Self::Solana,
        Self::Bitcoin,
        Self::Polkadot,
        Self::Stellar,
    ];

    /// The name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ethereum => "ethereum",
            Self::Solana => "solana",
            Self::Bitcoin => "bitcoin",
            Self::Polkadot => "DOT",
            Self::Stellar => "XLM",
        }
    }

    /// The alternative name in requests.
    const fn alias(self) -> &'static str {
        match self {
            Self::Ethereum => "ETH",
            Self::Solana => "SOL",
            Self::Bitcoin => "BTC",
            Self::Polkadot => "polkadot",
            Self::Stellar => "stellar",
        }
    }
}

/// The form of an address, on a chain that has several for one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressForm {
    /// The chain's default form: P2WPKH on Bitcoin.
    #[default]
    Usual,
    /// Bitcoin's key-path-only P2TR (BIP-86).
    Taproot,
}

impl AddressForm {
    /// The form named by a caller for a new wallet of a type: `p2wpkh` or `p2tr` for Bitcoin; none for other chains.
    ///
    /// # Errors
    /// [`Invalid`] naming `address_type`.
    pub fn named(wallet_type: WalletType, name: Option<&str>) -> Result<Self, Invalid> {
        match (wallet_type, name) {
            (_, None) | (WalletType::Bitcoin, Some("p2wpkh")) => Ok(Self::Usual),
            (WalletType::Bitcoin, Some("p2tr")) => Ok(Self::Taproot),
            (WalletType::Bitcoin, Some(_)) => {
                let message = "address_type must be p2wpkh or p2tr";
                Err(Invalid::value("address_type", message))
            }
            (_, Some(_)) => {
                let message = "address_type is only supported for bitcoin wallets";
                Err(Invalid::value("address_type", message))
            }
        }
    }
}

impl serde::Serialize for WalletType {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for WalletType {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|invalid: Invalid| serde::de::Error::custom(invalid.message))
    }
}

impl fmt::Display for WalletType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for WalletType {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text || kind.alias() == text)
            .ok_or_else(|| {
                Invalid::value(
                    "wallet_type",
                    "wallet_type must be one of ethereum, solana, bitcoin, DOT, XLM",
                )
            })
    }
}

/// The reason that a wallet is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DisabledReason {
    /// Requested by the App.
    Requested,
    /// The account was taken over by its verified owner, and an earlier holder may know the key: it was imported or has been exported
    /// (CL-3).
    UnprovenOrigin,
}

impl DisabledReason {
    /// The name in responses and in the database. Never change one: the row's MAC covers it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::UnprovenOrigin => "unproven_origin",
        }
    }
}

impl FromStr for DisabledReason {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        [Self::Requested, Self::UnprovenOrigin]
            .into_iter()
            .find(|reason| reason.as_str() == text)
            .ok_or_else(|| Invalid::value("disabled_reason", "unknown disabled_reason of a wallet"))
    }
}

/// When and why a wallet was disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disabled {
    /// When it was disabled.
    pub at: Timestamp,
    /// The reason.
    pub reason: DisabledReason,
}

/// A wallet's record.
#[derive(Clone, PartialEq, Eq)]
pub struct Wallet {
    /// The id.
    pub id: WalletId,
    /// App and environment.
    pub world: World,
    /// The user that it belongs to.
    pub user_id: UserId,
    /// Its private key; `None` for a wallet that only proves an address.
    pub key_id: Option<WalletKeyId>,
    /// The chain.
    pub wallet_type: WalletType,
    /// The address, in the chain's canonical form.
    pub public_address: String,
    /// Whether control of the address was verified; always true if we hold the key.
    pub verified: bool,
    /// Whether calls use it when they name no wallet; one per user and type.
    pub is_default: bool,
    /// Whether it is read-only, with no key held here.
    pub is_read_only: bool,
    /// Whether the key was imported.
    pub is_imported: bool,
    /// Derivation index, if the key was derived from a phrase.
    pub account_index: Option<u32>,
    /// When and why it was disabled; `None` if it is not.
    pub disabled: Option<Disabled>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Without the address.
impl fmt::Debug for Wallet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wallet({}, {})", self.id, self.wallet_type)
    }
}

/// A stored wallet: its record, and a MAC that detects manual edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWallet {
    /// The record; not to be trusted before the MAC is checked.
    pub wallet: Wallet,
    /// MAC over [`Wallet::sealed_fields`].
    pub mac: Mac,
}

impl Wallet {
    /// Whether its owner can sign in with it: the address is verified, and the key is held by the owner, not by us.
    pub const fn is_way_to_sign_in(&self) -> bool {
        self.verified && self.key_id.is_none()
    }

    /// The bytes that the row's MAC covers: every field that determines who may sign what with which key.
    ///
    /// `updated_at` is omitted because it determines nothing. A wallet that is not disabled has the same bytes as before wallets could be
    /// disabled. One disabled by request has the same bytes as before there were reasons. Old rows therefore stay valid.
    pub fn sealed_fields(&self) -> Vec<u8> {
        let key_id = self.key_id.map(|id| id.to_string()).unwrap_or_default();
        let index = self
            .account_index
            .map(|index| index.to_string())
            .unwrap_or_default();
        let flags = [
            self.verified,
            self.is_default,
            self.is_read_only,
            self.is_imported,
        ]
        .map(u8::from);
        let disabled_at = self
            .disabled
            .map(|disabled| disabled.at.unix().to_be_bytes());
        let reason = self.disabled.map(|disabled| disabled.reason);
        let (label, reason): (&[u8], _) = match reason {
            None => (b"wallet-row-v1", None),
            Some(DisabledReason::Requested) => (b"wallet-row-v2", None),
            Some(other) => (b"wallet-row-v3", Some(other.as_str().as_bytes())),
        };
        let (app_id, environment) = (self.world.app_id.to_string(), self.world.environment);
        let (id, user_id) = (self.id.to_string(), self.user_id.to_string());
        let created_at = self.created_at.unix().to_be_bytes();
        let parts: [&[u8]; 11] = [
            label,
            app_id.as_bytes(),
            environment.as_str().as_bytes(),
            id.as_bytes(),
            user_id.as_bytes(),
            key_id.as_bytes(),
            self.wallet_type.as_str().as_bytes(),
            self.public_address.as_bytes(),
            &flags,
            index.as_bytes(),
            &created_at,
        ];
        let disabled_at = disabled_at.iter().map(<[u8; 8]>::as_slice);
        join_with_lengths(parts.into_iter().chain(disabled_at).chain(reason))
    }
}

/// Maximum length of a message to sign, in bytes.
pub const MAX_MESSAGE: usize = 64 * 1024;
