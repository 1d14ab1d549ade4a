//! Somebody proved to own an address or a number: what that means for its user (O-10, attack 1).
//!
//! An account can be planted: somebody registers another person's address together with a password, a phone number or an
//! authenticator app of his own, and waits. So the **first** proof of an identifier from outside is a takeover.
//!
//! - Within a session of the user (the verify call continues one), the identifier becomes verified, and nothing else happens:
//!   whoever holds the session holds the account.
//! - Outside of one, the first proof of an address, when no other address is verified, and that of a number, when nothing is,
//!   drops all sessions and credentials, and verified numbers. What is not verified is **held**.
//! - A held identifier is proved within a session only.
//! - What the App attaches after the account was proved is proved by its code alone.

use vestry_domain::code::MethodId;
use vestry_domain::ids::UserId;
use vestry_domain::user::UserProfile;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Repositories, StoreError};

use super::credentials::remove_credentials;

/// A proved identifier.
pub(crate) struct Proven {
    /// Its owner.
    pub(crate) user_id: UserId,
    /// The address or number, as stored.
    pub(crate) text: String,
}

/// Why a proof was not accepted. The transaction must be dropped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProofError {
    /// The identifier is gone.
    #[error("the identifier is gone")]
    Gone,
    /// The identifier is held: it can be proved within a session of its user only.
    #[error("the identifier can be proved within a session of its user only")]
    NeedsSession,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Marks the identifier as verified and its user as active, after whatever a first proof costs. `in_session` says whether the
/// call continues a session of that very user.
pub(crate) async fn prove(
    tx: &mut dyn Repositories,
    world: &World,
    method: MethodId,
    in_session: Option<UserId>,
    now: Timestamp,
) -> Result<Proven, ProofError> {
    let (user_id, text, verified, held) = match method {
        MethodId::Email(id) => {
            let row = tx.users().email(world, id).await?.ok_or(ProofError::Gone)?;
            let address = row.email.address().to_owned();
            (row.user_id, address, row.verified, row.held)
        }
        MethodId::Phone(id) => {
            let row = tx.users().phone(world, id).await?.ok_or(ProofError::Gone)?;
            let number = row.number.as_str().to_owned();
            (row.user_id, number, row.verified, row.held)
        }
    };
    if !verified && in_session != Some(user_id) {
        if held {
            return Err(ProofError::NeedsSession);
        }
        let profile = tx.users().profile(world, user_id).await?;
        take_over(tx, world, method, &profile.ok_or(ProofError::Gone)?, now).await?;
    }
    match method {
        MethodId::Email(id) => tx.users().verify_email(world, id, now).await?,
        MethodId::Phone(id) => tx.users().verify_phone(world, id, now).await?,
    }
    tx.users().activate(world, user_id, now).await?;
    Ok(Proven { user_id, text })
}

async fn take_over(
    tx: &mut dyn Repositories,
    world: &World,
    method: MethodId,
    profile: &UserProfile,
    now: Timestamp,
) -> Result<(), StoreError> {
    let proven_email = profile.emails.iter().any(|email| email.verified);
    let proven_phones = profile.phones.iter().filter(|phone| phone.verified);
    let was_proven_by_its_like = match method {
        MethodId::Email(_) => proven_email,
        MethodId::Phone(_) => proven_email || proven_phones.clone().next().is_some(),
    };
    if was_proven_by_its_like {
        return Ok(());
    }
    for phone in proven_phones {
        tx.users().remove_phone(world, phone.id).await?;
        tx.codes().forget(world, MethodId::Phone(phone.id)).await?;
    }
    remove_credentials(tx, world, profile.user.id, now).await?;
    // The proved one is let go again by its verification.
    tx.users().hold_unverified(world, profile.user.id).await
}
