//! Wallet keys and small secrets: all operations that need an App key in plaintext are behind these two ports.

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

/// The reason that a key was not created, decrypted or used.
#[derive(Debug, thiserror::Error)]
pub enum CustodyError {
    /// There is no root key, and the App key is not in memory: 503 `sealed`.
    #[error("the vault is sealed")]
    Sealed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database could not be reached to read an App key.
    #[error("an App key could not be read")]
    Store(#[from] StoreError),
    /// Stored data failed authentication: it was altered, moved, or decrypted with the wrong key. Never retried, never repaired.
    #[error("stored key material or its record failed authentication ({place})")]
    Tampered {
        /// What failed, such as `wallet row` or `wallet key`; contains no id and no value.
        place: &'static str,
    },
    /// The chain rejected the request. No key was decrypted.
    #[error(transparent)]
    Refused(#[from] SigningRefused),
    /// A signature did not verify against the stored public key and was withheld, or a primitive failed.
    #[error("a cryptographic operation failed ({0})")]
    Failed(&'static str),
}

/// How long a process can keep using an App key for new data after a newer version of it was stored.
pub const NEWEST_WITHIN: Duration = Duration::from_secs(10);

/// The inputs for a new wallet, chosen by the use case before its key is generated.
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
    /// Form of the address of a new key.
    pub address_form: AddressForm,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// The inputs for the record of an external address.
#[derive(Debug, Clone)]
pub struct AddressOrder {
    /// Id of the wallet.
    pub wallet_id: WalletId,
    /// App and environment.
    pub world: World,
    /// The user who proved to hold its key.
    pub user_id: UserId,
    /// Chain.
    pub wallet_type: WalletType,
    /// The address, in its canonical form.
    pub public_address: String,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// A change to a wallet's record.
#[derive(Debug, Clone, Copy)]
pub struct WalletChange {
    /// The reason that it is disabled from then on; `None` enables it. A wallet of untrusted origin is no longer a default.
    pub disabled: Option<DisabledReason>,
    /// Time of the change.
    pub at: Timestamp,
}

impl WalletChange {
    /// The changed record. If the wallet was already disabled, the time of that is kept.
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

/// The inputs for an import key pair.
#[derive(Debug, Clone)]
pub struct ImportKeyOrder {
    /// Id of the key pair.
    pub id: WalletImportId,
    /// App and environment.
    pub world: World,
    /// The wallet to import, with its address in the canonical form.
    pub origin: Origin,
    /// Index of the key within a phrase, if already known.
    pub account_index: Option<u32>,
    /// The user who gets the wallet, if already known.
    pub user_id: Option<UserId>,
    /// The kind of key pair.
    pub kem: Kem,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// An import request.
#[derive(Debug, Clone)]
pub struct ImportOrder {
    /// Ids, world, owner, chain and time of the wallet.
    pub wallet: WalletOrder,
    /// The expected address of the key, in its canonical form.
    pub public_address: String,
    /// The kind of encrypted secret.
    pub entropy_type: EntropyType,
    /// Index of the key within a phrase, if the caller gives one.
    pub account_index: Option<u32>,
    /// The key or phrase, as encrypted by its sender.
    pub message: SealedMessage,
}

/// An imported wallet, not stored yet.
#[derive(Debug, Clone)]
pub struct ImportedWallet {
    /// The key pair that decrypted the message; to be consumed when the wallet is stored.
    pub import_key: WalletImportId,
    /// The record if it becomes the user's default wallet of its type.
    pub as_default: StoredWallet,
    /// The record if the user already has a default wallet of the type.
    pub as_further: StoredWallet,
    /// The key, for either record.
    pub key: WalletKey,
}

/// The reason that an import failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// None of the key pairs decrypts the message. Deliberately says nothing more.
    #[error("the message cannot be decrypted")]
    Undecipherable,
    /// The message was decrypted but contains no key or phrase of this address.
    #[error("the imported key does not belong to this address")]
    AddressMismatch,
    /// See [`CustodyError`].
    #[error(transparent)]
    Custody(#[from] CustodyError),
}

/// The reason that an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The recipient's public key cannot be used for encryption.
    #[error("the recipient's public key cannot be used for encryption")]
    Recipient,
    /// See [`CustodyError`].
    #[error(transparent)]
    Custody(#[from] CustodyError),
}

/// Creates wallet keys, stores them encrypted, and signs with them. The only place where a private key exists in plaintext.
#[port]
pub trait Custodian: Send + Sync {
    /// Creates the App keys of a new App: both environments, every purpose, version 1. Nothing is stored. This process can immediately
    /// create MACs under those of purpose `secrets`, for data stored together with them.
    ///
    /// # Errors
    /// [`CustodyError::Sealed`].
    async fn mint_app_keys(
        &self,
        app: vestry_domain::ids::AppId,
        now: Timestamp,
    ) -> Result<Vec<AppKey>, CustodyError>;

    /// Creates another version of an App key. Nothing is stored; once it is, every process uses it for new data within [`NEWEST_WITHIN`].
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

    /// Derives a narrow key from a key of purpose `secrets`: its subkey for one of [`KeyPurpose::NARROW`], wrapped as an App key of the
    /// same version. The result is always the same and has no other use. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`]; [`CustodyError::Failed`] for any other key or purpose.
    async fn narrow_app_key(
        &self,
        key: &AppKey,
        purpose: KeyPurpose,
    ) -> Result<AppKey, CustodyError>;

    /// Creates a new key and its wallet. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn create_wallet(
        &self,
        order: WalletOrder,
    ) -> Result<(StoredWallet, WalletKey), CustodyError>;

    /// Creates the record of an address whose key is held elsewhere: read-only, verified, never a default, without a key. Nothing is
    /// stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn adopt_address(&self, order: AddressOrder) -> Result<StoredWallet, CustodyError>;

    /// Checks the MAC of the row. Every wallet that is read passes through this before any of it is used or shown.
    ///
    /// # Errors
    /// [`CustodyError::Tampered`] if any field was changed by anyone but this service.
    async fn authenticate(&self, stored: StoredWallet) -> Result<Wallet, CustodyError>;

    /// Signs the request as interpreted by the wallet's chain, after checking the row and that row and key belong together. Every signature
    /// is verified against the stored public key before it is returned.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn sign(
        &self,
        stored: StoredWallet,
        key: WalletKey,
        request: &SigningRequest,
    ) -> Result<(Wallet, Signed), CustodyError>;

    /// Applies a change to the record and recomputes its MAC, after checking the stored one. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn change_wallet(
        &self,
        stored: StoredWallet,
        change: WalletChange,
    ) -> Result<StoredWallet, CustodyError>;

    /// Moves the record and its key to another version of the App key: recomputes the MAC and re-wraps the data key, after checking both.
    /// The private key is not decrypted. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn rewrap_wallet(
        &self,
        stored: StoredWallet,
        key: Option<WalletKey>,
        version: u32,
    ) -> Result<(StoredWallet, Option<WalletKey>), CustodyError>;

    /// The canonical form of an address for a managed wallet; `None` if it is not an address of the chain and environment. Pure.
    fn wallet_address(&self, world: &World, wallet_type: WalletType, text: &str) -> Option<String>;

    /// Creates a key pair that encrypts a private key for import. Nothing is stored.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn begin_import(&self, order: ImportKeyOrder) -> Result<ImportKey, CustodyError>;

    /// Decrypts a message with the matching key pair and creates the wallet of the key in it. The first interpretation of the plaintext
    /// that yields the address determines the key. Nothing is stored.
    ///
    /// # Errors
    /// [`ImportError`]; [`CustodyError::Tampered`] if a stored key pair was altered.
    async fn import(
        &self,
        order: ImportOrder,
        keys: Vec<ImportKey>,
    ) -> Result<ImportedWallet, ImportError>;

    /// Encrypts a wallet's private key to the recipient's X25519 key. First checks the row, that row and key belong together, and that the
    /// key is that of the address.
    ///
    /// # Errors
    /// [`ExportError`].
    async fn export(
        &self,
        stored: StoredWallet,
        key: WalletKey,
        recipient: &[u8],
    ) -> Result<(Wallet, ExportedKey), ExportError>;

    /// Decrypts a key and checks that it yields the row's address and public key, without signing anything.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn verify_wallet(&self, stored: StoredWallet, key: WalletKey)
    -> Result<(), CustodyError>;

    /// Returns whether the root key opens an App key. Unlike any use of the key, it raises no alarm if not.
    ///
    /// # Errors
    /// [`CustodyError::Sealed`].
    async fn opens_app_key(&self, key: &AppKey) -> Result<bool, CustodyError>;

    /// Re-wraps an App key under the primary root version; the key itself stays the same.
    ///
    /// # Errors
    /// [`CustodyError::Sealed`] or [`CustodyError::Tampered`].
    async fn rewrap_app_key(&self, key: &AppKey) -> Result<AppKey, CustodyError>;
}

/// Verifies signatures made with external wallets. Pure: it neither waits nor fails.
pub trait SignatureVerifier: Send + Sync {
    /// The canonical form of an address; `None` if it is not an address of the chain, or the chain does not support sign-in.
    fn canonical_address(&self, wallet_type: WalletType, text: &str) -> Option<String>;

    /// Whether the signature, in a form that wallets produce, is valid for this message and the key of this canonical address.
    fn is_signed(
        &self,
        wallet_type: WalletType,
        address: &str,
        message: &[u8],
        signature: &str,
    ) -> bool;
}

/// Encrypts small secrets and computes MACs, under the world's App key of purpose `secrets`.
#[port]
pub trait Sealer: Send + Sync {
    /// Encrypts a secret, bound to its place.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn seal(&self, place: Place<'_>, plaintext: &[u8]) -> Result<Sealed, CustodyError>;

    /// Decrypts a secret.
    ///
    /// # Errors
    /// [`CustodyError::Tampered`] if it was altered or is at another place.
    async fn open(
        &self,
        place: Place<'_>,
        sealed: &Sealed,
    ) -> Result<Secret<Vec<u8>>, CustodyError>;

    /// Re-encrypts a secret under the given version of the App key. Nothing is stored.
    ///
    /// # Errors
    /// As [`Sealer::open`].
    async fn reseal(
        &self,
        place: Place<'_>,
        sealed: &Sealed,
        version: u32,
    ) -> Result<Sealed, CustodyError>;

    /// Computes a MAC over the length-prefixed parts, under the newest App key.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn mac(
        &self,
        world: &World,
        kind: SecretKind,
        parts: &[&[u8]],
    ) -> Result<Mac, CustodyError>;

    /// Same as [`Sealer::mac`] but under the given version of the App key, for migrating stored data to it.
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

    /// Whether the MAC is valid for the parts, compared in constant time. MACs of the audit log can still be verified after their key
    /// version was destroyed.
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

    /// Computes a MAC (32 bytes) over the length-prefixed parts that stays the same across App key versions, for creating decoys. It must
    /// not be used for anything else, because the key behind it outlives its rotation.
    ///
    /// # Errors
    /// [`CustodyError`].
    async fn decoy(&self, world: &World, parts: &[&[u8]]) -> Result<Vec<u8>, CustodyError>;
}

/// Signs the service's statements about its own logs with Ed25519 (RFC 8032) under the App key of purpose `audit`, and verifies them.
#[port]
pub trait CheckpointSigner: Send + Sync {
    /// The public key that verifies a world's statements.
    ///
    /// # Errors
    /// [`CustodyError`]; [`CustodyError::Tampered`] also if the world has no key of this purpose.
    async fn notary_key(&self, world: &World) -> Result<[u8; 32], CustodyError>;

    /// Signs a text; the signature has 64 bytes.
    ///
    /// # Errors
    /// As for [`CheckpointSigner::notary_key`].
    async fn sign_checkpoint(&self, world: &World, text: &[u8]) -> Result<Vec<u8>, CustodyError>;

    /// Whether the signature is valid for this text and public key. Pure.
    fn is_notarised(&self, key: &[u8; 32], text: &[u8], signature: &[u8]) -> bool;
}
