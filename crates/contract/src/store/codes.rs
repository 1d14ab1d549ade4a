//! One-time passcodes.

use std::sync::Arc;

use vestry_domain::code::{Code, CodePurpose, MAX_TRIES, MethodId};
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::User;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Attempt, Store, SweptApps, SweptWorlds};

use super::stage::Stage;
use crate::race::{count, race};

const PURPOSE: CodePurpose = CodePurpose::SignIn;

impl Stage {
    async fn try_code(&self, code: &Code, now: Timestamp) -> Option<Attempt> {
        self.try_code_in(code.world, code.method_id, now).await
    }

    async fn try_code_in(&self, world: World, method: MethodId, now: Timestamp) -> Option<Attempt> {
        in_tx!(self.store, |tx| tx
            .codes()
            .attempt(&world, method, PURPOSE, MAX_TRIES, now)
            .await)
    }

    async fn use_code(&self, code: &Code, now: Timestamp) -> bool {
        let (world, method) = (code.world, code.method_id);
        in_tx!(self.store, |tx| tx
            .codes()
            .consume(&world, method, PURPOSE, now)
            .await)
    }

    async fn replace_code(&self, code: &Code) {
        in_tx!(self.store, |tx| tx.codes().replace(code).await);
    }
}

fn numbers(attempts: impl IntoIterator<Item = Option<Attempt>>) -> Vec<Option<i64>> {
    let tries = attempts
        .into_iter()
        .map(|attempt| attempt.map(|attempt| attempt.tries));
    tries.collect()
}

/// Every field of a code is read back unchanged, with a device, an empty one or none.
pub async fn a_code_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    for number in 0..20 {
        let method = if number % 2 == 0 {
            MethodId::Email(stage.email(&user).await.id)
        } else {
            MethodId::Phone(stage.phone(&user).await.id)
        };
        let code = stage.samples.code(&user, method);
        stage.replace_code(&code).await;
        let attempt = stage.try_code(&code, code.created_at).await;
        assert_eq!(attempt.map(|attempt| attempt.code), Some(code));
    }
}

/// Attempts are counted from 1, and after the last one allowed the code is gone (OTP-4).
pub async fn tries_are_counted_up_to_the_limit(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let code = stage.code(&user).await;
    let mut attempts = Vec::new();
    for _ in 0..7 {
        attempts.push(stage.try_code(&code, code.created_at).await);
    }
    let expected = [Some(1), Some(2), Some(3), Some(4), Some(5), None, None];
    assert_eq!(numbers(attempts), expected);
}

/// The last attempt allowed can succeed.
pub async fn the_last_try_may_be_right(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let code = stage.code(&user).await;
    for _ in 0..MAX_TRIES {
        assert!(stage.try_code(&code, code.created_at).await.is_some());
    }
    assert!(stage.use_code(&code, code.created_at).await);
}

/// A code is consumed once, and is not found by attempts after that (OTP-3, I4).
pub async fn a_code_is_used_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let code = stage.code(&user).await;
    assert!(stage.try_code(&code, code.created_at).await.is_some());
    assert!(stage.use_code(&code, code.created_at).await);
    assert!(!stage.use_code(&code, code.created_at).await);
    assert!(stage.try_code(&code, code.created_at).await.is_none());
}

/// A code is valid until the second before its end (OTP-2, R7): from `expires_at` on it is neither tried nor used.
pub async fn a_code_dies_at_its_end(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let code = stage.code(&user).await;
    let last = code.expires_at - Seconds(1);
    for now in [code.expires_at, code.expires_at + Seconds(1)] {
        assert!(stage.try_code(&code, now).await.is_none());
        assert!(!stage.use_code(&code, now).await);
    }
    let attempt = stage.try_code(&code, last).await;
    assert_eq!(
        numbers([attempt]),
        [Some(1)],
        "attempts on an expired code must not count"
    );
    assert!(stage.use_code(&code, last).await);
}

/// A new code replaces the old one and its attempts, also if that one was used, exhausted or expired (OTP-6).
pub async fn a_new_code_replaces_the_old(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let first = stage.code(&user).await;
    for _ in 0..=MAX_TRIES {
        stage.try_code(&first, first.created_at).await;
    }
    let second = stage.samples.code(&user, first.method_id);
    stage.replace_code(&second).await;
    let attempt = stage.try_code(&first, second.created_at).await;
    assert_eq!(numbers([attempt.clone()]), [Some(1)]);
    assert_eq!(attempt.map(|attempt| attempt.code).as_ref(), Some(&second));
    assert!(stage.use_code(&second, second.created_at).await);
    let third = stage.samples.code(&user, first.method_id);
    stage.replace_code(&third).await;
    let attempt = stage.try_code(&first, third.created_at).await;
    assert_eq!(numbers([attempt.clone()]), [Some(1)]);
    assert_eq!(attempt.map(|attempt| attempt.code), Some(third));
}

