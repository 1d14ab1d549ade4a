//! Users and their identifiers.

use async_trait::async_trait;
use vestry_domain::email::EmailIdentity;
use vestry_domain::ids::{EmailId, PhoneNumberId, UserId};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::user::{User, UserEmail, UserPhone, UserProfile, UserStatus};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Attached, StoreResult, Users};

use super::Work;
use super::state::{State, add, at_most, remove};

impl State {
    fn user(&self, world: World, id: UserId) -> Option<&User> {
        let mut users = self.users.iter();
        users.find(|user| user.world == world && user.id == id)
    }

    fn email(&self, world: World, fits: impl Fn(&UserEmail) -> bool) -> Option<&UserEmail> {
        let mut rows = self.emails.iter();
        rows.find(|(of, email)| *of == world && fits(email))
            .map(|(_, email)| email)
    }

    fn phone(&self, world: World, fits: impl Fn(&UserPhone) -> bool) -> Option<&UserPhone> {
        let mut rows = self.phones.iter();
        rows.find(|(of, phone)| *of == world && fits(phone))
            .map(|(_, phone)| phone)
    }

    fn profile(&self, world: World, id: UserId) -> Option<UserProfile> {
        let user = self.user(world, id)?.clone();
        let emails = self.emails.iter().filter(|(of, _)| *of == world);
        let mut emails: Vec<_> = emails
            .map(|(_, email)| email.clone())
            .filter(|email| email.user_id == id)
            .collect();
        emails.sort_by_key(|email| email.id);
        let phones = self.phones.iter().filter(|(of, _)| *of == world);
        let mut phones: Vec<_> = phones
            .map(|(_, phone)| phone.clone())
            .filter(|phone| phone.user_id == id)
            .collect();
        phones.sort_by_key(|phone| phone.id);
        Some(UserProfile {
            user,
            emails,
            phones,
        })
    }
}

#[async_trait]
impl Users for Work {
    async fn insert(&mut self, user: &User) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.users, user.clone(), |a, b| {
                (a.world, a.id) == (b.world, b.id)
            })
        })
    }

    async fn profile(&mut self, world: &World, id: UserId) -> StoreResult<Option<UserProfile>> {
        self.reading(|state| state.profile(*world, id))
    }

    async fn walk(
        &mut self,
        world: &World,
        after: Option<UserId>,
        limit: i64,
    ) -> StoreResult<Vec<UserId>> {
        self.reading(|state| {
            let users = state.users.iter().filter(|user| user.world == *world);
            let mut ids: Vec<_> = users
                .map(|user| user.id)
                .filter(|id| after.is_none_or(|after| after < *id))
                .collect();
            ids.sort();
            ids.truncate(at_most(limit));
            ids
        })
    }

    async fn activate(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<()> {
        self.writing(|state| {
            let pending = state.users.iter_mut().find(|user| {
                user.world == *world && user.id == id && user.status == UserStatus::Pending
            });
            if let Some(user) = pending {
                user.status = UserStatus::Active;
                user.updated_at = at;
            }
            Ok(())
        })
    }

    async fn hold_unverified(&mut self, world: &World, id: UserId) -> StoreResult<()> {
        self.writing(|state| {
            let emails = state.emails.iter_mut();
            for (_, email) in emails.filter(|(of, email)| of == world && email.user_id == id) {
                email.held |= !email.verified;
            }
            let phones = state.phones.iter_mut();
            for (_, phone) in phones.filter(|(of, phone)| of == world && phone.user_id == id) {
                phone.held |= !phone.verified;
            }
            Ok(())
        })
    }

    async fn attach_email(&mut self, world: &World, email: &UserEmail) -> StoreResult<Attached> {
        self.writing(|state| {
            state.needs_user(*world, email.user_id)?;
            let identity = email.email.identity();
            if state
                .email(*world, |row| row.email.identity() == identity)
                .is_some()
            {
                return Ok(Attached::Taken);
            }
            add(&mut state.emails, (*world, email.clone()), |a, b| {
                (a.0, a.1.id) == (b.0, b.1.id)
            })?;
            Ok(Attached::Yes)
        })
    }

    async fn email_by_identity(
        &mut self,
        world: &World,
        identity: &EmailIdentity,
    ) -> StoreResult<Option<(UserEmail, User)>> {
        self.reading(|state| {
            let email = state.email(*world, |row| row.email.identity() == identity)?;
            let user = state.user(*world, email.user_id)?;
            Some((email.clone(), user.clone()))
        })
    }

    async fn email(&mut self, world: &World, id: EmailId) -> StoreResult<Option<UserEmail>> {
        self.reading(|state| state.email(*world, |row| row.id == id).cloned())
    }

    async fn verify_email(&mut self, world: &World, id: EmailId, at: Timestamp) -> StoreResult<()> {
        self.writing(|state| {
            let mut rows = state.emails.iter_mut();
            let unverified =
                rows.find(|(of, email)| of == world && email.id == id && !email.verified);
            if let Some((_, email)) = unverified {
                email.verified = true;
                email.held = false;
                email.updated_at = at;
            }
            Ok(())
        })
    }

    async fn remove_email(&mut self, world: &World, id: EmailId) -> StoreResult<bool> {
        self.writing(|state| {
            let gone = remove(&mut state.emails, |(of, email)| {
                of == world && email.id == id
            });
            Ok(gone == 1)
        })
    }

    async fn attach_phone(&mut self, world: &World, phone: &UserPhone) -> StoreResult<Attached> {
        self.writing(|state| {
            state.needs_user(*world, phone.user_id)?;
            if state
                .phone(*world, |row| row.number == phone.number)
                .is_some()
            {
                return Ok(Attached::Taken);
            }
            add(&mut state.phones, (*world, phone.clone()), |a, b| {
                (a.0, a.1.id) == (b.0, b.1.id)
            })?;
            Ok(Attached::Yes)
        })
    }

    async fn phone_by_number(
        &mut self,
        world: &World,
        number: &PhoneNumber,
    ) -> StoreResult<Option<(UserPhone, User)>> {
        self.reading(|state| {
            let phone = state.phone(*world, |row| row.number == *number)?;
            let user = state.user(*world, phone.user_id)?;
            Some((phone.clone(), user.clone()))
        })
    }

    async fn phone(&mut self, world: &World, id: PhoneNumberId) -> StoreResult<Option<UserPhone>> {
        self.reading(|state| state.phone(*world, |row| row.id == id).cloned())
    }

    async fn verify_phone(
        &mut self,
        world: &World,
        id: PhoneNumberId,
        at: Timestamp,
    ) -> StoreResult<()> {
        self.writing(|state| {
            let mut rows = state.phones.iter_mut();
            let unverified =
                rows.find(|(of, phone)| of == world && phone.id == id && !phone.verified);
            if let Some((_, phone)) = unverified {
                phone.verified = true;
                phone.held = false;
                phone.updated_at = at;
            }
            Ok(())
        })
    }

    async fn remove_phone(&mut self, world: &World, id: PhoneNumberId) -> StoreResult<bool> {
        self.writing(|state| {
            let gone = remove(&mut state.phones, |(of, phone)| {
                of == world && phone.id == id
            });
            Ok(gone == 1)
        })
    }
}
