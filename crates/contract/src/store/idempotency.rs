//! Idempotency keys.

use std::sync::Arc;

use vestry_domain::envelope::Sealed;
use vestry_domain::idempotency::{Claim, KnownKey};
use vestry_domain::ids::UserId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::Store;

use super::stage::Stage;
use crate::race::{count, race};

impl Stage {
    async fn claim_key(&self, claim: &Claim) -> Option<KnownKey> {
        self.claim_key_at(claim, claim.expires_at - Seconds(86_400))
            .await
    }

    async fn claim_key_at(&self, claim: &Claim, now: Timestamp) -> Option<KnownKey> {
        in_tx!(self.store, |tx| tx.idempotency().claim(claim, now).await)
    }

    async fn take_run_over(&self, claim: &Claim, silent: &Claim, machine: Timestamp) -> bool {
        in_tx!(self.store, |tx| tx
            .idempotency()
            .take_over(claim, &silent.holder, machine)
            .await)
    }

    async fn renew_run(&self, claim: &Claim, until: Timestamp) -> bool {
        in_tx!(self.store, |tx| tx
            .idempotency()
            .renew(&claim.world, &claim.key, &claim.holder, until)
            .await)
    }

    async fn finish_run(&self, claim: &Claim, answer: &Sealed) -> bool {
        self.finish_run_about(claim, answer, None).await
    }

    async fn finish_run_about(
        &self,
        claim: &Claim,
        answer: &Sealed,
        about: Option<UserId>,
    ) -> bool {
        in_tx!(self.store, |tx| tx
            .idempotency()
            .finish(&claim.world, &claim.key, &claim.holder, answer, about)
            .await)
    }

    async fn erase_about(&self, world: World, user: UserId) -> u64 {
        in_tx!(self.store, |tx| tx.idempotency().erase(&world, user).await)
    }

    async fn release_run(&self, claim: &Claim) -> bool {
        in_tx!(self.store, |tx| tx
            .idempotency()
            .release(&claim.world, &claim.key, &claim.holder)
            .await)
    }

    /// Another run of the same request.
    fn twin(&mut self, claim: &Claim) -> Claim {
        Claim {
            holder: self.samples.letters(32),
            ..claim.clone()
        }
    }
}

/// The known state of a run without a response.
fn known(claim: &Claim) -> KnownKey {
    KnownKey {
        request: claim.request.clone(),
        holder: claim.holder.clone(),
        lease_until: claim.lease_until,
        answer: None,
        erased: false,
    }
}

/// Exactly the responses about the user are deleted, in its world. Their keys stay taken, and each admits one run of the same request,
/// however often it is released.
pub async fn answers_about_a_user_are_erased(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let at = stage.samples.tick();
    let (user, other): (UserId, UserId) = (stage.samples.id(at), stage.samples.id(at));
    let mut claims = Vec::new();
    for about in [Some(user), Some(user), Some(other), None] {
        let claim = stage.samples.claim(world);
        stage.claim_key(&claim).await;
        let answer = stage.samples.sealed();
        assert!(stage.finish_run_about(&claim, &answer, about).await);
        claims.push((claim, answer));
    }
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.erase_about(stranger, user).await, 0);
    }
    assert_eq!(stage.erase_about(world, user).await, 2);
    assert_eq!(stage.erase_about(world, user).await, 0);
    let (about_user, others) = claims.split_at(2);
    for (claim, answer) in others {
        let found = stage.claim_key(claim).await;
        let found = found.map(|found| (found.answer, found.erased));
        assert_eq!(found, Some((Some(answer.clone()), false)));
    }
    let erased = |claim: &Claim, lease_until| KnownKey {
        lease_until,
        erased: true,
        ..known(claim)
    };
    let ended = Timestamp::from_unix(0);
    for (claim, answer) in about_user {
        let mut last = claim.clone();
        for _ in 0..2 {
            let next = stage.twin(claim);
            assert_eq!(stage.claim_key(&next).await, Some(erased(&last, ended)));
            assert!(stage.take_run_over(&next, &last, ended).await);
            let late = stage.twin(claim);
            assert!(!stage.take_run_over(&late, &last, ended).await);
            assert!(stage.release_run(&next).await);
            last = next;
        }
        let next = stage.twin(claim);
        assert!(stage.take_run_over(&next, &last, ended).await);
        assert!(stage.finish_run(&next, answer).await);
        let found = stage.claim_key(claim).await;
        let found = found.map(|found| (found.answer, found.erased));
        assert_eq!(found, Some((Some(answer.clone()), true)));
        // Once expired it is as good as new.
        let again = stage.claim_key_at(claim, claim.expires_at).await;
        assert_eq!(again, None);
        assert_eq!(stage.claim_key(&next).await, Some(known(claim)));
    }
}

