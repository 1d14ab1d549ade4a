//! Authenticator apps and their recovery codes.

use std::sync::Arc;

use vestry_domain::ids::TotpId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::totp::{StoredRecoveryCode, Totp};
use vestry_domain::user::User;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::Store;

use super::stage::Stage;
use crate::race::{count, race};

impl Stage {
    /// A stored, unconfirmed authenticator app with its recovery codes.
    async fn waiting_totp(&mut self, user: &User) -> (Totp, Vec<StoredRecoveryCode>) {
        let (totp, codes) = self.samples.totp(user);
        in_tx!(self.store, |tx| tx
            .totps()
            .replace_waiting(&totp, &codes)
            .await);
        (totp, codes)
    }

    /// A stored authenticator app that was confirmed with the code of step 100.
    async fn verified_totp(&mut self, user: &User) -> (Totp, Vec<StoredRecoveryCode>) {
        let (mut totp, codes) = self.waiting_totp(user).await;
        assert!(self.confirm(&totp, 100, totp.created_at).await);
        totp.verified = true;
        totp.updated_at = totp.created_at;
        (totp, codes)
    }

    async fn confirm(&self, totp: &Totp, step: i64, now: Timestamp) -> bool {
        let (world, id) = (totp.world, totp.id);
        in_tx!(self.store, |tx| tx
            .totps()
            .confirm(&world, id, step, now)
            .await)
    }

    async fn accept(&self, totp: &Totp, step: i64) -> bool {
        let (world, id) = (totp.world, totp.id);
        in_tx!(self.store, |tx| tx.totps().accept(&world, id, step).await)
    }

    async fn use_recovery_code(&self, totp: &Totp, number: u32) -> bool {
        let (world, id, at) = (totp.world, totp.id, totp.created_at);
        in_tx!(self.store, |tx| tx
            .totps()
            .use_recovery_code(&world, id, number, at)
            .await)
    }

    async fn totps_of(&self, world: World, user: &User) -> Vec<Totp> {
        in_view!(self.store, |view| view
            .totps()
            .of_user(&world, user.id)
            .await)
    }

    /// The recovery codes of the user, used or not.
    async fn codes_of(&self, user: &User) -> Vec<(TotpId, StoredRecoveryCode)> {
        in_view!(self.store, |view| view
            .totps()
            .recovery_codes(&user.world, user.id)
            .await)
    }
}

fn of(totp: &Totp, codes: &[StoredRecoveryCode]) -> Vec<(TotpId, StoredRecoveryCode)> {
    codes.iter().map(|code| (totp.id, code.clone())).collect()
}

/// Every field is read back unchanged, and the recovery codes in order.
pub async fn a_totp_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..5 {
        let user = stage.user(world).await;
        let (totp, codes) = stage.waiting_totp(&user).await;
        let found = in_view!(stage.store, |view| view.totps().find(&world, totp.id).await);
        assert_eq!(found.as_ref(), Some(&totp));
        assert_eq!(stage.codes_of(&user).await, of(&totp, &codes));
        assert_eq!(stage.totps_of(world, &user).await, [totp]);
    }
}

/// A user has at most one unconfirmed app. A new one replaces it and its codes, and leaves verified ones alone.
pub async fn a_new_totp_replaces_the_one_that_waits(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (verified, verified_codes) = stage.verified_totp(&user).await;
    let (others, others_codes) = stage.waiting_totp(&other).await;
    let (replaced, _) = stage.waiting_totp(&user).await;
    let (totp, codes) = stage.waiting_totp(&user).await;
    assert_eq!(
        stage.totps_of(world, &user).await,
        [verified.clone(), totp.clone()]
    );
    assert_eq!(
        stage.codes_of(&user).await,
        [of(&verified, &verified_codes), of(&totp, &codes)].concat()
    );
    assert!(!stage.confirm(&replaced, 1, replaced.created_at).await);
    assert_eq!(
        stage.totps_of(world, &other).await,
        std::slice::from_ref(&others)
    );
    assert_eq!(stage.codes_of(&other).await, of(&others, &others_codes));
    let counted = in_view!(stage.store, |view| view
        .totps()
        .count_verified(&world, user.id)
        .await);
    assert_eq!(counted, 1);
}

