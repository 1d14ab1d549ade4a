//! Proofs of ownership of an address or a number, and the account that each opens (O-10, attack 1, `claims.md`).
//!
//! An attacker can register another person's address with their own password, phone number or authenticator app, or attach it to their own
//! account, and wait. An address or number without a proof is therefore only a claim: it is reserved for the account, and opens nothing.
//! The effect of a proof depends on three states, and never on time.
//!
//! - **Within a session of the account**, the claim becomes verified, and nothing else happens (CL-1).
//! - **Verified already**: the proof signs in to its account (CL-2).
//! - **From outside, on an account without an owner**, the proof founds it: anything an attacker may have planted is removed, and other
//!   claims stay claims (CL-3).
//! - **From outside, on an owned account**, the claim may belong to another person. A step that accepts anyone has created a pending owner
//!   for the person who proves it, and the identifier moves there (CL-4). A step by which the App names one of its users is refused, unless
//!   the App's setting trusts attached identifiers (CL-5, CL-9).
//!
//! All of it is decided under the lock of the account's row, in the transaction of the proof (CL-8).

use vestry_domain::app::AttachedIdentifiers;
use vestry_domain::code::MethodId;
use vestry_domain::email::Email;
use vestry_domain::event::{EndReason, Fact, Removed};
use vestry_domain::ids::UserId;
use vestry_domain::user::{User, UserStatus};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{self, Moved, Repositories, StoreError};

use super::account_resolution::{FoundIdentifier, added, removed, verified};
use crate::identity::sessions::ended;
use crate::kernel::source::Source;
use crate::{Caller, Fault, Service};

/// A proof, with the context of the step that requested it and the call that presents it.
pub(crate) struct IdentifierVerification {
    /// The identifier that was proved.
    pub(crate) method: MethodId,
    /// The user named in the step's response: the owner of the identifier, or a pending owner.
    pub(crate) user: UserId,
    /// Whether the App named the identifier's user, instead of accepting anyone who proves it.
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
    /// The owner read mail sent there. If another spelling was verified since, that mail may have gone to another mailbox.
    Mailed(Email),
    /// A trusted party stated it.
    Stated(Email),
}

impl Spelling {
    /// The spelling proved by a code or link, which records the address until it is verified.
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

/// The reason why a proof was not accepted. The transaction must be dropped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProofError {
    /// The identifier is gone, or has moved to another account since the proof was requested, or its user is disabled.
    #[error("the identifier is gone")]
    Gone,
    /// The identifier is a claim of an owned account: only a session of its user can prove it.
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

/// Converts a [`ProofError`] to an error with `Common`; the given case stands for [`ProofError::Gone`].
macro_rules! from_proof_error {
    ($error:ident::$gone:ident) => {
        impl From<$crate::identity::users::verification::ProofError> for $error {
            fn from(error: $crate::identity::users::verification::ProofError) -> Self {
                use $crate::identity::users::verification::ProofError;
                match error {
                    ProofError::Gone => Self::$gone,
                    ProofError::NeedsSession => $crate::Refusal::UnprovenIdentifier.into(),
                    ProofError::LimitReached(method) => $crate::Refusal::too_many(method).into(),
                    ProofError::Fault(fault) => fault.into(),
                }
            }
        }
    };
}
pub(crate) use from_proof_error;

/// Whether a step by which the App names one of its users may have this identifier proved without a session (CL-5).
///
/// An App that trusts what it attaches is trusted only for identifiers attached to an owned account. Those from before the account had
/// an owner may belong to anyone (CL-9).
pub(crate) fn is_provable(caller: &Caller, found: &FoundIdentifier) -> bool {
    let trusts = caller.settings().attached_identifiers == AttachedIdentifiers::Trusted;
    found.verified || !found.owner.is_owned || (trusts && found.of_owned)
}

impl Service {
    /// Marks the identifier as verified and its account as owned, after the consequences of a first proof.
    pub(crate) async fn prove(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        proof: IdentifierVerification,
        now: Timestamp,
    ) -> Result<Proven, ProofError> {
        let world = &caller.world;
        let (mut owner, mut identifier) = locked(tx, world, proof.method).await?;
        if identifier.verified {
            // A caller who asked before it was proved here received another user's id.
            let is_answered = proof.in_session == Some(owner.id) || proof.user == owner.id;
            if !is_answered || identifier.is_read_elsewhere(&proof.spelling) {
                return Err(ProofError::Gone);
            }
            // An import may bring a pending user together with a proof.
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
                tx.identifiers()
                    .verify_email(world, id, &spelling, now)
                    .await?;
            }
            MethodId::Phone(id) => tx.identifiers().verify_phone(world, id, now).await?,
        }
        let fact = verified(owner.id, proof.method);
        self.emit(tx, caller, [fact]).await?;
        self.found(tx, caller, &owner, now).await?;
        Ok(identifier.proven_by(owner.id))
    }

