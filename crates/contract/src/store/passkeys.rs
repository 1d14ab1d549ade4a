//! Passkeys, user handles and ceremony challenges.

use std::sync::Arc;

use vestry_domain::passkey::{Ceremony, Passkey, PasskeyChallenge, UserHandle};
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::User;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Attached, PasskeyUse, Store};

use super::stage::Stage;
use crate::race::{count, race};

impl Stage {
    async fn attach_passkey(&self, passkey: &Passkey) -> Attached {
        in_tx!(self.store, |tx| tx.passkeys().insert(passkey).await)
    }

    /// A stored passkey of a stored user.
    async fn passkey(&mut self, user: &User) -> Passkey {
        let passkey = self.samples.passkey(user);
        assert_eq!(self.attach_passkey(&passkey).await, Attached::Yes);
        passkey
    }

    async fn known_passkey(&self, passkey: &Passkey) -> Option<Passkey> {
        in_view!(self.store, |view| view
            .passkeys()
            .find(&passkey.world, passkey.id)
            .await)
    }

    async fn passkeys_of(&self, world: World, user: &User) -> Vec<Passkey> {
        in_view!(self.store, |view| view
            .passkeys()
            .of_user(&world, user.id)
            .await)
    }

    async fn use_passkey(&self, world: World, passkey: &Passkey, usage: PasskeyUse) -> bool {
        in_tx!(self.store, |tx| tx
            .passkeys()
            .record_use(&world, passkey.id, usage)
            .await)
    }

    async fn user_handle_or(&self, user: &User, fresh: UserHandle) -> UserHandle {
        in_tx!(self.store, |tx| tx
            .passkeys()
            .handle_or(&user.world, user.id, fresh)
            .await)
    }

    async fn user_handle(&self, user: &User) -> Option<UserHandle> {
        in_view!(self.store, |view| view
            .passkeys()
            .handle(&user.world, user.id)
            .await)
    }

    /// A stored challenge of a stored user.
    async fn passkey_challenge(&mut self, user: &User, ceremony: Ceremony) -> PasskeyChallenge {
        let challenge = self.samples.passkey_challenge(user, ceremony);
        in_tx!(self.store, |tx| tx
            .passkeys()
            .add_challenge(&challenge)
            .await);
        challenge
    }

    async fn known_challenge(
        &self,
        world: World,
        of: &PasskeyChallenge,
    ) -> Option<PasskeyChallenge> {
        in_view!(self.store, |view| view
            .passkeys()
            .challenge(&world, &of.hash)
            .await)
    }

    async fn consume(
        &self,
        world: World,
        of: &PasskeyChallenge,
        ceremony: Ceremony,
        now: Timestamp,
    ) -> bool {
        in_tx!(self.store, |tx| tx
            .passkeys()
            .consume_challenge(&world, &of.hash, ceremony, now)
            .await)
    }
}

/// A use of a passkey with the given signature count.
fn usage(sign_count: u32, at: Timestamp) -> PasskeyUse {
    PasskeyUse {
        sign_count,
        backed_up: true,
        at,
    }
}

/// Every field of a passkey is read back unchanged, by its id, by the credential id and by its user.
pub async fn a_passkey_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..12 {
        let user = stage.user(world).await;
        let mut passkey = stage.samples.passkey(&user);
        passkey.last_used_at = stage.samples.coin().then_some(passkey.created_at);
        assert_eq!(stage.attach_passkey(&passkey).await, Attached::Yes);
        assert_eq!(stage.known_passkey(&passkey).await, Some(passkey.clone()));
        let by_credential = in_view!(stage.store, |view| view
            .passkeys()
            .find_by_credential(&world, &passkey.credential_id)
            .await);
        assert_eq!(by_credential, Some(passkey.clone()));
        assert_eq!(stage.passkeys_of(world, &user).await, [passkey]);
    }
}

/// W-3: a credential id belongs to one user of a world; in another world it is independent.
pub async fn a_credential_id_belongs_to_one_user(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let passkey = stage.passkey(&user).await;
    for owner in [&user, &other] {
        let again = Passkey {
            credential_id: passkey.credential_id.clone(),
            ..stage.samples.passkey(owner)
        };
        assert_eq!(stage.attach_passkey(&again).await, Attached::Taken);
    }
    for stranger in stage.strangers(world).await {
        let owner = stage.user(stranger).await;
        let theirs = Passkey {
            credential_id: passkey.credential_id.clone(),
            ..stage.samples.passkey(&owner)
        };
        assert_eq!(stage.attach_passkey(&theirs).await, Attached::Yes);
    }
    assert_eq!(stage.passkeys_of(world, &user).await, [passkey]);
    assert_eq!(stage.passkeys_of(world, &other).await, []);
}

