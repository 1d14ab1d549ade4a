//! Wallet keys and small secrets: everything that needs an App key in the clear happens behind these two ports.

use std::time::Duration;

use vestry_domain::envelope::{AppKey, KeyPurpose, Mac, Place, Sealed, SecretKind, WalletKey};
use vestry_domain::ids::{UserId, WalletId, WalletImportId, WalletKeyId};
use vestry_domain::key_transfer::{
    EntropyType, ExportedKey, ImportKey, Kem, Origin, SealedMessage,
};
use vestry_domain::signing::{Signed, SigningRefused, SigningRequest};
use vestry_domain::wallet::{
    AddressForm, Disabled, DisabledReason, StoredWallet, Wallet, WalletType,
};
use vestry_domain::{Secret, Timestamp, World};
use vestry_port_macro::port;

use crate::store::StoreError;

/// Why a key was not made, opened or used.
#[derive(Debug, thiserror::Error)]
pub enum CustodyError {
    /// No root key, and the App key is not in memory: 503 `sealed`.
    #[error("the vault is sealed")]
    Sealed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database could not be reached for an App key.
    #[error("an App key could not be read")]
    Store(#[from] StoreError),
    /// Stored data failed its authentication: altered, moved, or opened under another key. Never retried, never repaired.
    #[error("stored key material or its record failed authentication ({place})")]
    Tampered {
        /// What failed, such as `wallet row` or `wallet key`; no id, no value.
        place: &'static str,
    },
    /// The chain does not sign what was asked for. No key was opened.
    #[error(transparent)]
    Refused(#[from] SigningRefused),
    /// A signature did not verify against the stored public key and was withheld, or a primitive failed.
    #[error("a cryptographic operation failed ({0})")]
    Failed(&'static str),
}

/// How long a process may go on making new things under an App key after a newer version of it was stored.
pub const NEWEST_WITHIN: Duration = Duration::from_secs(10);

/// What a new wallet needs before its key can be made; decided by the use case.
#[derive(Debug, Clone)]
pub struct WalletOrder {
    /// Id of the wallet.
    pub wallet_id: WalletId,
    /// Id of its key.
    pub key_id: WalletKeyId,
    /// App and environment.
    pub world: World,
    /// Owner.
    pub user_id: UserId,
    /// Chain.
    pub wallet_type: WalletType,
    /// Form of the address that a new key gets.
    pub address_form: AddressForm,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// What the record of an address from outside needs.
#[derive(Debug, Clone)]
pub struct AddressOrder {
    /// Id of the wallet.
    pub wallet_id: WalletId,
    /// App and environment.
    pub world: World,
    /// Who proved to hold its key.
    pub user_id: UserId,
    /// Chain.
    pub wallet_type: WalletType,
    /// The address, in its canonical form.
    pub public_address: String,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// What may change in the record of a wallet.
#[derive(Debug, Clone, Copy)]
pub struct WalletChange {
    /// Why it signs nothing from then on; `None` makes it sign again. One whose origin is not proved is no default any more.
    pub disabled: Option<DisabledReason>,
    /// Time of the change.
    pub at: Timestamp,
}

impl WalletChange {
    /// The record as it is afterwards. One that was disabled before stays so since then.
    pub fn apply(self, wallet: Wallet) -> Wallet {
        let since = wallet.disabled.map_or(self.at, |disabled| disabled.at);
        Wallet {
            disabled: self.disabled.map(|reason| Disabled { at: since, reason }),
            is_default: wallet.is_default && self.disabled != Some(DisabledReason::UnprovenOrigin),
            updated_at: self.at,
            ..wallet
        }
    }
}

/// What a key pair for an import needs.
#[derive(Debug, Clone)]
pub struct ImportKeyOrder {
    /// Id of the key pair.
    pub id: WalletImportId,
    /// App and environment.
    pub world: World,
    /// What will be imported; its address in the canonical form.
    pub origin: Origin,
    /// Which key of a phrase, if that is settled.
    pub account_index: Option<u32>,
    /// Who gets the wallet, if that is settled.
    pub user_id: Option<UserId>,
    /// The kind of key pair.
    pub kem: Kem,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// What is to be imported.
#[derive(Debug, Clone)]
pub struct ImportOrder {
    /// Ids, world, owner, chain and time of the wallet.
    pub wallet: WalletOrder,
    /// The address that the key must have, in its canonical form.
    pub public_address: String,
    /// What is sealed.
    pub entropy_type: EntropyType,
    /// Which key of a phrase, if the caller says so.
    pub account_index: Option<u32>,
    /// The key, or the phrase, as its sender sealed it.
    pub message: SealedMessage,
}

/// A wallet whose key came from outside, not stored yet.
#[derive(Debug, Clone)]
pub struct ImportedWallet {
    /// The key pair that opened the message; to be used up with the wallet.
    pub import_key: WalletImportId,
    /// The record if it becomes the user's default wallet of its type.
    pub as_default: StoredWallet,
    /// The record if the user has a default wallet of the type already.
    pub as_further: StoredWallet,
    /// The key of either.
    pub key: WalletKey,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The message opens under none of the key pairs. There is nothing more to know, on purpose.
    #[error("the message does not open")]
    Undecipherable,
    /// It opened, and holds no key or phrase of this address.
    #[error("the key that was sent is not the key of this address")]
    AddressMismatch,
    /// See [`CustodyError`].
    #[error(transparent)]
    Custody(#[from] CustodyError),
}

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Nothing can be sealed to the recipient's public key.
    #[error("not a public key to which anything can be sealed")]
    Recipient,
    /// See [`CustodyError`].
    #[error(transparent)]
    Custody(#[from] CustodyError),
}

/// Makes wallet keys, keeps them sealed, and signs with them. The only place where a private key is in the clear.
#[port]
pub trait Custodian: Send + Sync {
    /// Makes the App keys of a new App: both environments, every purpose, version 1. Nothing is stored; this process can make keyed
    /// hashes under those of purpose `secrets` at once, for what is stored together with them.
    ///
    /// # Errors
    /// [`CustodyError::Sealed`].
    async fn mint_app_keys(
        &self,
        app: vestry_domain::ids::AppId,
        now: Timestamp,
    ) -> Result<Vec<AppKey>, CustodyError>;

    /// Makes another version of an App key. Nothing is stored; once it is, every process uses it for new things within
    /// [`NEWEST_WITHIN`].
    ///
    /// # Errors
    /// [`CustodyError::Sealed`].
    async fn mint_app_key(
        &self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
        now: Timestamp,
    ) -> Result<AppKey, CustodyError>;

    /// What stays of a key of purpose `secrets` for one of [`KeyPurpose::NARROW`]: its subkey for that, wrapped as an App key of the
    /// same version. It is the same each time, and of no use for anything else. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`]; [`CustodyError::Failed`] for a key or a purpose that is not one of those.
    async fn narrow_app_key(
        &self,
        key: &AppKey,
        purpose: KeyPurpose,
    ) -> Result<AppKey, CustodyError>;

    /// Makes a fresh key and the wallet around it. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn create_wallet(
        &self,
        order: WalletOrder,
    ) -> Result<(StoredWallet, WalletKey), CustodyError>;

    /// Makes the record of an address that somebody else holds the key of: read-only, verified, never a default, without a
    /// key. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn adopt_address(&self, order: AddressOrder) -> Result<StoredWallet, CustodyError>;

    /// Checks the row's keyed hash. Every read of a wallet goes through this before anything of it is used or shown.
    ///
    /// # Errors
    /// [`CustodyError::Tampered`] when any field was changed behind our back.
    async fn authenticate(&self, stored: StoredWallet) -> Result<Wallet, CustodyError>;

    /// Signs what the wallet's chain reads in the request, after checking the row and that row and key belong together.
    /// Every signature is verified against the stored public key before it is handed out.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn sign(
        &self,
        stored: StoredWallet,
        key: WalletKey,
        request: &SigningRequest,
    ) -> Result<(Wallet, Signed), CustodyError>;

    /// The record with the change, its keyed hash made anew, after checking what was stored. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn change_wallet(
        &self,
        stored: StoredWallet,
        change: WalletChange,
    ) -> Result<StoredWallet, CustodyError>;

    /// The record and its key under another version of the App key: the keyed hash is made and the data key wrapped anew, after
    /// checking both. The private key is not opened. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn rewrap_wallet(
        &self,
        stored: StoredWallet,
        key: Option<WalletKey>,
        version: u32,
    ) -> Result<(StoredWallet, Option<WalletKey>), CustodyError>;

    /// The canonical form of an address that a wallet whose key is here may have; `None` when it is none of the chain and
    /// environment. Pure.
    fn wallet_address(&self, world: &World, wallet_type: WalletType, text: &str) -> Option<String>;

    /// Makes a key pair to which a private key can be sealed. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn begin_import(&self, order: ImportKeyOrder) -> Result<ImportKey, CustodyError>;

    /// Opens a message with whichever of the key pairs fits, and makes the wallet of the key in it. The first reading of the
    /// plaintext that gives the address is the key. Nothing is stored.
    ///
    /// # Errors
    /// [`ImportError`]; [`CustodyError::Tampered`] when a key pair is not as it was stored.
    async fn import(
        &self,
        order: ImportOrder,
        keys: Vec<ImportKey>,
    ) -> Result<ImportedWallet, ImportError>;

    /// Seals a wallet's private key to somebody's X25519 key, after checking the row, that row and key belong together, and
    /// that the key is the address's.
    ///
    /// # Errors
    /// [`ExportError`].
    async fn export(
        &self,
        stored: StoredWallet,
        key: WalletKey,
        recipient: &[u8],
    ) -> Result<(Wallet, ExportedKey), ExportError>;

    /// Opens a key and checks that it yields the row's address and public key; signs nothing.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn verify_wallet(&self, stored: StoredWallet, key: WalletKey)
    -> Result<(), CustodyError>;

    /// Wraps an App key anew under the primary root version; the key itself stays the same.
    ///
    /// # Errors
    /// [`CustodyError::Sealed`] or [`CustodyError::Tampered`].
    async fn rewrap_app_key(&self, key: &AppKey) -> Result<AppKey, CustodyError>;
}

/// Checks what people sign with wallets of their own. Pure: it neither waits nor fails.
pub trait SignatureVerifier: Send + Sync {
    /// The canonical form of an address; `None` when it is none of the chain, or when wallets of the chain sign nobody in.
    fn canonical_address(&self, wallet_type: WalletType, text: &str) -> Option<String>;

    /// Whether the signature, in a form that wallets hand out, is one of this message by the key of this canonical address.
    fn is_signed(
        &self,
        wallet_type: WalletType,
        address: &str,
        message: &[u8],
        signature: &str,
    ) -> bool;
}

/// Seals small secrets and makes keyed hashes, under the App key of the world and of purpose `secrets`.
#[port]
pub trait Sealer: Send + Sync {
    /// Encrypts a secret, bound to its place.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn seal(&self, place: Place<'_>, plaintext: &[u8]) -> Result<Sealed, CustodyError>;

    /// Opens a sealed secret.
    ///
    /// # Errors
    /// [`CustodyError::Tampered`] when it was altered or stands in another place.
    async fn open(
        &self,
        place: Place<'_>,
        sealed: &Sealed,
    ) -> Result<Secret<Vec<u8>>, CustodyError>;

    /// The same secret under the given version of the App key. Nothing is stored.
    ///
    /// # Errors
    /// As [`Sealer::open`].
    async fn reseal(
        &self,
        place: Place<'_>,
        sealed: &Sealed,
        version: u32,
    ) -> Result<Sealed, CustodyError>;

    /// Keyed hash over the length-prefixed parts, under the newest App key.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn mac(
        &self,
        world: &World,
        kind: SecretKind,
        parts: &[&[u8]],
    ) -> Result<Mac, CustodyError>;

    /// The same under the given version of the App key, for who brings what is stored under it.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn mac_under(
        &self,
        world: &World,
        kind: SecretKind,
        parts: &[&[u8]],
        version: u32,
    ) -> Result<Mac, CustodyError>;

    /// Whether the parts have this keyed hash, in constant time. One of the audit log is recognised after its version of the key was
    /// destroyed, too.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn mac_matches(
        &self,
        world: &World,
        kind: SecretKind,
        parts: &[&[u8]],
        mac: &Mac,
    ) -> Result<bool, CustodyError>;

    /// Keyed hash (32 bytes) over the length-prefixed parts that stays the same whatever versions the App key gets: what decoys are
    /// made of. Nothing else may be, for the key behind it outlives its rotation.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn decoy(&self, world: &World, parts: &[&[u8]]) -> Result<Vec<u8>, CustodyError>;
}

/// Signs what the service states about its own logs, with Ed25519 (RFC 8032) under the App key of purpose `audit`, and tells such
/// statements from others.
#[port]
pub trait Notary: Send + Sync {
    /// The public key under which a world's statements are signed.
    ///
    /// # Errors
    /// [`CustodyError`]; [`CustodyError::Tampered`] too where the world has no key of this purpose.
    async fn notary_key(&self, world: &World) -> Result<[u8; 32], CustodyError>;

    /// Signs a text; the signature has 64 bytes.
    ///
    /// # Errors
    /// As for [`Notary::notary_key`].
    async fn notarise(&self, world: &World, text: &[u8]) -> Result<Vec<u8>, CustodyError>;

    /// Whether the signature is one of this text under this public key. Pure.
    fn is_notarised(&self, key: &[u8; 32], text: &[u8], signature: &[u8]) -> bool;
}
