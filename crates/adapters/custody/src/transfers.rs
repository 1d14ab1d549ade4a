//! Import and export of private keys.

use vestry_chains::PrivateKey;
use vestry_domain::envelope::{Sealed, WalletKey, join_with_lengths};
use vestry_domain::key_transfer::{ExportedKey, ImportKey, LIFETIME, Origin};
use vestry_domain::wallet::{StoredWallet, Wallet};
use vestry_ports::custody::{
    CustodyError, ExportError, ImportError, ImportKeyOrder, ImportOrder, ImportedWallet,
};
use zeroize::Zeroizing;

use crate::Custody;
use crate::sealed_message::{self, KeyPair, Sender};
use crate::wallets::with_hash;

/// Name of the failed object, for [`CustodyError::Tampered`].
const IMPORT_KEY: &str = "import key";

/// Returns the associated data of an import key's private half. Never change it.
fn associated_data(key: &ImportKey) -> Vec<u8> {
    join_with_lengths([
        b"vestry-import-key-v1".as_slice(),
        &key.sealed_fields(),
        &key.private_key.key_version.to_be_bytes(),
    ])
}

impl Custody {
    pub(crate) async fn new_import_key(
        &self,
        order: ImportKeyOrder,
    ) -> Result<ImportKey, CustodyError> {
        let (key_version, keys) = self.wallet_keys.newest(&order.world).await?;
        let pair = KeyPair::generate(order.kem, self.entropy.as_ref());
        let mut key = ImportKey {
            id: order.id,
            world: order.world,
            origin: order.origin,
            account_index: order.account_index,
            user_id: order.user_id,
            kem: order.kem,
            public_key: pair.public,
            private_key: Sealed {
                key_version,
                bytes: Vec::new(),
            },
            created_at: order.created_at,
            expires_at: order.created_at + LIFETIME,
        };
        key.private_key.bytes = keys
            .imports
            .seal(self.entropy.as_ref(), &associated_data(&key), &pair.private)
            .map_err(|_refused| CustodyError::Failed("sealing an import key"))?;
        Ok(key)
    }

    /// Builds the wallet for the key in a message.
    pub(crate) async fn imported(
        &self,
        order: ImportOrder,
        keys: Vec<ImportKey>,
    ) -> Result<ImportedWallet, ImportError> {
        let (import_key, plaintext) = self.opened(&order, keys).await?;
        let account_index = import_key.index(order.account_index);
        let private_key = self.read_key(&order, account_index, &plaintext)?;
        drop(plaintext);
        let world = order.wallet.world;
        let (key_version, keys) = self.wallet_keys.newest(&world).await?;
        let wallet = Wallet {
            id: order.wallet.wallet_id,
            world,
            user_id: order.wallet.user_id,
            key_id: Some(order.wallet.key_id),
            wallet_type: order.wallet.wallet_type,
            public_address: order.public_address,
            verified: true,
            is_default: true,
            is_read_only: false,
            is_imported: true,
            account_index,
            disabled: None,
            created_at: order.wallet.created_at,
            updated_at: order.wallet.created_at,
        };
        let chain = self.chains.get(wallet.wallet_type);
        let public_key = chain
            .public_key(&private_key)
            .map_err(|_error| CustodyError::Failed("deriving a public key"))?;
        let key = self.enclosed(&wallet, &private_key, public_key, key_version, &keys)?;
        let further = Wallet {
            is_default: false,
            ..wallet.clone()
        };
        Ok(ImportedWallet {
            import_key: import_key.id,
            as_default: with_hash(wallet, key_version, &keys),
            as_further: with_hash(further, key_version, &keys),
            key,
        })
    }

    /// Returns the key pair that opens the message, and the message's content.
    async fn opened(
        &self,
        order: &ImportOrder,
        keys: Vec<ImportKey>,
    ) -> Result<(ImportKey, Zeroizing<Vec<u8>>), ImportError> {
        let wanted = Origin {
            wallet_type: order.wallet.wallet_type,
            public_address: order.public_address.clone(),
            entropy_type: order.entropy_type,
        };
        let (now, user) = (order.wallet.created_at, order.wallet.user_id);
        for key in keys {
            // Decrypted before its fields are trusted.
            let private_half = self.private_half(&key).await?;
            let is_meant = key.world == order.wallet.world
                && now < key.expires_at
                && key.serves(&wanted, order.account_index, user);
            if !is_meant {
                continue;
            }
            if let Ok(plaintext) = sealed_message::open(key.kem, &private_half, &order.message) {
                return Ok((key, plaintext));
            }
        }
        Err(ImportError::Undecipherable)
    }

    async fn private_half(&self, key: &ImportKey) -> Result<Zeroizing<Vec<u8>>, CustodyError> {
        let sealed = &key.private_key;
        let keys = self
            .wallet_keys
            .version(&key.world, sealed.key_version)
            .await?;
        keys.imports
            .open(&associated_data(key), &sealed.bytes)
            .map_err(|_refused| self.alarm.world(&key.world, IMPORT_KEY))
    }

    fn read_key(
        &self,
        order: &ImportOrder,
        account_index: Option<u32>,
        plaintext: &[u8],
    ) -> Result<PrivateKey, ImportError> {
        let chain = self.chains.get(order.wallet.wallet_type);
        let (address, environment) = (&order.public_address, order.wallet.world.environment);
        let read = match account_index {
            Some(index) => chain.import_phrase(plaintext, index, address, environment),
            None => chain.import_key(plaintext, address, environment),
        };
        read.map_err(|_error| ImportError::AddressMismatch)
    }

    pub(crate) async fn exported(
        &self,
        stored: StoredWallet,
        key: WalletKey,
        recipient: &[u8],
    ) -> Result<(Wallet, ExportedKey), ExportError> {
        let wallet = self.authenticated(stored).await?;
        // Errors in the recipient are found before the key is decrypted.
        let sender = Sender::new(self.entropy.as_ref(), recipient)
            .map_err(|_refused| ExportError::Recipient)?;
        let private_key = self.proved_key(&wallet, &key).await?;
        let plaintext = self
            .chains
            .get(wallet.wallet_type)
            .export_key(&private_key)
            .map_err(|_error| CustodyError::Failed("writing a private key"))?;
        let sealed = sender
            .seal(&plaintext)
            .map_err(|_refused| CustodyError::Failed("sealing a private key"))?;
        Ok((wallet, sealed))
    }
}
