//! Passwords of users, and the record of imported users.

use std::sync::Arc;

use vestry_domain::ids::UserId;
use vestry_domain::password::StoredPassword;
use vestry_domain::user::{ShownStatus, User, UserDisabled, UserStatus};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{PasswordHolder, Store};

use super::stage::Stage;
use crate::race::{count, race};

impl Stage {
    /// A password that has not been stored.
    pub(super) fn password(&mut self, user: &User) -> StoredPassword {
        let at = self.samples.tick();
        StoredPassword {
            world: user.world,
            user_id: user.id,
            sealed: self.samples.sealed(),
            created_at: at,
            updated_at: at,
        }
    }

    async fn put(&self, password: &StoredPassword) {
        in_tx!(self.store, |tx| tx.passwords().put(password).await);
    }

    async fn stored(&self, world: World, user: UserId) -> Option<StoredPassword> {
        in_view!(self.store, |view| view.passwords().find(&world, user).await)
    }

    async fn holder(&self, world: World, user: UserId) -> Option<PasswordHolder> {
        in_view!(self.store, |view| view
            .passwords()
            .holder(&world, user)
            .await)
    }

    async fn note(&mut self, world: World, key: &str, user: UserId) -> bool {
        let at = self.samples.tick();
        in_tx!(self.store, |tx| tx
            .imported_users()
            .note(&world, key, user, at)
            .await)
    }

    async fn became(&self, world: World, key: &str) -> Option<UserId> {
        in_view!(self.store, |view| view
            .imported_users()
            .find(&world, key)
            .await)
    }
}

/// A password is returned with the status of its user, and a user without a password is returned without one. No user of another world is
/// returned.
pub async fn a_password_comes_with_its_holder(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let strangers = stage.strangers(world).await;
    for status in [UserStatus::Pending, UserStatus::Active] {
        let user = User {
            status,
            disabled: None,
            ..stage.samples.user(world)
        };
        in_tx!(stage.store, |tx| tx.users().insert(&user).await);
        let password = stage.password(&user);
        let expected = |status: ShownStatus, password: Option<&StoredPassword>| {
            Some(PasswordHolder {
                status,
                password: password.cloned(),
            })
        };
        let shown = status.into();
        assert_eq!(stage.holder(world, user.id).await, expected(shown, None));
        stage.put(&password).await;
        let with = expected(shown, Some(&password));
        assert_eq!(stage.holder(world, user.id).await, with);
        let disabled = UserDisabled {
            at: stage.samples.tick(),
            reason: String::new(),
        };
        in_tx!(stage.store, |tx| tx
            .users()
            .disable(&world, user.id, &disabled)
            .await);
        let with = expected(ShownStatus::Disabled, Some(&password));
        assert_eq!(stage.holder(world, user.id).await, with);
        for stranger in strangers {
            assert_eq!(stage.holder(stranger, user.id).await, None);
        }
    }
    let unknown = stage.samples.user(world).id;
    assert_eq!(stage.holder(world, unknown).await, None);
}

/// A password is read back unchanged, and a user without one has none.
pub async fn a_password_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let password = stage.password(&user);
    stage.put(&password).await;
    assert_eq!(stage.stored(world, user.id).await, Some(password));
    assert_eq!(stage.stored(world, other.id).await, None);
}

/// A password cannot be stored without its user.
pub async fn a_password_needs_its_user(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let nobody = stage.samples.user(world);
    let password = stage.password(&nobody);
    let mut tx = super::stage::works(stage.store.begin().await);
    assert!(tx.passwords().put(&password).await.is_err());
    drop(tx);
    assert_eq!(stage.stored(world, nobody.id).await, None);
}

/// A new password replaces the old one and keeps its creation time.
pub async fn a_put_replaces_the_password(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (first, second) = (stage.password(&user), stage.password(&user));
    stage.put(&first).await;
    stage.put(&second).await;
    let expected = StoredPassword {
        created_at: first.created_at,
        ..second
    };
    assert_eq!(stage.stored(world, user.id).await, Some(expected));
}

/// A password cannot be seen, replaced or removed from another world (I11).
pub async fn a_password_stays_in_its_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let password = stage.password(&user);
    stage.put(&password).await;
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.stored(stranger, user.id).await, None);
        let theirs = StoredPassword {
            world: stranger,
            sealed: stage.samples.sealed(),
            ..password.clone()
        };
        let seen = &password.sealed;
        assert!(!in_tx!(stage.store, |tx| tx
            .passwords()
            .swap(&theirs, Some(seen))
            .await));
        assert!(!in_tx!(stage.store, |tx| tx
            .passwords()
            .remove(&stranger, user.id)
            .await));
    }
    assert_eq!(stage.stored(world, user.id).await, Some(password));
}

