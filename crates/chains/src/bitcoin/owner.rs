//! The signing wallet's public key, in the forms used in scripts.

use std::borrow::Cow;

use ::bitcoin::key::TapTweak;
use ::bitcoin::secp256k1::XOnlyPublicKey;
use ::bitcoin::{CompressedPublicKey, PubkeyHash, Script, ScriptBuf};
use vestry_domain::signing::SigningRefused;

use super::{Bitcoin, address};
use crate::Signer;
use crate::secp256k1::parse_public_key;

/// The signer's key and the outputs that pay to it alone.
pub(super) struct Owner {
    pub(super) public_key: CompressedPublicKey,
    /// The x coordinate of the key, as used by taproot (BIP-340).
    pub(super) x_only: XOnlyPublicKey,
    /// The P2WPKH script.
    pub(super) p2wpkh: ScriptBuf,
    /// P2WPKH inside P2SH, for wallets without segregated witness support (BIP-49).
    pub(super) p2sh_p2wpkh: ScriptBuf,
    /// The P2PKH script.
    pub(super) p2pkh: ScriptBuf,
    /// The output key, if the wallet's address is P2TR (BIP-86).
    pub(super) output_key: Option<XOnlyPublicKey>,
}

impl Owner {
    /// Derives the scripts of a signer.
    ///
    /// # Errors
    /// [`SigningRefused::Denied`] if the stored public key is invalid or does not match the stored address. No request can cause this.
    pub(super) fn new(chain: &Bitcoin, signer: Signer<'_>) -> Result<Self, SigningRefused> {
        let denied = |reason| SigningRefused::Denied(Cow::Borrowed(reason));
        let public_key = parse_public_key(signer.public_key)
            .map_err(|_unreadable| denied("the wallet's stored public key is invalid"))?;
        let public_key = CompressedPublicKey(public_key);
        let p2wpkh = ScriptBuf::new_p2wpkh(&public_key.wpubkey_hash());
        let x_only = XOnlyPublicKey::from(public_key.0);
        // Checked first, because computing the output key costs a multiplication.
        let output_key = if address::is_taproot(signer.address) {
            let output_key = chain
                .output_key(x_only, None)
                .filter(|key| address::p2tr(*key, signer.environment).to_string() == signer.address)
                .ok_or_else(|| {
                    denied("the wallet's stored address does not match its public key")
                })?;
            Some(output_key)
        } else {
            None
        };
        Ok(Self {
            public_key,
            x_only,
            output_key,
            p2sh_p2wpkh: p2wpkh.to_p2sh(),
            p2pkh: ScriptBuf::new_p2pkh(&public_key.pubkey_hash()),
            p2wpkh,
        })
    }

    /// The script of the wallet's address.
    pub(super) fn script(&self) -> ScriptBuf {
        match self.output_key {
            Some(key) => ScriptBuf::new_p2tr_tweaked(key.dangerous_assume_tweaked()),
            None => self.p2wpkh.clone(),
        }
    }

    /// Whether the script contains the key or its hash. Otherwise no signature by the key can satisfy it.
    pub(super) fn is_in(&self, script: &Script) -> bool {
        let hash: PubkeyHash = self.public_key.pubkey_hash();
        contains(script.as_bytes(), &self.public_key.to_bytes())
            || contains(script.as_bytes(), hash.as_ref())
    }

    /// Like [`Self::is_in`], for taproot scripts, whose keys have 32 bytes (BIP-342).
    pub(super) fn is_in_leaf(&self, script: &Script) -> bool {
        contains(script.as_bytes(), &self.x_only.serialize())
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