/// The first code is accepted once, and only before the app expires.
pub async fn a_first_code_is_taken_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (late, user) = (stage.user(world).await, stage.user(world).await);
    let (expired, _) = stage.waiting_totp(&late).await;
    assert!(!stage.confirm(&expired, 1, expired.expires_at).await);
    let (mut totp, _) = stage.waiting_totp(&user).await;
    let last = totp.expires_at - Seconds(1);
    assert!(!stage.accept(&totp, 7).await, "it is not confirmed yet");
    assert!(stage.confirm(&totp, 7, last).await);
    assert!(!stage.confirm(&totp, 8, last).await);
    (totp.verified, totp.updated_at) = (true, last);
    assert_eq!(stage.totps_of(world, &user).await, [totp]);
}

/// A step is never accepted twice, nor an earlier one; accepting one changes no visible field (OTP-12, F8).
pub async fn a_step_is_taken_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (totp, _) = stage.verified_totp(&user).await;
    for (step, taken) in [
        (100, false),
        (99, false),
        (101, true),
        (101, false),
        (100, false),
        (103, true),
        (102, false),
        (i64::MAX, true),
        (i64::MAX, false),
    ] {
        assert_eq!(stage.accept(&totp, step).await, taken, "step {step}");
    }
    assert_eq!(stage.totps_of(world, &user).await, [totp]);
}

/// A recovery code is used once, and nothing readable is left of it (OTP-13).
pub async fn a_recovery_code_is_used_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (totp, mut codes) = stage.verified_totp(&user).await;
    let (others, others_codes) = stage.verified_totp(&other).await;
    assert!(stage.use_recovery_code(&totp, 3).await);
    assert!(!stage.use_recovery_code(&totp, 3).await);
    assert!(!stage.use_recovery_code(&totp, 16).await);
    for code in codes.iter_mut().filter(|code| code.number == 3) {
        code.used = true;
        code.sealed.bytes.clear();
    }
    assert_eq!(stage.codes_of(&user).await, of(&totp, &codes));
    assert_eq!(stage.codes_of(&other).await, of(&others, &others_codes));
}

/// A removed app takes its recovery codes with it, and a second removal finds nothing.
pub async fn a_removed_totp_is_gone(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (first, _) = stage.verified_totp(&user).await;
    let (second, codes) = stage.verified_totp(&user).await;
    for removed in [true, false] {
        let outcome = in_tx!(stage.store, |tx| tx.totps().remove(&world, first.id).await);
        assert_eq!(outcome, removed);
    }
    assert_eq!(
        stage.totps_of(world, &user).await,
        std::slice::from_ref(&second)
    );
    assert_eq!(stage.codes_of(&user).await, of(&second, &codes));
    assert!(!stage.accept(&first, 200).await);
    assert!(!stage.use_recovery_code(&first, 0).await);
}

/// All apps of a user are removed, verified or not, and no one else's.
pub async fn all_totps_of_a_user_are_removed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    stage.verified_totp(&user).await;
    stage.waiting_totp(&user).await;
    let (others, _) = stage.waiting_totp(&other).await;
    for removed in [2, 0] {
        let outcome = in_tx!(stage.store, |tx| tx
            .totps()
            .remove_all(&world, user.id)
            .await);
        assert_eq!(outcome, removed);
    }
    assert_eq!(stage.totps_of(world, &user).await, []);
    assert_eq!(stage.codes_of(&user).await, []);
    assert_eq!(stage.totps_of(world, &other).await, [others]);
}

