//! Transactions: all or nothing, and nothing before the commit.

use std::sync::Arc;

use vestry_ports::store::{Attached, Store, StoreResult, Tx};

use super::stage::{Stage, committed, works};
use crate::race::race;
use crate::samples::Samples;
use vestry_domain::World;
use vestry_domain::message::OutboxJob;
use vestry_domain::session::Session;
use vestry_domain::token::TokenHash;
use vestry_domain::user::{User, UserEmail};

/// The writes of one use case: a user with an address, a session and a message.
struct SignUp {
    user: User,
    email: UserEmail,
    session: Session,
    token: TokenHash,
    job: OutboxJob,
}

impl SignUp {
    fn new(samples: &mut Samples, world: World) -> Self {
        let user = samples.user(world);
        Self {
            email: samples.email(&user),
            session: samples.session(&user),
            token: samples.token(),
            job: samples.job(world),
            user,
        }
    }

    async fn write(&self, tx: &mut dyn Tx) -> StoreResult<()> {
        tx.users().insert(&self.user).await?;
        let attached = tx
            .identifiers()
            .attach_email(&self.user.world, &self.email)
            .await?;
        assert_eq!(attached, Attached::Yes);
        tx.sessions().insert(&self.session, &self.token).await?;
        tx.outbox().push(&self.job).await
    }

    /// Which of its records are visible from outside.
    async fn visible(&self, store: &dyn Store) -> [bool; 3] {
        let world = self.user.world;
        in_view!(store, |view| {
            let user = view.users().profile(&world, self.user.id).await?;
            let email = view.identifiers().email(&world, self.email.id).await?;
            let session = view.sessions().find(&world, self.session.id).await?;
            Ok([user.is_some(), email.is_some(), session.is_some()])
        })
    }

    /// Whether everything is visible, with its message as the only one.
    async fn is_all(&self, store: &dyn Store) -> bool {
        let waiting = in_view!(store, |view| view.outbox().waiting().await);
        self.visible(store).await == [true; 3] && waiting == 1
    }

    /// Whether nothing is visible, and no message.
    async fn is_nothing(&self, store: &dyn Store) -> bool {
        let waiting = in_view!(store, |view| view.outbox().waiting().await);
        self.visible(store).await == [false; 3] && waiting == 0
    }
}

/// A migrated store reports that it is ready.
pub async fn the_store_is_ready(store: Arc<dyn Store>) {
    works(store.ready().await);
}

/// Writes of several repositories become visible with the commit, together with the message that belongs to them.
pub async fn a_commit_makes_everything_visible(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let sign_up = SignUp::new(&mut stage.samples, world);
    let mut tx = works(stage.store.begin().await);
    works(sign_up.write(&mut *tx).await);
    works(tx.commit().await);
    assert!(sign_up.is_all(&*stage.store).await);
}

/// Writes of several repositories are undone when the transaction is dropped: no user without its message, no message without its user.
pub async fn dropping_undoes_everything(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let sign_up = SignUp::new(&mut stage.samples, world);
    let mut tx = works(stage.store.begin().await);
    works(sign_up.write(&mut *tx).await);
    drop(tx);
    assert!(sign_up.is_nothing(&*stage.store).await);
    // The same writes can be made again.
    in_tx!(stage.store, |tx| sign_up.write(&mut *tx).await);
    assert!(sign_up.is_all(&*stage.store).await);
}

/// A failing statement also undoes the earlier writes of its transaction.
pub async fn dropping_after_an_error_undoes_everything(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let there = stage.user(world).await;
    let sign_up = SignUp::new(&mut stage.samples, world);
    let mut tx = works(stage.store.begin().await);
    works(sign_up.write(&mut *tx).await);
    let inserted = tx.users().insert(&there).await;
    assert!(
        committed(tx, inserted).await.is_err(),
        "two users have the same id"
    );
    assert!(sign_up.is_nothing(&*stage.store).await);
}

/// A dropped transaction blocks nobody, even with more of them than a pool has connections.
pub async fn a_dropped_transaction_frees_the_store(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..40 {
        let sign_up = SignUp::new(&mut stage.samples, world);
        let mut tx = works(stage.store.begin().await);
        works(sign_up.write(&mut *tx).await);
        drop(tx);
    }
    let user = stage.user(world).await;
    let found = in_view!(stage.store, |view| view
        .users()
        .profile(&world, user.id)
        .await);
    assert_eq!(found.map(|profile| profile.user), Some(user));
}

/// A transaction sees its own writes.
pub async fn a_transaction_sees_its_own_writes(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let sign_up = SignUp::new(&mut stage.samples, world);
    let mut tx = works(stage.store.begin().await);
    works(sign_up.write(&mut *tx).await);
    let profile = works(tx.users().profile(&world, sign_up.user.id).await);
    let emails = profile.map(|profile| profile.emails);
    assert_eq!(emails.as_deref(), Some(&[sign_up.email][..]));
    let session = works(tx.sessions().find_by_token(&world, &sign_up.token).await);
    assert_eq!(session.as_ref(), Some(&sign_up.session));
    drop(tx);
}

/// A view opened while a transaction runs sees none of its writes before the commit, and all of them after.
pub async fn a_view_sees_nothing_uncommitted(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let sign_up = SignUp::new(&mut stage.samples, world);
    let mut tx = works(stage.store.begin().await);
    works(sign_up.write(&mut *tx).await);
    assert!(sign_up.is_nothing(&*stage.store).await, "before the commit");
    works(tx.commit().await);
    assert!(sign_up.is_all(&*stage.store).await, "after the commit");
}

/// A write through a view is rejected and has no effect.
pub async fn a_view_cannot_write(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, job) = (stage.samples.user(world), stage.samples.job(world));
    let mut view = works(stage.store.read().await);
    assert!(view.users().insert(&user).await.is_err(), "a user");
    drop(view);
    let mut view = works(stage.store.read().await);
    assert!(view.outbox().push(&job).await.is_err(), "a job");
    drop(view);
    let (found, waiting) = in_view!(stage.store, |view| {
        let found = view.users().profile(&world, user.id).await?;
        Ok((found, view.outbox().waiting().await?))
    });
    assert_eq!((found, waiting), (None, 0));
}

/// Of thirty parallel transactions each waits for its turn; none is rejected and none is lost.
pub async fn parallel_transactions_lose_nothing(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let sign_ups: Vec<_> = (0..30)
        .map(|_| SignUp::new(&mut stage.samples, world))
        .collect();
    let store = &stage.store;
    let visible = race(sign_ups.into_iter().map(|sign_up| {
        let store = Arc::clone(store);
        async move {
            in_tx!(store, |tx| sign_up.write(&mut *tx).await);
            sign_up.visible(&*store).await
        }
    }))
    .await;
    assert_eq!(visible, vec![[true; 3]; 30]);
    let waiting = in_view!(store, |view| view.outbox().waiting().await);
    assert_eq!(waiting, 30);
}
