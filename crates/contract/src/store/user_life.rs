//! Locking, updating and deleting users.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::code::{Code, MethodId};
use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::UserId;
use vestry_domain::session::Session;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::user::{User, UserEmail, UserPhone, UserProfile};
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_ports::store::{Attached, Store, StoreError};

use super::stage::{Stage, works};
use crate::race::{count, race};

/// A user with one of everything that can belong to it.
struct Belongings {
    user: User,
    email: UserEmail,
    phone: UserPhone,
    session: Session,
    token: TokenHash,
    wallets: Vec<(StoredWallet, WalletKey)>,
    codes: Vec<Code>,
}

impl Stage {
    async fn belongings(&mut self, world: World) -> Belongings {
        let user = self.user(world).await;
        let (email, phone) = (self.email(&user).await, self.phone(&user).await);
        let (session, token) = self.session(&user).await;
        let mut wallets = Vec::new();
        for wallet_type in [WalletType::Ethereum, WalletType::Solana] {
            wallets.push(self.wallet(&user, wallet_type).await);
        }
        let mut codes = Vec::new();
        for method in [MethodId::Email(email.id), MethodId::Phone(phone.id)] {
            let code = self.samples.code(&user, method);
            in_tx!(self.store, |tx| {
                tx.codes().replace(&code).await?;
                let subject = method.to_string();
                tx.lockouts().fail(&world, &subject, code.created_at).await
            });
            codes.push(code);
        }
        Belongings {
            user,
            email,
            phone,
            session,
            token,
            wallets,
            codes,
        }
    }

    async fn record(&self, world: World, id: UserId) -> Option<UserProfile> {
        in_view!(self.store, |view| view.users().profile(&world, id).await)
    }

    async fn delete(&self, world: World, id: UserId) -> bool {
        let keys = in_tx!(self.store, |tx| tx.users().delete(&world, id).await);
        keys.is_some()
    }
}

/// An update writes only names, metadata and `updated_at`, in the user's world.
pub async fn an_update_writes_one_user(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..6 {
        let (user, other) = (stage.user(world).await, stage.user(world).await);
        let new = stage.samples.user(world);
        let changed = User {
            id: user.id,
            created_at: user.created_at,
            status: user.status,
            is_owned: user.is_owned,
            last_sign_in_at: user.last_sign_in_at,
            ..new
        };
        let stranger = stage.strangers(world).await[0];
        let foreign = User {
            world: stranger,
            ..changed.clone()
        };
        let nobody = stage.samples.user(world);
        let updated = in_tx!(stage.store, |tx| Ok([
            tx.users().update(&foreign).await?,
            tx.users().update(&nobody).await?,
            tx.users().update(&changed).await?,
        ]));
        assert_eq!(updated, [false, false, true]);
        for user in [changed, other] {
            let found = stage.record(world, user.id).await;
            assert_eq!(found.map(|profile| profile.user), Some(user));
        }
        assert_eq!(stage.record(world, nobody.id).await, None);
    }
}

/// Only an existing user can be locked, and locking changes nothing.
pub async fn a_user_is_locked_in_its_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let stranger = stage.strangers(world).await[0];
    let nobody = stage.samples.user(world).id;
    let locked = in_tx!(stage.store, |tx| Ok([
        tx.users().lock(&stranger, user.id).await?,
        tx.users().lock(&world, nobody).await?,
        tx.users().lock(&world, user.id).await?,
        tx.users().lock(&world, user.id).await?,
    ]));
    assert_eq!(locked, [false, false, true, true]);
    let found = stage.record(world, user.id).await;
    assert_eq!(found.map(|profile| profile.user), Some(user));
}

/// Fifty parallel increments under the user's lock lose no update (R9).
pub async fn reads_under_a_lock_stay_current(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    race((0..50).map(|_| {
        let (store, id) = (Arc::clone(&stage.store), user.id);
        async move {
            in_tx!(store, |tx| {
                assert!(tx.users().lock(&world, id).await?);
                let profile = tx.users().profile(&world, id).await?;
                if let Some(UserProfile { user, .. }) = profile {
                    let next = User {
                        updated_at: user.updated_at + Seconds(1),
                        ..user
                    };
                    assert!(tx.users().update(&next).await?);
                }
                Ok(())
            });
        }
    }))
    .await;
    let found = stage.record(world, user.id).await;
    let expected = User {
        updated_at: user.updated_at + Seconds(50),
        ..user
    };
    assert_eq!(found.map(|profile| profile.user), Some(expected));
}

