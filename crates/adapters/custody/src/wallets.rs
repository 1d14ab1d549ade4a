//! The `Custodian` port: wallets and their keys.

use std::sync::Arc;

use aws_lc_rs::hmac;
use vestry_chains::{Chain, ChainError, PrivateKey, Signer};
use vestry_domain::envelope::{AppKey, KeyPurpose, Mac, WalletKey};
use vestry_domain::ids::AppId;
use vestry_domain::key_transfer::{ExportedKey, ImportKey};
use vestry_domain::signing::{Signed, SigningRequest};
use vestry_domain::wallet::{StoredWallet, Wallet, WalletType};
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::custody::{
    AddressOrder, Custodian, CustodyError, ExportError, ImportError, ImportKeyOrder, ImportOrder,
    ImportedWallet, SignatureVerifier, WalletChange, WalletOrder,
};
use vestry_ports::entropy::Bytes;
use vestry_ports::port;
use vestry_ports::vault::VaultError;

use crate::Custody;
use crate::envelope::{self, Binding, FORMAT};
use crate::key_ring::{context, fresh, refusal};
use crate::secrets::FIRST_VERSION;
use crate::subkeys::{WalletSubkeys, narrowed};

/// Names of the failed objects, for [`CustodyError::Tampered`].
const ROW: &str = "wallet row";
const KEY: &str = "wallet key";

impl Custody {
    /// Builds a wallet from a private key, with its encryption layers.
    fn build_wallet(
        &self,
        order: WalletOrder,
        key_version: u32,
        keys: &WalletSubkeys,
    ) -> Result<(StoredWallet, WalletKey), CustodyError> {
        let chain = self.chains.get(order.wallet_type);
        let private_key = chain
            .generate(&mut Bytes(self.entropy.as_ref()))
            .map_err(|_error| CustodyError::Failed("drawing a private key"))?;
        let public_key = chain
            .public_key(&private_key)
            .map_err(|_error| CustodyError::Failed("deriving a public key"))?;
        let public_address = chain
            .address_in_form(&public_key, order.world.environment, order.address_form)
            .map_err(|_error| CustodyError::Failed("deriving an address"))?;
        let wallet = new_wallet(&order, public_address);
        let key = self.enclosed(&wallet, &private_key, public_key, key_version, keys)?;
        Ok((with_hash(wallet, key_version, keys), key))
    }

    /// Encrypts the private key of a wallet for storage.
    pub(crate) fn enclosed(
        &self,
        wallet: &Wallet,
        private_key: &PrivateKey,
        public_key: Vec<u8>,
        key_version: u32,
        keys: &WalletSubkeys,
    ) -> Result<WalletKey, CustodyError> {
        let id = wallet
            .key_id
            .ok_or(CustodyError::Failed("a key for a wallet without one"))?;
        let binding = Binding {
            wallet,
            key_id: id.to_string(),
            public_key: &public_key,
            format: FORMAT,
            key_version,
        };
        let layers = envelope::seal(keys, self.entropy.as_ref(), &binding, private_key)
            .map_err(|_refused| CustodyError::Failed("encrypting a private key"))?;
        let key = WalletKey {
            id,
            wallet_id: wallet.id,
            public_key,
            format: FORMAT,
            key_version,
            wrapped_data_key: layers.wrapped_data_key,
            ciphertext: layers.ciphertext,
        };
        let chain = self.chains.get(wallet.wallet_type);
        self.proves_usable(chain, keys, wallet, &key)?;
        Ok(key)
    }

    /// Checks that a new key can be used. A key that cannot be decrypted again is money lost, so no address is handed out before its key
    /// was decrypted once from exactly the data to be stored.
    fn proves_usable(
        &self,
        chain: &dyn Chain,
        keys: &WalletSubkeys,
        wallet: &Wallet,
        key: &WalletKey,
    ) -> Result<(), CustodyError> {
        let unusable = CustodyError::Failed("opening a new private key");
        let Ok(private_key) = open_with(chain, keys, wallet, key) else {
            return Err(unusable);
        };
        match chain.public_key(&private_key) {
            Ok(public_key) if public_key == key.public_key => Ok(()),
            _ => Err(unusable),
        }
    }

