//! What a user has at the first proof of ownership.

use std::sync::Arc;

use vestry_domain::code::MethodId;
use vestry_domain::key_transfer::ImportKey;
use vestry_domain::link::LinkPurpose;
use vestry_domain::passkey::Ceremony;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::User;
use vestry_domain::wallet::WalletType;
use vestry_ports::store::{AccountTrust, Store};

use super::stage::Stage;
use crate::race::{count, race};

/// Everything that another person can plant in an account without an owner.
const PLANTED: [&str; 12] = [
    "authenticator app",
    "challenge for a wallet",
    "key pair for an import",
    "wallet without a key",
    "wallet",
    "password",
    "challenge for a passkey",
    "user handle",
    "passkey",
    "link to a provider",
    "link that was not used",
    "session",
];

impl Stage {
    async fn account_trust(&self, user: &User) -> AccountTrust {
        in_view!(self.store, |view| view
            .users()
            .account_trust(&user.world, user.id)
            .await)
    }

    async fn plant(&mut self, user: &User, what: &str) {
        let world = user.world;
        let email = self.samples.email(user);
        let (totp, codes) = self.samples.totp(user);
        let challenge = self.samples.wallet_challenge(user, "an address");
        let import = ImportKey {
            user_id: Some(user.id),
            ..self.samples.import_key(user, "an address")
        };
        let keyless = self.samples.keyless_wallet(user, WalletType::Ethereum);
        let (wallet, key) = self.samples.wallet(user, WalletType::Solana);
        let password = self.password(user);
        let ceremony = Ceremony::Registration;
        let registration = self.samples.passkey_challenge(user, ceremony);
        let handle = self.samples.user_handle();
        let passkey = self.samples.passkey(user);
        let provider = self.samples.provider_link(user, "google");
        let link = self.samples.link(user, email.id, LinkPurpose::Login);
        let (session, token) = (self.samples.session(user), self.samples.token());
        in_tx!(self.store, |tx| {
            match what {
                "authenticator app" => tx.totps().replace_waiting(&totp, &codes).await?,
                "challenge for a wallet" => tx.wallet_challenges().insert(&challenge).await?,
                "key pair for an import" => tx.wallet_imports().insert(&import).await?,
                "wallet without a key" => drop(tx.wallets().insert_keyless(&keyless).await?),
                "wallet" => drop(tx.wallets().insert(&wallet, &key).await?),
                "password" => tx.passwords().put(&password).await?,
                "challenge for a passkey" => tx.passkeys().add_challenge(&registration).await?,
                "user handle" => drop(tx.passkeys().handle_or(&world, user.id, handle).await?),
                "passkey" => drop(tx.passkeys().insert(&passkey).await?),
                "link to a provider" => drop(tx.provider_links().insert(&provider).await?),
                "link that was not used" => {
                    tx.identifiers().attach_email(&world, &email).await?;
                    tx.links().replace(&link).await?;
                }
                "session" => tx.sessions().insert(&session, &token).await?,
                unknown => panic!("{unknown}"),
            }
            Ok(())
        });
    }

    /// Clears what a first proof clears.
    async fn clear(&mut self, user: &User) {
        let (world, id, now) = (user.world, user.id, self.samples.tick());
        in_tx!(self.store, |tx| {
            tx.totps().remove_all(&world, id).await?;
            tx.wallet_challenges().forget(&world, id).await?;
            tx.wallet_imports().forget(&world, id).await?;
            tx.wallets().remove_keyless(&world, id).await?;
            tx.passwords().remove(&world, id).await?;
            tx.passkeys().remove_all(&world, id).await?;
            tx.provider_links().remove_all(&world, id).await?;
            tx.links().forget_unused(&world, id).await?;
            tx.sessions().delete_all(&world, id, now).await
        });
    }
}

