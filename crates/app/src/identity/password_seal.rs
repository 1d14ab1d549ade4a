//! Encryption of password hashes in the database. The App key is their pepper (P-5).

use vestry_domain::envelope::{Place, Sealed, SecretKind};
use vestry_domain::ids::UserId;
use vestry_domain::password::{PasswordHash, StoredPassword};
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::Sealer;

use crate::Fault;

/// Returns the row of a hash. Two rows of one hash differ.
pub(crate) async fn seal(
    sealer: &dyn Sealer,
    world: &World,
    user_id: UserId,
    hash: &PasswordHash,
    now: Timestamp,
) -> Result<StoredPassword, Fault> {
    let owner = user_id.to_string();
    let plaintext = hash.to_sealable();
    let sealed = sealer.seal(place(world, &owner), plaintext.expose());
    Ok(StoredPassword {
        world: *world,
        user_id,
        sealed: sealed.await?,
        created_at: now,
        updated_at: now,
    })
}

/// Returns the hash in a row.
pub(crate) async fn open(
    sealer: &dyn Sealer,
    world: &World,
    user_id: UserId,
    sealed: &Sealed,
) -> Result<PasswordHash, Fault> {
    let owner = user_id.to_string();
    let opened = sealer.open(place(world, &owner), sealed).await?;
    PasswordHash::from_sealable(&opened)
        .ok_or_else(|| Fault::Internal("a sealed password is of an unknown form".into()))
}

const fn place<'a>(world: &World, owner: &'a str) -> Place<'a> {
    Place {
        world: *world,
        kind: SecretKind::Password,
        owner,
    }
}
