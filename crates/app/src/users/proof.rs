//! Somebody proved to own an address or a number: what that means for its user (O-10, attack 1).
//!
//! An account can be planted: somebody registers another person's address together with a password, a phone number or an
//! authenticator app of his own, or attaches it to his own account, and waits. What a proof is worth depends on where it
//! comes from and on what the account rests on.
//!
//! - Within a session of the user (the verify call continues one), the identifier becomes verified, and nothing else happens:
//!   whoever holds the session holds the account.
//! - Outside of one, when the account rests on nothing yet, the proof is a **takeover**: sessions, credentials and verified numbers
//!   are dropped, and what is not verified is **held**.
//! - Outside of one, when the account rests on something else, it is another person's for all we know. If the step that sent
//!   the proof takes anybody in (login-or-create), the identifier **moves** to a user of its own, who is the one that signs in;
//!   and if it was an address, and the account has no proved one, the sessions of that account end.
//!   If the App named it as that of a user whom it knows (`send`), it is verified there, unless it is held. A link that sets a
//!   password is refused.
//!
//! An account rests on a verified address; on a verified number, as far as numbers are concerned; and on what was there before
//! the identifier: a verified number, a passkey, a wallet, a link to an identity provider.

use vestry_domain::code::MethodId;
use vestry_domain::ids::UserId;
use vestry_domain::metadata::Metadata;
use vestry_domain::user::{User, UserProfile, UserStatus};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Repositories, StoreError};

use super::credentials::remove_credentials;
use crate::Service;

/// Who may be behind a proof, as the step that sent the code or link knows it.
pub(crate) enum Behind<'a> {
    /// Whoever reads what was sent; a stranger gets this user.
    Anybody(&'a User),
    /// The user of whom the App says that the identifier is his.
    KnownUser,
    /// The owner of the account, or nobody: what was sent opens more than the identifier.
    Owner,
}

