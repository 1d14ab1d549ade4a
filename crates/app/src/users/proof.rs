//! Somebody proved to own an address or a number: whose account it then opens (O-10, attack 1, `claims.md`).
//!
//! Somebody may register another person's address with a password, a phone number or an authenticator app of his own, or attach
//! it to his own account, and wait. So an address or number that nobody has proved is only a claim: it is reserved for the
//! account, and opens nothing. What a proof of it does is decided by three states, and by no clock.
//!
//! - **Within a session of the account**, the claim becomes verified, and nothing else happens (CL-1).
//! - **Verified already**: the proof signs in to its account (CL-2).
//! - **From outside, on an account that is not founded**, the proof founds it: what somebody else may have put there is removed,
//!   and other claims stay claims (CL-3).
//! - **From outside, on a founded account**, it is another person's for all we know. A step that takes anybody in has made a
//!   successor for whoever proves it, and the identifier moves there (CL-4). A step by which the App names one of its users is
//!   refused, unless the App's setting trusts what was attached (CL-5, CL-9).
//!
//! All of it is decided under the lock of the account's row, in the transaction of the proof (CL-8).

use vestry_domain::app::AttachedIdentifiers;
use vestry_domain::code::MethodId;
use vestry_domain::email::Email;
use vestry_domain::event::{Removed, EndReason, Fact};
use vestry_domain::ids::UserId;
use vestry_domain::user::{User, UserStatus};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Moved, Repositories, StoreError};

use super::arrival::{Found, added, removed, verified};
use crate::events::Source;
use crate::sessions::ended;
use crate::{Caller, Fault, Service};

/// A proof, as the step that asked for it and the call that brings it know it.
pub(crate) struct ProofOf {
    /// What was proved.
    pub(crate) method: MethodId,
    /// Whom the step answered: the owner of the identifier, or a successor.
    pub(crate) user: UserId,
    /// Whether the App named the user whose identifier it is, and did not take in whoever proves it.
    pub(crate) vouched: bool,
    /// How the address was spelled.
    pub(crate) spelling: Spelling,
    /// The user whose session the call continues.
    pub(crate) in_session: Option<UserId>,
}

/// The spelling of an address that a proof is about. An unproved row gets it, a verified one keeps its own.
pub(crate) enum Spelling {
    /// The stored one; or the proof is of a number.
    Stored,
    /// Mail was read that was sent there. If another spelling was verified since, it was the mail of another mailbox for all we know.
    Mailed(Email),
    /// Somebody who is trusted stated it.
    Stated(Email),
}

impl Spelling {
    /// Of a code or link, which names the address while that is not verified.
    pub(crate) fn mailed(sent_to: Option<&Email>) -> Self {
        sent_to.cloned().map_or(Self::Stored, Self::Mailed)
    }
}

/// A proved identifier.
pub(crate) struct Proven {
    /// Its owner.
    pub(crate) user_id: UserId,
    /// The address or number, as stored.
    pub(crate) text: String,
    /// The same, as it is compared.
    pub(crate) identity: String,
}

/// Why a proof was not accepted. The transaction must be dropped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProofError {
    /// The identifier is gone, or belongs to another account than when the proof was asked for, or its user is disabled.
    #[error("the identifier is gone")]
    Gone,
    /// The identifier is a claim of a founded account: it can be proved within a session of its user only.
    #[error("the identifier can be proved within a session of its user only")]
    NeedsSession,
    /// The user who gets the identifier has as many of its kind as a user may have.
    #[error("the user has as many identifiers of this kind as a user may have")]
    LimitReached(MethodId),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<StoreError> for ProofError {
    fn from(error: StoreError) -> Self {
        Self::Fault(error.into())
    }
}

/// Whether a step by which the App names one of its users may have this identifier of it proved without a session (CL-5). An App
/// that trusts what it attaches knows whose it is only of what it attached to somebody's account: what was there before the
/// account was founded may be anybody's (CL-9).
pub(crate) fn is_provable(caller: &Caller, found: &Found) -> bool {
    let trusts = caller.settings().attached_identifiers == AttachedIdentifiers::Trusted;
    found.verified || !found.owner.founded || (trusts && found.of_founded)
}

