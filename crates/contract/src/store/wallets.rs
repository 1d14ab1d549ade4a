//! Wallets and their keys.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::user::User;
use vestry_domain::wallet::{Disabled, DisabledReason, StoredWallet, Wallet, WalletType};
use vestry_ports::store::{Created, Store, WalletPage};

use super::stage::{Stage, works};
use crate::race::{count, race};

impl Stage {
    /// A non-default wallet of the user; there can be many.
    fn spare_wallet(&mut self, user: &User) -> (StoredWallet, WalletKey) {
        let wallet_type = self.samples.pick(&WalletType::ALL);
        let (mut stored, key) = self.samples.wallet(user, wallet_type);
        stored.wallet.is_default = false;
        (stored, key)
    }

    async fn add_wallet(&self, (wallet, key): &(StoredWallet, WalletKey)) -> Created {
        in_tx!(self.store, |tx| tx.wallets().insert(wallet, key).await)
    }

    async fn spare_wallets(&mut self, user: &User, how_many: usize) -> Vec<StoredWallet> {
        let mut added = Vec::new();
        for _ in 0..how_many {
            let row = self.spare_wallet(user);
            assert_eq!(self.add_wallet(&row).await, Created::Yes);
            added.push(row.0);
        }
        added
    }

    async fn wallet_with_key(
        &self,
        world: World,
        id: WalletId,
    ) -> Option<(StoredWallet, Option<WalletKey>)> {
        in_view!(self.store, |view| view
            .wallets()
            .find_with_key(&world, id)
            .await)
    }

    async fn default_wallet(&self, user: &User, wallet_type: WalletType) -> Option<StoredWallet> {
        in_view!(self.store, |view| view
            .wallets()
            .default_of(&user.world, user.id, wallet_type)
            .await)
    }

    async fn wallet_page(
        &self,
        world: World,
        user: Option<UserId>,
        after: Option<WalletId>,
        limit: i64,
    ) -> WalletPage {
        in_view!(self.store, |view| view
            .wallets()
            .page(&world, user, after, limit)
            .await)
    }
}

/// Every field of a wallet and of its key is read back unchanged, with every lookup.
pub async fn a_wallet_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..6 {
        let user = stage.user(world).await;
        let mut wallets = Vec::new();
        for wallet_type in WalletType::ALL {
            let (stored, key) = stage.wallet(&user, wallet_type).await;
            let id = stored.wallet.id;
            let found = in_view!(stage.store, |view| view.wallets().find(&world, id).await);
            assert_eq!(found.as_ref(), Some(&stored));
            let with_key = stage.wallet_with_key(world, id).await;
            assert_eq!(with_key, Some((stored.clone(), Some(key))));
            let default = stage.default_wallet(&user, wallet_type).await;
            assert_eq!(default.as_ref(), Some(&stored));
            wallets.push(stored);
        }
        let of_user = in_view!(stage.store, |view| view
            .wallets()
            .of_user(&world, user.id)
            .await);
        assert_eq!(of_user, wallets);
        wallets.reverse();
        let page = stage.wallet_page(world, Some(user.id), None, 10).await;
        assert_eq!(page.wallets, wallets);
    }
}

/// A user has one default wallet of a type (I2). A second one is rejected together with its key, and the first stays.
pub async fn one_default_wallet_per_user_and_type(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (first, key) = stage.wallet(&user, WalletType::Ethereum).await;
    let second = stage.samples.wallet(&user, WalletType::Ethereum);
    assert_eq!(stage.add_wallet(&second).await, Created::Exists);
    assert_eq!(stage.wallet_with_key(world, second.0.wallet.id).await, None);
    let default = stage.default_wallet(&user, WalletType::Ethereum).await;
    assert_eq!(default.as_ref(), Some(&first));
    let walked = in_view!(stage.store, |view| view.wallets().walk(None, 10).await);
    assert_eq!(walked, [(first, key)]);
}