/// The first claim gets the key. Every later one, of any request, learns of the first and changes nothing.
pub async fn a_key_is_taken_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let first = stage.samples.claim(world);
    assert_eq!(stage.claim_key(&first).await, None);
    let twin = stage.twin(&first);
    let other = Claim {
        request: stage.samples.mac(),
        ..stage.twin(&first)
    };
    for later in [&twin, &other, &first, &twin] {
        assert_eq!(stage.claim_key(later).await, Some(known(&first)));
    }
    let elsewhere = stage.samples.claim(world);
    assert_eq!(stage.claim_key(&elsewhere).await, None);
}

/// Every byte of the response and the request hash is read back.
pub async fn an_answer_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..5 {
        let claim = stage.samples.claim(world);
        stage.claim_key(&claim).await;
        let answer = stage.samples.sealed();
        assert!(stage.finish_run(&claim, &answer).await);
        let twin = stage.twin(&claim);
        let found = stage.claim_key(&twin).await;
        let expected = KnownKey {
            answer: Some(answer),
            ..known(&claim)
        };
        assert_eq!(found, Some(expected));
    }
}

/// A response is never replaced, and only the run with the key can store it. An answered key cannot be released, renewed or taken over.
pub async fn an_answer_is_given_once_and_by_its_run(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let claim = stage.samples.claim(world);
    let (twin, answer) = (stage.twin(&claim), stage.samples.sealed());
    assert!(
        !stage.finish_run(&claim, &answer).await,
        "the key is unclaimed"
    );
    stage.claim_key(&claim).await;
    assert!(!stage.finish_run(&twin, &answer).await);
    assert!(stage.finish_run(&claim, &answer).await);
    let second = stage.samples.sealed();
    assert!(!stage.finish_run(&claim, &second).await);
    assert!(!stage.release_run(&claim).await);
    let late = claim.lease_until + Seconds(1);
    assert!(!stage.renew_run(&claim, late).await);
    assert!(!stage.take_run_over(&twin, &claim, late).await);
    let found = stage.claim_key(&twin).await.and_then(|known| known.answer);
    assert_eq!(found, Some(answer));
}

/// A run can release its own key, once; then another request can claim it.
pub async fn a_released_key_is_as_good_as_new(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (claim, bystander) = (stage.samples.claim(world), stage.samples.claim(world));
    stage.claim_key(&claim).await;
    stage.claim_key(&bystander).await;
    let twin = stage.twin(&claim);
    assert!(!stage.release_run(&twin).await);
    assert!(stage.release_run(&claim).await);
    assert!(!stage.release_run(&claim).await);
    let other = Claim {
        request: stage.samples.mac(),
        ..twin
    };
    assert_eq!(stage.claim_key(&other).await, None);
    assert_eq!(stage.claim_key(&claim).await, Some(known(&other)));
    assert_eq!(stage.claim_key(&bystander).await, Some(known(&bystander)));
}

/// A silent run is replaced when its lease ends, not a second earlier. The old run then has no effect; the request and expiry of the key
/// stay.
pub async fn a_silent_run_is_replaced_when_its_lease_ends(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let silent = stage.samples.claim(world);
    stage.claim_key(&silent).await;
    let next = Claim {
        lease_until: silent.lease_until + Seconds(15),
        ..stage.twin(&silent)
    };
    let stranger = stage.twin(&silent);
    let ends = silent.lease_until;
    assert!(!stage.take_run_over(&next, &silent, ends - Seconds(1)).await);
    assert!(!stage.take_run_over(&next, &stranger, ends).await);
    assert!(stage.take_run_over(&next, &silent, ends).await);
    assert!(!stage.take_run_over(&stranger, &silent, ends).await);
    let answer = stage.samples.sealed();
    assert!(!stage.finish_run(&silent, &answer).await);
    assert!(!stage.release_run(&silent).await);
    assert!(!stage.renew_run(&silent, ends + Seconds(60)).await);
    assert_eq!(stage.claim_key(&silent).await, Some(known(&next)));
    assert!(stage.finish_run(&next, &answer).await);
    let again = stage.claim_key_at(&silent, silent.expires_at).await;
    assert_eq!(again, None, "the key's expiry must not move");
}

/// A renewed lease ends at its new time.
pub async fn a_renewed_lease_keeps_others_away(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let claim = stage.samples.claim(world);
    stage.claim_key(&claim).await;
    let (twin, until) = (stage.twin(&claim), claim.lease_until + Seconds(15));
    assert!(!stage.renew_run(&twin, until).await);
    assert!(stage.renew_run(&claim, until).await);
    assert!(!stage.take_run_over(&twin, &claim, claim.lease_until).await);
    assert!(!stage.take_run_over(&twin, &claim, until - Seconds(1)).await);
    assert!(stage.take_run_over(&twin, &claim, until).await);
}

