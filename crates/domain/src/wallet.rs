//! Wallets.

use std::fmt;
use std::str::FromStr;

use crate::envelope::{Mac, join_with_lengths};
use crate::ids::{UserId, WalletId, WalletKeyId};
use crate::{Invalid, Timestamp, World};

/// The chain a wallet belongs to.
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
    /// All five.
    pub const ALL: [Self; 5] = [
        Self::Ethereum,
        Self::Solana,
        Self::Bitcoin,
        Self::Polkadot,
        Self::Stellar,
    ];

    /// The name that answers use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ethereum => "ethereum",
            Self::Solana => "solana",
            Self::Bitcoin => "bitcoin",
            Self::Polkadot => "DOT",
            Self::Stellar => "XLM",
        }
    }

    /// The other name that requests may use.
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

/// Which of its forms an address has, on a chain that knows several for one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressForm {
    /// The one that wallets of the chain have unless somebody asks for another: P2WPKH on Bitcoin.
    #[default]
    Usual,
    /// Bitcoin's P2TR with the key alone (BIP-86).
    Taproot,
}

impl AddressForm {
    /// The form that a caller names for a new wallet of a type: `p2wpkh` or `p2tr` for Bitcoin, none for the others.
    ///
    /// # Errors
    /// [`Invalid`] naming `address_type`.
    pub fn named(wallet_type: WalletType, name: Option<&str>) -> Result<Self, Invalid> {
        match (wallet_type, name) {
            (_, None) | (WalletType::Bitcoin, Some("p2wpkh")) => Ok(Self::Usual),
            (WalletType::Bitcoin, Some("p2tr")) => Ok(Self::Taproot),
            (WalletType::Bitcoin, Some(_)) => {
                let message = "address_type is p2wpkh or p2tr";
                Err(Invalid::value("address_type", message))
            }
            (_, Some(_)) => {
                let message = "address_type goes with wallets of type bitcoin only";
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

/// Why a wallet signs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DisabledReason {
    /// The App asked for it.
    Requested,
    /// Its account was proved by somebody else than whoever had it before, and may know the key: it was imported, or had been
    /// exported (CL-3).
    UnprovenOrigin,
}

impl DisabledReason {
    /// The name in answers and in the database. Never change one: it is part of what the row's keyed hash covers.
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
            .ok_or_else(|| Invalid::value("disabled_reason", "unknown reason to disable a wallet"))
    }
}

/// Since when a wallet signs nothing, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disabled {
    /// Since when.
    pub at: Timestamp,
    /// Why.
    pub reason: DisabledReason,
}

/// A wallet's record.
#[derive(Clone, PartialEq, Eq)]
pub struct Wallet {
    /// The id.
    pub id: WalletId,
    /// App and environment.
    pub world: World,
    /// Whose it is.
    pub user_id: UserId,
    /// Its private key; none for a wallet that only proves an address.
    pub key_id: Option<WalletKeyId>,
    /// The chain.
    pub wallet_type: WalletType,
    /// The address, in the chain's canonical form.
    pub public_address: String,
    /// Whether control of the address is proved; always true where we hold the key.
    pub verified: bool,
    /// Whether it is the one that calls without a choice use; one per user and type.
    pub is_default: bool,
    /// Whether it can only be looked at.
    pub is_read_only: bool,
    /// Whether the key came from outside.
    pub is_imported: bool,
    /// Derivation index, for a key derived from a phrase.
    pub account_index: Option<u32>,
    /// Why and since when it signs nothing; `None` while it signs.
    pub disabled: Option<Disabled>,
    /// When it was made.
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

/// A wallet as it is stored: the record and the keyed hash that tells whether somebody edited it by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWallet {
    /// The record, not to be trusted before the hash was checked.
    pub wallet: Wallet,
    /// Hash over [`Wallet::sealed_fields`].
    pub mac: Mac,
}

impl Wallet {
    /// Whether its owner signs in with it: the address is proved, and the key is the owner's, not ours.
    pub const fn is_way_to_sign_in(&self) -> bool {
        self.verified && self.key_id.is_none()
    }

    /// What the row's keyed hash covers: every field that decides who may sign what with which key.
    /// `updated_at` is left out, it decides nothing. The bytes of a wallet that is not disabled are those of the time before
    /// wallets could be, and those of one that was disabled by request are those of the time before there were reasons, so that
    /// old rows stay good.
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

/// Longest message that can be signed, in bytes.
pub const MESSAGE_MAX: usize = 64 * 1024;