/// The passkeys of a user, and only theirs, are listed oldest first.
pub async fn passkeys_of_a_user_are_listed_oldest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let passkeys: Vec<_> = (0..5).map(|_| stage.samples.passkey(&user)).collect();
    for passkey in stage.samples.shuffled(&passkeys) {
        in_tx!(stage.store, |tx| tx.passkeys().insert(passkey).await);
    }
    let theirs = stage.passkey(&other).await;
    assert_eq!(stage.passkeys_of(world, &user).await, passkeys);
    assert_eq!(stage.passkeys_of(world, &other).await, [theirs]);
}

/// A use updates only the count, the backup state and the time.
pub async fn a_use_is_written(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (passkey, bystander) = (stage.passkey(&user).await, stage.passkey(&user).await);
    let at = stage.samples.tick();
    let count = passkey.sign_count + 1;
    assert!(stage.use_passkey(world, &passkey, usage(count, at)).await);
    let expected = Passkey {
        sign_count: count,
        backed_up: true,
        last_used_at: Some(at),
        updated_at: at,
        ..passkey
    };
    assert_eq!(stage.passkeys_of(world, &user).await, [expected, bystander]);
}

/// W-2: a count that does not increase is not written, unless the authenticator does not count.
pub async fn a_count_does_not_go_back(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    for (stored, sent, expected) in [
        (0, 0, true),
        (0, 1, true),
        (5, 6, true),
        (5, u32::MAX, true),
        (5, 5, false),
        (5, 4, false),
        (5, 0, false),
        (u32::MAX, u32::MAX, false),
    ] {
        let passkey = Passkey {
            sign_count: stored,
            ..stage.samples.passkey(&user)
        };
        assert_eq!(stage.attach_passkey(&passkey).await, Attached::Yes);
        let written = stage.use_passkey(world, &passkey, usage(sent, passkey.created_at));
        assert_eq!(written.await, expected, "{stored} {sent}");
        assert_eq!(
            passkey.may_count(sent),
            expected,
            "the store and the domain disagree"
        );
        let now = stage.known_passkey(&passkey).await;
        let count = now.map(|passkey| passkey.sign_count);
        assert_eq!(count, Some(if expected { sent } else { stored }));
    }
}

/// Of parallel uses with the same count one is written.
pub async fn parallel_uses_of_one_count_are_written_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let passkey = stage.passkey(&user).await;
    let usage = usage(passkey.sign_count + 1, passkey.created_at);
    let outcomes = race((0..16).map(|_| {
        let (store, id) = (Arc::clone(&stage.store), passkey.id);
        async move {
            in_tx!(store, |tx| tx
                .passkeys()
                .record_use(&world, id, usage)
                .await)
        }
    }))
    .await;
    assert_eq!(count(&outcomes, &true), 1);
}

/// A passkey is found, used and removed only within its world (I11).
pub async fn passkeys_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let passkey = stage.passkey(&user).await;
    let challenge = stage.passkey_challenge(&user, Ceremony::Registration).await;
    let handle = stage.samples.user_handle();
    stage.user_handle_or(&user, handle).await;
    for stranger in stage.strangers(world).await {
        let seen = in_view!(stage.store, |view| {
            let by_id = view.passkeys().find(&stranger, passkey.id).await?;
            let by_credential = view
                .passkeys()
                .find_by_credential(&stranger, &passkey.credential_id)
                .await?;
            let handle = view.passkeys().handle(&stranger, user.id).await?;
            Ok((by_id, by_credential, handle))
        });
        assert_eq!(seen, (None, None, None));
        assert_eq!(stage.passkeys_of(stranger, &user).await, []);
        let next = usage(passkey.sign_count + 1, passkey.created_at);
        assert!(!stage.use_passkey(stranger, &passkey, next).await);
        assert_eq!(stage.known_challenge(stranger, &challenge).await, None);
        let now = challenge.created_at;
        assert!(
            !stage
                .consume(stranger, &challenge, challenge.ceremony, now)
                .await
        );
        let removed = in_tx!(stage.store, |tx| {
            let one = tx.passkeys().remove(&stranger, passkey.id).await?;
            Ok((one, tx.passkeys().remove_all(&stranger, user.id).await?))
        });
        assert_eq!(removed, (false, 0));
    }
    assert_eq!(stage.passkeys_of(world, &user).await, [passkey]);
    assert_eq!(stage.user_handle(&user).await, Some(handle));
    assert_eq!(
        stage.known_challenge(world, &challenge).await,
        Some(challenge)
    );
}

/// A passkey is removed once, and its credential id is free afterwards.
pub async fn a_passkey_is_removed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (passkey, bystander) = (stage.passkey(&user).await, stage.passkey(&user).await);
    for expected in [true, false] {
        let removed = in_tx!(stage.store, |tx| tx
            .passkeys()
            .remove(&world, passkey.id)
            .await);
        assert_eq!(removed, expected);
    }
    assert_eq!(stage.passkeys_of(world, &user).await, [bystander]);
    assert_eq!(stage.attach_passkey(&passkey).await, Attached::Yes);
}