/// A swap replaces only what the caller saw, which may be nothing; otherwise it changes nothing (I5).
pub async fn a_swap_needs_what_was_seen(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (first, second, third) = (
        stage.password(&user),
        stage.password(&user),
        stage.password(&user),
    );
    for (new, seen, expected) in [
        (&second, Some(&first), false),
        (&first, None, true),
        (&second, None, false),
        (&second, Some(&third), false),
        (&second, Some(&first), true),
        (&third, Some(&first), false),
    ] {
        let seen = seen.map(|password| &password.sealed);
        let swapped = in_tx!(stage.store, |tx| tx.passwords().swap(new, seen).await);
        assert_eq!(swapped, expected);
    }
    let expected = StoredPassword {
        created_at: first.created_at,
        ..second
    };
    assert_eq!(stage.stored(world, user.id).await, Some(expected));
}

/// Of parallel first passwords one is stored.
pub async fn parallel_first_passwords_are_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let passwords: Vec<_> = (0..20).map(|_| stage.password(&user)).collect();
    let tasks = passwords.clone().into_iter().map(|password| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.passwords().swap(&password, None).await) }
    });
    let outcomes = race(tasks).await;
    assert_eq!(count(&outcomes, &true), 1);
    let winner = outcomes.iter().position(|won| *won);
    let winner = winner.and_then(|index| passwords.get(index)).cloned();
    assert_eq!(stage.stored(world, user.id).await, winner);
}

/// Of parallel changes that all saw the same password one succeeds (R8, I5).
pub async fn parallel_swaps_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let first = stage.password(&user);
    stage.put(&first).await;
    let passwords: Vec<_> = (0..20).map(|_| stage.password(&user)).collect();
    let tasks = passwords.clone().into_iter().map(|password| {
        let (store, seen) = (Arc::clone(&stage.store), first.sealed.clone());
        async move {
            in_tx!(store, |tx| tx
                .passwords()
                .swap(&password, Some(&seen))
                .await)
        }
    });
    let outcomes = race(tasks).await;
    assert_eq!(count(&outcomes, &true), 1);
    let winner = outcomes.iter().position(|won| *won);
    let winner = winner.and_then(|index| passwords.get(index));
    let stored = stage.stored(world, user.id).await;
    assert_eq!(
        stored.map(|stored| stored.sealed),
        winner.map(|winner| winner.sealed.clone())
    );
}

/// A removed password is gone, and that of another user stays.
pub async fn a_password_is_removed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (one, two) = (stage.password(&user), stage.password(&other));
    stage.put(&one).await;
    stage.put(&two).await;
    for expected in [true, false] {
        let removed = in_tx!(stage.store, |tx| tx
            .passwords()
            .remove(&world, user.id)
            .await);
        assert_eq!(removed, expected);
    }
    assert_eq!(stage.stored(world, user.id).await, None);
    assert_eq!(stage.stored(world, other.id).await, Some(two));
}

/// An imported key maps to one user, and a user has one key.
pub async fn an_imported_key_becomes_one_user(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    assert_eq!(stage.became(world, "old-1").await, None);
    assert!(stage.note(world, "old-1", user.id).await);
    assert!(!stage.note(world, "old-1", other.id).await);
    assert!(!stage.note(world, "old-2", user.id).await);
    // Keys are compared byte for byte.
    assert!(stage.note(world, "OLD-1", other.id).await);
    assert_eq!(stage.became(world, "old-1").await, Some(user.id));
    assert_eq!(stage.became(world, "OLD-1").await, Some(other.id));
    assert_eq!(stage.became(world, "old-2").await, None);
    let found = in_view!(stage.store, |view| view
        .users()
        .find_all_whole(&[(world, user.id)])
        .await);
    let keys = found.into_iter().flatten().map(|whole| whole.external_key);
    assert_eq!(keys.collect::<Vec<_>>(), [Some("old-1".to_owned())]);
}

/// The same key in two worlds maps to two users (I11).
pub async fn imported_keys_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    assert!(stage.note(world, "old-1", user.id).await);
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.became(stranger, "old-1").await, None);
        let theirs = stage.user(stranger).await;
        assert!(stage.note(stranger, "old-1", theirs.id).await);
        let found = in_view!(stage.store, |view| view
            .users()
            .find_all_whole(&[(stranger, user.id)])
            .await);
        assert_eq!(found, [None]);
    }
    assert_eq!(stage.became(world, "old-1").await, Some(user.id));
}

/// Of parallel attempts to map one key to different users one succeeds.
pub async fn parallel_notes_of_a_key_go_to_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut users = Vec::new();
    for _ in 0..10 {
        users.push(stage.user(world).await.id);
    }
    let tasks = users.clone().into_iter().map(|user| {
        let store = Arc::clone(&stage.store);
        let at = Timestamp::from_unix(1_800_000_000);
        async move {
            in_tx!(store, |tx| tx
                .imported_users()
                .note(&world, "old-1", user, at)
                .await)
        }
    });
    let outcomes = race(tasks).await;
    assert_eq!(count(&outcomes, &true), 1);
    let winner = outcomes.iter().position(|won| *won);
    let winner = winner.and_then(|index| users.get(index)).copied();
    assert_eq!(stage.became(world, "old-1").await, winner);
}
