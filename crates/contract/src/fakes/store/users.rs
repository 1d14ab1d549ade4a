//! Users.

use std::time::Duration;

use vestry_domain::code::MethodId;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::search::UserFilter;
use vestry_domain::user::{User, UserDisabled, UserProfile, UserStatus};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    AccountTrust, Identifier, Passkeys, ProviderLinks, StoreError, StoreResult, Totps, UserPage,
    Users, Wallets, WholeUser,
};

use super::Work;
use super::state::{State, add, at_most, remove};

impl State {
    /// Removes every row that belongs to the user.
    fn forget_user(&mut self, world: World, id: UserId) {
        let identifiers = self.identifiers_of(world, id);
        let methods: Vec<MethodId> = identifiers.map(Identifier::id).collect();
        remove(&mut self.codes, |row| {
            row.code.world == world && methods.contains(&row.code.method_id)
        });
        for method in methods {
            self.lockouts.remove(&(world, method.to_string()));
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
        remove(&mut self.identifiers, |(of, row)| {
            *of == world && row.user_id() == id
        });
    }

    fn account_trust(&self, world: World, id: UserId) -> AccountTrust {
        let mut identifiers = self.identifiers_of(world, id);
        let has_verified_identifier = identifiers.any(|row| match row {
            Identifier::Email(email) => email.verified,
            Identifier::Phone(phone) => phone.verified,
        });
        let is_theirs = |of: World, user: UserId| of == world && user == id;
        let has_unverified_credentials = self
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
        AccountTrust {
            has_verified_identifier,
            has_unverified_credentials,
        }
    }

    pub(super) fn profile(&self, world: World, id: UserId) -> Option<UserProfile> {
        let user = self.user(world, id)?.clone();
        let own = || self.identifiers_of(world, id).cloned();
        let mut emails: Vec<_> = own().filter_map(Identifier::email).collect();
        emails.sort_by_key(|email| email.id);
        let mut phones: Vec<_> = own().filter_map(Identifier::phone).collect();
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

    async fn account_trust(&mut self, world: &World, id: UserId) -> StoreResult<AccountTrust> {
        self.reading(|state| state.account_trust(*world, id))
    }

    async fn update(&mut self, user: &User) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.users.iter_mut();
            let row = rows.find(|row| row.world == user.world && row.id == user.id);
            if let Some(row) = row {
                *row = User {
                    status: row.status,
                    is_owned: row.is_owned,
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

    async fn mark_owned(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<()> {
        self.writing(|state| {
            let mut users = state.users.iter_mut();
            let user = users.find(|user| user.world == *world && user.id == id);
            if let Some(user) = user {
                user.is_owned = true;
                if user.status == UserStatus::Pending {
                    user.status = UserStatus::Active;
                    user.updated_at = at;
                }
            }
            Ok(())
        })
    }
}
