//! The interface of every chain.

use vestry_domain::Environment;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Signed, SigningRefused, SigningRequest};
use vestry_domain::wallet::{AddressForm, WalletType};
use zeroize::Zeroizing;

use crate::{ChainError, PrivateKey, import};

/// The wallet that signs. Nothing in it is secret.
#[derive(Debug, Clone, Copy)]
pub struct Signer<'a> {
    /// The public key, as returned by [`Chain::public_key`].
    pub public_key: &'a [u8],
    /// The canonical address.
    pub address: &'a str,
    /// Test or live, for chains with separate test networks.
    pub environment: Environment,
}

/// A request that has been read and checked, and only remains to be signed.
pub trait Prepared: Send {
    /// Signs, and verifies every signature against the public key of the [`Signer`] before returning it.
    ///
    /// `source` is used by chains with randomized signatures.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] if the key is not valid for the chain. [`ChainError::Signature`] if the signature does not verify, for
    /// example because the key is not the signer's.
    fn sign(&self, key: &PrivateKey, source: &mut dyn ByteSource) -> Result<Signed, ChainError>;
}

/// A chain: its keys, its addresses, and what it can sign.
///
/// Public keys are bytes in the chain's own encoding.
pub trait Chain: Send + Sync {
    /// The wallet type that this chain serves.
    fn wallet_type(&self) -> WalletType;

    /// Parses a private key.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] if the length is wrong or the number is outside the curve's range.
    fn private_key(&self, bytes: &[u8]) -> Result<PrivateKey, ChainError>;

    /// Draws a private key uniformly; bytes that are not a key are discarded.
    ///
    /// # Errors
    /// [`ChainError::Randomness`] if several draws in a row yield no key.
    fn generate(&self, source: &mut dyn ByteSource) -> Result<PrivateKey, ChainError> {
        // Ethereum discards one draw in 2^128. Eight in a row mean that the source is broken.
        const DRAWS: usize = 8;
        for _ in 0..DRAWS {
            let drawn = PrivateKey::filled_by(|bytes| source.fill(bytes));
            if let Ok(key) = self.private_key(drawn.expose()) {
                return Ok(key);
            }
        }
        Err(ChainError::Randomness)
    }

    /// The public key of a private key.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] if the key is not valid for this chain.
    fn public_key(&self, key: &PrivateKey) -> Result<Vec<u8>, ChainError>;

    /// The canonical address of a public key. Some chains have different addresses for test wallets.
    ///
    /// # Errors
    /// [`ChainError::PublicKey`] if the public key is invalid.
    fn address(&self, public_key: &[u8], environment: Environment) -> Result<String, ChainError>;

    /// The canonical address of a public key in one of the chain's address forms.
    ///
    /// # Errors
    /// [`ChainError::PublicKey`] if the public key is invalid, and [`ChainError::Address`] if the chain has no such form.
    fn address_in_form(
        &self,
        public_key: &[u8],
        environment: Environment,
        form: AddressForm,
    ) -> Result<String, ChainError> {
        match form {
            AddressForm::Usual => self.address(public_key, environment),
            AddressForm::Taproot => Err(ChainError::Address),
        }
    }

    /// The canonical form of an address that one of our wallets could have.
    ///
    /// Addresses of contracts and scripts, and of keys that no one can hold, are rejected.
    ///
    /// # Errors
    /// [`ChainError::Address`].
    fn canonical_address(&self, text: &str, environment: Environment)
    -> Result<String, ChainError>;

    /// Whether a canonical address belongs to this public key, in any address form of the chain.
    fn owns(&self, public_key: &[u8], address: &str, environment: Environment) -> bool {
        self.address(public_key, environment)
            .is_ok_and(|own| own == address)
    }

    /// The bytes of a key in the chain's own text format for keys, if it has one (Bitcoin: WIF; Stellar: `S…`; Solana: the array of
    /// `id.json`).
    fn own_form(&self, _text: &str, _environment: Environment) -> Option<Zeroizing<Vec<u8>>> {
        None
    }

    /// The private key in an imported plaintext of unknown format (IMP-3): raw bytes, or text in hex, base58, base64 or the chain's own
    /// format.
    ///
    /// The first reading whose key has the canonical `address` is used.
    ///
    /// # Errors
    /// [`ChainError::Address`], whatever is wrong with the plaintext.
    fn import_key(
        &self,
        plaintext: &[u8],
        address: &str,
        environment: Environment,
    ) -> Result<PrivateKey, ChainError> {
        let readings = import::readings(plaintext, |text| self.own_form(text, environment));
        let keys = readings
            .iter()
            .filter_map(|bytes| self.private_key(bytes).ok());
        first_with_address(self, keys, address, environment)
    }

    /// The key of a BIP-39 phrase at an account index (CH-1), if its canonical address is `address`.
    ///
    /// The phrase is UTF-8, English, has 12, 15, 18, 21 or 24 words and no passphrase.
    ///
    /// # Errors
    /// [`ChainError::Address`], whatever is wrong with the phrase or the index.
    fn import_phrase(
        &self,
        phrase: &[u8],
        account_index: u32,
        address: &str,
        environment: Environment,
    ) -> Result<PrivateKey, ChainError>;

    /// The bytes of a key in the format that the chain's other software imports: the key itself, unless the chain overrides this.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] if the key is not valid for this chain.
    fn export_key(&self, key: &PrivateKey) -> Result<Zeroizing<Vec<u8>>, ChainError> {
        self.private_key(key.expose())?;
        Ok(Zeroizing::new(key.expose().to_vec()))
    }

    /// Reads and checks a request completely, before any key is decrypted.
    ///
    /// # Errors
    /// [`SigningRefused`], which names the field.
    fn prepare<'a>(
        &'a self,
        request: &SigningRequest,
        signer: Signer<'_>,
    ) -> Result<Box<dyn Prepared + 'a>, SigningRefused>;
}

/// The first of the keys that has the address.
///
/// All are tried, even after a match, so that the timing does not reveal which one it was.
///
/// # Errors
/// [`ChainError::Address`] if none has it.
pub(crate) fn first_with_address<C: Chain + ?Sized>(
    chain: &C,
    keys: impl Iterator<Item = PrivateKey>,
    address: &str,
    environment: Environment,
) -> Result<PrivateKey, ChainError> {
    let mut found = None;
    for key in keys {
        let fits = chain
            .public_key(&key)
            .is_ok_and(|public_key| chain.owns(&public_key, address, environment));
        if fits && found.is_none() {
            found = Some(key);
        }
    }
    found.ok_or(ChainError::Address)
}