/// Deleting a user, once, removes everything that belonged to it and nothing of other users or worlds (S-5).
pub async fn a_deleted_user_leaves_nothing(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (kept, gone) = (stage.belongings(world).await, stage.belongings(world).await);
    let stranger = stage.strangers(world).await[0];
    for (from, expected) in [(stranger, false), (world, true), (world, false)] {
        assert_eq!(stage.delete(from, gone.user.id).await, expected);
    }
    assert_eq!(stage.record(world, gone.user.id).await, None);
    in_view!(stage.store, |view| {
        assert_eq!(view.identifiers().email(&world, gone.email.id).await?, None);
        assert_eq!(view.identifiers().phone(&world, gone.phone.id).await?, None);
        assert_eq!(view.sessions().find(&world, gone.session.id).await?, None);
        let found = view.sessions().find_by_token(&world, &gone.token).await?;
        assert_eq!(found, None);
        let walked = view.wallets().walk(None, 100).await?;
        assert_eq!(walked, kept.wallets);
        let found = view.sessions().find(&world, kept.session.id).await?;
        assert_eq!(found.as_ref(), Some(&kept.session));
        Ok(())
    });
    let found = stage.record(world, kept.user.id).await;
    let expected = UserProfile {
        user: kept.user.clone(),
        emails: vec![kept.email.clone()],
        phones: vec![kept.phone.clone()],
    };
    assert_eq!(found, Some(expected));
    for (owner, code_is_there, failures) in [(&gone, false, 1), (&kept, true, 2)] {
        for code in &owner.codes {
            let (method, at) = (code.method_id, code.created_at);
            let (attempt, failed) = in_tx!(stage.store, |tx| {
                let attempt = tx
                    .codes()
                    .attempt(&world, method, code.purpose, 5, at)
                    .await?;
                let failed = tx.lockouts().fail(&world, &method.to_string(), at).await?;
                Ok((attempt, failed))
            });
            assert_eq!((attempt.is_some(), failed), (code_is_there, failures));
        }
    }
    // The address is free again.
    let address = gone.email.email.address();
    let email = stage.samples.email_of(&kept.user, address);
    let attached = in_tx!(stage.store, |tx| tx
        .identifiers()
        .attach_email(&world, &email)
        .await);
    assert_eq!(attached, Attached::Yes);
}

/// A deletion returns exactly the wallets that had keys.
pub async fn a_deletion_names_the_wallets_whose_keys_went(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let mut expected = Vec::new();
    for wallet_type in [WalletType::Solana, WalletType::Stellar] {
        expected.push(stage.wallet(&user, wallet_type).await.0.wallet.id);
        stage.wallet(&other, wallet_type).await;
    }
    let keyless = stage.samples.keyless_wallet(&user, WalletType::Ethereum);
    in_tx!(stage.store, |tx| tx
        .wallets()
        .insert_keyless(&keyless)
        .await);
    let deleted = in_tx!(stage.store, |tx| tx.users().delete(&world, user.id).await);
    let mut deleted = deleted.unwrap_or_default();
    deleted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(deleted, expected);
}

/// Of twenty parallel deletions of one user one succeeds.
pub async fn parallel_deletions_count_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    stage.email(&user).await;
    stage.session(&user).await;
    let outcomes = race((0..20).map(|_| {
        let (store, id) = (Arc::clone(&stage.store), user.id);
        async move { in_tx!(store, |tx| tx.users().delete(&world, id).await) }
    }))
    .await;
    assert_eq!(count(&outcomes, &Some(Vec::new())), 1);
    assert_eq!(count(&outcomes, &None), 19);
}

/// Attaching to a user during its deletion leaves no orphaned row, and causes no error other than a retry.
pub async fn nothing_is_attached_to_a_deleted_user(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..8 {
        let user = stage.user(world).await;
        let emails: Vec<_> = (0..6).map(|_| stage.samples.email(&user)).collect();
        let attachments = emails.iter().cloned().map(Some);
        let outcomes = race(attachments.chain([None]).map(|email| {
            let (store, id) = (Arc::clone(&stage.store), user.id);
            async move {
                let Some(email) = email else {
                    let deleted = in_tx!(store, |tx| tx.users().delete(&world, id).await);
                    return deleted.is_some();
                };
                let mut tx = works(store.begin().await);
                match tx.identifiers().attach_email(&world, &email).await {
                    Ok(Attached::Yes) => tx.commit().await.is_ok(),
                    Ok(refused) => {
                        panic!("the address is free and the user is below the limit: {refused:?}")
                    }
                    Err(StoreError::Retry | StoreError::Other(_)) => false,
                    Err(error) => panic!("{error:?}"),
                }
            }
        }))
        .await;
        assert!(outcomes.last().is_some_and(|deleted| *deleted));
        assert_eq!(stage.record(world, user.id).await, None);
        for email in emails {
            let found = in_view!(stage.store, |view| view
                .identifiers()
                .email(&world, email.id)
                .await);
            assert_eq!(found, None);
        }
    }
}