/// Replacing a code leaves those of other identifiers alone.
pub async fn codes_of_other_identifiers_stay(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (code, other) = (stage.code(&user).await, stage.code(&user).await);
    let phone = stage.phone(&user).await;
    let third = stage.samples.code(&user, MethodId::Phone(phone.id));
    stage.replace_code(&third).await;
    for code in [code, other, third] {
        let attempt = stage.try_code(&code, code.created_at).await;
        assert_eq!(attempt.map(|attempt| attempt.code), Some(code));
    }
}

/// A code is found again while it is valid and recent. It is not found after its end, once it is used or exhausted, or in another place
/// (M-5).
pub async fn a_young_code_is_found_again(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (code, used, worn) = (
        stage.code(&user).await,
        stage.code(&user).await,
        stage.code(&user).await,
    );
    let strangers = stage.strangers(world).await;
    let find = async |code: &Code, world: World, since: Timestamp, now: Timestamp| {
        in_tx!(stage.store, |tx| tx
            .codes()
            .made_since(&world, code.method_id, PURPOSE, MAX_TRIES, since, now)
            .await)
    };
    let (before, made) = (code.created_at - Seconds(1), code.created_at);
    assert_eq!(find(&code, world, before, made).await.as_ref(), Some(&code));
    assert_eq!(find(&code, world, made, made).await, None);
    assert_eq!(find(&code, world, before, code.expires_at).await, None);
    for stranger in strangers {
        assert_eq!(find(&code, stranger, before, made).await, None);
    }
    assert!(stage.use_code(&used, used.created_at).await);
    for _ in 0..MAX_TRIES {
        let since = worn.created_at - Seconds(1);
        assert!(find(&worn, world, since, worn.created_at).await.is_some());
        stage.try_code(&worn, worn.created_at).await;
    }
    for over in [used, worn] {
        let since = over.created_at - Seconds(1);
        assert_eq!(find(&over, world, since, over.created_at).await, None);
    }
}

/// An identifier that is cleared has no code left; others keep theirs.
pub async fn a_forgotten_identifier_has_no_code(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (code, other) = (stage.code(&user).await, stage.code(&user).await);
    for stranger in stage.strangers(world).await {
        in_tx!(stage.store, |tx| tx
            .codes()
            .forget(&stranger, other.method_id)
            .await);
    }
    in_tx!(stage.store, |tx| tx
        .codes()
        .forget(&world, code.method_id)
        .await);
    assert!(stage.try_code(&code, code.created_at).await.is_none());
    assert!(stage.try_code(&other, other.created_at).await.is_some());
}

/// A code is tried and used only in its own world under its own identifier; attempts elsewhere do not count (OTP-7, I11).
pub async fn a_code_stays_in_its_place(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let code = stage.code(&user).await;
    let other = MethodId::Email(stage.email(&user).await.id);
    let now = code.created_at;
    assert!(stage.try_code_in(world, other, now).await.is_none());
    for stranger in stage.strangers(world).await {
        assert!(
            stage
                .try_code_in(stranger, code.method_id, now)
                .await
                .is_none()
        );
        let foreign = Code {
            world: stranger,
            ..code.clone()
        };
        assert!(!stage.use_code(&foreign, now).await);
    }
    let attempt = stage.try_code(&code, now).await;
    assert_eq!(numbers([attempt]), [Some(1)]);
    assert!(stage.use_code(&code, now).await);
}

/// The same identifier in two worlds has two independent codes (I11).
pub async fn the_same_identifier_in_two_worlds_has_two_codes(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let mut codes = vec![stage.code(&user).await];
    let method = codes.first().map(|code| code.method_id);
    for stranger in stage.strangers(world).await {
        let twin = User {
            id: user.id,
            ..stage.samples.user(stranger)
        };
        in_tx!(stage.store, |tx| tx.users().insert(&twin).await);
        if let Some(method) = method {
            let code = stage.samples.code(&twin, method);
            stage.replace_code(&code).await;
            codes.push(code);
        }
    }
    assert_eq!(codes.len(), 4);
    for code in codes {
        let attempt = stage.try_code(&code, code.created_at).await;
        assert_eq!(numbers([attempt.clone()]), [Some(1)]);
        assert!(stage.use_code(&code, code.created_at).await);
        assert_eq!(attempt.map(|attempt| attempt.code), Some(code));
    }
}