/// A proved identifier.
pub(crate) struct Proven {
    /// Its owner, who is another than before when it moved.
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

impl Service {
    /// The user that a stranger gets whose address or number stands in the account of somebody else.
    pub(crate) fn stranger(&self, world: World, now: Timestamp) -> User {
        User {
            id: self.new_id(now),
            world,
            first_name: String::new(),
            middle_name: String::new(),
            last_name: String::new(),
            // The proof is there; there is nothing to wait for.
            status: UserStatus::Active,
            metadata: Metadata::default(),
            created_at: now,
            updated_at: now,
        }
    }
}

/// Marks the identifier as verified and its user as active, after whatever a first proof costs. `in_session` says whether the
/// call continues a session of that very user.
pub(crate) async fn prove(
    tx: &mut dyn Repositories,
    world: &World,
    method: MethodId,
    in_session: Option<UserId>,
    behind: Behind<'_>,
    now: Timestamp,
) -> Result<Proven, ProofError> {
    let identifier = locked(tx, world, method).await?;
    let mut user_id = identifier.user_id;
    if !identifier.verified && in_session != Some(user_id) {
        let profile = tx.users().profile(world, user_id).await?;
        let profile = profile.ok_or(ProofError::Gone)?;
        let attached_at = identifier.created_at;
        let is_planted = identifier.held || rests(tx, world, method, &profile, attached_at).await?;
        match behind {
            _ if !is_planted => take_over(tx, world, &profile, now).await?,
            Behind::Anybody(user) => {
                move_out(tx, world, method, user).await?;
                let has_address = profile.emails.iter().any(|email| email.verified);
                if matches!(method, MethodId::Email(_)) && !has_address {
                    // The only address that the account had was somebody else's: who planted it does not go on as before.
                    tx.sessions().delete_all(world, user_id, now).await?;
                }
                user_id = user.id;
            }
            Behind::KnownUser if !identifier.held => {}
            Behind::KnownUser | Behind::Owner => return Err(ProofError::NeedsSession),
        }
    }
    match method {
        MethodId::Email(id) => tx.users().verify_email(world, id, now).await?,
        MethodId::Phone(id) => tx.users().verify_phone(world, id, now).await?,
    }
    tx.users().activate(world, user_id, now).await?;
    Ok(Proven {
        user_id,
        text: identifier.text,
    })
}

/// An address or a number, read while its user is locked.
struct Identifier {
    user_id: UserId,
    text: String,
    verified: bool,
    held: bool,
    created_at: Timestamp,
}

/// Two first proofs of one account at the same moment must see one another, and so must a proof and the credential that is
/// being added meanwhile: all of them lock the user.
async fn locked(
    tx: &mut dyn Repositories,
    world: &World,
    method: MethodId,
) -> Result<Identifier, ProofError> {
    let seen = read(tx, world, method).await?.ok_or(ProofError::Gone)?;
    if !tx.users().lock(world, seen.user_id).await? {
        return Err(ProofError::Gone);
    }
    let identifier = read(tx, world, method).await?;
    // It may have moved to another user between the two looks; the code or link that proved it is void then.
    identifier
        .filter(|identifier| identifier.user_id == seen.user_id)
        .ok_or(ProofError::Gone)
}

async fn read(
    tx: &mut dyn Repositories,
    world: &World,
    method: MethodId,
) -> Result<Option<Identifier>, StoreError> {
    Ok(match method {
        MethodId::Email(id) => {
            let row = tx.users().email(world, id).await?;
            row.map(|row| Identifier {
                user_id: row.user_id,
                text: row.email.address().to_owned(),
                verified: row.verified,
                held: row.held,
                created_at: row.created_at,
            })
        }
        MethodId::Phone(id) => {
            let row = tx.users().phone(world, id).await?;
            row.map(|row| Identifier {
                user_id: row.user_id,
                text: row.number.as_str().to_owned(),
                verified: row.verified,
                held: row.held,
                created_at: row.created_at,
            })
        }
    })
}

/// Whether the account rests on something else than this identifier, which is not verified. A number that was verified while the
/// address stood there already does not count: of the two, the address is the account's name.
async fn rests(
    tx: &mut dyn Repositories,
    world: &World,
    method: MethodId,
    profile: &UserProfile,
    attached_at: Timestamp,
) -> Result<bool, StoreError> {
    let mut proven_phones = profile.phones.iter().filter(|phone| phone.verified);
    let has_phone = match method {
        // A number changes for the last time when it is verified.
        MethodId::Email(_) => proven_phones.any(|phone| phone.updated_at < attached_at),
        MethodId::Phone(_) => proven_phones.next().is_some(),
    };
    if has_phone || profile.emails.iter().any(|email| email.verified) {
        return Ok(true);
    }
    let user = profile.user.id;
    let passkeys = tx.passkeys().of_user(world, user).await?;
    let wallets = tx.wallets().of_user(world, user).await?;
    let mut wallets = wallets.iter().map(|stored| &stored.wallet);
    let has_wallet =
        wallets.any(|wallet| wallet.is_way_to_sign_in() && wallet.created_at < attached_at);
    let links = tx.provider_links().of_user(world, user).await?;
    Ok(has_wallet
        || passkeys
            .iter()
            .any(|passkey| passkey.created_at < attached_at)
        || links.iter().any(|link| link.created_at < attached_at))
}

async fn take_over(
    tx: &mut dyn Repositories,
    world: &World,
    profile: &UserProfile,
    now: Timestamp,
) -> Result<(), StoreError> {
    for phone in profile.phones.iter().filter(|phone| phone.verified) {
        tx.users().remove_phone(world, phone.id).await?;
        tx.codes().forget(world, MethodId::Phone(phone.id)).await?;
    }
    let user = profile.user.id;
    remove_credentials(tx, world, user, now).await?;
    // The proved one is let go again by its verification.
    tx.users().hold_unverified(world, user).await
}

async fn move_out(
    tx: &mut dyn Repositories,
    world: &World,
    method: MethodId,
    user: &User,
) -> Result<(), ProofError> {
    tx.users().insert(user).await?;
    let moved = match method {
        MethodId::Email(id) => tx.users().move_email(world, id, user.id).await?,
        MethodId::Phone(id) => tx.users().move_phone(world, id, user.id).await?,
    };
    if moved { Ok(()) } else { Err(ProofError::Gone) }
}
