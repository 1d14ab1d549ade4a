//! Users and their identifiers.

use std::time::Duration;

use vestry_domain::code::MethodId;
use vestry_domain::email::{Email, EmailIdentity};
use vestry_domain::ids::{EmailId, PhoneNumberId, UserId, WalletId};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::search::UserFilter;
use vestry_domain::user::{
    MAX_EMAILS, MAX_PHONE_NUMBERS, User, UserDisabled, UserEmail, UserPhone, UserProfile,
    UserStatus,
};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    AccountTrust, Attached, Moved, Passkeys, ProviderLinks, StoreError, StoreResult, Totps,
    UserPage, Users, Wallets, WholeUser,
};

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

    fn emails_of(&self, world: World, user: UserId) -> usize {
        let rows = self.emails.iter();
        rows.filter(|(of, email)| *of == world && email.user_id == user)
            .count()
    }

    fn phones_of(&self, world: World, user: UserId) -> usize {
        let rows = self.phones.iter();
        rows.filter(|(of, phone)| *of == world && phone.user_id == user)
            .count()
    }

    /// Removes every row that belongs to the user.
    fn forget_user(&mut self, world: World, id: UserId) {
        let emails = self.emails.iter();
        let emails = emails.filter(|(of, email)| *of == world && email.user_id == id);
        let mut methods: Vec<MethodId> = emails.map(|(_, row)| MethodId::Email(row.id)).collect();
        let phones = self.phones.iter();
        let phones = phones.filter(|(of, phone)| *of == world && phone.user_id == id);
        methods.extend(phones.map(|(_, row)| MethodId::Phone(row.id)));
        remove(&mut self.codes, |row| {
            row.code.world == world && methods.contains(&row.code.method_id)
        });
        for method in methods {
            self.guards.remove(&(world, method.to_string()));
        }
        remove(&mut self.sessions, |(_, session)| {
            session.world == world && session.user_id == id
        });
        remove(&mut self.wallets, |(stored, _)| {
            stored.wallet.world == world && stored.wallet.user_id == id
        });
        remove(&mut self.totps, |row| {
            row.totp.world == world && row.totp.user_id == id
        });
        remove(&mut self.passwords, |password| {
            password.world == world && password.user_id == id
        });
        remove(&mut self.imported_users, |(of, _, user)| {
            *of == world && *user == id
        });
        remove(&mut self.passkeys, |passkey| {
            passkey.world == world && passkey.user_id == id
        });
        self.passkey_handles.remove(&(world, id));
        remove(&mut self.passkey_challenges, |challenge| {
            challenge.world == world && challenge.user_id == Some(id)
        });
        remove(&mut self.wallet_challenges, |(challenge, _)| {
            challenge.world == world && challenge.user_id == id
        });
        remove(&mut self.wallet_imports, |key| {
            key.world == world && key.user_id == Some(id)
        });
        remove(&mut self.provider_links, |link| {
            link.world == world && link.user_id == id
        });
        remove(&mut self.links, |link| {
            link.world == world && link.user_id == id
        });
        remove(&mut self.emails, |(of, email)| {
            *of == world && email.user_id == id
        });
        remove(&mut self.phones, |(of, phone)| {
            *of == world && phone.user_id == id
        });
    }

    fn holdings(&self, world: World, id: UserId) -> AccountTrust {
        let verified_email = |email: &UserEmail| email.user_id == id && email.verified;
        let verified_phone = |phone: &UserPhone| phone.user_id == id && phone.verified;
        let proved = self.email(world, verified_email).is_some()
            || self.phone(world, verified_phone).is_some();
        let is_theirs = |of: World, user: UserId| of == world && user == id;
        let planted = self
            .totps
            .iter()
            .any(|row| is_theirs(row.totp.world, row.totp.user_id))
            || (self.wallet_challenges.iter())
                .any(|(challenge, _)| is_theirs(challenge.world, challenge.user_id))
            || (self.wallet_imports.iter())
                .any(|key| key.world == world && key.user_id == Some(id))
            || (self.wallets.iter())
                .any(|(stored, _)| is_theirs(stored.wallet.world, stored.wallet.user_id))
            || (self.passwords.iter()).any(|row| is_theirs(row.world, row.user_id))
            || (self.passkey_challenges.iter())
                .any(|row| row.world == world && row.user_id == Some(id))
            || self.passkey_handles.contains_key(&(world, id))
            || (self.passkeys.iter()).any(|row| is_theirs(row.world, row.user_id))
            || (self.provider_links.iter()).any(|row| is_theirs(row.world, row.user_id))
            || (self.links.iter())
                .any(|link| is_theirs(link.world, link.user_id) && link.used_at.is_none())
            || (self.sessions.iter()).any(|(_, session)| {
                is_theirs(session.world, session.user_id) && session.deleted_at.is_none()
            });
        AccountTrust { proved, planted }
    }

    pub(super) fn profile(&self, world: World, id: UserId) -> Option<UserProfile> {
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

#[port]
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

    async fn find_all_whole(
        &mut self,
        wanted: &[(World, UserId)],
    ) -> StoreResult<Vec<Option<WholeUser>>> {
        let mut all = Vec::with_capacity(wanted.len());
        for (world, id) in wanted {
            let Some(profile) = self.profile(world, *id).await? else {
                all.push(None);
                continue;
            };
            all.push(Some(WholeUser {
                profile,
                wallets: Wallets::of_user(self, world, *id).await?,
                totps: Totps::of_user(self, world, *id).await?,
                passkeys: Passkeys::of_user(self, world, *id).await?,
                provider_links: ProviderLinks::of_user(self, world, *id).await?,
                external_key: self.reading(|state| {
                    let mut rows = state.imported_users.iter();
                    rows.find(|(of, _, user)| of == world && user == id)
                        .map(|(_, key, _)| key.clone())
                })?,
            }));
        }
        Ok(all)
    }

    async fn search(
        &mut self,
        world: &World,
        filter: Option<&UserFilter>,
        after: Option<UserId>,
        limit: i64,
        now: Timestamp,
        within: Duration,
    ) -> StoreResult<UserPage> {
        // Time stands still in tests, so only a limit of zero is too short.
        if filter.is_some() && within.is_zero() {
            return Err(StoreError::TooLong);
        }
        self.reading(|state| {
            let of_world = state.users.iter().filter(|user| user.world == *world);
            let mut found: Vec<_> = of_world
                .filter_map(|user| state.profile(*world, user.id))
                .filter(|profile| filter.is_none_or(|filter| state.fits(profile, filter, now)))
                .collect();
            found.sort_by_key(|profile| std::cmp::Reverse(profile.user.id));
            let total = i64::try_from(found.len()).unwrap_or(i64::MAX);
            found.retain(|profile| after.is_none_or(|after| profile.user.id < after));
            found.truncate(at_most(limit));
            let users = found.iter().map(|profile| profile.user.id).collect();
            UserPage { users, total }
        })
    }

    async fn lock(&mut self, world: &World, id: UserId) -> StoreResult<bool> {
        // The transaction holds the write lock.
        self.writing(|state| Ok(state.user(*world, id).is_some()))
    }

    async fn lock_owner(&mut self, world: &World, method: MethodId) -> StoreResult<Option<User>> {
        self.writing(|state| {
            let owner = match method {
                MethodId::Email(id) => state
                    .email(*world, |row| row.id == id)
                    .map(|row| row.user_id),
                MethodId::Phone(id) => state
                    .phone(*world, |row| row.id == id)
                    .map(|row| row.user_id),
            };
            Ok(owner.and_then(|owner| state.user(*world, owner).cloned()))
        })
    }

    async fn holdings(&mut self, world: &World, id: UserId) -> StoreResult<AccountTrust> {
        self.reading(|state| state.holdings(*world, id))
    }

    async fn update(&mut self, user: &User) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.users.iter_mut();
            let row = rows.find(|row| row.world == user.world && row.id == user.id);
            if let Some(row) = row {
                *row = User {
                    status: row.status,
                    founded: row.founded,
                    disabled: row.disabled.clone(),
                    last_sign_in_at: row.last_sign_in_at,
                    created_at: row.created_at,
                    ..user.clone()
                };
                return Ok(true);
            }
            Ok(false)
        })
    }

    async fn admit(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<bool> {
        self.writing(|state| {
            let mut users = state.users.iter_mut();
            let user = users.find(|user| user.world == *world && user.id == id);
            let Some(user) = user.filter(|user| user.disabled.is_none()) else {
                return Ok(false);
            };
            user.last_sign_in_at = Some(at);
            Ok(true)
        })
    }

    async fn disable(
        &mut self,
        world: &World,
        id: UserId,
        disabled: &UserDisabled,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let mut users = state.users.iter_mut();
            let user = users.find(|user| user.world == *world && user.id == id);
            let Some(user) = user.filter(|user| user.disabled.is_none()) else {
                return Ok(false);
            };
            user.disabled = Some(disabled.clone());
            user.updated_at = disabled.at;
            Ok(true)
        })
    }

    async fn enable(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<bool> {
        self.writing(|state| {
            let mut users = state.users.iter_mut();
            let user = users.find(|user| user.world == *world && user.id == id);
            let Some(user) = user.filter(|user| user.disabled.is_some()) else {
                return Ok(false);
            };
            user.disabled = None;
            user.updated_at = at;
            Ok(true)
        })
    }

    async fn delete(&mut self, world: &World, id: UserId) -> StoreResult<Option<Vec<WalletId>>> {
        self.writing(|state| {
            let rows = state.wallets.iter();
            let of_user = rows.filter(|(stored, key)| {
                let wallet = &stored.wallet;
                (wallet.world, wallet.user_id) == (*world, id) && key.is_some()
            });
            let keys = of_user.map(|(stored, _)| stored.wallet.id).collect();
            state.forget_user(*world, id);
            let gone = remove(&mut state.users, |user| {
                user.world == *world && user.id == id
            });
            Ok((gone == 1).then_some(keys))
        })
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

    async fn found(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<()> {
        self.writing(|state| {
            let mut users = state.users.iter_mut();
            let user = users.find(|user| user.world == *world && user.id == id);
            if let Some(user) = user {
                user.founded = true;
                if user.status == UserStatus::Pending {
                    user.status = UserStatus::Active;
                    user.updated_at = at;
                }
            }
            Ok(())
        })
    }

    async fn name_successor(
        &mut self,
        world: &World,
        method: MethodId,
        successor: UserId,
        seen: Option<UserId>,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let claim = match method {
                MethodId::Email(id) => {
                    let mut rows = state.emails.iter_mut();
                    let row = rows.find(|(of, row)| of == world && row.id == id && !row.verified);
                    row.map(|(_, row)| &mut row.successor)
                }
                MethodId::Phone(id) => {
                    let mut rows = state.phones.iter_mut();
                    let row = rows.find(|(of, row)| of == world && row.id == id && !row.verified);
                    row.map(|(_, row)| &mut row.successor)
                }
            };
            let Some(claim) = claim.filter(|named| named.is_none() || **named == seen) else {
                return Ok(false);
            };
            *claim = Some(successor);
            Ok(true)
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
            if state.emails_of(*world, email.user_id) >= MAX_EMAILS {
                return Ok(Attached::Full);
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

    async fn verify_email(
        &mut self,
        world: &World,
        id: EmailId,
        spelling: &Email,
        at: Timestamp,
    ) -> StoreResult<()> {
        self.writing(|state| {
            let mut rows = state.emails.iter_mut();
            let unverified = rows.find(|(of, email)| {
                of == world
                    && email.id == id
                    && !email.verified
                    && email.email.identity() == spelling.identity()
            });
            if let Some((_, email)) = unverified {
                email.verified = true;
                email.email = spelling.clone();
                email.successor = None;
                email.updated_at = at;
            }
            Ok(())
        })
    }

    async fn move_email(&mut self, world: &World, id: EmailId, to: UserId) -> StoreResult<Moved> {
        self.writing(|state| {
            let is_full = state.emails_of(*world, to) >= MAX_EMAILS;
            let mut rows = state.emails.iter_mut();
            let unverified =
                rows.find(|(of, email)| of == world && email.id == id && !email.verified);
            let Some((_, email)) = unverified else {
                return Ok(Moved::Gone);
            };
            if is_full {
                return Ok(Moved::Full);
            }
            (email.user_id, email.successor) = (to, None);
            Ok(Moved::Yes)
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
            if state.phones_of(*world, phone.user_id) >= MAX_PHONE_NUMBERS {
                return Ok(Attached::Full);
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
                phone.successor = None;
                phone.updated_at = at;
            }
            Ok(())
        })
    }

    async fn move_phone(
        &mut self,
        world: &World,
        id: PhoneNumberId,
        to: UserId,
    ) -> StoreResult<Moved> {
        self.writing(|state| {
            let is_full = state.phones_of(*world, to) >= MAX_PHONE_NUMBERS;
            let mut rows = state.phones.iter_mut();
            let unverified =
                rows.find(|(of, phone)| of == world && phone.id == id && !phone.verified);
            let Some((_, phone)) = unverified else {
                return Ok(Moved::Gone);
            };
            if is_full {
                return Ok(Moved::Full);
            }
            (phone.user_id, phone.successor) = (to, None);
            Ok(Moved::Yes)
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
