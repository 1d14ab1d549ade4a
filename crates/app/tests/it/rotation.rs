//! `vestry vault rotate-apps`. Destroying old keys takes a quarter of a minute, so a test of the whole service covers it.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use vestry_app::platform::rotation::AppRotation;
use vestry_app::wallets::SwitchWalletError;
use vestry_app::{Fault, Principal, Refusal, Service};
use vestry_contract::race::race;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_ports::store::{Store, StoreError};

use crate::harness::Harness;
use crate::tamper::{store, unstored};
use crate::wallets::text;

async fn rotate(service: &Service) -> AppRotation {
    let rotation = service
        .vault_rotate_apps(Principal::cli(), &|_, _| {})
        .await;
    rotation.unwrap()
}

/// The key versions of the wallets in the test environment: of the rows, and of the keys.
async fn versions(harness: &Harness) -> Vec<(u32, u32)> {
    let mut view = harness.fake.read().await.unwrap();
    let rows = view.wallets().walk(None, 1_000).await.unwrap();
    let mut versions: Vec<_> = rows
        .iter()
        .map(|(row, key)| (row.mac.key_version, key.key_version))
        .collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

async fn wallets_of(harness: &Harness, count: usize) -> Vec<WalletId> {
    let test = harness.test().await;
    let mut wallets = Vec::new();
    for number in 0..count {
        let email = format!("user{number}@example.com");
        wallets.push(harness.user(&test, &email).await.wallets[0].id);
    }
    wallets
}

async fn all_sign(service: &Service, harness: &Harness, wallets: &[WalletId]) {
    let test = harness.test().await;
    for wallet in wallets {
        service.sign(&test, text(*wallet, "hi")).await.unwrap();
    }
}

#[tokio::test]
async fn every_wallet_moves_to_a_new_key() {
    let harness = Harness::new().await;
    harness.stranger().await;
    let wallets = wallets_of(&harness, 7).await;
    let seen = Mutex::new(Vec::new());
    let progress = |done, total| seen.lock().unwrap().push((done, total));
    let rotation = harness
        .service
        .vault_rotate_apps(Principal::cli(), &progress)
        .await;
    let expected = AppRotation {
        // Two Apps, with two environments each and two keys per environment.
        minted: 8,
        rewrapped: 7,
        // The signing keys.
        resealed: 4,
        ..AppRotation::default()
    };
    assert_eq!(rotation.unwrap(), expected);
    assert_eq!(seen.lock().unwrap().last(), Some(&(11, 11)));
    assert_eq!(versions(&harness).await, [(2, 2)]);
    all_sign(&harness.service, &harness, &wallets).await;
    all_sign(&harness.other_process(), &harness, &wallets).await;
    let report = harness.service.vault_verify(&|_| {}).await.unwrap();
    assert_eq!((report.wallets, report.failed), (7, vec![]));
}

/// The next run finishes an interrupted one, under the same key.
#[tokio::test]
async fn an_interrupted_rotation_is_finished() {
    let harness = Harness::new().await;
    let wallets = wallets_of(&harness, 120).await;
    // The keys of both environments are added and the first batch is written; the second one never begins.
    let store = Arc::clone(&harness.store);
    let batches = Mutex::new(0);
    let progress = |_, _| {
        *batches.lock().unwrap() += 1;
        store.refuse([StoreError::Unavailable("cut off".into())]);
    };
    let cut = harness
        .service
        .vault_rotate_apps(Principal::cli(), &progress)
        .await;
    assert!(cut.is_err());
    assert_eq!(*batches.lock().unwrap(), 1);
    assert_eq!(versions(&harness).await, [(1, 1), (2, 2)]);
    all_sign(&harness.service, &harness, &wallets).await;
    let finished = rotate(&harness.other_process()).await;
    assert_eq!((finished.rewrapped, finished.failed), (70, vec![]));
    // Only the environment without wallets had nothing left to finish.
    assert_eq!(finished.minted, 1);
    assert_eq!(versions(&harness).await, [(2, 2)]);
    all_sign(&harness.service, &harness, &wallets).await;
}

/// An altered wallet is named and left unchanged, and does not keep the others from getting new keys, now or later.
#[tokio::test]
async fn an_altered_wallet_is_named_and_left_alone() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallets = wallets_of(&harness, 3).await;
    let mut row = unstored(&harness, &test, "mallory@example.com").await;
    row.0.wallet.is_imported = true;
    let altered = store(&harness, &row).await;
    for version in [2, 3] {
        let rotation = rotate(&harness.service).await;
        assert_eq!(rotation.failed, [altered]);
        assert_eq!((rotation.minted, rotation.rewrapped), (4, 3));
        assert_eq!(versions(&harness).await, [(1, 1), (version, version)]);
        all_sign(&harness.service, &harness, &wallets).await;
    }
}

/// R17: a process that has not noticed that a newer key exists and the old one was destroyed stores nothing under the old one.
#[tokio::test]
async fn nothing_is_stored_under_a_destroyed_key() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await;
    let (user_id, wallet) = (user.profile.user.id, user.wallets[0].id);
    rotate(&harness.other_process()).await;
    let mut tx = harness.fake.begin().await.unwrap();
    let keys = tx.app_keys();
    let removed = keys.remove(&test.world, KeyPurpose::Wallets, 1);
    assert!(removed.await.unwrap());
    tx.commit().await.unwrap();

    let create = async |service: &Service| {
        let (solana, usual) = (WalletType::Solana, AddressForm::Usual);
        service.create_wallet(&test, user_id, solana, usual).await
    };
    let lost = create(&harness.service).await.unwrap_err();
    assert!(matches!(lost, Refusal::Fault(Fault::Unavailable(_))));
    let lost = harness
        .service
        .disable_wallet(&test, wallet)
        .await
        .unwrap_err();
    assert!(matches!(
        lost,
        SwitchWalletError::Common(Refusal::Fault(Fault::Unavailable(_)))
    ));
    assert_eq!(versions(&harness).await, [(2, 2)]);

    let other = harness.other_process();
    create(&other).await.unwrap();
    other.disable_wallet(&test, wallet).await.unwrap();
    let report = other.vault_verify(&|_| {}).await.unwrap();
    assert_eq!((report.wallets, report.failed), (2, vec![]));
}

/// R17: signatures, new wallets and enable or disable calls continue during rotations, and none fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r17_rotations_disturb_no_call() {
    let harness = Arc::new(Harness::new().await);
    let wallets = wallets_of(&harness, 40).await;
    let signers = wallets.iter().copied().map(|wallet| {
        let harness = Arc::clone(&harness);
        async move {
            let test = harness.test().await;
            for _ in 0..10 {
                harness
                    .service
                    .sign(&test, text(wallet, "hi"))
                    .await
                    .unwrap();
            }
            harness.service.disable_wallet(&test, wallet).await.unwrap();
            harness.service.enable_wallet(&test, wallet).await.unwrap();
        }
        .boxed()
    });
    let rotations = (0..3).map(|_| {
        let harness = Arc::clone(&harness);
        async move {
            let rotation = rotate(&harness.other_process()).await;
            assert_eq!(rotation.failed, []);
        }
        .boxed()
    });
    race(signers.chain(rotations)).await;
    rotate(&harness.service).await;
    let report = harness.service.vault_verify(&|_| {}).await.unwrap();
    assert_eq!((report.wallets, report.failed), (40, vec![]));
    all_sign(&harness.other_process(), &harness, &wallets).await;
}