    /// Checks that the key is the one named by the authenticated row, and decrypts it.
    async fn private_key(
        &self,
        chain: &dyn Chain,
        wallet: &Wallet,
        key: &WalletKey,
    ) -> Result<PrivateKey, CustodyError> {
        let altered = || self.alarm.wallet(wallet.id, KEY);
        if !belong_together(wallet, key) {
            return Err(altered());
        }
        let keys = self
            .wallet_keys
            .version(&wallet.world, key.key_version)
            .await?;
        open_with(chain, &keys, wallet, key).map_err(|_error| altered())
    }

    /// Returns the key with its data key wrapped under another version.
    async fn rewrapped(
        &self,
        wallet: &Wallet,
        key: WalletKey,
        version: u32,
        keys: &WalletSubkeys,
    ) -> Result<WalletKey, CustodyError> {
        if !belong_together(wallet, &key) {
            return Err(self.alarm.wallet(wallet.id, KEY));
        }
        let old = self
            .wallet_keys
            .version(&wallet.world, key.key_version)
            .await?;
        let binding = Binding::of(wallet, &key);
        let data_key = envelope::open_data_key(&old, &binding, &key.wrapped_data_key)
            .map_err(|_refused| self.alarm.wallet(wallet.id, KEY))?;
        let binding = Binding {
            key_version: version,
            ..binding
        };
        let wrapped = envelope::wrap_data_key(keys, self.entropy.as_ref(), &binding, &data_key);
        let wrapped_data_key =
            wrapped.map_err(|_refused| CustodyError::Failed("wrapping a data key"))?;
        Ok(WalletKey {
            key_version: version,
            wrapped_data_key,
            ..key
        })
    }

    /// Decrypts the key of an authenticated row, and checks that it matches the stored public key and the address.
    pub(crate) async fn proved_key(
        &self,
        wallet: &Wallet,
        key: &WalletKey,
    ) -> Result<PrivateKey, CustodyError> {
        let chain = self.chains.get(wallet.wallet_type);
        let private_key = self.private_key(chain, wallet, key).await?;
        let derived = chain.public_key(&private_key);
        let environment = wallet.world.environment;
        if derived.as_ref() == Ok(&key.public_key)
            && chain.owns(&key.public_key, &wallet.public_address, environment)
        {
            return Ok(private_key);
        }
        Err(self.alarm.wallet(wallet.id, KEY))
    }

    pub(crate) async fn authenticated(&self, stored: StoredWallet) -> Result<Wallet, CustodyError> {
        let keys = self
            .wallet_keys
            .version(&stored.wallet.world, stored.mac.key_version)
            .await?;
        if !is_authentic(&stored, &keys) {
            return Err(self.alarm.wallet(stored.wallet.id, ROW));
        }
        Ok(stored.wallet)
    }
}

/// Whether the record has a valid keyed hash, compared in constant time.
fn is_authentic(stored: &StoredWallet, keys: &WalletSubkeys) -> bool {
    let StoredWallet { wallet, mac } = stored;
    hmac::verify(&keys.rows, &wallet.sealed_fields(), &mac.tag).is_ok()
}

/// Whether the record and the key name each other.
fn belong_together(wallet: &Wallet, key: &WalletKey) -> bool {
    wallet.key_id == Some(key.id) && wallet.id == key.wallet_id
}

/// Returns the signer for this wallet and key.
fn signer<'a>(wallet: &'a Wallet, key: &'a WalletKey) -> Signer<'a> {
    Signer {
        public_key: &key.public_key,
        address: &wallet.public_address,
        environment: wallet.world.environment,
    }
}

/// Returns the record with its keyed hash.
pub(crate) fn with_hash(wallet: Wallet, key_version: u32, keys: &WalletSubkeys) -> StoredWallet {
    let tag = hmac::sign(&keys.rows, &wallet.sealed_fields());
    let mac = Mac {
        key_version,
        tag: tag.as_ref().to_vec(),
    };
    StoredWallet { wallet, mac }
}

fn new_wallet(order: &WalletOrder, public_address: String) -> Wallet {
    Wallet {
        id: order.wallet_id,
        world: order.world,
        user_id: order.user_id,
        key_id: Some(order.key_id),
        wallet_type: order.wallet_type,
        public_address,
        verified: true,
        is_default: true,
        is_read_only: false,
        is_imported: false,
        account_index: None,
        disabled: None,
        created_at: order.created_at,
        updated_at: order.created_at,
    }
}

