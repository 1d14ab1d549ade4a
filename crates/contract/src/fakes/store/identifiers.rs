//! E-mail addresses and phone numbers.

use vestry_domain::code::MethodId;
use vestry_domain::email::{Email, EmailIdentity};
use vestry_domain::ids::{EmailId, PhoneNumberId, UserId};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::user::{MAX_EMAILS, MAX_PHONE_NUMBERS, User, UserEmail, UserPhone};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Attached, Identifier, Identifiers, Moved, StoreResult};

use super::Work;
use super::state::{State, add, remove};

/// The fields of an unverified identifier that its verification or a move changes.
struct Claim<'a> {
    email: Option<&'a mut Email>,
    user_id: &'a mut UserId,
    verified: &'a mut bool,
    pending_owner: &'a mut Option<UserId>,
    updated_at: &'a mut Timestamp,
}

impl Claim<'_> {
    fn verify(self, at: Timestamp) {
        *self.verified = true;
        *self.pending_owner = None;
        *self.updated_at = at;
    }
}

impl State {
    pub(super) fn identifiers_of(
        &self,
        world: World,
        user: UserId,
    ) -> impl Iterator<Item = &Identifier> {
        let rows = self.identifiers.iter();
        let of_user = rows.filter(move |(of, row)| *of == world && row.user_id() == user);
        of_user.map(|(_, row)| row)
    }

    fn identifier(&self, world: World, fits: impl Fn(&Identifier) -> bool) -> Option<&Identifier> {
        let mut rows = self.identifiers.iter();
        rows.find(|(of, row)| *of == world && fits(row))
            .map(|(_, row)| row)
    }

    fn with_owner(&self, world: World, identity: &str) -> Option<(Identifier, User)> {
        let row = self.identifier(world, |row| row.identity() == identity)?;
        let user = self.user(world, row.user_id())?;
        Some((row.clone(), user.clone()))
    }

    fn claim(&mut self, world: World, id: MethodId) -> Option<Claim<'_>> {
        let mut rows = self.identifiers.iter_mut();
        let (_, row) = rows.find(|(of, row)| *of == world && row.id() == id)?;
        let claim = match row {
            Identifier::Email(row) => Claim {
                email: Some(&mut row.email),
                user_id: &mut row.user_id,
                verified: &mut row.verified,
                pending_owner: &mut row.pending_owner,
                updated_at: &mut row.updated_at,
            },
            Identifier::Phone(row) => Claim {
                email: None,
                user_id: &mut row.user_id,
                verified: &mut row.verified,
                pending_owner: &mut row.pending_owner,
                updated_at: &mut row.updated_at,
            },
        };
        Some(claim).filter(|claim| !*claim.verified)
    }

    /// Whether the user has reached the limit for this kind.
    fn is_full(&self, world: World, user: UserId, id: MethodId) -> bool {
        let own = self.identifiers_of(world, user);
        let alike = own.filter(|row| row.id().method_type() == id.method_type());
        let limit = match id {
            MethodId::Email(_) => MAX_EMAILS,
            MethodId::Phone(_) => MAX_PHONE_NUMBERS,
        };
        alike.count() >= limit
    }
}

#[port]
impl Identifiers for Work {
    async fn attach(&mut self, world: &World, identifier: Identifier) -> StoreResult<Attached> {
        self.writing(|state| {
            state.needs_user(*world, identifier.user_id())?;
            let is_same = |row: &Identifier| row.identity() == identifier.identity();
            if state.identifier(*world, is_same).is_some() {
                return Ok(Attached::Taken);
            }
            if state.is_full(*world, identifier.user_id(), identifier.id()) {
                return Ok(Attached::Full);
            }
            add(&mut state.identifiers, (*world, identifier), |a, b| {
                (a.0, a.1.id()) == (b.0, b.1.id())
            })?;
            Ok(Attached::Yes)
        })
    }

    async fn find(&mut self, world: &World, id: MethodId) -> StoreResult<Option<Identifier>> {
        self.reading(|state| state.identifier(*world, |row| row.id() == id).cloned())
    }

    async fn email_by_identity(
        &mut self,
        world: &World,
        identity: &EmailIdentity,
    ) -> StoreResult<Option<(UserEmail, User)>> {
        self.reading(|state| {
            let (row, owner) = state.with_owner(*world, identity.as_str())?;
            Some((row.email()?, owner))
        })
    }

    async fn phone_by_number(
        &mut self,
        world: &World,
        number: &PhoneNumber,
    ) -> StoreResult<Option<(UserPhone, User)>> {
        self.reading(|state| {
            let (row, owner) = state.with_owner(*world, number.as_str())?;
            Some((row.phone()?, owner))
        })
    }

    async fn lock_owner(&mut self, world: &World, id: MethodId) -> StoreResult<Option<User>> {
        self.writing(|state| {
            let row = state.identifier(*world, |row| row.id() == id);
            Ok(row.and_then(|row| state.user(*world, row.user_id()).cloned()))
        })
    }

    async fn set_pending_owner(
        &mut self,
        world: &World,
        id: MethodId,
        pending_owner: UserId,
        seen: Option<UserId>,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let claim = state.claim(*world, id).map(|claim| claim.pending_owner);
            let Some(claim) = claim.filter(|named| named.is_none() || **named == seen) else {
                return Ok(false);
            };
            *claim = Some(pending_owner);
            Ok(true)
        })
    }

    async fn verify_email(
        &mut self,
        world: &World,
        id: EmailId,
        spelling: &Email,
        at: Timestamp,
    ) -> StoreResult<()> {
        self.writing(|state| {
            if let Some(mut claim) = state.claim(*world, MethodId::Email(id))
                && let Some(email) = claim.email.take()
                && email.identity() == spelling.identity()
            {
                email.clone_from(spelling);
                claim.verify(at);
            }
            Ok(())
        })
    }

    async fn verify_phone(
        &mut self,
        world: &World,
        id: PhoneNumberId,
        at: Timestamp,
    ) -> StoreResult<()> {
        self.writing(|state| {
            if let Some(claim) = state.claim(*world, MethodId::Phone(id)) {
                claim.verify(at);
            }
            Ok(())
        })
    }

    async fn move_to(&mut self, world: &World, id: MethodId, to: UserId) -> StoreResult<Moved> {
        self.writing(|state| {
            let is_full = state.is_full(*world, to, id);
            let Some(claim) = state.claim(*world, id) else {
                return Ok(Moved::Gone);
            };
            if is_full {
                return Ok(Moved::Full);
            }
            (*claim.user_id, *claim.pending_owner) = (to, None);
            Ok(Moved::Yes)
        })
    }

    async fn remove(&mut self, world: &World, id: MethodId) -> StoreResult<bool> {
        self.writing(|state| {
            let gone = remove(&mut state.identifiers, |(of, row)| {
                of == world && row.id() == id
            });
            Ok(gone == 1)
        })
    }
}