/// Removing all passkeys of a user also removes the handle and the pending challenges, and nothing of other users.
pub async fn all_passkeys_of_a_user_go(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let mut challenges = Vec::new();
    for owner in [&user, &other] {
        stage.passkey(owner).await;
        stage.passkey(owner).await;
        let handle = stage.samples.user_handle();
        stage.user_handle_or(owner, handle).await;
        let challenge = stage.passkey_challenge(owner, Ceremony::Registration).await;
        challenges.push(challenge);
    }
    for expected in [2, 0] {
        let removed = in_tx!(stage.store, |tx| tx
            .passkeys()
            .remove_all(&world, user.id)
            .await);
        assert_eq!(removed, expected);
    }
    assert_eq!(stage.passkeys_of(world, &user).await, []);
    assert_eq!(stage.user_handle(&user).await, None);
    assert_eq!(stage.passkeys_of(world, &other).await.len(), 2);
    assert!(stage.user_handle(&other).await.is_some());
    let mut left = Vec::new();
    for challenge in &challenges {
        left.push(stage.known_challenge(world, challenge).await.is_some());
    }
    assert_eq!(left, [false, true]);
}

/// W-3: a user keeps the first handle assigned, even with parallel requests.
pub async fn a_user_keeps_its_handle(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    assert_eq!(stage.user_handle(&user).await, None);
    let fresh: Vec<_> = (0..8).map(|_| stage.samples.user_handle()).collect();
    let given = race(fresh.iter().map(|fresh| {
        let (store, id, fresh) = (Arc::clone(&stage.store), user.id, *fresh);
        async move { in_tx!(store, |tx| tx.passkeys().handle_or(&world, id, fresh).await) }
    }))
    .await;
    let kept = stage.user_handle(&user).await;
    assert!(given.iter().all(|handle| Some(*handle) == kept));
    assert!(kept.is_some_and(|kept| fresh.contains(&kept)));
    let theirs = stage.samples.user_handle();
    assert_eq!(stage.user_handle_or(&other, theirs).await, theirs);
}

/// Every field of a challenge is read back unchanged.
pub async fn a_challenge_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    for number in 0..12 {
        let ceremony = match number % 2 {
            0 => Ceremony::Registration,
            _ => Ceremony::Authentication,
        };
        let challenge = stage.passkey_challenge(&user, ceremony).await;
        let known = stage.known_challenge(world, &challenge).await;
        assert_eq!(known, Some(challenge));
    }
}

/// W-1, I4: a challenge is used once, for its own ceremony, and before it expires.
pub async fn a_challenge_is_used_once_for_its_ceremony_and_in_time(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    for (own, other) in [
        (Ceremony::Registration, Ceremony::Authentication),
        (Ceremony::Authentication, Ceremony::Registration),
    ] {
        let challenge = stage.passkey_challenge(&user, own).await;
        let last = challenge.expires_at - Seconds(1);
        assert!(!stage.consume(world, &challenge, other, last).await);
        let end = challenge.expires_at;
        assert!(!stage.consume(world, &challenge, own, end).await);
        assert!(stage.consume(world, &challenge, own, last).await);
        assert!(!stage.consume(world, &challenge, own, last).await);
        assert_eq!(stage.known_challenge(world, &challenge).await, None);
    }
}

/// Of parallel uses of one challenge one succeeds (R6, attack 4).
pub async fn parallel_uses_of_a_challenge_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    for _ in 0..5 {
        let challenge = stage
            .passkey_challenge(&user, Ceremony::Authentication)
            .await;
        let outcomes = race((0..16).map(|_| {
            let store = Arc::clone(&stage.store);
            let (hash, ceremony, now) = (challenge.hash, challenge.ceremony, challenge.created_at);
            async move {
                in_tx!(store, |tx| tx
                    .passkeys()
                    .consume_challenge(&world, &hash, ceremony, now)
                    .await)
            }
        }))
        .await;
        assert_eq!(count(&outcomes, &true), 1);
    }
}

/// A sweep deletes only what expired before the given time, in all worlds of an environment.
pub async fn a_sweep_deletes_dead_challenges(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, alike, other) = stage.swept_worlds().await;
    let mut challenges = Vec::new();
    for world in [world, alike] {
        let user = stage.user(world).await;
        for _ in 0..2 {
            let challenge = stage.passkey_challenge(&user, Ceremony::Registration).await;
            challenges.push(challenge);
        }
    }
    let [first, second, third, _fourth] = &challenges[..] else {
        panic!("four challenges");
    };
    let before = second.expires_at + Seconds(1);
    let swept = in_tx!(stage.store, |tx| tx
        .passkeys()
        .sweep_challenges(&other.environment.into(), before)
        .await);
    assert_eq!(swept, 0);
    let swept = in_tx!(stage.store, |tx| tx
        .passkeys()
        .sweep_challenges(&world.environment.into(), before)
        .await);
    assert_eq!(swept, 2);
    assert_eq!(stage.known_challenge(first.world, first).await, None);
    assert_eq!(stage.known_challenge(second.world, second).await, None);
    let third_known = stage.known_challenge(third.world, third).await;
    assert_eq!(third_known.as_ref(), Some(third));
}
