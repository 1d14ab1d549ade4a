//! Challenges for wallet holders to sign.

use std::sync::Arc;

use vestry_domain::timestamp::Seconds;
use vestry_domain::user::User;
use vestry_domain::wallet::WalletType;
use vestry_domain::wallet_sign_in::WalletChallenge;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::Store;

use super::stage::Stage;
use crate::race::{count, race};

const ADDRESS: &str = "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23";

impl Stage {
    async fn challenge(&mut self, user: &User) -> WalletChallenge {
        let challenge = self.samples.wallet_challenge(user, ADDRESS);
        in_tx!(self.store, |tx| tx
            .wallet_challenges()
            .insert(&challenge)
            .await);
        challenge
    }

    async fn living(&self, world: World, ends_after: Timestamp) -> Vec<WalletChallenge> {
        let ethereum = WalletType::Ethereum;
        in_view!(self.store, |view| view
            .wallet_challenges()
            .living(&world, ethereum, ADDRESS, ends_after, 10)
            .await)
    }

    async fn use_challenge(&self, challenge: &WalletChallenge, now: Timestamp) -> bool {
        let (world, id) = (challenge.world, challenge.id);
        in_tx!(self.store, |tx| tx
            .wallet_challenges()
            .consume(&world, id, now)
            .await)
    }
}

/// Every field is read back unchanged; the user need not exist yet.
pub async fn a_challenge_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let nobody = stage.samples.user(world);
    let mut made = Vec::new();
    for _ in 0..5 {
        made.insert(0, stage.challenge(&nobody).await);
    }
    let oldest = made
        .last()
        .map(|oldest| oldest.created_at)
        .unwrap_or_default();
    assert_eq!(stage.living(world, oldest).await, made);
}

/// The listed challenges are unused, unexpired, of the given address and type, and limited in number.
pub async fn living_challenges_are_those_that_can_be_used(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (first, second, third) = (
        stage.challenge(&user).await,
        stage.challenge(&user).await,
        stage.challenge(&user).await,
    );
    assert!(stage.use_challenge(&second, second.created_at).await);
    assert_eq!(
        stage.living(world, first.expires_at - Seconds(1)).await,
        [third.clone(), first.clone()]
    );
    assert_eq!(
        stage.living(world, first.expires_at).await,
        std::slice::from_ref(&third),
        "a challenge that expires at the given time is not valid after it"
    );
    let now = first.created_at;
    let (other_type, other_address, newest) = in_view!(stage.store, |view| {
        let challenges = view.wallet_challenges();
        Ok((
            challenges
                .living(&world, WalletType::Solana, ADDRESS, now, 10)
                .await?,
            challenges
                .living(&world, WalletType::Ethereum, "0x00", now, 10)
                .await?,
            challenges
                .living(&world, WalletType::Ethereum, ADDRESS, now, 1)
                .await?,
        ))
    });
    assert_eq!((other_type, other_address), (Vec::new(), Vec::new()));
    assert_eq!(newest, [third]);
}

/// A challenge is used once, and only before it expires (R7).
pub async fn a_challenge_is_used_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let challenge = stage.challenge(&user).await;
    assert!(!stage.use_challenge(&challenge, challenge.expires_at).await);
    let last = challenge.expires_at - Seconds(1);
    assert!(stage.use_challenge(&challenge, last).await);
    assert!(!stage.use_challenge(&challenge, last).await);
}

/// Nothing in a world can be seen or used from another (I11).
pub async fn challenges_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let challenge = stage.challenge(&user).await;
    let now = challenge.created_at;
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.living(stranger, now).await, []);
        let moved = WalletChallenge {
            world: stranger,
            ..challenge.clone()
        };
        assert!(!stage.use_challenge(&moved, now).await);
    }
    assert!(stage.use_challenge(&challenge, now).await);
}

/// Of a hundred parallel uses of one challenge one succeeds (R6, I4).
pub async fn parallel_uses_of_a_challenge_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    for _ in 0..3 {
        let challenge = stage.challenge(&user).await;
        let used = race((0..100).map(|_| {
            let (store, id, now) = (Arc::clone(&stage.store), challenge.id, challenge.created_at);
            async move {
                in_tx!(store, |tx| tx
                    .wallet_challenges()
                    .consume(&world, id, now)
                    .await)
            }
        }))
        .await;
        assert_eq!(count(&used, &true), 1);
    }
}

/// The challenges that would sign in a user are deleted, in its world; those of others stay (attack 1).
pub async fn challenges_of_a_user_are_forgotten(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (theirs, foreign) = (stage.challenge(&user).await, stage.challenge(&other).await);
    let now = theirs.created_at;
    let stranger = stage.strangers(world).await[0];
    in_tx!(stage.store, |tx| tx
        .wallet_challenges()
        .forget(&stranger, user.id)
        .await);
    assert_eq!(stage.living(world, now).await.len(), 2);
    in_tx!(stage.store, |tx| tx
        .wallet_challenges()
        .forget(&world, user.id)
        .await);
    assert_eq!(stage.living(world, now).await, [foreign]);
}

/// A sweep deletes what expired before the given time, used or not.
pub async fn a_sweep_deletes_expired_challenges(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (first, second) = (stage.challenge(&user).await, stage.challenge(&user).await);
    stage.use_challenge(&first, first.created_at).await;
    let [other, ..] = stage.strangers(world).await;
    let sweep = |environment: Environment, before: Timestamp| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .wallet_challenges()
                .sweep(&environment.into(), before)
                .await)
        }
    };
    assert_eq!(sweep(world.environment, first.expires_at).await, 0);
    assert_eq!(sweep(other.environment, second.expires_at).await, 0);
    assert_eq!(sweep(world.environment, second.expires_at).await, 1);
    assert_eq!(stage.living(world, first.created_at).await, [second]);
}