/// A default wallet excludes only a second one, not wallets of another type or user, nor non-default ones.
pub async fn a_default_wallet_leaves_room_for_others(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let first = stage.wallet(&user, WalletType::Ethereum).await.0;
    let mut spare = stage.samples.wallet(&user, WalletType::Ethereum);
    spare.0.wallet.is_default = false;
    for row in [
        spare,
        stage.samples.wallet(&user, WalletType::Solana),
        stage.samples.wallet(&other, WalletType::Ethereum),
    ] {
        assert_eq!(stage.add_wallet(&row).await, Created::Yes);
    }
    let default = stage.default_wallet(&user, WalletType::Ethereum).await;
    assert_eq!(default, Some(first));
}

/// A non-default wallet is not returned as the default.
pub async fn only_the_default_wallet_is_the_default(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    stage.spare_wallets(&user, 5).await;
    for wallet_type in WalletType::ALL {
        assert_eq!(stage.default_wallet(&user, wallet_type).await, None);
    }
}

/// An address exists once in a world, whoever owns it and whether or not it is a default wallet (I3).
pub async fn one_wallet_per_address(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (first, _) = stage.wallet(&user, WalletType::Ethereum).await;
    for (owner, is_default) in [(&other, true), (&other, false), (&user, false)] {
        let mut row = stage.samples.wallet(owner, WalletType::Ethereum);
        row.0.wallet.is_default = is_default;
        row.0.wallet.public_address = first.wallet.public_address.clone();
        assert_eq!(stage.add_wallet(&row).await, Created::Exists);
        assert_eq!(stage.wallet_with_key(world, row.0.wallet.id).await, None);
    }
}

/// A transaction stays usable after a duplicate wallet was rejected, and keeps its other writes.
pub async fn a_refused_wallet_leaves_the_transaction_good(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let owner = stage.user(world).await;
    let (first, _) = stage.wallet(&owner, WalletType::Ethereum).await;
    let user = stage.samples.user(world);
    let refused = stage.samples.wallet(&owner, WalletType::Ethereum);
    let added = stage.samples.wallet(&user, WalletType::Ethereum);
    in_tx!(stage.store, |tx| {
        tx.users().insert(&user).await?;
        let outcome = tx.wallets().insert(&refused.0, &refused.1).await?;
        assert_eq!(outcome, Created::Exists);
        let existing = tx
            .wallets()
            .default_of(&world, owner.id, WalletType::Ethereum)
            .await?;
        assert_eq!(existing.as_ref(), Some(&first));
        let outcome = tx.wallets().insert(&added.0, &added.1).await?;
        assert_eq!(outcome, Created::Yes);
        Ok(())
    });
    let default = stage.default_wallet(&user, WalletType::Ethereum).await;
    assert_eq!(default, Some(added.0));
}

/// No lookup finds or counts a wallet of another world (I11).
pub async fn look_ups_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let id = stage.wallet(&user, WalletType::Ethereum).await.0.wallet.id;
    for stranger in stage.strangers(world).await {
        in_view!(stage.store, |view| {
            let wallets = view.wallets();
            assert_eq!(wallets.find(&stranger, id).await?, None);
            assert_eq!(wallets.find_with_key(&stranger, id).await?, None);
            let wanted = [(stranger, id), (world, id)];
            let found = wallets.find_all_with_keys(&wanted).await?;
            let found: Vec<_> = found.iter().map(Option::is_some).collect();
            assert_eq!(found, [false, true]);
            assert_eq!(
                wallets
                    .default_of(&stranger, user.id, WalletType::Ethereum)
                    .await?,
                None
            );
            assert_eq!(wallets.of_user(&stranger, user.id).await?, []);
            for owner in [None, Some(user.id)] {
                let page = wallets.page(&stranger, owner, None, 10).await?;
                assert_eq!((page.wallets, page.total), (Vec::new(), 0));
            }
            Ok(())
        });
    }
}

