//! Passwords of users, and the record of imported users.

use vestry_domain::envelope::Sealed;
use vestry_domain::ids::UserId;
use vestry_domain::password::StoredPassword;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{ImportedUsers, PasswordHolder, Passwords, StoreResult};

use super::Work;
use super::state::{State, remove};

impl State {
    fn password(&mut self, world: World, user: UserId) -> Option<&mut StoredPassword> {
        let mut rows = self.passwords.iter_mut();
        rows.find(|row| row.world == world && row.user_id == user)
    }

    /// Replaces the user's password but keeps its creation time.
    fn put_password(&mut self, password: &StoredPassword) -> Result<(), &'static str> {
        self.needs_user(password.world, password.user_id)?;
        match self.password(password.world, password.user_id) {
            Some(row) => {
                row.sealed = password.sealed.clone();
                row.updated_at = password.updated_at;
            }
            None => self.passwords.push(password.clone()),
        }
        Ok(())
    }
}

#[port]
impl Passwords for Work {
    async fn find(&mut self, world: &World, user: UserId) -> StoreResult<Option<StoredPassword>> {
        self.reading(|state| {
            let mut rows = state.passwords.iter();
            rows.find(|row| row.world == *world && row.user_id == user)
                .cloned()
        })
    }

    async fn holder(&mut self, world: &World, user: UserId) -> StoreResult<Option<PasswordHolder>> {
        let password = Passwords::find(self, world, user).await?;
        self.reading(|state| {
            let profile = state.profile(*world, user)?;
            Some(PasswordHolder {
                status: profile.user.shown_status(),
                password,
            })
        })
    }

    async fn put(&mut self, password: &StoredPassword) -> StoreResult<()> {
        self.writing(|state| state.put_password(password))
    }

    async fn swap(
        &mut self,
        password: &StoredPassword,
        seen: Option<&Sealed>,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let present = state
                .password(password.world, password.user_id)
                .map(|row| row.sealed.clone());
            if present.as_ref() != seen {
                return Ok(false);
            }
            state.put_password(password).map(|()| true)
        })
    }

    async fn remove(&mut self, world: &World, user: UserId) -> StoreResult<bool> {
        self.writing(|state| {
            let removed = remove(&mut state.passwords, |row| {
                row.world == *world && row.user_id == user
            });
            Ok(removed == 1)
        })
    }
}

#[port]
impl ImportedUsers for Work {
    async fn note(
        &mut self,
        world: &World,
        external_key: &str,
        user: UserId,
        _at: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            state.needs_user(*world, user)?;
            let is_taken = state
                .imported_users
                .iter()
                .any(|(of, key, id)| of == world && (key == external_key || *id == user));
            if !is_taken {
                let row = (*world, external_key.to_owned(), user);
                state.imported_users.push(row);
            }
            Ok(!is_taken)
        })
    }

    async fn find(&mut self, world: &World, external_key: &str) -> StoreResult<Option<UserId>> {
        self.reading(|state| {
            let mut rows = state.imported_users.iter();
            rows.find(|(of, key, _)| of == world && key == external_key)
                .map(|(_, _, id)| *id)
        })
    }
}