/// Of fifty parallel attempts exactly as many as allowed are counted, each with its own number (R4, OTP-4).
pub async fn parallel_tries_are_exact(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let code = stage.code(&user).await;
    let (method, now) = (code.method_id, code.created_at);
    let attempts = race((0..50).map(|_| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .codes()
                .attempt(&world, method, PURPOSE, MAX_TRIES, now)
                .await)
        }
    }))
    .await;
    let mut counted: Vec<_> = attempts
        .into_iter()
        .flatten()
        .map(|attempt| attempt.tries)
        .collect();
    counted.sort_unstable();
    assert_eq!(counted, [1, 2, 3, 4, 5]);
}

/// Of fifty parallel attempts with the right code, each counted and used in one transaction as in the service, one succeeds (R3, OTP-3,
/// I4).
pub async fn parallel_uses_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let code = stage.code(&user).await;
    let (method, now) = (code.method_id, code.created_at);
    let used = race((0..50).map(|_| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| {
                let codes = tx.codes();
                match codes
                    .attempt(&world, method, PURPOSE, MAX_TRIES, now)
                    .await?
                {
                    Some(_) => codes.consume(&world, method, PURPOSE, now).await,
                    None => Ok(false),
                }
            })
        }
    }))
    .await;
    assert_eq!(count(&used, &true), 1);
}

/// Of fifty parallel uses without a counted attempt one succeeds: the guard is in the statement itself (OTP-3).
pub async fn parallel_bare_uses_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let code = stage.code(&user).await;
    let (method, now) = (code.method_id, code.created_at);
    let used = race((0..50).map(|_| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .codes()
                .consume(&world, method, PURPOSE, now)
                .await)
        }
    }))
    .await;
    assert_eq!(count(&used, &true), 1);
}

/// Twenty parallel sends leave one valid code, one of the twenty, with all its attempts (R5, OTP-6).
pub async fn parallel_replacements_leave_one_code(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let email = stage.email(&user).await;
    let codes = (0..20).map(|_| stage.samples.code(&user, MethodId::Email(email.id)));
    let codes: Vec<_> = codes.collect();
    race(codes.iter().cloned().map(|code| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.codes().replace(&code).await) }
    }))
    .await;
    let now = stage.samples.now();
    let attempt = stage
        .try_code_in(world, MethodId::Email(email.id), now)
        .await;
    assert_eq!(numbers([attempt.clone()]), [Some(1)]);
    assert!(attempt.is_some_and(|attempt| codes.contains(&attempt.code)));
}

/// A sweep deletes the codes of all worlds of an environment that expired before the given time, and returns how many.
pub async fn a_sweep_deletes_expired_codes(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, alike, other) = stage.swept_worlds().await;
    let environment = world.environment;
    let (user, foreigner) = (stage.user(world).await, stage.user(alike).await);
    let elsewhere = stage.user(other).await;
    let moment = stage.samples.tick() + Seconds(1_000);
    let mut kept = Vec::new();
    for (user, before) in [
        (&user, 1),
        (&foreigner, 1),
        (&user, 0),
        (&foreigner, -1),
        (&elsewhere, 1),
    ] {
        let mut code = stage.code(user).await;
        code.expires_at = moment - Seconds(before);
        stage.replace_code(&code).await;
        if before < 1 || user.world == other {
            kept.push(code);
        }
    }
    let swept = in_tx!(stage.store, |tx| tx
        .codes()
        .sweep(&environment.into(), moment)
        .await);
    assert_eq!(swept, 2);
    for code in kept {
        let attempt = stage.try_code(&code, code.created_at).await;
        assert_eq!(attempt.map(|attempt| attempt.code), Some(code));
    }
    let swept = in_tx!(stage.store, |tx| tx
        .codes()
        .sweep(&environment.into(), moment)
        .await);
    assert_eq!(swept, 0);
}

/// A sweep of one App, or of all Apps except some, leaves the codes of the others.
pub async fn a_sweep_of_some_apps_leaves_other_codes(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, alike, elsewhere) = stage.swept_worlds().await;
    let moment = stage.samples.tick() + Seconds(1_000);
    for world in [world, alike, elsewhere] {
        let user = stage.user(world).await;
        let mut code = stage.code(&user).await;
        code.expires_at = moment - Seconds(1);
        stage.replace_code(&code).await;
    }
    let (app, others) = (alike.app_id, SweptApps::AllBut(vec![alike.app_id]));
    for (apps, environment, expected) in [
        (SweptApps::Behind(app), elsewhere.environment, 0),
        (SweptApps::Ahead(app), elsewhere.environment, 0),
        (others.clone(), world.environment, 1),
        (others, world.environment, 0),
        (SweptApps::Behind(app), world.environment, 1),
        (SweptApps::Ahead(app), world.environment, 0),
        (SweptApps::AllBut(Vec::new()), elsewhere.environment, 1),
    ] {
        let worlds = SweptWorlds { environment, apps };
        let swept = in_tx!(stage.store, |tx| tx.codes().sweep(&worlds, moment).await);
        assert_eq!(swept, expected);
    }
}
