//! The `Sealer` port: small secrets and keyed hashes.

use std::sync::Arc;

use aws_lc_rs::hmac;
use vestry_domain::envelope::{Mac, Place, Sealed, SecretKind, join_with_lengths};
use vestry_domain::{Secret, World};
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::port;

use crate::Custody;
use crate::subkeys::{PastAuditKey, SecretSubkeys};

/// The version of an App key that is created with its App.
pub(crate) const FIRST_VERSION: u32 = 1;

/// Returns the associated data of a sealed secret. Never change it.
fn associated_data(place: &Place<'_>, key_version: u32) -> Vec<u8> {
    join_with_lengths([
        b"vestry-secret-v1".as_slice(),
        place.world.environment.as_str().as_bytes(),
        place.world.app_id.to_string().as_bytes(),
        place.kind.label().as_bytes(),
        place.owner.as_bytes(),
        &key_version.to_be_bytes(),
    ])
}

/// Returns the input of a keyed hash. Never change it.
fn hashed(world: &World, kind: SecretKind, parts: &[&[u8]]) -> Vec<u8> {
    let app_id = world.app_id.to_string();
    let place = [
        b"vestry-keyed-hash-v1".as_slice(),
        world.environment.as_str().as_bytes(),
        app_id.as_bytes(),
        kind.label().as_bytes(),
    ];
    join_with_lengths(place.into_iter().chain(parts.iter().copied()))
}

fn keyed_hash(
    keys: &SecretSubkeys,
    key_version: u32,
    world: &World,
    kind: SecretKind,
    parts: &[&[u8]],
) -> Mac {
    let tag = hmac::sign(&keys.of(kind).hashes, &hashed(world, kind, parts));
    Mac {
        key_version,
        tag: tag.as_ref().to_vec(),
    }
}

impl Custody {
    fn seal_with(
        &self,
        keys: &SecretSubkeys,
        key_version: u32,
        place: &Place<'_>,
        plaintext: &[u8],
    ) -> Result<Sealed, CustodyError> {
        let associated_data = associated_data(place, key_version);
        let sealing = &keys.of(place.kind).sealing;
        let sealed = sealing.seal(self.entropy.as_ref(), &associated_data, plaintext);
        let bytes = sealed.map_err(|_refused| CustodyError::Failed("sealing a secret"))?;
        Ok(Sealed { key_version, bytes })
    }

    /// Returns the audit-log key that remains of a destroyed version; `None` while the version exists.
    async fn past_audit_key(
        &self,
        world: &World,
        version: u32,
    ) -> Result<Option<Arc<PastAuditKey>>, CustodyError> {
        if let Some(key) = self.past_audit_keys.in_memory(world, version) {
            return Ok(Some(key));
        }
        if self.secret_keys.find(world, version).await?.is_some() {
            return Ok(None);
        }
        // Stored by the transaction that destroyed the version.
        self.past_audit_keys.version(world, version).await.map(Some)
    }
}

#[port]
impl Sealer for Custody {
    async fn seal(&self, place: Place<'_>, plaintext: &[u8]) -> Result<Sealed, CustodyError> {
        let (key_version, keys) = self.secret_keys.newest(&place.world).await?;
        self.seal_with(&keys, key_version, &place, plaintext)
    }

    async fn open(
        &self,
        place: Place<'_>,
        sealed: &Sealed,
    ) -> Result<Secret<Vec<u8>>, CustodyError> {
        let keys = self
            .secret_keys
            .version(&place.world, sealed.key_version)
            .await?;
        let mut plaintext = keys
            .of(place.kind)
            .sealing
            .open(&associated_data(&place, sealed.key_version), &sealed.bytes)
            .map_err(|_refused| self.alarm.world(&place.world, place.kind.label()))?;
        // Moves the buffer, not its bytes; an empty one remains.
        Ok(Secret::new(std::mem::take(&mut *plaintext)))
    }

    async fn reseal(
        &self,
        place: Place<'_>,
        sealed: &Sealed,
        version: u32,
    ) -> Result<Sealed, CustodyError> {
        let plaintext = self.open(place, sealed).await?;
        let keys = self.secret_keys.version(&place.world, version).await?;
        self.seal_with(&keys, version, &place, plaintext.expose())
    }

    async fn mac(
        &self,
        world: &World,
        kind: SecretKind,
        parts: &[&[u8]],
    ) -> Result<Mac, CustodyError> {
        let (version, keys) = self.secret_keys.newest(world).await?;
        Ok(keyed_hash(&keys, version, world, kind, parts))
    }

    async fn mac_under(
        &self,
        world: &World,
        kind: SecretKind,
        parts: &[&[u8]],
        version: u32,
    ) -> Result<Mac, CustodyError> {
        let keys = self.secret_keys.version(world, version).await?;
        Ok(keyed_hash(&keys, version, world, kind, parts))
    }

    async fn mac_matches(
        &self,
        world: &World,
        kind: SecretKind,
        parts: &[&[u8]],
        mac: &Mac,
    ) -> Result<bool, CustodyError> {
        let hashed = hashed(world, kind, parts);
        if kind == SecretKind::Audit
            && let Some(key) = self.past_audit_key(world, mac.key_version).await?
        {
            return Ok(hmac::verify(&key.0, &hashed, &mac.tag).is_ok());
        }
        let keys = self.secret_keys.version(world, mac.key_version).await?;
        Ok(hmac::verify(&keys.of(kind).hashes, &hashed, &mac.tag).is_ok())
    }

    async fn decoy(&self, world: &World, parts: &[&[u8]]) -> Result<Vec<u8>, CustodyError> {
        // The label used before any key had a second version.
        let hashed = hashed(world, SecretKind::Code, parts);
        let (version, keys) = self.secret_keys.newest(world).await?;
        let tag = if version == FIRST_VERSION {
            hmac::sign(&keys.of(SecretKind::Code).hashes, &hashed)
        } else {
            // It was stored before the second version was.
            let key = self.decoy_keys.version(world, FIRST_VERSION).await?;
            hmac::sign(&key.0, &hashed)
        };
        Ok(tag.as_ref().to_vec())
    }
}
