//! The preconditions of the suites: stored Apps, worlds and users.

use std::sync::Arc;
use std::time::Duration;

use vestry_domain::app::App;
use vestry_domain::code::{Code, MethodId};
use vestry_domain::envelope::WalletKey;
use vestry_domain::message::OutboxJob;
use vestry_domain::session::Session;
use vestry_domain::token::TokenHash;
use vestry_domain::user::{User, UserEmail, UserPhone};
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_domain::{Environment, World};
use vestry_ports::store::{Attached, Created, Store, StoreError, StoreResult, Tx};

use crate::samples::{Samples, other_environment};

/// Enough time for any search.
pub(super) const LONG: Duration = Duration::from_secs(60);

/// The maximum number of times that a conflicting transaction is retried.
const MAX_TRIES: u32 = 50;

/// The value; panics at the caller's location with the database error if there is one.
#[track_caller]
pub(crate) fn works<T>(outcome: StoreResult<T>) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => panic!("the store failed: {error:?}"),
    }
}

/// The outcome of a method without a result, whose statement may only run at commit.
pub(crate) async fn committed(tx: Box<dyn Tx>, outcome: StoreResult<()>) -> StoreResult<()> {
    outcome?;
    tx.commit().await
}

/// Panics unless the transaction lost to another one and has retries left.
#[track_caller]
pub(crate) fn may_run_again(lost: &StoreError, tries: u32) {
    assert!(
        matches!(lost, StoreError::Retry) && tries < MAX_TRIES,
        "a transaction failed after {tries} tries: {lost:?}"
    );
}

/// A store, and a source of test data for it.
pub(crate) struct Stage {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) samples: Samples,
}

impl Stage {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            samples: Samples::fresh(),
        }
    }

    /// A stored App.
    pub(crate) async fn app(&mut self) -> App {
        let app = self.samples.app();
        in_tx!(self.store, |tx| tx.apps().insert(&app).await);
        app
    }

    /// A world of a stored App.
    pub(crate) async fn world(&mut self) -> World {
        let app = self.app().await;
        let environment = self.samples.pick(&Environment::ALL);
        World::new(app.id, environment)
    }

    /// The worlds that must not see the given one (I11): the other environment, and both of another App.
    pub(crate) async fn strangers(&mut self, world: World) -> [World; 3] {
        let other = World::new(self.app().await.id, world.environment);
        [other_environment(world), other, other_environment(other)]
    }

    /// Two worlds of one environment, and one of the other, which a sweep of the first must not touch.
    pub(crate) async fn swept_worlds(&mut self) -> (World, World, World) {
        let world = self.world().await;
        let [other, alike, _] = self.strangers(world).await;
        (world, alike, other)
    }

    /// A stored user.
    pub(crate) async fn user(&mut self, world: World) -> User {
        let user = self.samples.user(world);
        in_tx!(self.store, |tx| tx.users().insert(&user).await);
        user
    }

    /// A stored address of a stored user.
    pub(crate) async fn email(&mut self, user: &User) -> UserEmail {
        let email = self.samples.email(user);
        let attached = in_tx!(self.store, |tx| tx
            .identifiers()
            .attach_email(&user.world, &email)
            .await);
        assert_eq!(attached, Attached::Yes);
        email
    }

    /// A stored number of a stored user.
    pub(crate) async fn phone(&mut self, user: &User) -> UserPhone {
        let phone = self.samples.phone(user);
        let attached = in_tx!(self.store, |tx| tx
            .identifiers()
            .attach_phone(&user.world, &phone)
            .await);
        assert_eq!(attached, Attached::Yes);
        phone
    }

    /// A stored default wallet of a stored user.
    pub(crate) async fn wallet(
        &mut self,
        user: &User,
        wallet_type: WalletType,
    ) -> (StoredWallet, WalletKey) {
        let (wallet, key) = self.samples.wallet(user, wallet_type);
        let created = in_tx!(self.store, |tx| tx.wallets().insert(&wallet, &key).await);
        assert_eq!(created, Created::Yes);
        (wallet, key)
    }

    /// A stored session of a stored user, with the hash of its token.
    pub(crate) async fn session(&mut self, user: &User) -> (Session, TokenHash) {
        let (session, token) = (self.samples.session(user), self.samples.token());
        in_tx!(self.store, |tx| tx
            .sessions()
            .insert(&session, &token)
            .await);
        (session, token)
    }

    /// A stored code for an address of a stored user.
    pub(crate) async fn code(&mut self, user: &User) -> Code {
        let email = self.email(user).await;
        let code = self.samples.code(user, MethodId::Email(email.id));
        in_tx!(self.store, |tx| tx.codes().replace(&code).await);
        code
    }

    /// A stored job.
    pub(crate) async fn job(&mut self, world: World) -> OutboxJob {
        let job = self.samples.job(world);
        in_tx!(self.store, |tx| tx.outbox().push(&job).await);
        job
    }
}
