//! Magic links.

use std::sync::Arc;

use vestry_domain::ids::{Id, SessionId};
use vestry_domain::link::{Link, LinkPurpose};
use vestry_domain::pkce::MAX_TRIES;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::user::User;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::Store;

use super::stage::Stage;
use crate::race::{count, race};

impl Stage {
    /// A stored link for a new address of a stored user.
    async fn link(&mut self, user: &User, purpose: LinkPurpose) -> Link {
        let email = self.email(user).await;
        let link = self.samples.link(user, email.id, purpose);
        self.replace_link(&link).await;
        link
    }

    async fn replace_link(&self, link: &Link) {
        in_tx!(self.store, |tx| tx.links().replace(link).await);
    }

    async fn find_link(&self, link: &Link) -> Option<Link> {
        in_view!(self.store, |view| view
            .links()
            .find(&link.world, &link.token)
            .await)
    }

    async fn use_link(
        &self,
        world: World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> Option<Link> {
        in_tx!(self.store, |tx| tx
            .links()
            .consume(&world, token, purposes, now)
            .await)
    }

    async fn try_link(
        &self,
        world: World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> Option<i64> {
        in_tx!(self.store, |tx| tx
            .links()
            .attempt(&world, token, purposes, now)
            .await)
    }

    async fn hand_over(&self, link: &Link, now: Timestamp) -> bool {
        in_tx!(self.store, |tx| tx
            .links()
            .hand_over(&link.world, &link.token, now)
            .await)
    }

    async fn offer(&self, link: &Link, session: SessionId) {
        in_tx!(self.store, |tx| tx
            .links()
            .offer(&link.world, &link.token, session)
            .await);
    }
}

/// Every field of a link is read back unchanged, by its token and by its address, whichever fields are empty.
pub async fn a_link_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    for _ in 0..10 {
        for purpose in LinkPurpose::ALL {
            let mut link = stage.link(&user, purpose).await;
            if stage.samples.coin() {
                link.used_at = Some(stage.samples.moment());
                link.session_id = Some(stage.samples.id(link.created_at));
                link.handed_at = Some(stage.samples.moment());
                stage.replace_link(&link).await;
            }
            assert_eq!(stage.find_link(&link).await.as_ref(), Some(&link));
            let found = in_view!(stage.store, |view| view
                .links()
                .of_email(&world, link.email_id, purpose)
                .await);
            assert_eq!(found, Some(link));
        }
    }
}

/// A link is used once, is marked so from then on, and stays readable (ML-3, I4).
pub async fn a_link_is_used_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let link = stage.link(&user, LinkPurpose::Login).await;
    let now = link.created_at + Seconds(3);
    let used = Link {
        used_at: Some(now),
        ..link.clone()
    };
    let all = &LinkPurpose::ALL;
    let outcome = stage.use_link(world, &link.token, all, now).await;
    assert_eq!(outcome.as_ref(), Some(&used));
    for later in [now, now + Seconds(1)] {
        let again = stage.use_link(world, &link.token, all, later).await;
        assert_eq!(again, None);
    }
    assert_eq!(stage.find_link(&link).await, Some(used));
}

/// A link is valid until the second before its end (ML-7): from `expires_at` on it cannot be used.
pub async fn a_link_dies_at_its_end(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let link = stage.link(&user, LinkPurpose::Login).await;
    let all = &LinkPurpose::ALL;
    for now in [link.expires_at, link.expires_at + Seconds(1)] {
        assert_eq!(stage.use_link(world, &link.token, all, now).await, None);
    }
    let last = link.expires_at - Seconds(1);
    let used = stage.use_link(world, &link.token, all, last).await;
    assert!(used.is_some());
}

/// A link of one purpose cannot be used for another (ML-6).
pub async fn a_link_serves_its_purpose_only(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    for purpose in LinkPurpose::ALL {
        let link = stage.link(&user, purpose).await;
        let others = LinkPurpose::ALL.map(|other| (other != purpose).then_some(other));
        let others: Vec<_> = others.into_iter().flatten().collect();
        let now = link.created_at;
        for wanted in [&others[..], &[]] {
            let used = stage.use_link(world, &link.token, wanted, now).await;
            assert_eq!(used, None, "{purpose}");
        }
        let used = stage.use_link(world, &link.token, &[purpose], now).await;
        assert!(used.is_some(), "{purpose}");
    }
}

/// A new link replaces only the one of its address and purpose, used or not (OTP-6 for links).
pub async fn a_new_link_replaces_the_old(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let first = stage.link(&user, LinkPurpose::Create).await;
    let elsewhere = stage.link(&user, LinkPurpose::Create).await;
    let invite = stage
        .samples
        .link(&user, first.email_id, LinkPurpose::Invite);
    stage.replace_link(&invite).await;
    let now = first.created_at;
    let all = &LinkPurpose::ALL;
    assert!(
        stage
            .use_link(world, &first.token, all, now)
            .await
            .is_some()
    );
    stage.offer(&first, SessionId::new(now, [7; 16])).await;
    assert!(stage.hand_over(&first, now).await);
    let second = stage
        .samples
        .link(&user, first.email_id, LinkPurpose::Create);
    stage.replace_link(&second).await;
    assert_eq!(stage.find_link(&first).await, None);
    for link in [&second, &elsewhere, &invite] {
        assert_eq!(stage.find_link(link).await.as_ref(), Some(link));
    }
    let used = stage.use_link(world, &second.token, all, now).await;
    assert!(used.is_some(), "nothing of the first one is left");
}