/// An expired key is as good as new, answered or not, and nothing of the earlier response is left.
pub async fn an_expired_key_is_free(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for answered in [true, false] {
        let old = stage.samples.claim(world);
        stage.claim_key(&old).await;
        if answered {
            let answer = stage.samples.sealed();
            assert!(stage.finish_run(&old, &answer).await);
        }
        let new = Claim {
            request: stage.samples.mac(),
            expires_at: old.expires_at + Seconds(86_400),
            lease_until: old.lease_until + Seconds(86_400),
            ..stage.twin(&old)
        };
        let last = old.expires_at - Seconds(1);
        assert!(stage.claim_key_at(&new, last).await.is_some());
        assert_eq!(stage.claim_key_at(&new, old.expires_at).await, None);
        assert_eq!(
            stage.claim_key_at(&old, old.expires_at).await,
            Some(known(&new))
        );
    }
}

/// The same key in four worlds is four independent keys (I11).
pub async fn keys_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let claim = stage.samples.claim(world);
    stage.claim_key(&claim).await;
    let answer = stage.samples.sealed();
    for stranger in stage.strangers(world).await {
        let moved = Claim {
            world: stranger,
            ..claim.clone()
        };
        let late = claim.lease_until + Seconds(1);
        assert!(!stage.finish_run(&moved, &answer).await);
        assert!(!stage.release_run(&moved).await);
        assert!(!stage.renew_run(&moved, late).await);
        assert!(!stage.take_run_over(&moved, &claim, late).await);
        assert_eq!(stage.claim_key(&moved).await, None);
        assert!(stage.finish_run(&moved, &answer).await);
    }
    assert_eq!(stage.claim_key(&claim).await, Some(known(&claim)));
}

/// Of fifty parallel claims one gets the key, and all others learn of it (R13).
pub async fn parallel_claims_of_a_key_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..3 {
        let claim = stage.samples.claim(world);
        let now = claim.expires_at - Seconds(86_400);
        race_for(&mut stage, &claim, now).await;
    }
}

/// The same holds for an expired key with a response.
pub async fn parallel_claims_of_an_expired_key_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..3 {
        let old = stage.samples.claim(world);
        stage.claim_key(&old).await;
        let answer = stage.samples.sealed();
        assert!(stage.finish_run(&old, &answer).await);
        let claim = Claim {
            expires_at: old.expires_at + Seconds(86_400),
            ..old.clone()
        };
        race_for(&mut stage, &claim, old.expires_at).await;
    }
}

async fn race_for(stage: &mut Stage, claim: &Claim, now: Timestamp) {
    let twins: Vec<Claim> = (0..50).map(|_| stage.twin(claim)).collect();
    let found = race(twins.iter().cloned().map(|twin| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.idempotency().claim(&twin, now).await) }
    }))
    .await;
    let mut winners = twins
        .iter()
        .zip(&found)
        .filter(|(_, found)| found.is_none());
    let (Some((winner, _)), None) = (winners.next(), winners.next()) else {
        panic!("not exactly one run has the key: {found:?}");
    };
    assert_eq!(count(&found, &Some(known(winner))), 49);
}

/// Of fifty parallel takeovers of a silent run one succeeds (R13).
pub async fn parallel_takeovers_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..3 {
        let silent = stage.samples.claim(world);
        stage.claim_key(&silent).await;
        let machine = silent.lease_until;
        let twins: Vec<Claim> = (0..50).map(|_| stage.twin(&silent)).collect();
        let taken = race(twins.into_iter().map(|twin| {
            let (store, silent) = (Arc::clone(&stage.store), silent.holder.clone());
            async move {
                in_tx!(store, |tx| tx
                    .idempotency()
                    .take_over(&twin, &silent, machine)
                    .await)
            }
        }))
        .await;
        assert_eq!(count(&taken, &true), 1);
    }
}

/// A sweep deletes the keys that expired before the given time in all worlds of an environment, answered or not.
pub async fn a_sweep_deletes_expired_keys(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, alike, other) = stage.swept_worlds().await;
    let expires = stage.samples.tick() + Seconds(86_400);
    let mut claims = Vec::new();
    for (world, expires_at) in [
        (world, expires),
        (alike, expires),
        (other, expires),
        (world, expires + Seconds(1)),
    ] {
        let claim = Claim {
            expires_at,
            ..stage.samples.claim(world)
        };
        stage.claim_key(&claim).await;
        claims.push(claim);
    }
    let answer = stage.samples.sealed();
    for claim in claims.iter().take(1) {
        assert!(stage.finish_run(claim, &answer).await);
    }
    let later = expires + Seconds(1);
    for (swept, moment, expected) in [
        (world, expires, 0),
        (world, later, 2),
        (world, later, 0),
        (other, later, 1),
    ] {
        assert_eq!(stage.sweep_keys(swept, moment).await, expected);
    }
    let young = claims.pop();
    for claim in young.iter() {
        assert_eq!(stage.claim_key(claim).await, Some(known(claim)));
    }
    for claim in &claims {
        assert_eq!(stage.claim_key(claim).await, None);
    }
}

impl Stage {
    async fn sweep_keys(&self, world: World, expired_before: Timestamp) -> u64 {
        in_tx!(self.store, |tx| tx
            .idempotency()
            .sweep(&world.environment.into(), expired_before)
            .await)
    }
}
