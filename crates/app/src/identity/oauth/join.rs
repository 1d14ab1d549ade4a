//! Resolves a person vouched for by a provider to a user (O-8, O-9, O-10, attacks 1 and 2).
//!
//! - A linked person is recognised by (provider, issuer, subject), whatever their address is by now.
//! - An address that the provider **verified** counts as a proof from outside, like a code sent there. If a user has verified it, that user
//!   gets the link. A claim of an account without an owner founds it; a claim of an owned account moves to a new user (CL-2 to CL-4).
//!   If no user has it, a new user gets it.
//! - An unverified address joins no account. If a user has it, the sign-in is refused, but can still be used by a call within a session of
//!   that user. If no user has it, a new user is created without it.
//! - Within a session, the person is linked to its user only if the call also names the state of the flow. The App has kept it in the
//!   browser that started the flow, so a stranger's identity cannot be linked by force (attack 18). If the session's account has the
//!   verified address as a claim, the verifier of the flow's challenge shows the same. The claim on its own does not.

use vestry_domain::code::MethodId;
use vestry_domain::email::Email;
use vestry_domain::event::{Fact, Via};
use vestry_domain::ids::{EmailId, UserId};
use vestry_domain::provider::{ProvenIdentity, ProviderLink, ProviderName};
use vestry_domain::user::{User, UserEmail, UserStatus};
use vestry_domain::{Timestamp, World, text};
use vestry_ports::store::{Attached, Repositories, StoreError};

use crate::identity::users::account_resolution::{FoundIdentifier, resolve_account};
use crate::identity::users::new_identifier::new_email;
use crate::identity::users::verification::{IdentifierVerification, ProofError, Spelling};
use crate::{Caller, Fault, Refusal, Service};

/// The person to be joined, and what the call knows of their browser.
pub(super) struct Candidate<'a> {
    pub(super) provider: &'a ProviderName,
    pub(super) identity: &'a ProvenIdentity,
    /// The user whose session the call continues.
    pub(super) in_session: Option<UserId>,
    /// Whether the call named the state of the flow.
    pub(super) is_bound: bool,
    /// Whether the call presented the verifier of the flow's challenge.
    pub(super) met_challenge: bool,
}

/// The user that the person resolved to.
pub(super) struct Joined {
    pub(super) link: ProviderLink,
    /// Whether an existing user gained a sign-in method.
    pub(super) adds_a_way: bool,
}

/// To whom a person belongs, as far as is known before anything is locked.
pub(super) enum Judgement {
    /// To the user of this link.
    Linked(ProviderLink),
    /// To the user of the session, as the App has bound the sign-in to it.
    InSession(UserId),
    /// To the receiver of this address, which a user has and the provider has verified.
    Proved(UserEmail, Email),
    /// To a new user.
    New,
}

/// Maps a proof that was not accepted.
fn unproved(error: ProofError) -> Refusal {
    match error {
        ProofError::Fault(fault) => fault.into(),
        ProofError::LimitReached(method) => Refusal::too_many(method),
        // It changed between the read and the lock; the next run sees the new state.
        ProofError::Gone | ProofError::NeedsSession => Fault::LostRace.into(),
    }
}

impl Candidate<'_> {
    /// The address, if the provider sent a valid one.
    pub(super) fn email(&self) -> Option<Email> {
        Email::parse(self.identity.email.as_deref()?).ok()
    }

    fn proved_email(&self) -> Option<Email> {
        self.email().filter(|_| self.identity.email_verified)
    }
}

/// The user who will probably get a new link, as far as is known before the transaction; used for notices.
pub(super) async fn probable_user(
    read: &mut dyn Repositories,
    world: &World,
    candidate: &Candidate<'_>,
) -> Result<Option<UserId>, StoreError> {
    if known(read, world, candidate).await?.is_some() {
        return Ok(None);
    }
    if let Some(user) = candidate.in_session.filter(|_| candidate.is_bound) {
        return Ok(Some(user));
    }
    match candidate.proved_email() {
        Some(email) => {
            let owned = read
                .identifiers()
                .email_by_identity(world, email.identity());
            Ok(owned.await?.map(|(email, _)| email.user_id))
        }
        None => Ok(None),
    }
}

impl Service {
    /// Finds or creates the user, and returns it locked, active and linked.
    pub(super) async fn join_person(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        candidate: &Candidate<'_>,
        now: Timestamp,
    ) -> Result<Joined, Refusal> {
        match judge(tx, caller, candidate).await? {
            Judgement::Linked(link) => {
                let world = &caller.world;
                self.join_linked(tx, world, candidate, link, now).await
            }
            Judgement::InSession(user) => {
                let email_id = self.claim_address(tx, caller, candidate, user, now).await?;
                self.link_person(tx, caller, candidate, user, email_id, true, now)
                    .await
            }
            Judgement::Proved(owned, email) => {
                let user = self
                    .owner_of_proved(tx, caller, candidate, &owned, email, now)
                    .await?;
                if candidate.in_session.is_some_and(|session| session != user) {
                    return Err(Refusal::InvalidSession);
                }
                // A first verification has taken over the account or moved the address away, so nothing from before is left to end.
                let was_there = owned.verified;
                let email_id = Some(owned.id);
                self.link_person(tx, caller, candidate, user, email_id, was_there, now)
                    .await
            }
            Judgement::New => self.join_new_user(tx, caller, candidate, now).await,
        }
    }