fn open_with(
    chain: &dyn Chain,
    keys: &WalletSubkeys,
    wallet: &Wallet,
    key: &WalletKey,
) -> Result<PrivateKey, ChainError> {
    let binding = Binding::of(wallet, key);
    let bytes = envelope::open(keys, &binding, &key.wrapped_data_key, &key.ciphertext)
        .map_err(|_refused| ChainError::PrivateKey)?;
    chain.private_key(&bytes)
}

#[port]
impl Custodian for Custody {
    async fn mint_app_keys(&self, app: AppId, now: Timestamp) -> Result<Vec<AppKey>, CustodyError> {
        let mut minted = Vec::with_capacity(Environment::ALL.len() * KeyPurpose::ALL.len());
        for environment in Environment::ALL {
            for purpose in KeyPurpose::ALL {
                let world = World::new(app, environment);
                let key = self.mint_app_key(&world, purpose, FIRST_VERSION, now);
                let key = key.await?;
                if purpose == KeyPurpose::Secrets {
                    self.secret_keys.adopt(&key).await?;
                }
                minted.push(key);
            }
        }
        Ok(minted)
    }

    async fn mint_app_key(
        &self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
        now: Timestamp,
    ) -> Result<AppKey, CustodyError> {
        let context = context(world, purpose, version);
        let wrapped = self
            .vaults
            .of(purpose)
            .wrap(&context, &fresh(self.entropy.as_ref()))
            .await
            .map_err(|error| refusal(&self.alarm, world, error))?;
        Ok(AppKey {
            world: *world,
            purpose,
            version,
            wrapped,
            created_at: now,
        })
    }

    async fn narrow_app_key(
        &self,
        key: &AppKey,
        purpose: KeyPurpose,
    ) -> Result<AppKey, CustodyError> {
        const FAILED: CustodyError = CustodyError::Failed("narrowing an App key");
        if key.purpose != KeyPurpose::Secrets {
            return Err(FAILED);
        }
        let AppKey { world, version, .. } = key;
        let refused = |error| refusal(&self.alarm, world, error);
        let from = context(world, key.purpose, *version);
        let vault = self.vaults.of(key.purpose);
        let wide = vault.unwrap(&from, &key.wrapped).await.map_err(refused)?;
        let narrow = narrowed(&wide, purpose).map_err(|_refused| FAILED)?;
        let to = context(world, purpose, *version);
        let wrapped = self.vaults.of(purpose).wrap(&to, &narrow).await;
        Ok(AppKey {
            purpose,
            wrapped: wrapped.map_err(refused)?,
            ..key.clone()
        })
    }

    async fn create_wallet(
        &self,
        order: WalletOrder,
    ) -> Result<(StoredWallet, WalletKey), CustodyError> {
        let (key_version, keys): (u32, Arc<WalletSubkeys>) =
            self.wallet_keys.newest(&order.world).await?;
        self.build_wallet(order, key_version, &keys)
    }

    async fn adopt_address(&self, order: AddressOrder) -> Result<StoredWallet, CustodyError> {
        let (key_version, keys) = self.wallet_keys.newest(&order.world).await?;
        let wallet = Wallet {
            id: order.wallet_id,
            world: order.world,
            user_id: order.user_id,
            key_id: None,
            wallet_type: order.wallet_type,
            public_address: order.public_address,
            verified: true,
            is_default: false,
            is_read_only: true,
            is_imported: false,
            account_index: None,
            disabled: None,
            created_at: order.created_at,
            updated_at: order.created_at,
        };
        Ok(with_hash(wallet, key_version, &keys))
    }

    async fn authenticate(&self, stored: StoredWallet) -> Result<Wallet, CustodyError> {
        self.authenticated(stored).await
    }