/// A batch lookup returns what each single lookup would, in the order requested, including missing wallets, a duplicate and one without a
/// key.
pub async fn many_wallets_are_found_as_each_alone(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let mut wanted = Vec::new();
    for _ in 0..2 {
        let world = stage.world().await;
        let user = stage.user(world).await;
        for stored in stage.spare_wallets(&user, 8).await {
            wanted.extend([(world, stored.wallet.id); 2]);
        }
        let keyless = stage.samples.keyless_wallet(&user, WalletType::Ethereum);
        in_tx!(stage.store, |tx| tx
            .wallets()
            .insert_keyless(&keyless)
            .await);
        wanted.push((world, keyless.wallet.id));
        let (missing, _) = stage.spare_wallet(&user);
        wanted.push((world, missing.wallet.id));
    }
    let wanted: Vec<_> = stage
        .samples
        .shuffled(&wanted)
        .into_iter()
        .copied()
        .collect();
    let mut alone = Vec::new();
    for (world, id) in &wanted {
        alone.push(stage.wallet_with_key(*world, *id).await);
    }
    let (together, none) = in_view!(stage.store, |view| Ok((
        view.wallets().find_all_with_keys(&wanted).await?,
        view.wallets().find_all_with_keys(&[]).await?,
    )));
    assert_eq!(together, alone);
    assert_eq!(none, []);
}

/// The same user id, wallet id, key id and address in two worlds are two wallets with two keys, and each world finds its own (I11).
///
/// A test key never meets a live one.
pub async fn the_same_ids_in_two_worlds_are_two_wallets(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (first, first_key) = stage.wallet(&user, WalletType::Ethereum).await;
    let mut rows = vec![(first.clone(), first_key.clone())];
    for stranger in stage.strangers(world).await {
        let twin = User {
            id: user.id,
            ..stage.samples.user(stranger)
        };
        in_tx!(stage.store, |tx| tx.users().insert(&twin).await);
        let (other, other_key) = stage.samples.wallet(&twin, WalletType::Ethereum);
        let stored = StoredWallet {
            wallet: Wallet {
                id: first.wallet.id,
                key_id: first.wallet.key_id,
                public_address: first.wallet.public_address.clone(),
                ..other.wallet
            },
            mac: other.mac,
        };
        let key = WalletKey {
            id: first_key.id,
            wallet_id: first_key.wallet_id,
            ..other_key
        };
        let row = (stored, key);
        assert_eq!(stage.add_wallet(&row).await, Created::Yes);
        rows.push(row);
    }
    for (stored, key) in rows {
        let (world, id) = (stored.wallet.world, stored.wallet.id);
        let default = in_view!(stage.store, |view| view
            .wallets()
            .default_of(&world, user.id, WalletType::Ethereum)
            .await);
        assert_eq!(default.as_ref(), Some(&stored));
        let page = stage.wallet_page(world, None, None, 10).await;
        assert_eq!(
            (page.wallets.as_slice(), page.total),
            (&[stored.clone()][..], 1)
        );
        let found = stage.wallet_with_key(world, id).await;
        assert_eq!(found, Some((stored, Some(key))));
    }
}

/// A user's wallets, and only theirs, are listed oldest first.
pub async fn wallets_of_a_user_are_listed_oldest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let rows: Vec<_> = (0..8).map(|_| stage.spare_wallet(&user)).collect();
    stage.spare_wallets(&other, 2).await;
    for row in stage.samples.shuffled(&rows) {
        assert_eq!(stage.add_wallet(row).await, Created::Yes);
    }
    let listed = in_view!(stage.store, |view| view
        .wallets()
        .of_user(&world, user.id)
        .await);
    let expected: Vec<_> = rows.into_iter().map(|(stored, _)| stored).collect();
    assert_eq!(listed, expected);
}

