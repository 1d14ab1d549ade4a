//! Recovery of a database that was set back.

use std::sync::Arc;

use vestry_domain::code::MethodId;
use vestry_domain::link::LinkPurpose;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, World};
use vestry_ports::store::{CapturedFilter, EndedByRecovery, Store};

use super::stage::Stage;

const STEP: i64 = 1_000;

/// What lives for a short time is gone, in every App and environment, and the rest is as it was.
pub async fn what_lives_shortly_ends_in_every_app(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let one = stage.world().await;
    let other = World::new(stage.world().await.app_id, Environment::Live);
    let mut totps = Vec::new();
    for world in [one, other] {
        let user = stage.user(world).await;
        stage.session(&user).await;
        let email = stage.email(&user).await;
        let code = stage.samples.code(&user, MethodId::Email(email.id));
        let link = stage.samples.link(&user, email.id, LinkPurpose::Login);
        let challenge = stage.samples.wallet_challenge(&user, "0xabc");
        let job = stage.samples.job(world);
        let captured = stage.samples.captured(world, "ada@example.com");
        let (totp, codes) = stage.samples.totp(&user);
        in_tx!(stage.store, |tx| tx.codes().replace(&code).await);
        in_tx!(stage.store, |tx| tx.links().replace(&link).await);
        in_tx!(stage.store, |tx| tx
            .wallet_challenges()
            .insert(&challenge)
            .await);
        in_tx!(stage.store, |tx| tx.outbox().push(&job).await);
        in_tx!(stage.store, |tx| tx.captured().insert(&captured).await);
        in_tx!(stage.store, |tx| tx
            .totps()
            .replace_waiting(&totp, &codes)
            .await);
        let at = totp.created_at;
        in_tx!(stage.store, |tx| tx
            .totps()
            .confirm(&world, totp.id, 1, at)
            .await);
        totps.push(totp);
    }
    let now = stage.samples.tick();
    let until = now + Seconds(60);
    in_tx!(stage.store, |tx| tx
        .leases()
        .take("work", "one", now, until)
        .await);

    let ended = in_tx!(stage.store, |tx| tx
        .recovery()
        .end_short_lived(now, STEP)
        .await);
    let expected = EndedByRecovery {
        sessions: 2,
        codes: 2,
        links: 2,
        challenges: 2,
        messages: 4,
        ..EndedByRecovery::default()
    };
    assert_eq!(ended, expected);
    let again = in_tx!(stage.store, |tx| tx
        .recovery()
        .end_short_lived(now, STEP)
        .await);
    assert_eq!(again, EndedByRecovery::default());

    let is_free = in_tx!(stage.store, |tx| tx
        .leases()
        .take("work", "other", now, until)
        .await);
    assert!(is_free);
    for (world, totp) in [one, other].into_iter().zip(totps) {
        let filter = CapturedFilter {
            limit: 10,
            ..CapturedFilter::default()
        };
        let captured = in_view!(stage.store, |view| view
            .captured()
            .list(&world, &filter)
            .await);
        assert_eq!(captured, []);
        // A test environment has a clock of its own.
        let is_live = world.environment == Environment::Live;
        for (step, is_accepted) in [(STEP, !is_live), (STEP + 1, true)] {
            let accepted = in_tx!(stage.store, |tx| tx
                .totps()
                .accept(&world, totp.id, step)
                .await);
            assert_eq!(accepted, is_accepted, "{world}: {step}");
        }
    }
    assert!(
        stage
            .claim("one", until + Seconds(3_600), 10)
            .await
            .is_empty()
    );
}