impl Service {
    /// Marks the identifier as verified and its account as founded, after whatever a first proof costs.
    pub(crate) async fn prove(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        proof: ProofOf,
        now: Timestamp,
    ) -> Result<Proven, ProofError> {
        let world = &caller.world;
        let (mut owner, mut identifier) = locked(tx, world, proof.method).await?;
        if identifier.verified {
            // Whoever asked before it was proved here was answered another user.
            let is_answered = proof.in_session == Some(owner.id) || proof.user == owner.id;
            if !is_answered || identifier.is_read_elsewhere(&proof.spelling) {
                return Err(ProofError::Gone);
            }
            // An import may bring a user who is pending although it brings a proof.
            self.found(tx, caller, &owner, now).await?;
            return Ok(identifier.proven_by(owner.id));
        }
        if proof.in_session != Some(owner.id) {
            if proof.user != owner.id {
                owner = self.move_out(tx, caller, &proof, owner.id).await?;
            }
            self.clear_for(tx, caller, &proof, &owner, &identifier, now)
                .await?;
        }
        match proof.method {
            MethodId::Email(id) => {
                let spelling = identifier.respelled(proof.spelling)?;
                tx.users().verify_email(world, id, &spelling, now).await?;
            }
            MethodId::Phone(id) => tx.users().verify_phone(world, id, now).await?,
        }
        let told = verified(owner.id, proof.method);
        self.tell(tx, caller, [told]).await?;
        self.found(tx, caller, &owner, now).await?;
        Ok(identifier.proven_by(owner.id))
    }

    /// Whatever a proof from outside costs: what may have been planted in the account, or the proof.
    async fn clear_for(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        proof: &ProofOf,
        owner: &User,
        identifier: &Identifier,
        now: Timestamp,
    ) -> Result<(), ProofError> {
        let world = &caller.world;
        let holdings = tx.users().holdings(world, owner.id).await?;
        // What is proved counts also where a process of the release before noted it, which does not know that accounts are founded.
        if !(owner.founded || holdings.proved) {
            if holdings.planted {
                self.take_over(tx, &caller.into(), owner.id, now).await?;
            }
            return Ok(());
        }
        if owner.id != identifier.user_id {
            // The successor has become somebody's own by something else meanwhile.
            return Err(ProofError::Gone);
        }
        if owner.disabled.is_some() {
            // Of a disabled user nothing is told, not even what it would take.
            return Err(ProofError::Gone);
        }
        let found = Found {
            owner: owner.clone(),
            verified: false,
            successor: None,
            of_founded: identifier.of_founded,
        };
        if proof.vouched && found.owner.founded && is_provable(caller, &found) {
            return Ok(());
        }
        Err(ProofError::NeedsSession)
    }

    /// Makes an account that nobody has proved that of whoever proves it now: nobody else knows a way in, or a key (CL-3).
    pub(super) async fn take_over(
        &self,
        tx: &mut dyn Repositories,
        by: &Source<'_>,
        user: UserId,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let world = &by.world;
        let totps = tx.totps().remove_all(world, user).await?;
        tx.wallet_challenges().forget(world, user).await?;
        tx.wallet_imports().forget(world, user).await?;
        let wallets = tx.wallets().remove_keyless(world, user).await?;
        let password = tx.passwords().remove(world, user).await?;
        let passkeys = tx.passkeys().remove_all(world, user).await?;
        let links = tx.provider_links().remove_all(world, user).await?;
        tx.links().forget_unused(world, user).await?;
        // After what they are begun with: whoever signs in with it at this moment holds its row and is waited for there, and
        // the session ends with the rest.
        let sessions = tx.sessions().delete_all(world, user, now).await?;
        let dropped = [
            (Removed::Sessions, !sessions.is_empty()),
            (Removed::Password, password),
            (Removed::Totp, totps > 0),
            (Removed::Passkeys, passkeys > 0),
            (Removed::OauthLinks, links > 0),
            (Removed::ReadOnlyWallets, wallets > 0),
        ];
        let dropped = dropped.into_iter().filter(|(_, was_there)| *was_there);
        let dropped: Vec<_> = dropped.map(|(kind, _)| kind).collect();
        let claimed = (!dropped.is_empty()).then(|| Fact::user_claimed(user, dropped));
        let ended = ended(Some(user), sessions, EndReason::UserClaimed);
        let told = claimed.into_iter().chain(ended);
        self.tell(tx, by.clone(), told).await?;
        self.disable_unproven_wallets(tx, by, user, now).await
    }