/// Pages of a world or a user show each wallet once, newest first, with the total of all matching wallets.
pub async fn pages_show_every_wallet_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [stranger, ..] = stage.strangers(world).await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let foreigner = stage.user(stranger).await;
    let mut own = stage.spare_wallets(&user, 7).await;
    let mut all = own.clone();
    all.extend(stage.spare_wallets(&other, 4).await);
    stage.spare_wallets(&foreigner, 3).await;
    own.reverse();
    all.reverse();
    for (owner, expected) in [(Some(user.id), own), (None, all)] {
        for limit in [1, 3, 7, 100] {
            let seen = all_pages(&stage, world, owner, limit, expected.len()).await;
            assert_eq!(seen, expected, "in pages of {limit}");
        }
    }
}

/// Reads all pages and checks the total on each.
async fn all_pages(
    stage: &Stage,
    world: World,
    owner: Option<UserId>,
    limit: i64,
    total: usize,
) -> Vec<StoredWallet> {
    let mut seen: Vec<StoredWallet> = Vec::new();
    loop {
        let after = seen.last().map(|stored| stored.wallet.id);
        let page = stage.wallet_page(world, owner, after, limit).await;
        assert_eq!(usize::try_from(page.total), Ok(total));
        let length = i64::try_from(page.wallets.len()).unwrap_or(i64::MAX);
        assert!(length <= limit, "a page of {length}");
        if page.wallets.is_empty() {
            return seen;
        }
        seen.extend(page.wallets);
        assert!(seen.len() <= total, "some wallets are listed twice");
    }
}

/// Wallets of one second have a stable order: pages show each of them once.
pub async fn pages_show_wallets_of_one_second_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    stage.samples.stop_clock();
    let added = stage.spare_wallets(&user, 20).await;
    let seen = all_pages(&stage, world, Some(user.id), 3, 20).await;
    assert_eq!(seen.len(), added.len());
    assert!(added.iter().all(|stored| seen.contains(stored)));
    assert!(seen.is_sorted_by_key(|stored| std::cmp::Reverse(stored.wallet.id)));
}

/// A cursor is a position in id order; its wallet need not exist.
pub async fn a_page_may_begin_where_no_wallet_is(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let older = stage.spare_wallets(&user, 1).await;
    let nowhere = stage.spare_wallet(&user).0.wallet.id;
    stage.spare_wallets(&user, 1).await;
    let page = stage.wallet_page(world, None, Some(nowhere), 10).await;
    assert_eq!((page.wallets, page.total), (older, 2));
}

/// The walk over all keys visits every wallet of every world once, with its key, in id order.
pub async fn the_walk_meets_every_key_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut worlds = vec![world];
    worlds.extend(stage.strangers(world).await);
    let mut rows = Vec::new();
    for world in worlds {
        let user = stage.user(world).await;
        for _ in 0..3 {
            rows.push(stage.spare_wallet(&user));
        }
    }
    for row in stage.samples.shuffled(&rows) {
        assert_eq!(stage.add_wallet(row).await, Created::Yes);
    }
    for limit in [1, 5, 100] {
        let mut seen: Vec<(StoredWallet, WalletKey)> = Vec::new();
        loop {
            let after = seen.last().map(|(stored, _)| stored.wallet.id);
            let found = in_view!(stage.store, |view| view.wallets().walk(after, limit).await);
            if found.is_empty() {
                break;
            }
            seen.extend(found);
            assert!(seen.len() <= rows.len(), "some wallets are visited twice");
        }
        assert_eq!(seen, rows, "in steps of {limit}");
    }
}