    async fn join_linked(
        &self,
        tx: &mut dyn Repositories,
        world: &World,
        candidate: &Candidate<'_>,
        seen: ProviderLink,
        now: Timestamp,
    ) -> Result<Joined, Refusal> {
        if candidate
            .in_session
            .is_some_and(|session| session != seen.user_id)
        {
            return Err(Refusal::InvalidSession);
        }
        // A concurrent takeover removes the link, and this sign-in with it.
        if !tx.users().lock(world, seen.user_id).await?
            || tx.provider_links().find(world, seen.id).await?.is_none()
        {
            return Err(Fault::LostRace.into());
        }
        tx.provider_links().touch(world, seen.id, now).await?;
        Ok(Joined {
            link: ProviderLink {
                updated_at: now,
                ..seen
            },
            adds_a_way: false,
        })
    }

    /// Finds the owner of an address that the provider has verified.
    async fn owner_of_proved(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        candidate: &Candidate<'_>,
        owned: &UserEmail,
        spelling: Email,
        now: Timestamp,
    ) -> Result<UserId, Refusal> {
        let user = self.receiver(tx, caller, candidate, owned, now).await?;
        let proof = IdentifierVerification {
            method: MethodId::Email(owned.id),
            user,
            vouched: false,
            spelling: Spelling::Stated(spelling),
            in_session: None,
        };
        let proven = self.prove(tx, caller, proof, now).await;
        Ok(proven.map_err(unproved)?.user_id)
    }

    /// The user who gets an address verified by the provider: its owner, or the pending owner if it is a claim of an owned account.
    async fn receiver(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        candidate: &Candidate<'_>,
        owned: &UserEmail,
        now: Timestamp,
    ) -> Result<UserId, Refusal> {
        let world = &caller.world;
        if !tx.users().lock(world, owned.user_id).await? {
            return Err(Fault::LostRace.into());
        }
        let (user, is_new) = self
            .probable_receiver(tx, world, candidate, owned, now)
            .await?;
        if is_new {
            self.insert_person(tx, caller, &user).await?;
        }
        Ok(user.id)
    }

    /// The same user before anything is written, and whether it is new.
    pub(super) async fn probable_receiver(
        &self,
        read: &mut dyn Repositories,
        world: &World,
        candidate: &Candidate<'_>,
        owned: &UserEmail,
        now: Timestamp,
    ) -> Result<(User, bool), Fault> {
        let profile = read.users().profile(world, owned.user_id).await?;
        let owner = profile.ok_or(Fault::LostRace)?.user;
        let new = || self.person_as_user(world, candidate.identity, now);
        let found = FoundIdentifier::email(owned, owner);
        let (user, resolution) = resolve_account(read, found, new).await?;
        Ok((user, resolution.is_new()))
    }

    /// Gives a verified address to the user of the session, unless another user has it.
    async fn claim_address(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        candidate: &Candidate<'_>,
        user: UserId,
        now: Timestamp,
    ) -> Result<Option<EmailId>, Refusal> {
        let world = &caller.world;
        if !tx.users().lock(world, user).await? {
            return Err(Refusal::InvalidSession);
        }
        let Some(email) = candidate.proved_email() else {
            return Ok(None);
        };
        let owned = tx.identifiers().email_by_identity(world, email.identity());
        match owned.await? {
            Some((owned, _)) if owned.user_id == user => {
                let proof = IdentifierVerification {
                    method: MethodId::Email(owned.id),
                    user,
                    vouched: false,
                    spelling: Spelling::Stated(email),
                    in_session: Some(user),
                };
                self.prove(tx, caller, proof, now).await.map_err(unproved)?;
                Ok(Some(owned.id))
            }
            Some(_) => Ok(None),
            None => {
                let attached = self.attach_proved(tx, caller, user, email, now);
                Ok(Some(attached.await?))
            }
        }
    }

    async fn join_new_user(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        candidate: &Candidate<'_>,
        now: Timestamp,
    ) -> Result<Joined, Refusal> {
        let user = self.person_as_user(&caller.world, candidate.identity, now);
        self.insert_person(tx, caller, &user).await?;
        let email_id = match candidate.proved_email() {
            Some(email) => {
                let attached = self.attach_proved(tx, caller, user.id, email, now);
                Some(attached.await?)
            }
            None => None,
        };
        self.link_person(tx, caller, candidate, user.id, email_id, false, now)
            .await
    }