/// Each thing that a first proof clears is detected on its own, only in the user who has it, and is gone once it is cleared. Only a wallet
/// with a key stays.
pub async fn planted_credentials_are_detected(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let stranger = stage.strangers(world).await[0];
    for what in PLANTED {
        let (user, other) = (stage.user(world).await, stage.user(world).await);
        let twin = User {
            world: stranger,
            ..user.clone()
        };
        assert!(
            !stage.account_trust(&user).await.has_unverified_credentials,
            "before {what}"
        );
        stage.plant(&user, what).await;
        assert!(
            stage.account_trust(&user).await.has_unverified_credentials,
            "{what}"
        );
        assert!(
            !stage.account_trust(&other).await.has_unverified_credentials,
            "{what}"
        );
        assert!(
            !stage.account_trust(&twin).await.has_unverified_credentials,
            "{what}"
        );
        stage.clear(&user).await;
        let left = stage.account_trust(&user).await.has_unverified_credentials;
        assert_eq!(left, what == "wallet", "after {what}");
    }
}

/// A used link opens nothing.
pub async fn a_used_link_is_not_planted(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let email = stage.email(&user).await;
    let purpose = LinkPurpose::Login;
    let link = stage.samples.link(&user, email.id, purpose);
    let at = link.created_at + Seconds(1);
    in_tx!(stage.store, |tx| {
        tx.links().replace(&link).await?;
        let purposes = [purpose];
        let used = tx.links().consume(&world, &link.token, &purposes, at);
        assert!(used.await?.is_some());
        Ok(())
    });
    assert!(!stage.account_trust(&user).await.has_unverified_credentials);
}

/// A verified address or number is a proof; an unverified one is not.
pub async fn verified_identifiers_are_detected(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for by_email in [true, false] {
        let user = stage.user(world).await;
        let at = stage.samples.tick();
        let (email, phone) = (stage.samples.email(&user), stage.samples.phone(&user));
        in_tx!(stage.store, |tx| {
            tx.identifiers().attach_email(&world, &email).await?;
            tx.identifiers()
                .attach_phone(&world, &phone)
                .await
                .map(drop)
        });
        let claims = email.verified || phone.verified;
        assert_eq!(
            stage.account_trust(&user).await.has_verified_identifier,
            claims
        );
        in_tx!(stage.store, |tx| match by_email {
            true =>
                tx.identifiers()
                    .verify_email(&world, email.id, &email.email, at)
                    .await,
            false => tx.identifiers().verify_phone(&world, phone.id, at).await,
        });
        let expected = AccountTrust {
            has_verified_identifier: true,
            has_unverified_credentials: false,
        };
        assert_eq!(stage.account_trust(&user).await, expected);
    }
}

/// The owner of an identifier is found and locked in its world, and read back unchanged.
pub async fn an_owner_is_locked_by_what_it_has(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let stranger = stage.strangers(world).await[0];
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (email, phone) = (stage.email(&user).await, stage.phone(&user).await);
    let free = stage.samples.email(&other);
    for (of, method, owner) in [
        (world, MethodId::Email(email.id), Some(&user)),
        (world, MethodId::Phone(phone.id), Some(&user)),
        (world, MethodId::Email(free.id), None),
        (stranger, MethodId::Email(email.id), None),
        (stranger, MethodId::Phone(phone.id), None),
    ] {
        let locked = in_tx!(stage.store, |tx| tx
            .identifiers()
            .lock_owner(&of, method)
            .await);
        assert_eq!(locked.as_ref(), owner);
    }
}

/// Fifty parallel increments under the owner's lock lose no update (R9).
pub async fn an_owner_is_read_under_its_lock(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let method = MethodId::Email(stage.email(&user).await.id);
    let written = race((0..50).map(|_| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| {
                let Some(user) = tx.identifiers().lock_owner(&world, method).await? else {
                    return Ok(false);
                };
                let next = User {
                    updated_at: user.updated_at + Seconds(1),
                    ..user
                };
                tx.users().update(&next).await
            })
        }
    }))
    .await;
    assert_eq!(count(&written, &true), 50);
    let method = in_tx!(stage.store, |tx| tx
        .identifiers()
        .lock_owner(&world, method)
        .await);
    let expected = User {
        updated_at: user.updated_at + Seconds(50),
        ..user
    };
    assert_eq!(method, Some(expected));
}
