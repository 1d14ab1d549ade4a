//! Passkeys, user handles and ceremony challenges.

use vestry_domain::ids::{UserId, WebauthnCredentialId};
use vestry_domain::passkey::{Ceremony, Passkey, PasskeyChallenge, UserHandle};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Attached, PasskeyUse, Passkeys, StoreResult, SweptWorlds};

use super::Work;
use super::state::{State, add, remove, remove_few};

impl State {
    fn passkey(&self, world: World, fits: impl Fn(&Passkey) -> bool) -> Option<&Passkey> {
        let mut rows = self.passkeys.iter();
        rows.find(|row| row.world == world && fits(row))
    }
}

#[port]
impl Passkeys for Work {
    async fn handle_or(
        &mut self,
        world: &World,
        user: UserId,
        fresh: UserHandle,
    ) -> StoreResult<UserHandle> {
        self.writing(|state| {
            state.needs_user(*world, user)?;
            let handles = &mut state.passkey_handles;
            Ok(*handles.entry((*world, user)).or_insert(fresh))
        })
    }

    async fn handle(&mut self, world: &World, user: UserId) -> StoreResult<Option<UserHandle>> {
        self.reading(|state| state.passkey_handles.get(&(*world, user)).copied())
    }

    async fn insert(&mut self, passkey: &Passkey) -> StoreResult<Attached> {
        self.writing(|state| {
            state.needs_user(passkey.world, passkey.user_id)?;
            let same = |row: &Passkey| row.credential_id == passkey.credential_id;
            if state.passkey(passkey.world, same).is_some() {
                return Ok(Attached::Taken);
            }
            add(&mut state.passkeys, passkey.clone(), |a, b| {
                (a.world, a.id) == (b.world, b.id)
            })?;
            Ok(Attached::Yes)
        })
    }

    async fn find(
        &mut self,
        world: &World,
        id: WebauthnCredentialId,
    ) -> StoreResult<Option<Passkey>> {
        self.reading(|state| state.passkey(*world, |row| row.id == id).cloned())
    }

    async fn find_by_credential(
        &mut self,
        world: &World,
        credential_id: &[u8],
    ) -> StoreResult<Option<Passkey>> {
        self.reading(|state| {
            let same = |row: &Passkey| row.credential_id == credential_id;
            state.passkey(*world, same).cloned()
        })
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Passkey>> {
        self.reading(|state| {
            let rows = state.passkeys.iter();
            let mut of_user: Vec<_> = rows
                .filter(|row| row.world == *world && row.user_id == user)
                .cloned()
                .collect();
            of_user.sort_by_key(|row| row.id);
            of_user
        })
    }

    async fn record_use(
        &mut self,
        world: &World,
        id: WebauthnCredentialId,
        usage: PasskeyUse,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.passkeys.iter_mut();
            let row = rows.find(|row| row.world == *world && row.id == id);
            let Some(row) = row.filter(|row| row.may_count(usage.sign_count)) else {
                return Ok(false);
            };
            row.sign_count = usage.sign_count;
            row.backed_up = usage.backed_up;
            row.last_used_at = Some(usage.at);
            row.updated_at = usage.at;
            Ok(true)
        })
    }

    async fn remove(&mut self, world: &World, id: WebauthnCredentialId) -> StoreResult<bool> {
        self.writing(|state| {
            let this = |row: &Passkey| row.world == *world && row.id == id;
            Ok(remove(&mut state.passkeys, this) == 1)
        })
    }

    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64> {
        self.writing(|state| {
            state.passkey_handles.remove(&(*world, user));
            let waits = |row: &PasskeyChallenge| row.world == *world && row.user_id == Some(user);
            remove(&mut state.passkey_challenges, waits);
            let of_user = |row: &Passkey| row.world == *world && row.user_id == user;
            Ok(remove(&mut state.passkeys, of_user))
        })
    }

    async fn add_challenge(&mut self, challenge: &PasskeyChallenge) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.passkey_challenges, challenge.clone(), |a, b| {
                (a.world, a.hash) == (b.world, b.hash)
            })
        })
    }

    async fn challenge(
        &mut self,
        world: &World,
        hash: &TokenHash,
    ) -> StoreResult<Option<PasskeyChallenge>> {
        self.reading(|state| {
            let mut rows = state.passkey_challenges.iter();
            rows.find(|row| row.world == *world && row.hash == *hash)
                .cloned()
        })
    }

    async fn consume_challenge(
        &mut self,
        world: &World,
        hash: &TokenHash,
        ceremony: Ceremony,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let living = |row: &PasskeyChallenge| {
                (row.world, row.hash, row.ceremony) == (*world, *hash, ceremony)
                    && now < row.expires_at
            };
            Ok(remove(&mut state.passkey_challenges, living) == 1)
        })
    }

    async fn sweep_challenges(
        &mut self,
        worlds: &SweptWorlds,
        expired_before: Timestamp,
    ) -> StoreResult<u64> {
        self.writing(|state| {
            let dead = |row: &PasskeyChallenge| {
                worlds.include(&row.world) && row.expires_at < expired_before
            };
            Ok(remove_few(&mut state.passkey_challenges, dead))
        })
    }
}