    async fn insert_person(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        user: &User,
    ) -> Result<(), Refusal> {
        caller.may_create_user()?;
        tx.users().insert(user).await?;
        let fact = Fact::user_created(user.id, Via::Oauth);
        Ok(self.emit(tx, caller, [fact]).await?)
    }

    async fn attach_proved(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        user_id: UserId,
        email: Email,
        now: Timestamp,
    ) -> Result<EmailId, Refusal> {
        let email = UserEmail {
            verified: true,
            ..new_email(self.new_id(now), user_id, email, now)
        };
        match tx.identifiers().attach_email(&caller.world, &email).await? {
            Attached::Yes => {}
            // Another request was faster; the next run finds the owner.
            Attached::Taken => return Err(Fault::LostRace.into()),
            Attached::Full => return Err(Refusal::too_many_emails(None)),
        }
        let added = Fact::email_added(user_id, email.id);
        let verified = Fact::email_verified(user_id, email.id);
        self.emit(tx, caller, [added, verified]).await?;
        Ok(email.id)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "what a link is made of, and who it is for"
    )]
    async fn link_person(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        candidate: &Candidate<'_>,
        user_id: UserId,
        email_id: Option<EmailId>,
        adds_a_way: bool,
        now: Timestamp,
    ) -> Result<Joined, Refusal> {
        let world = &caller.world;
        let earlier = tx.provider_links().of_user(world, user_id).await?;
        let link = ProviderLink {
            id: self.ids_behind(now, earlier.last().map(|link| link.id))(),
            world: *world,
            user_id,
            provider: candidate.provider.clone(),
            issuer: candidate.identity.issuer.clone(),
            subject: candidate.identity.subject.clone(),
            email_id,
            created_at: now,
            updated_at: now,
        };
        if tx.provider_links().insert(&link).await? == Attached::Taken {
            // The same person is signing in concurrently; the next run finds the link.
            return Err(Fault::LostRace.into());
        }
        let fact = Fact::oauth_link_added(user_id, link.id, link.provider.clone());
        self.emit(&mut *tx, caller, [fact]).await?;
        tx.users().mark_owned(world, user_id, now).await?;
        Ok(Joined { link, adds_a_way })
    }

    /// Creates a user with the provider's first and last name, as far as they are valid. A full name is not split, because its parts cannot
    /// be told apart.
    fn person_as_user(&self, world: &World, identity: &ProvenIdentity, now: Timestamp) -> User {
        let name = |param, said: Option<&String>| {
            said.and_then(|said| text::name(param, said.trim()).ok())
                .unwrap_or_default()
        };
        User {
            first_name: name("first_name", identity.given_name.as_ref()),
            last_name: name("last_name", identity.family_name.as_ref()),
            // The provider vouches for the person, so no further verification is needed.
            ..User::new(self.new_id(now), *world, UserStatus::Active, now)
        }
    }
}

/// Decides to whom a person belongs. It only reads, so a trial ends with it.
pub(super) async fn judge(
    read: &mut dyn Repositories,
    caller: &Caller,
    candidate: &Candidate<'_>,
) -> Result<Judgement, Refusal> {
    let world = &caller.world;
    if let Some(link) = known(read, world, candidate).await? {
        return Ok(Judgement::Linked(link));
    }
    if let Some(user) = candidate.in_session.filter(|_| candidate.is_bound) {
        return Ok(Judgement::InSession(user));
    }
    let owned = match candidate.email() {
        Some(email) => {
            let owned = read
                .identifiers()
                .email_by_identity(world, email.identity());
            owned.await?.map(|(owned, _)| (owned, email))
        }
        None => None,
    };
    if owned
        .as_ref()
        .is_some_and(|(owned, _)| !caller.reaches_user(owned.user_id))
    {
        return Err(Refusal::NotFound("user"));
    }
    match owned {
        // Without proof that this browser started the flow, a session does not verify a claimed address.
        Some((owned, _)) if candidate.in_session.is_some() && !owned.verified => {
            if !candidate.identity.email_verified {
                return Err(Refusal::Taken("email".into()));
            }
            let user = candidate.in_session.filter(|_| candidate.met_challenge);
            let user = user.filter(|user| *user == owned.user_id);
            Ok(Judgement::InSession(user.ok_or(Refusal::InvalidSession)?))
        }
        Some((owned, email)) if candidate.identity.email_verified => {
            Ok(Judgement::Proved(owned, email))
        }
        Some(_) => Err(Refusal::Taken("email".into())),
        None if candidate.in_session.is_some() => Err(Refusal::InvalidSession),
        None => Ok(Judgement::New),
    }
}

async fn known(
    view: &mut dyn Repositories,
    world: &World,
    candidate: &Candidate<'_>,
) -> Result<Option<ProviderLink>, StoreError> {
    let identity = candidate.identity;
    view.provider_links()
        .find_by_subject(
            world,
            candidate.provider,
            &identity.issuer,
            &identity.subject,
        )
        .await
}
