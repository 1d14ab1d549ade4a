//! The `CheckpointSigner` port: the key that signs checkpoints.

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use vestry_domain::World;
use vestry_ports::custody::{CheckpointSigner, CustodyError};
use vestry_ports::port;

use crate::Custody;

const FAILED: CustodyError = CustodyError::Failed("the key of checkpoints");

impl Custody {
    async fn checkpoint_key(&self, world: &World) -> Result<Ed25519KeyPair, CustodyError> {
        let (_, keys) = self.audit_keys.newest(world).await?;
        let pair = Ed25519KeyPair::from_seed_unchecked(keys.checkpoints.as_slice());
        pair.map_err(|_rejected| FAILED)
    }
}

#[port]
impl CheckpointSigner for Custody {
    async fn notary_key(&self, world: &World) -> Result<[u8; 32], CustodyError> {
        let pair = self.checkpoint_key(world).await?;
        let key = pair.public_key().as_ref().try_into();
        key.map_err(|_other_length| FAILED)
    }

    async fn sign_checkpoint(&self, world: &World, text: &[u8]) -> Result<Vec<u8>, CustodyError> {
        let pair = self.checkpoint_key(world).await?;
        Ok(pair.sign(text).as_ref().to_vec())
    }

    fn is_notarised(&self, key: &[u8; 32], text: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, key);
        key.verify(text, signature).is_ok()
    }
}
