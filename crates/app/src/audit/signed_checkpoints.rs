//! Signed checkpoints: which keys are trusted, and this deployment's own checkpoints in the database.

use vestry_domain::World;
use vestry_domain::audit::checkpoint::{Checkpoint, SignedNote, VerifierKey};
use vestry_domain::envelope::KeyPurpose;
use vestry_ports::custody::CheckpointSigner;
use vestry_ports::store::StoredCheckpoint;

use super::finding::FindingKind;
use crate::{Fault, Service};

/// Keys whose checkpoints are trusted.
#[derive(Debug, Clone)]
pub enum TrustedKeys {
    /// This deployment's own key, under whatever name it signed.
    Own,
    /// These keys.
    These(Vec<VerifierKey>),
}

/// Returns the text of a note and its checkpoint if a trusted key signed it.
pub(super) fn believed(
    note: &str,
    keys: &TrustedKeys,
    own: Option<[u8; 32]>,
    checkpoint_signer: &dyn CheckpointSigner,
) -> Result<(String, Checkpoint), FindingKind> {
    let note = SignedNote::parse(note).map_err(|_invalid| FindingKind::NoCheckpoint)?;
    let checkpoint = Checkpoint::parse(&note.text).map_err(|_invalid| FindingKind::NoCheckpoint)?;
    let is_good = |key: &VerifierKey| {
        let mut signatures = note.signatures.iter();
        key.name == checkpoint.deployment
            && signatures.any(|signature| {
                signature.name == key.name
                    && signature.key_id == key.key_id()
                    && checkpoint_signer.is_notarised(
                        &key.key,
                        note.text.as_bytes(),
                        &signature.signature,
                    )
            })
    };
    let is_signed = match keys {
        TrustedKeys::These(keys) => keys.iter().any(is_good),
        TrustedKeys::Own => own
            .and_then(|key| VerifierKey::new(checkpoint.deployment.as_str(), key).ok())
            .is_some_and(|key| is_good(&key)),
    };
    if is_signed {
        Ok((note.text, checkpoint))
    } else {
        Err(FindingKind::NotSigned)
    }
}

impl Service {
    /// Returns the raw public key that verifies this deployment's checkpoints.
    pub(super) async fn own_checkpoint_key(&self) -> Result<[u8; 32], Fault> {
        self.hold_deployment_key(KeyPurpose::Audit).await?;
        Ok(self
            .ports
            .checkpoint_signer
            .notary_key(&World::DEPLOYMENT)
            .await?)
    }

    /// Returns the newest checkpoint in the database, authentic or not.
    pub(crate) async fn newest_checkpoint(&self) -> Result<Option<StoredCheckpoint>, Fault> {
        let mut read = self.ports.store.read().await?;
        Ok(read.checkpoints().newest(&World::DEPLOYMENT).await?)
    }

    /// Returns the checkpoint in a database row and its text, if this deployment signed it.
    ///
    /// # Errors
    /// See [`Fault`]; [`Fault::Sealed`] without the root key of wallets.
    pub(super) async fn own_checkpoint(
        &self,
        kept: &StoredCheckpoint,
    ) -> Result<Option<(String, Checkpoint)>, Fault> {
        let own = Some(self.own_checkpoint_key().await?);
        let read = believed(
            &kept.note,
            &TrustedKeys::Own,
            own,
            &*self.ports.checkpoint_signer,
        )
        .ok();
        Ok(read
            .filter(|(_, checkpoint)| (checkpoint.number, checkpoint.at) == (kept.number, kept.at)))
    }

    /// Returns the number of a note that this deployment signed, if the database has the same note.
    pub(super) async fn number_in_database(&self, note: &str) -> Result<Option<i64>, Fault> {
        let own = Some(self.own_checkpoint_key().await?);
        let Ok((_, checkpoint)) =
            believed(note, &TrustedKeys::Own, own, &*self.ports.checkpoint_signer)
        else {
            return Ok(None);
        };
        let number = checkpoint.number;
        let mut read = self.ports.store.read().await?;
        let before = number.saturating_sub(1);
        let found = read.checkpoints().after(&World::DEPLOYMENT, before, 1);
        let found = found.await?.into_iter().next();
        let is_same = found.is_some_and(|kept| kept.number == number && kept.note == note);
        Ok(is_same.then_some(number))
    }
}