    async fn sign(
        &self,
        stored: StoredWallet,
        key: WalletKey,
        request: &SigningRequest,
    ) -> Result<(Wallet, Signed), CustodyError> {
        let wallet = self.authenticated(stored).await?;
        let chain = self.chains.get(wallet.wallet_type);
        let prepared = chain
            .prepare(request, signer(&wallet, &key))
            .map_err(|refused| {
                // If the chain cannot parse the stored public key, it blames the request.
                let environment = wallet.world.environment;
                match chain.owns(&key.public_key, &wallet.public_address, environment) {
                    true => CustodyError::from(refused),
                    false => self.alarm.wallet(wallet.id, KEY),
                }
            })?;
        let private_key = self.private_key(chain, &wallet, &key).await?;
        // The chain verified it against the public key, which also proves that the decrypted key is the one of that public key.
        let signed = prepared
            .sign(&private_key, &mut Bytes(self.entropy.as_ref()))
            .map_err(|_error| CustodyError::Failed("signing"))?;
        Ok((wallet, signed))
    }

    async fn change_wallet(
        &self,
        stored: StoredWallet,
        change: WalletChange,
    ) -> Result<StoredWallet, CustodyError> {
        let wallet = self.authenticated(stored).await?;
        let (key_version, keys) = self.wallet_keys.newest(&wallet.world).await?;
        Ok(with_hash(change.apply(wallet), key_version, &keys))
    }

    async fn rewrap_wallet(
        &self,
        stored: StoredWallet,
        key: Option<WalletKey>,
        version: u32,
    ) -> Result<(StoredWallet, Option<WalletKey>), CustodyError> {
        let wallet = self.authenticated(stored).await?;
        let keys = self.wallet_keys.version(&wallet.world, version).await?;
        let key = match key {
            Some(key) => Some(self.rewrapped(&wallet, key, version, &keys).await?),
            None => None,
        };
        Ok((with_hash(wallet, version, &keys), key))
    }

    async fn verify_wallet(
        &self,
        stored: StoredWallet,
        key: WalletKey,
    ) -> Result<(), CustodyError> {
        let wallet = self.authenticated(stored).await?;
        self.proved_key(&wallet, &key).await.map(drop)
    }

    fn wallet_address(&self, world: &World, wallet_type: WalletType, text: &str) -> Option<String> {
        let chain = self.chains.get(wallet_type);
        chain.canonical_address(text, world.environment).ok()
    }

    async fn begin_import(&self, order: ImportKeyOrder) -> Result<ImportKey, CustodyError> {
        self.new_import_key(order).await
    }

    async fn import(
        &self,
        order: ImportOrder,
        keys: Vec<ImportKey>,
    ) -> Result<ImportedWallet, ImportError> {
        self.imported(order, keys).await
    }

    async fn export(
        &self,
        stored: StoredWallet,
        key: WalletKey,
        recipient: &[u8],
    ) -> Result<(Wallet, ExportedKey), ExportError> {
        self.exported(stored, key, recipient).await
    }

    async fn opens_app_key(&self, key: &AppKey) -> Result<bool, CustodyError> {
        let context = context(&key.world, key.purpose, key.version);
        let vault = self.vaults.of(key.purpose);
        match vault.unwrap(&context, &key.wrapped).await {
            Ok(_key) => Ok(true),
            Err(VaultError::UnknownVersion(_) | VaultError::Corrupt) => Ok(false),
            Err(error) => Err(CustodyError::Sealed(Box::new(error))),
        }
    }

    async fn rewrap_app_key(&self, key: &AppKey) -> Result<AppKey, CustodyError> {
        let context = context(&key.world, key.purpose, key.version);
        let refused = |error| refusal(&self.alarm, &key.world, error);
        let vault = self.vaults.of(key.purpose);
        let opened = vault.unwrap(&context, &key.wrapped).await;
        let wrapped = vault.wrap(&context, &opened.map_err(refused)?).await;
        let wrapped = wrapped.map_err(refused)?;
        Ok(AppKey {
            wrapped,
            ..key.clone()
        })
    }
}

impl SignatureVerifier for Custody {
    fn canonical_address(&self, wallet_type: WalletType, text: &str) -> Option<String> {
        self.chains.own_address(wallet_type, text).ok()
    }

    fn is_signed(
        &self,
        wallet_type: WalletType,
        address: &str,
        message: &[u8],
        signature: &str,
    ) -> bool {
        let verified = self
            .chains
            .verify_own(wallet_type, address, message, signature);
        verified.is_ok()
    }
}
