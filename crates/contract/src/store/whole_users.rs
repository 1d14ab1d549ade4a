//! Users with everything attached to them.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_domain::user::User;
use vestry_domain::wallet::WalletType;
use vestry_ports::store::{Attached, Store, WholeUser};

use super::stage::Stage;

impl Stage {
    /// A user with some of everything, or without any attachments if `bare`.
    async fn furnished(&mut self, world: World, bare: bool) -> User {
        let user = self.user(world).await;
        if bare {
            return user;
        }
        for _ in 0..2 {
            self.email(&user).await;
            self.phone(&user).await;
            let passkey = self.samples.passkey(&user);
            in_tx!(self.store, |tx| tx.passkeys().insert(&passkey).await);
        }
        for wallet_type in [WalletType::Solana, WalletType::Ethereum] {
            self.wallet(&user, wallet_type).await;
        }
        for name in ["google", "github"] {
            let link = self.samples.provider_link(&user, name);
            let attached = in_tx!(self.store, |tx| tx.provider_links().insert(&link).await);
            assert_eq!(attached, Attached::Yes);
        }
        let (totp, codes) = self.samples.totp(&user);
        let (key, at) = (external_key(user.id), self.samples.tick());
        let noted = in_tx!(self.store, |tx| {
            tx.totps().replace_waiting(&totp, &codes).await?;
            tx.imported_users().note(&world, &key, user.id, at).await
        });
        assert!(noted);
        user
    }

    /// The same user, assembled from the single lists.
    async fn read_alone(&self, user: &User) -> WholeUser {
        let (world, id) = (&user.world, user.id);
        in_view!(self.store, |view| {
            let Some(profile) = view.users().profile(world, id).await? else {
                panic!("the user must exist");
            };
            let key = external_key(id);
            let became = view.imported_users().find(world, &key).await?;
            Ok(WholeUser {
                profile,
                wallets: view.wallets().of_user(world, id).await?,
                totps: view.totps().of_user(world, id).await?,
                passkeys: view.passkeys().of_user(world, id).await?,
                provider_links: view.provider_links().of_user(world, id).await?,
                external_key: became.map(|_user| key),
            })
        })
    }
}

/// The external key that such a user was imported with.
fn external_key(user: UserId) -> String {
    format!("before {user}")
}

/// A batch lookup of whole users returns what each single lookup would, in the order requested.
///
/// It includes missing users, a duplicate, one without attachments and ids of other worlds.
pub async fn many_whole_users_are_found_as_each_alone(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let mut wanted = Vec::new();
    for _ in 0..2 {
        let world = stage.world().await;
        for bare in [false, true, false] {
            let user = stage.furnished(world, bare).await;
            let whole = stage.read_alone(&user).await;
            let parts = [
                whole.profile.emails.len(),
                whole.profile.phones.len(),
                whole.wallets.len(),
                whole.totps.len(),
                whole.passkeys.len(),
                whole.provider_links.len(),
                usize::from(whole.external_key.is_some()),
            ];
            let expected = match bare {
                true => [0; 7],
                false => [2, 2, 2, 1, 2, 2, 1],
            };
            assert_eq!(parts, expected);
            for stranger in stage.strangers(world).await {
                wanted.push(((stranger, user.id), None));
            }
            for _ in 0..2 {
                wanted.push(((world, user.id), Some(whole.clone())));
            }
        }
    }
    let wanted = stage.samples.shuffled(&wanted);
    let (names, alone): (Vec<_>, Vec<_>) = wanted.into_iter().cloned().unzip();
    let (together, none) = in_view!(stage.store, |view| Ok((
        view.users().find_all_whole(&names).await?,
        view.users().find_all_whole(&[]).await?,
    )));
    assert_eq!(together, alone);
    assert_eq!(none, []);
}