    /// Applies the consequences of a proof from outside: removes what may have been planted in the account, or refuses the proof.
    async fn clear_for(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        proof: &IdentifierVerification,
        owner: &User,
        identifier: &Identifier,
        now: Timestamp,
    ) -> Result<(), ProofError> {
        let world = &caller.world;
        let trust = tx.users().account_trust(world, owner.id).await?;
        // A proved identifier makes an account owned, like `is_owned`.
        if !(owner.is_owned || trust.has_verified_identifier) {
            if trust.has_unverified_credentials {
                self.take_over(tx, &caller.into(), owner.id, now).await?;
            }
            return Ok(());
        }
        if owner.id != identifier.user_id {
            // The pending owner became owned by another proof in the meantime.
            return Err(ProofError::Gone);
        }
        if owner.disabled.is_some() {
            // Nothing is revealed about a disabled user, not even what a proof would require.
            return Err(ProofError::Gone);
        }
        let found = FoundIdentifier {
            owner: owner.clone(),
            verified: false,
            pending_owner: None,
            of_owned: identifier.of_owned,
        };
        if proof.vouched && found.owner.is_owned && is_provable(caller, &found) {
            return Ok(());
        }
        Err(ProofError::NeedsSession)
    }

    /// Hands an account without any proof to the person who now proves it: no other person keeps a credential or a key (CL-3).
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
        // After the credentials: a concurrent sign-in holds the lock of its credential, so its session exists by now and is deleted too.
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
        let facts = claimed.into_iter().chain(ended);
        self.emit(tx, by.clone(), facts).await?;
        self.disable_unproven_wallets(tx, by, user, now).await
    }

    /// Records that a locked user is owned and no longer pending, if either is new.
    async fn found(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        user: &User,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let is_active = user.status == UserStatus::Active;
        if user.is_owned && is_active {
            return Ok(());
        }
        tx.users().mark_owned(&user.world, user.id, now).await?;
        let fact = (!is_active).then(|| Fact::user_activated(user.id));
        self.emit(tx, caller, fact).await
    }

    /// Moves a claim to its pending owner, whose row is locked like that of the account it leaves.
    async fn move_out(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        proof: &IdentifierVerification,
        from: UserId,
    ) -> Result<User, ProofError> {
        let (world, to) = (&caller.world, proof.user);
        if !tx.users().lock(world, to).await? {
            return Err(ProofError::Gone);
        }
        let moved = tx.identifiers().move_to(world, proof.method, to).await?;
        let pending_owner = tx.users().profile(world, to).await?;
        let pending_owner = match moved {
            Moved::Yes => pending_owner.ok_or(ProofError::Gone)?,
            Moved::Gone => return Err(ProofError::Gone),
            Moved::Full => return Err(ProofError::LimitReached(proof.method)),
        };
        let facts = [removed(from, proof.method), added(to, proof.method)];
        self.emit(tx, caller, facts).await?;
        Ok(pending_owner.user)
    }
}

/// An address or a number, read while its user is locked.
struct Identifier {
    user_id: UserId,
    email: Option<Email>,
    text: String,
    identity: String,
    verified: bool,
    of_owned: bool,
}

impl Identifier {
    /// Whether the mail was sent to a mailbox other than the verified one.
    fn is_read_elsewhere(&self, spelling: &Spelling) -> bool {
        match spelling {
            Spelling::Mailed(sent_to) => {
                !Email::is_same_mailbox(self.email.as_ref(), Some(sent_to))
            }
            Spelling::Stored | Spelling::Stated(_) => false,
        }
    }

    /// Adopts the proved spelling, which may have come with a row of another identity.
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

impl From<store::Identifier> for Identifier {
    fn from(row: store::Identifier) -> Self {
        match row {
            store::Identifier::Email(row) => Self {
                user_id: row.user_id,
                text: row.email.address().to_owned(),
                identity: row.email.identity().as_str().to_owned(),
                email: Some(row.email),
                verified: row.verified,
                of_owned: row.of_owned,
            },
            store::Identifier::Phone(row) => Self {
                user_id: row.user_id,
                text: row.number.as_str().to_owned(),
                identity: row.number.as_str().to_owned(),
                email: None,
                verified: row.verified,
                of_owned: row.of_owned,
            },
        }
    }
}

/// Locks the user. Concurrent first proofs of one account must see each other, and so must a proof and a credential being added.
async fn locked(
    tx: &mut dyn Repositories,
    world: &World,
    method: MethodId,
) -> Result<(User, Identifier), ProofError> {
    let owner = tx.identifiers().lock_owner(world, method).await?;
    let owner = owner.ok_or(ProofError::Gone)?;
    let identifier = tx.identifiers().find(world, method).await?;
    let identifier = identifier.map(Identifier::from);
    // It may have moved to another user during the wait for the lock; the code or link that proved it is then void.
    let identifier = identifier.filter(|identifier| identifier.user_id == owner.id);
    Ok((owner, identifier.ok_or(ProofError::Gone)?))
}
