//! The `Sealer` port: small secrets and keyed hashes.

use aws_lc_rs::hmac;
use vestry_domain::envelope::{Mac, Place, Sealed, SecretKind, join_with_lengths};
use vestry_domain::{Secret, World};
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::port;

use crate::Custody;

/// What a sealed secret is bound to. Never change it.
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

/// What a keyed hash is made of. Never change it.
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

#[port]
impl Sealer for Custody {
    async fn seal(&self, place: Place<'_>, plaintext: &[u8]) -> Result<Sealed, CustodyError> {
        let (key_version, keys) = self.secret_keys.newest(&place.world).await?;
        let bytes = keys
            .of(place.kind)
            .sealing
            .seal(
                self.entropy.as_ref(),
                &associated_data(&place, key_version),
                plaintext,
            )
            .map_err(|_refused| CustodyError::Failed("sealing a secret"))?;
        Ok(Sealed { key_version, bytes })
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
        // Moves the buffer, not its bytes; what stays behind is an empty one.
        Ok(Secret::new(std::mem::take(&mut *plaintext)))
    }

    async fn mac(
        &self,
        world: &World,
        kind: SecretKind,
        parts: &[&[u8]],
    ) -> Result<Mac, CustodyError> {
        let (key_version, keys) = self.secret_keys.newest(world).await?;
        let tag = hmac::sign(&keys.of(kind).hashes, &hashed(world, kind, parts));
        Ok(Mac {
            key_version,
            tag: tag.as_ref().to_vec(),
        })
    }

    async fn mac_matches(
        &self,
        world: &World,
        kind: SecretKind,
        parts: &[&[u8]],
        mac: &Mac,
    ) -> Result<bool, CustodyError> {
        let keys = self.secret_keys.version(world, mac.key_version).await?;
        let hashed = hashed(world, kind, parts);
        Ok(hmac::verify(&keys.of(kind).hashes, &hashed, &mac.tag).is_ok())
    }
}
