//! What every chain can do.

use vestry_domain::Environment;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Signed, SigningRefused, SigningRequest};
use vestry_domain::wallet::{AddressForm, WalletType};
use zeroize::Zeroizing;

use crate::{ChainError, PrivateKey, import};

/// Whose signature is wanted. Nothing of it is secret.
#[derive(Debug, Clone, Copy)]
pub struct Signer<'a> {
    /// The public key, as [`Chain::public_key`] gives it.
    pub public_key: &'a [u8],
    /// The canonical address.
    pub address: &'a str,
    /// Test or live, for chains that have networks of their own for tests.
    pub environment: Environment,
}

/// A request that was read, understood and found good: what is left is to sign it.
pub trait Prepared: Send {
    /// Signs, and verifies every signature against the public key of the [`Signer`] before it is given away.
    /// `source` is asked by chains whose signatures are randomised.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] when the key is not one of the chain, [`ChainError::Signature`] when the signature did
    /// not verify, which is also so when the key is not that of the signer.
    fn sign(&self, key: &PrivateKey, source: &mut dyn ByteSource) -> Result<Signed, ChainError>;
}

/// One chain: keys, addresses, and what can be signed.
///
/// Public keys are bytes in the chain's own encoding.
pub trait Chain: Send + Sync {
    /// The wallet type that this chain serves.
    fn wallet_type(&self) -> WalletType;

    /// Takes a private key from its bytes.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] when the length is wrong or the number is outside the curve's range.
    fn private_key(&self, bytes: &[u8]) -> Result<PrivateKey, ChainError>;

    /// Draws a private key, each equally likely: bytes that are no key are thrown away.
    ///
    /// # Errors
    /// [`ChainError::Randomness`] when several draws in a row yield none.
    fn generate(&self, source: &mut dyn ByteSource) -> Result<PrivateKey, ChainError> {
        // Ethereum throws one draw in 2^128 away. Eight in a row mean that the source returns rubbish.
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
    /// [`ChainError::PrivateKey`] when the key is not one of this chain.
    fn public_key(&self, key: &PrivateKey) -> Result<Vec<u8>, ChainError>;

    /// The canonical address of a public key. Test wallets of some chains have addresses of their own.
    ///
    /// # Errors
    /// [`ChainError::PublicKey`].
    fn address(&self, public_key: &[u8], environment: Environment) -> Result<String, ChainError>;

    /// The canonical address of a public key in one of the forms that the chain has.
    ///
    /// # Errors
    /// [`ChainError::PublicKey`], and [`ChainError::Address`] when the chain has no such form.
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

    /// The canonical form of an address that a wallet of ours may have. Contracts, scripts and keys of nobody have
    /// addresses too; those are refused.
    ///
    /// # Errors
    /// [`ChainError::Address`].
    fn canonical_address(&self, text: &str, environment: Environment)
    -> Result<String, ChainError>;

    /// Whether a canonical address is one of this public key, in any form that the chain has.
    fn owns(&self, public_key: &[u8], address: &str, environment: Environment) -> bool {
        self.address(public_key, environment)
            .is_ok_and(|own| own == address)
    }

    /// The bytes of a key in the text form that the chain has for keys alone (Bitcoin: WIF; Stellar: `S…`; Solana: the array of
    /// `id.json`), if it has one.
    fn own_form(&self, _text: &str, _environment: Environment) -> Option<Zeroizing<Vec<u8>>> {
        None
    }

    /// The private key in a plaintext from outside, whose form nobody names (IMP-3): raw bytes, or
    /// text in hex, base58, base64 or what the chain has of its own. The first meaning counts whose key has the canonical
    /// `address`.
    ///
    /// # Errors
    /// [`ChainError::Address`], whatever was wrong with the plaintext.
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

    /// The key that a BIP-39 phrase (UTF-8, English, 12, 15, 18, 21 or 24 words, no passphrase) has at an index of
    /// accounts (CH-1), when its canonical address is `address`.
    ///
    /// # Errors
    /// [`ChainError::Address`], whatever was wrong with the phrase or the index.
    fn import_phrase(
        &self,
        phrase: &[u8],
        account_index: u32,
        address: &str,
        environment: Environment,
    ) -> Result<PrivateKey, ChainError>;

    /// The bytes of a key in the form in which the chain's other software takes it over: the key itself, unless the
    /// chain says otherwise.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] when the key is not one of this chain.
    fn export_key(&self, key: &PrivateKey) -> Result<Zeroizing<Vec<u8>>, ChainError> {
        self.private_key(key.expose())?;
        Ok(Zeroizing::new(key.expose().to_vec()))
    }

    /// Reads a request: everything that can be wrong with it is found here, before any key is opened.
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
/// All are tried, also those behind it, so that the time does not tell which one it was.
///
/// # Errors
/// [`ChainError::Address`] when none has it.
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