/// The walk over wallets without a key visits each of its world once, and none that has a key.
pub async fn a_walk_finds_the_wallets_without_a_key(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let mut expected = Vec::new();
    let worlds = [stage.world().await, stage.world().await];
    for world in worlds {
        for _ in 0..4 {
            let user = stage.user(world).await;
            let row = stage.spare_wallet(&user);
            assert_eq!(stage.add_wallet(&row).await, Created::Yes);
            let keyless = stage.samples.keyless_wallet(&user, WalletType::Solana);
            in_tx!(stage.store, |tx| tx
                .wallets()
                .insert_keyless(&keyless)
                .await);
            expected.push(keyless);
        }
    }
    expected.retain(|stored| stored.wallet.world == worlds[0]);
    expected.sort_by_key(|stored| stored.wallet.id);
    for limit in [1, 3, 100] {
        let mut seen: Vec<StoredWallet> = Vec::new();
        loop {
            let after = seen.last().map(|stored| stored.wallet.id);
            let found = in_view!(stage.store, |view| view
                .wallets()
                .without_key(&worlds[0], after, limit)
                .await);
            if found.is_empty() {
                break;
            }
            seen.extend(found);
            assert!(
                seen.len() <= expected.len(),
                "some wallets are visited twice"
            );
        }
        assert_eq!(seen, expected, "in steps of {limit}");
    }
}

/// A wallet id is unique within a world.
pub async fn a_wallet_is_added_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (stored, key) = stage.wallet(&user, WalletType::Ethereum).await;
    let (mut twin, mut twin_key) = stage.spare_wallet(&user);
    twin.wallet.id = stored.wallet.id;
    twin_key.wallet_id = stored.wallet.id;
    let mut tx = works(stage.store.begin().await);
    let outcome = tx.wallets().insert(&twin, &twin_key).await;
    assert!(!matches!(outcome, Ok(Created::Yes)), "added twice");
    drop(tx);
    let found = stage.wallet_with_key(world, stored.wallet.id).await;
    assert_eq!(found, Some((stored, Some(key))));
}

/// The mutable fields of a wallet are replaced only if the row is the one that was seen; the rest of the row stays.
pub async fn a_wallet_is_replaced_from_the_row_seen(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (stored, key) = stage.wallet(&user, WalletType::Ethereum).await;
    let (bystander, _) = stage.wallet(&user, WalletType::Solana).await;
    let mut changed = stored.clone();
    changed.wallet.is_default = false;
    changed.wallet.disabled = Some(Disabled {
        at: stage.samples.tick(),
        reason: DisabledReason::UnprovenOrigin,
    });
    changed.wallet.updated_at = stage.samples.tick();
    changed.mac = stage.samples.mac();
    let mut moved = changed.clone();
    moved.wallet.public_address.push('0');
    let replaced = in_tx!(stage.store, |tx| tx
        .wallets()
        .replace(&moved, &stored.mac)
        .await);
    assert!(replaced);
    // The row that was seen no longer exists.
    let again = in_tx!(stage.store, |tx| tx
        .wallets()
        .replace(&stored, &stored.mac)
        .await);
    assert!(!again);
    let mut elsewhere = changed.clone();
    elsewhere.wallet.world = crate::samples::other_environment(world);
    let crossed = in_tx!(stage.store, |tx| tx
        .wallets()
        .replace(&elsewhere, &changed.mac)
        .await);
    assert!(!crossed);
    let found = stage.wallet_with_key(world, stored.wallet.id).await;
    assert_eq!(found, Some((changed, Some(key))));
    let other = stage.wallet_with_key(world, bystander.wallet.id).await;
    assert_eq!(other.map(|(row, _)| row), Some(bystander));
}

