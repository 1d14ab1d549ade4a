//! A private key encrypted under its data key, and the data key under an App key.
//!
//! Both layers are bound to the format, the environment, the App, the key, the wallet, its type, address and public key. The outer layer is
//! bound to the version of the App key as well. The inner one is not, so that a rotation of App keys rewraps data keys and never touches a
//! private key.

use vestry_chains::PrivateKey;
use vestry_domain::envelope::{WalletKey, join_with_lengths};
use vestry_domain::wallet::Wallet;
use vestry_ports::entropy::Entropy;
use zeroize::Zeroizing;

use crate::aead::{Aead, KEY_LENGTH, Refused};
use crate::subkeys::WalletSubkeys;

/// The only format so far.
pub(crate) const FORMAT: u32 = 1;

/// The two encrypted layers of a key.
pub(crate) struct Layers {
    pub(crate) wrapped_data_key: Vec<u8>,
    pub(crate) ciphertext: Vec<u8>,
}

/// What both layers are bound to in addition to the private key's own bytes.
pub(crate) struct Binding<'a> {
    pub(crate) wallet: &'a Wallet,
    pub(crate) key_id: String,
    pub(crate) public_key: &'a [u8],
    pub(crate) format: u32,
    pub(crate) key_version: u32,
}

impl<'a> Binding<'a> {
    /// Returns the binding of a stored key to the wallet that it claims to belong to.
    pub(crate) fn of(wallet: &'a Wallet, key: &'a WalletKey) -> Self {
        Self {
            wallet,
            key_id: key.id.to_string(),
            public_key: &key.public_key,
            format: key.format,
            key_version: key.key_version,
        }
    }

    fn data_key(&self) -> Vec<u8> {
        self.associated_data(b"vestry-data-key", &self.key_version.to_be_bytes())
    }

    fn private_key(&self) -> Vec<u8> {
        self.associated_data(b"vestry-private-key", &[])
    }

    fn associated_data(&self, layer: &[u8], key_version: &[u8]) -> Vec<u8> {
        let world = self.wallet.world;
        join_with_lengths([
            layer,
            &self.format.to_be_bytes(),
            world.environment.as_str().as_bytes(),
            world.app_id.to_string().as_bytes(),
            self.key_id.as_bytes(),
            self.wallet.id.to_string().as_bytes(),
            self.wallet.wallet_type.as_str().as_bytes(),
            self.wallet.public_address.as_bytes(),
            self.public_key,
            key_version,
        ])
    }
}

/// Encrypts a private key under a fresh data key.
pub(crate) fn seal(
    keys: &WalletSubkeys,
    entropy: &dyn Entropy,
    binding: &Binding<'_>,
    private_key: &PrivateKey,
) -> Result<Layers, Refused> {
    let mut data_key = Zeroizing::new([0; KEY_LENGTH]);
    entropy.fill(data_key.as_mut_slice());
    let ciphertext =
        Aead::new(&data_key)?.seal(entropy, &binding.private_key(), private_key.expose())?;
    Ok(Layers {
        wrapped_data_key: wrap_data_key(keys, entropy, binding, &data_key)?,
        ciphertext,
    })
}

/// Encrypts a data key under the App key.
pub(crate) fn wrap_data_key(
    keys: &WalletSubkeys,
    entropy: &dyn Entropy,
    binding: &Binding<'_>,
    data_key: &[u8; KEY_LENGTH],
) -> Result<Vec<u8>, Refused> {
    keys.data_keys
        .seal(entropy, &binding.data_key(), data_key.as_slice())
}

/// Decrypts a data key.
pub(crate) fn open_data_key(
    keys: &WalletSubkeys,
    binding: &Binding<'_>,
    wrapped_data_key: &[u8],
) -> Result<Zeroizing<[u8; KEY_LENGTH]>, Refused> {
    if binding.format != FORMAT {
        return Err(Refused);
    }
    let opened = keys.data_keys.open(&binding.data_key(), wrapped_data_key)?;
    let mut data_key = Zeroizing::new([0; KEY_LENGTH]);
    if opened.len() != KEY_LENGTH {
        return Err(Refused);
    }
    data_key.copy_from_slice(&opened);
    Ok(data_key)
}

/// Decrypts a private key into a buffer that is wiped; the caller converts it to a key at once.
pub(crate) fn open(
    keys: &WalletSubkeys,
    binding: &Binding<'_>,
    wrapped_data_key: &[u8],
    ciphertext: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Refused> {
    let data_key = open_data_key(keys, binding, wrapped_data_key)?;
    Aead::new(&data_key)?.open(&binding.private_key(), ciphertext)
}

#[cfg(test)]
mod tests;
