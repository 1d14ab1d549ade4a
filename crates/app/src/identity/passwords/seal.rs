//! Between a hash and the row that keeps it: the seal is the pepper (P-5).

use vestry_domain::envelope::{Place, Sealed, SecretKind};
use vestry_domain::ids::UserId;
use vestry_domain::password::{PasswordHash, StoredPassword};
use vestry_domain::{Timestamp, World};

use crate::{Fault, Service};

impl Service {
    /// The row of a hash. Two seals of one hash differ.
    pub(crate) async fn seal_password(
        &self,
        world: &World,
        user_id: UserId,
        hash: &PasswordHash,
        now: Timestamp,
    ) -> Result<StoredPassword, Fault> {
        let owner = user_id.to_string();
        let plaintext = hash.to_sealable();
        let sealer = &self.ports.sealer;
        let sealed = sealer
            .seal(place(world, &owner), plaintext.expose())
            .await?;
        Ok(StoredPassword {
            world: *world,
            user_id,
            sealed,
            created_at: now,
            updated_at: now,
        })
    }

    /// The hash in a row.
    pub(crate) async fn open_password(
        &self,
        world: &World,
        user_id: UserId,
        sealed: &Sealed,
    ) -> Result<PasswordHash, Fault> {
        let owner = user_id.to_string();
        let opened = self.ports.sealer.open(place(world, &owner), sealed).await?;
        PasswordHash::from_sealable(&opened)
            .ok_or_else(|| Fault::Internal("a sealed password is of an unknown form".into()))
    }
}

const fn place<'a>(world: &World, owner: &'a str) -> Place<'a> {
    Place {
        world: *world,
        kind: SecretKind::Password,
        owner,
    }
}