/// Wallets that a rotation has not reached are found by the version of the row's keyed hash and of its key, in id order, page by page, in
/// one world.
pub async fn wallets_under_older_versions_are_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let twin = stage.user(crate::samples::other_environment(world)).await;
    let mut expected = Vec::new();
    for (owner, row_version, key_version, is_older) in [
        (&user, 2, Some(2), true),
        (&user, 3, Some(3), false),
        (&user, 3, Some(2), true),
        (&user, 2, Some(3), true),
        (&user, 2, None, true),
        (&user, 3, None, false),
        (&user, 4, Some(4), false),
        (&twin, 1, Some(1), false),
    ] {
        let (mut wallet, mut key) = stage.spare_wallet(owner);
        wallet.mac.key_version = row_version;
        let key = key_version.map(|version| {
            key.key_version = version;
            key
        });
        let added = match &key {
            Some(key) => in_tx!(stage.store, |tx| tx.wallets().insert(&wallet, key).await),
            None => {
                wallet.wallet.key_id = None;
                in_tx!(stage.store, |tx| tx.wallets().insert_keyless(&wallet).await)
            }
        };
        assert_eq!(added, Created::Yes);
        if is_older {
            expected.push((wallet, key));
        }
    }
    expected.sort_by_key(|(wallet, _)| wallet.wallet.id);
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = in_view!(stage.store, |view| view
            .wallets()
            .under_older(&world, 3, after, 3)
            .await);
        let Some((last, _)) = page.last() else { break };
        after = Some(last.wallet.id);
        seen.extend(page);
    }
    assert_eq!(seen, expected);
    let counted = in_view!(stage.store, |view| view
        .wallets()
        .count_under_older(&world, 3)
        .await);
    assert_eq!(counted, 4);
}

/// A rewrap replaces both layers together, only if the row is the one that was seen. Nothing else of the row or key changes.
pub async fn a_wallet_is_rewrapped_from_the_row_seen(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (stored, key) = stage.wallet(&user, WalletType::Ethereum).await;
    let (mut fresh, mut fresh_key) = (stored.clone(), key.clone());
    fresh.mac = stage.samples.mac();
    fresh_key.key_version = 77;
    fresh_key.wrapped_data_key = stage.samples.bytes(60);
    let (mut sent, mut sent_key) = (fresh.clone(), fresh_key.clone());
    sent.wallet.is_default = false;
    sent_key.ciphertext = stage.samples.bytes(60);
    for (seen, is_written) in [
        (&fresh.mac, false),
        (&stored.mac, true),
        (&stored.mac, false),
    ] {
        let written = in_tx!(stage.store, |tx| tx
            .wallets()
            .rewrap(&sent, Some(&sent_key), seen)
            .await);
        assert_eq!(written, is_written);
        let found = stage.wallet_with_key(world, stored.wallet.id).await;
        if is_written {
            let expected = (fresh.clone(), Some(fresh_key.clone()));
            assert_eq!(found, Some(expected));
        }
    }
}

/// Of parallel changes to one row one is written.
pub async fn parallel_replacements_count_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (stored, _) = stage.wallet(&user, WalletType::Ethereum).await;
    let rows: Vec<StoredWallet> = (0..30)
        .map(|_| {
            let mut row = stored.clone();
            row.wallet.updated_at = stage.samples.tick();
            row.mac = stage.samples.mac();
            row
        })
        .collect();
    let outcomes = race(rows.iter().cloned().map(|row| {
        let (store, seen) = (Arc::clone(&stage.store), stored.mac.clone());
        async move { in_tx!(store, |tx| tx.wallets().replace(&row, &seen).await) }
    }));
    let outcomes = outcomes.await;
    assert_eq!(count(&outcomes, &true), 1);
    let winner = outcomes.iter().zip(rows).find(|(won, _)| **won);
    let found = stage.wallet_with_key(world, stored.wallet.id).await;
    assert_eq!(found.map(|(row, _)| row), winner.map(|(_, row)| row));
}