    /// Notes that a locked user is founded, and no longer pending, where that is news.
    async fn found(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        user: &User,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let is_active = user.status == UserStatus::Active;
        if user.founded && is_active {
            return Ok(());
        }
        tx.users().found(&user.world, user.id, now).await?;
        let told = (!is_active).then(|| Fact::user_activated(user.id));
        self.tell(tx, caller, told).await
    }

    /// Gives a claim to its successor, whose row is locked like that of the account it leaves.
    async fn move_out(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        proof: &ProofOf,
        from: UserId,
    ) -> Result<User, ProofError> {
        let (world, to) = (&caller.world, proof.user);
        if !tx.users().lock(world, to).await? {
            return Err(ProofError::Gone);
        }
        let moved = match proof.method {
            MethodId::Email(id) => tx.users().move_email(world, id, to).await?,
            MethodId::Phone(id) => tx.users().move_phone(world, id, to).await?,
        };
        let successor = tx.users().profile(world, to).await?;
        let successor = match moved {
            Moved::Yes => successor.ok_or(ProofError::Gone)?,
            Moved::Gone => return Err(ProofError::Gone),
            Moved::Full => return Err(ProofError::LimitReached(proof.method)),
        };
        let told = [removed(from, proof.method), added(to, proof.method)];
        self.tell(tx, caller, told).await?;
        Ok(successor.user)
    }
}

/// An address or a number, read while its user is locked.
struct Identifier {
    user_id: UserId,
    email: Option<Email>,
    text: String,
    identity: String,
    verified: bool,
    of_founded: bool,
}

impl Identifier {
    /// Whether the mail that was read was sent to another mailbox than the verified one.
    fn is_read_elsewhere(&self, spelling: &Spelling) -> bool {
        match spelling {
            Spelling::Mailed(sent_to) => {
                !Email::is_same_mailbox(self.email.as_ref(), Some(sent_to))
            }
            Spelling::Stored | Spelling::Stated(_) => false,
        }
    }

    /// Takes over the spelling that was proved, which may have come with a row of another identity.
    fn respelled(&mut self, spelling: Spelling) -> Result<Email, ProofError> {
        let stored = self.email.take().ok_or(ProofError::Gone)?;
        let proved = match spelling {
            Spelling::Stored => stored,
            Spelling::Mailed(proved) | Spelling::Stated(proved) => proved,
        };
        if proved.identity().as_str() != self.identity {
            return Err(ProofError::Gone);
        }
        proved.address().clone_into(&mut self.text);
        Ok(proved)
    }

    fn proven_by(self, user_id: UserId) -> Proven {
        Proven {
            user_id,
            text: self.text,
            identity: self.identity,
        }
    }
}

/// Two first proofs of one account at the same moment must see one another, and so must a proof and the credential that is
/// being added meanwhile: all of them lock the user.
async fn locked(
    tx: &mut dyn Repositories,
    world: &World,
    method: MethodId,
) -> Result<(User, Identifier), ProofError> {
    let owner = tx.users().lock_owner(world, method).await?;
    let owner = owner.ok_or(ProofError::Gone)?;
    let identifier = read(tx, world, method).await?;
    // It may have moved to another user while the lock was waited for; the code or link that proved it is void then.
    let identifier = identifier.filter(|identifier| identifier.user_id == owner.id);
    Ok((owner, identifier.ok_or(ProofError::Gone)?))
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
                identity: row.email.identity().as_str().to_owned(),
                email: Some(row.email),
                verified: row.verified,
                of_founded: row.of_founded,
            })
        }
        MethodId::Phone(id) => {
            let row = tx.users().phone(world, id).await?;
            row.map(|row| Identifier {
                user_id: row.user_id,
                text: row.number.as_str().to_owned(),
                identity: row.number.as_str().to_owned(),
                email: None,
                verified: row.verified,
                of_founded: row.of_founded,
            })
        }
    })
}