/// Nothing in a world can be seen or changed from another (I11).
pub async fn totps_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (totp, codes) = stage.verified_totp(&user).await;
    let (waiting, _) = stage.waiting_totp(&user).await;
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.totps_of(stranger, &user).await, []);
        let moved = |totp: &Totp| Totp {
            world: stranger,
            ..totp.clone()
        };
        assert!(!stage.accept(&moved(&totp), 200).await);
        assert!(
            !stage
                .confirm(&moved(&waiting), 200, waiting.created_at)
                .await
        );
        assert!(!stage.use_recovery_code(&moved(&totp), 0).await);
        let (found, counted, shown) = in_view!(stage.store, |view| Ok((
            view.totps().find(&stranger, totp.id).await?,
            view.totps().count_verified(&stranger, user.id).await?,
            view.totps().recovery_codes(&stranger, user.id).await?,
        )));
        assert_eq!((found, counted, shown), (None, 0, Vec::new()));
        let (one, all) = in_tx!(stage.store, |tx| {
            let one = tx.totps().remove(&stranger, totp.id).await?;
            Ok((one, tx.totps().remove_all(&stranger, user.id).await?))
        });
        assert_eq!((one, all), (false, 0));
    }
    assert_eq!(
        stage.totps_of(world, &user).await,
        [totp.clone(), waiting.clone()]
    );
    assert_eq!(
        stage.codes_of(&user).await.len(),
        codes.len() * 2,
        "none may be used from another world"
    );
}

/// Of a hundred parallel uses of one step one succeeds (R6, I4).
pub async fn parallel_takings_of_a_step_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (totp, _) = stage.verified_totp(&user).await;
    for step in 200..203 {
        let taken = race((0..100).map(|_| {
            let (store, id) = (Arc::clone(&stage.store), totp.id);
            async move { in_tx!(store, |tx| tx.totps().accept(&world, id, step).await) }
        }))
        .await;
        assert_eq!(count(&taken, &true), 1, "step {step}");
    }
}

/// Of fifty parallel first codes one succeeds (R6, I4).
pub async fn parallel_first_codes_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (totp, _) = stage.waiting_totp(&user).await;
    let taken = race((0..50).map(|step| {
        let (store, id, now) = (Arc::clone(&stage.store), totp.id, totp.created_at);
        async move { in_tx!(store, |tx| tx.totps().confirm(&world, id, step, now).await) }
    }))
    .await;
    assert_eq!(count(&taken, &true), 1);
}

/// Of a hundred parallel uses of one recovery code one succeeds (R6, I4).
pub async fn parallel_uses_of_a_recovery_code_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (totp, _) = stage.verified_totp(&user).await;
    for number in 0..3 {
        let used = race((0..100).map(|_| {
            let (store, id, at) = (Arc::clone(&stage.store), totp.id, totp.created_at);
            async move {
                in_tx!(store, |tx| tx
                    .totps()
                    .use_recovery_code(&world, id, number, at)
                    .await)
            }
        }))
        .await;
        assert_eq!(count(&used, &true), 1, "code {number}");
    }
}

/// Ten parallel enrolments of a user leave one unconfirmed app, with only its own recovery codes.
pub async fn parallel_new_totps_leave_one_that_waits(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let made: Vec<_> = (0..10).map(|_| stage.samples.totp(&user)).collect();
    race(made.clone().into_iter().map(|(totp, codes)| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.totps().replace_waiting(&totp, &codes).await) }
    }))
    .await;
    let left = stage.totps_of(world, &user).await;
    let winner = made
        .iter()
        .find(|(totp, _)| left.as_slice() == [totp.clone()]);
    let Some((totp, codes)) = winner else {
        panic!("exactly one of the ten must be left: {left:?}");
    };
    assert_eq!(stage.codes_of(&user).await, of(totp, codes));
}

/// A sweep deletes only what expired unconfirmed before the given time.
pub async fn a_sweep_deletes_expired_totps(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (verified, _) = stage.verified_totp(&user).await;
    let (waiting, _) = stage.waiting_totp(&user).await;
    let [other, ..] = stage.strangers(world).await;
    let sweep = |environment: Environment, before: Timestamp| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .totps()
                .sweep(&environment.into(), before)
                .await)
        }
    };
    assert_eq!(sweep(world.environment, waiting.expires_at).await, 0);
    assert_eq!(
        stage.totps_of(world, &user).await,
        [verified.clone(), waiting.clone()]
    );
    let late = waiting.expires_at + Seconds(1);
    assert_eq!(sweep(other.environment, late).await, 0);
    assert_eq!(sweep(world.environment, late).await, 1);
    assert_eq!(stage.totps_of(world, &user).await, [verified]);
}