/// Of fifty parallel default wallets for one user and type one is created, with its key, and everyone then finds that one (R1, I2).
pub async fn parallel_default_wallets_are_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let rows = (0..50).map(|_| stage.samples.wallet(&user, WalletType::Ethereum));
    let rows: Vec<_> = rows.collect();
    let outcomes = race(rows.iter().cloned().map(|(wallet, key)| {
        let (store, user) = (Arc::clone(&stage.store), user.id);
        async move {
            let created = in_tx!(store, |tx| tx.wallets().insert(&wallet, &key).await);
            let found = in_view!(store, |view| {
                view.wallets()
                    .default_of(&world, user, WalletType::Ethereum)
                    .await
            });
            (created, found.map(|stored| stored.wallet.id))
        }
    }))
    .await;
    let winners = outcomes
        .iter()
        .zip(rows)
        .filter(|((created, _), _)| *created == Created::Yes);
    let winners: Vec<_> = winners.map(|(_, row)| row).collect();
    assert_eq!(winners.len(), 1, "wallets made");
    let id = winners.first().map(|(stored, _)| stored.wallet.id);
    assert!(outcomes.iter().all(|(_, found)| *found == id));
    let walked = in_view!(stage.store, |view| view.wallets().walk(None, 100).await);
    assert_eq!(walked, winners, "keys kept");
}

/// Of twenty parallel wallets with one address, of twenty users, one is created (R10).
pub async fn parallel_wallets_of_one_address_are_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut rows = Vec::new();
    for _ in 0..20 {
        let user = stage.user(world).await;
        let (mut stored, key) = stage.samples.wallet(&user, WalletType::Ethereum);
        stored.wallet.public_address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed".to_owned();
        rows.push((stored, key));
    }
    let outcomes = race(rows.into_iter().map(|(wallet, key)| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.wallets().insert(&wallet, &key).await) }
    }))
    .await;
    assert_eq!(count(&outcomes, &Created::Yes), 1);
    assert_eq!(stage.wallet_page(world, None, None, 100).await.total, 1);
}

/// A wallet is deleted once, with its key, and only from its own world; others stay.
pub async fn a_wallet_is_deleted_with_its_key(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (wallet, _) = stage.wallet(&user, WalletType::Ethereum).await;
    let other = stage.wallet(&user, WalletType::Solana).await;
    let id = wallet.wallet.id;
    let stranger = stage.strangers(world).await[0];
    for (from, expected) in [(stranger, false), (world, true), (world, false)] {
        let deleted = in_tx!(stage.store, |tx| tx.wallets().delete(&from, id).await);
        assert_eq!(deleted, expected);
    }
    assert_eq!(stage.wallet_with_key(world, id).await, None);
    let walked = in_view!(stage.store, |view| view.wallets().walk(None, 10).await);
    assert_eq!(walked, [other]);
    // Its address and default slot are free again.
    let (again, key) = stage.samples.wallet(&user, WalletType::Ethereum);
    assert_eq!(stage.add_wallet(&(again, key)).await, Created::Yes);
}

/// A wallet without a key is read back unchanged in every list of wallets, and the walk over keys skips it.
pub async fn a_wallet_without_a_key_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (managed, _) = stage.wallet(&user, WalletType::Ethereum).await;
    let stored = stage.samples.keyless_wallet(&user, WalletType::Ethereum);
    for expected in [Created::Yes, Created::Exists] {
        let created = in_tx!(stage.store, |tx| tx.wallets().insert_keyless(&stored).await);
        assert_eq!(created, expected);
    }
    let id = stored.wallet.id;
    let (one, with_key, all, page, walk, default) = in_view!(stage.store, |view| Ok((
        view.wallets().find(&world, id).await?,
        view.wallets().find_with_key(&world, id).await?,
        view.wallets().of_user(&world, user.id).await?,
        view.wallets().page(&world, None, None, 10).await?,
        view.wallets().walk(None, 10).await?,
        view.wallets()
            .default_of(&world, user.id, WalletType::Ethereum)
            .await?,
    )));
    assert_eq!(one, Some(stored.clone()));
    assert_eq!(with_key, Some((stored.clone(), None)));
    assert_eq!(all, [managed.clone(), stored.clone()]);
    assert_eq!(page.wallets, [stored, managed.clone()]);
    assert_eq!(page.total, 2);
    assert_eq!(walk.len(), 1);
    assert_eq!(default, Some(managed));
}