/// A link is found and used only in its own world (I11).
pub async fn a_link_stays_in_its_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let link = stage.link(&user, LinkPurpose::Create).await;
    stage
        .offer(&link, SessionId::new(link.created_at, [7; 16]))
        .await;
    let link = stage.find_link(&link).await;
    let link = link.unwrap_or_else(|| panic!("the link is gone"));
    let now = link.created_at;
    for stranger in stage.strangers(world).await {
        let foreign = Link {
            world: stranger,
            ..link.clone()
        };
        assert_eq!(stage.find_link(&foreign).await, None);
        let used = stage.use_link(stranger, &link.token, &LinkPurpose::ALL, now);
        assert_eq!(used.await, None);
        assert!(!stage.hand_over(&foreign, now).await);
        stage.offer(&foreign, SessionId::new(now, [8; 16])).await;
        let found = in_view!(stage.store, |view| view
            .links()
            .of_email(&stranger, link.email_id, link.purpose)
            .await);
        assert_eq!(found, None);
        in_tx!(stage.store, |tx| tx
            .links()
            .forget(&stranger, link.email_id, link.purpose)
            .await);
        in_tx!(stage.store, |tx| tx
            .links()
            .forget_unused(&stranger, user.id)
            .await);
    }
    assert_eq!(stage.find_link(&link).await, Some(link));
}

/// M-2: attempts on a valid link are counted in its world and for its purpose, and do not consume it. A new link has none.
pub async fn tries_of_a_link_are_counted_while_it_lives(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let link = stage.link(&user, LinkPurpose::Login).await;
    let now = link.created_at;
    let signing_in = &LinkPurpose::SIGNING_IN;
    for stranger in stage.strangers(world).await {
        let tried = stage.try_link(stranger, &link.token, signing_in, now).await;
        assert_eq!(tried, None);
    }
    let others = &[LinkPurpose::PasswordReset];
    let tried = stage.try_link(world, &link.token, others, now).await;
    assert_eq!(tried, None);
    for expected in 1..=3 {
        let tries = stage.try_link(world, &link.token, signing_in, now).await;
        assert_eq!(tries, Some(expected));
    }
    let late = link.expires_at;
    let tried = stage.try_link(world, &link.token, signing_in, late).await;
    assert_eq!(tried, None);
    assert_eq!(stage.find_link(&link).await.as_ref(), Some(&link));
    let newer = stage.samples.link(&user, link.email_id, link.purpose);
    stage.replace_link(&newer).await;
    let now = newer.created_at;
    let tries = stage.try_link(world, &newer.token, signing_in, now).await;
    assert_eq!(tries, Some(1));
    let used = stage.use_link(world, &newer.token, signing_in, now).await;
    assert!(used.is_some());
    let tries = stage.try_link(world, &newer.token, signing_in, now).await;
    assert_eq!(tries, None);
}

/// M-2: of fifty parallel attempts, the fifth of which consumes the link as in the service, five are counted, each with its own number.
pub async fn parallel_tries_of_a_link_are_exact(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let link = stage.link(&user, LinkPurpose::Login).await;
    let (token, now) = (link.token, link.created_at);
    let tries = race((0..50).map(|_| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| {
                let links = tx.links();
                let purposes = &LinkPurpose::SIGNING_IN;
                let tries = links.attempt(&world, &token, purposes, now).await?;
                if tries == Some(MAX_TRIES) {
                    links.consume(&world, &token, purposes, now).await?;
                }
                Ok(tries)
            })
        }
    }))
    .await;
    let mut counted: Vec<_> = tries.into_iter().flatten().collect();
    counted.sort_unstable();
    assert_eq!(counted, [1, 2, 3, 4, 5]);
    let found = stage.find_link(&link).await;
    assert_eq!(found.and_then(|link| link.used_at), Some(now));
}

/// A session offered by a link is handed over once; without an offer, never.
pub async fn an_offer_is_handed_over_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let link = stage.link(&user, LinkPurpose::Create).await;
    let now = link.created_at + Seconds(9);
    assert!(!stage.hand_over(&link, now).await);
    let session = SessionId::new(now, [7; 16]);
    stage.offer(&link, session).await;
    assert!(stage.hand_over(&link, now).await);
    assert!(!stage.hand_over(&link, now + Seconds(1)).await);
    let expected = Link {
        session_id: Some(session),
        handed_at: Some(now),
        ..link.clone()
    };
    assert_eq!(stage.find_link(&link).await, Some(expected));
}