/// M-32: the oldest wallet that its holder signed in with is found by user and type.
///
/// Wallets whose key is stored here, wallets without proof of possession, and those of another user or world are not.
pub async fn a_wallet_that_is_held_elsewhere_is_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    stage.wallet(&user, WalletType::Ethereum).await;
    let mut watched = stage.samples.keyless_wallet(&user, WalletType::Ethereum);
    watched.wallet.verified = false;
    let proved: Vec<_> = [&user, &user, &other]
        .into_iter()
        .map(|owner| {
            let mut stored = stage.samples.keyless_wallet(owner, WalletType::Ethereum);
            stored.wallet.verified = true;
            stored
        })
        .collect();
    let strangers = stage.strangers(world).await;
    let held = async |place: World, wallet_type: WalletType| {
        in_view!(stage.store, |view| view
            .wallets()
            .held_elsewhere(&place, user.id, wallet_type)
            .await)
    };
    in_tx!(stage.store, |tx| tx
        .wallets()
        .insert_keyless(&watched)
        .await);
    assert_eq!(held(world, WalletType::Ethereum).await, None);
    for stored in &proved {
        in_tx!(stage.store, |tx| tx.wallets().insert_keyless(stored).await);
    }
    let found = held(world, WalletType::Ethereum).await;
    assert_eq!(found.as_ref(), proved.first());
    assert_eq!(held(world, WalletType::Solana).await, None);
    for stranger in strangers {
        assert_eq!(held(stranger, WalletType::Ethereum).await, None);
    }
}

/// An address identifies one wallet of its type, and none in another world (I11).
pub async fn an_address_is_found_in_its_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (stored, _) = stage.wallet(&user, WalletType::Ethereum).await;
    stage.wallet(&user, WalletType::Solana).await;
    let address = stored.wallet.public_address.clone();
    let mut places: Vec<_> = stage.strangers(world).await.into();
    places.push(world);
    for place in places {
        for wallet_type in [WalletType::Ethereum, WalletType::Solana] {
            let found = in_view!(stage.store, |view| view
                .wallets()
                .by_address(&place, wallet_type, &address)
                .await);
            let is_here = place == world && wallet_type == WalletType::Ethereum;
            assert_eq!(found, is_here.then(|| stored.clone()));
        }
    }
    let other_case = address.to_ascii_uppercase();
    let found = in_view!(stage.store, |view| view
        .wallets()
        .by_address(&world, WalletType::Ethereum, &other_case)
        .await);
    assert!(found.is_none(), "addresses are compared byte for byte");
}

/// Only wallets of the user without a key are removed; their addresses are free again.
pub async fn wallets_without_a_key_are_removed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (managed, _) = stage.wallet(&user, WalletType::Ethereum).await;
    let mut keyless = Vec::new();
    for owner in [&user, &user, &other] {
        let stored = stage.samples.keyless_wallet(owner, WalletType::Ethereum);
        in_tx!(stage.store, |tx| tx.wallets().insert_keyless(&stored).await);
        keyless.push(stored);
    }
    for stranger in stage.strangers(world).await {
        let removed = in_tx!(stage.store, |tx| tx
            .wallets()
            .remove_keyless(&stranger, user.id)
            .await);
        assert_eq!(removed, 0);
    }
    for expected in [2, 0] {
        let removed = in_tx!(stage.store, |tx| tx
            .wallets()
            .remove_keyless(&world, user.id)
            .await);
        assert_eq!(removed, expected);
    }
    let (of_user, of_other) = in_view!(stage.store, |view| Ok((
        view.wallets().of_user(&world, user.id).await?,
        view.wallets().of_user(&world, other.id).await?,
    )));
    assert_eq!(of_user, [managed]);
    assert_eq!(of_other, keyless.split_off(2));
    for stored in &keyless {
        let again = in_tx!(stage.store, |tx| tx.wallets().insert_keyless(stored).await);
        assert_eq!(again, Created::Yes);
    }
}