/// Only the link of one address and purpose is deleted.
pub async fn a_forgotten_link_is_gone(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let login = stage.link(&user, LinkPurpose::Login).await;
    let other = stage.link(&user, LinkPurpose::Login).await;
    let invite = stage
        .samples
        .link(&user, login.email_id, LinkPurpose::Invite);
    stage.replace_link(&invite).await;
    in_tx!(stage.store, |tx| tx
        .links()
        .forget(&world, login.email_id, LinkPurpose::Login)
        .await);
    assert_eq!(stage.find_link(&login).await, None);
    for link in [other, invite] {
        assert_eq!(stage.find_link(&link).await, Some(link));
    }
}

/// The unused links of a user are deleted, for all addresses and purposes; used ones and those of others stay.
pub async fn unused_links_of_a_user_are_forgotten(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let mut unused = Vec::new();
    for purpose in LinkPurpose::ALL {
        unused.push(stage.link(&user, purpose).await);
    }
    let used = stage.link(&user, LinkPurpose::Create).await;
    let now = used.created_at;
    let used = stage
        .use_link(world, &used.token, &LinkPurpose::ALL, now)
        .await;
    let used = used.unwrap_or_else(|| panic!("a fresh link is good"));
    let foreign = stage.link(&other, LinkPurpose::Login).await;
    in_tx!(stage.store, |tx| tx
        .links()
        .forget_unused(&world, user.id)
        .await);
    for link in unused {
        assert_eq!(stage.find_link(&link).await, None);
    }
    for link in [used, foreign] {
        assert_eq!(stage.find_link(&link).await, Some(link));
    }
}

/// Of fifty parallel uses one succeeds (ML-3, R6): the guard is in the statement itself.
pub async fn parallel_uses_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let link = stage.link(&user, LinkPurpose::Login).await;
    let (token, now) = (link.token, link.created_at);
    let used = race((0..50).map(|_| {
        let store = Arc::clone(&stage.store);
        async move {
            let used = in_tx!(store, |tx| tx
                .links()
                .consume(&world, &token, &LinkPurpose::ALL, now)
                .await);
            used.is_some()
        }
    }))
    .await;
    assert_eq!(count(&used, &true), 1);
}

/// Of fifty parallel hand-overs one succeeds.
pub async fn parallel_hand_overs_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let link = stage.link(&user, LinkPurpose::Create).await;
    stage
        .offer(&link, SessionId::new(link.created_at, [7; 16]))
        .await;
    let (token, now) = (link.token, link.created_at);
    let handed = race((0..50).map(|_| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.links().hand_over(&world, &token, now).await) }
    }))
    .await;
    assert_eq!(count(&handed, &true), 1);
}

/// Twenty parallel links for one address leave one of the twenty.
pub async fn parallel_replacements_leave_one_link(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let email = stage.email(&user).await;
    let links = (0..20).map(|_| stage.samples.link(&user, email.id, LinkPurpose::Login));
    let links: Vec<_> = links.collect();
    race(links.iter().cloned().map(|link| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.links().replace(&link).await) }
    }))
    .await;
    let mut left = Vec::new();
    for link in &links {
        left.extend(stage.find_link(link).await);
    }
    assert_eq!(left.len(), 1);
    assert!(left.iter().all(|link| links.contains(link)));
}

/// A link for an unknown address is stored, found and used like any other, so that a decoy costs the same (attack 9).
pub async fn a_link_needs_no_user(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let nobody = stage.samples.user(world);
    let email = stage.samples.id(nobody.created_at);
    let purpose = LinkPurpose::PasswordReset;
    let mut link = stage.samples.link(&nobody, email, purpose);
    stage.replace_link(&link).await;
    link.token = stage.samples.token();
    stage.replace_link(&link).await;
    assert_eq!(stage.find_link(&link).await.as_ref(), Some(&link));
    let used = stage
        .use_link(world, &link.token, &[purpose], link.created_at)
        .await;
    assert_eq!(used.map(|link| link.user_id), Some(nobody.id));
}

/// A sweep deletes the links of all worlds of an environment that expired before the given time, and returns how many.
pub async fn a_sweep_deletes_expired_links(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, alike, other) = stage.swept_worlds().await;
    let environment = world.environment;
    let (user, foreigner) = (stage.user(world).await, stage.user(alike).await);
    let elsewhere = stage.user(other).await;
    let moment = stage.samples.tick() + Seconds(1_000);
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for (user, before) in [
        (&user, 1),
        (&foreigner, 1),
        (&user, 0),
        (&foreigner, -1),
        (&elsewhere, 1),
    ] {
        let mut link = stage.link(user, LinkPurpose::Login).await;
        link.expires_at = moment - Seconds(before);
        stage.replace_link(&link).await;
        if before < 1 || user.world == other {
            kept.push(link);
        } else {
            gone.push(link);
        }
    }
    for expected in [2, 0] {
        let swept = in_tx!(stage.store, |tx| tx
            .links()
            .sweep(&environment.into(), moment)
            .await);
        assert_eq!(swept, expected);
    }
    for link in kept {
        assert_eq!(stage.find_link(&link).await, Some(link));
    }
    for link in gone {
        assert_eq!(stage.find_link(&link).await, None);
    }
}
