//! `vestry vault status|rotate-root|verify`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use vestry_app::platform::vault::{RootReport, Rotation};
use vestry_app::wallets::SignError;
use vestry_app::{Fault, Principal, Refusal, Service};
use vestry_contract::race::race;
use vestry_domain::World;
use vestry_domain::audit::control::ControlAction;
use vestry_domain::envelope::{KeyPurpose, WrappedKey};
use vestry_domain::ids::WalletId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::{User, UserStatus};
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_ports::custody::AddressOrder;
use vestry_ports::store::{Created, Store};
use vestry_ports::vault::Vaults;

use crate::changes::written;
use crate::harness::Harness;
use crate::tamper::{store, unstored};
use crate::wallets::text;

async fn sign(service: &Service, harness: &Harness, wallet: WalletId) -> String {
    let signed = service
        .sign(&*harness.test().await, text(wallet, "test"))
        .await
        .unwrap();
    signed.signed.text("signature").unwrap().to_owned()
}

/// Asserts the same for both root keys: the primary version, all versions, and the App keys under each, for wallets and for secrets.
fn assert_versions(
    reports: &[RootReport],
    primary: u32,
    versions: &[u32],
    app_keys: [&[(u32, u64)]; 2],
) {
    let purposes: Vec<_> = reports.iter().map(|report| report.purpose).collect();
    assert_eq!(purposes, KeyPurpose::ALL);
    for (report, app_keys) in reports.iter().zip(app_keys) {
        let provider = report.provider.as_ref().unwrap();
        assert_eq!(provider.primary_version, primary, "{report:?}");
        assert_eq!(provider.versions, versions, "{report:?}");
        assert_eq!(report.app_keys, app_keys, "{report:?}");
        assert!(report.wrong.is_empty(), "{report:?}");
    }
}

/// A rotation that moved both root keys to this version.
fn rotated(version: u32, rewrapped: u64) -> Rotation {
    Rotation {
        versions: KeyPurpose::ALL.map(|purpose| (purpose, version)).into(),
        rewrapped,
        failed: Vec::new(),
    }
}

#[tokio::test]
async fn rotation_rewraps_everything_and_changes_no_key() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.stranger().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    let session = harness.sign_in(&test, "bob@example.com", 60).await;
    let before = sign(&harness.service, &harness, wallet).await;
    let status = async || harness.service.vault_status().await.unwrap();
    assert_versions(&status().await, 1, &[1], [&[(1, 4)]; 2]);
    for purpose in KeyPurpose::ALL {
        harness.service.has_root_key(purpose).await.unwrap();
    }

    let seen = Mutex::new(Vec::new());
    let progress = |done, total| seen.lock().unwrap().push((done, total));
    let rotation = harness
        .service
        .vault_rotate_root(Principal::cli(), &progress)
        .await
        .unwrap();
    assert_eq!(rotation, rotated(2, 8));
    assert_eq!(
        *seen.lock().unwrap(),
        (1..=8).map(|done| (done, 8)).collect::<Vec<_>>()
    );
    assert_versions(&status().await, 2, &[1, 2], [&[(2, 4)]; 2]);

    let report = harness.service.vault_verify(&|_| {}).await.unwrap();
    assert_eq!((report.app_keys, report.wallets), (8, 1));
    assert!(report.failed.is_empty() && report.failed_app_keys.is_empty());
    // The nonce of RFC 6979 depends on the key, so equal signatures mean equal keys. Also for a process that starts now.
    let other = harness.other_process();
    assert_eq!(sign(&harness.service, &harness, wallet).await, before);
    assert_eq!(sign(&other, &harness, wallet).await, before);
    harness.by_token(&test, &session.token).await.unwrap();
    other
        .create_wallet(
            &test,
            session.session.user_id,
            WalletType::Ethereum,
            AddressForm::Usual,
        )
        .await
        .unwrap();
}

/// R17: a hundred signatures run while the root key is rotated twice; none fails, in a process with warm keys and in a cold one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r17_signatures_continue_during_a_rotation() {
    let harness = Arc::new(Harness::new().await);
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    let before = sign(&harness.service, &harness, wallet).await;
    let tasks = (0..102).map(|number| {
        let harness = Arc::clone(&harness);
        async move {
            match number {
                0 | 51 => harness
                    .service
                    .vault_rotate_root(Principal::cli(), &|_, _| {})
                    .await
                    .map(|_| String::new())
                    .unwrap(),
                number if number % 2 == 0 => sign(&harness.service, &harness, wallet).await,
                _ => sign(&harness.other_process(), &harness, wallet).await,
            }
        }
    });
    let signatures = race(tasks).await;
    assert_eq!(
        signatures
            .iter()
            .filter(|signature| **signature == before)
            .count(),
        100
    );
    let report = harness.service.vault_status().await.unwrap();
    assert_versions(&report, 3, &[1, 2, 3], [&[(3, 2)]; 2]);
}

/// Two operators rotate concurrently: the run that finds a newer version than its own is done.
#[tokio::test]
async fn an_overtaken_rotation_ends() {
    let harness = Harness::new().await;
    let vaults = harness.vaults.clone();
    harness.store.before_next_begin(async move {
        for purpose in KeyPurpose::ALL {
            vaults.of(purpose).add_root_version().await.unwrap();
        }
    });
    let once_each = |done, _| assert!(done <= 4, "the same keys again and again");
    harness
        .service
        .vault_rotate_root(Principal::cli(), &once_each)
        .await
        .unwrap();
    for report in harness.service.vault_status().await.unwrap() {
        assert_eq!(report.provider.as_ref().unwrap().primary_version, 3);
        let mut under = report.app_keys.iter();
        assert!(under.all(|(version, _)| *version >= 2), "{report:?}");
    }
    let rotation = harness
        .service
        .vault_rotate_root(Principal::cli(), &|_, _| {})
        .await
        .unwrap();
    assert_eq!(rotation, rotated(4, 4));
    assert_eq!(
        harness
            .service
            .vault_verify(&|_| {})
            .await
            .unwrap()
            .app_keys,
        4
    );
}

/// The next run finishes an interrupted one.
#[tokio::test]
async fn a_rotation_can_be_resumed() {
    let harness = Harness::new().await;
    let fake = harness.fake.clone();
    let after_two = move |done: u64, _| fake.set_unavailable(done == 2);
    let cut = harness
        .service
        .vault_rotate_root(Principal::cli(), &after_two)
        .await;
    assert!(
        matches!(cut, Err(Refusal::Fault(Fault::Unavailable(_)))),
        "{cut:?}"
    );
    harness.fake.set_unavailable(false);
    let mut under = [0, 0];
    for report in harness.service.vault_status().await.unwrap() {
        for (version, count) in report.app_keys {
            under[usize::try_from(version).unwrap() - 1] += count;
        }
    }
    assert_eq!(under, [2, 2]);
    let rotation = harness
        .service
        .vault_rotate_root(Principal::cli(), &|_, _| {})
        .await
        .unwrap();
    assert_eq!(rotation, rotated(3, 4));
    assert_eq!(
        harness
            .service
            .vault_verify(&|_| {})
            .await
            .unwrap()
            .app_keys,
        4
    );
}

/// Old root versions are destroyed only when no key is under them.
#[tokio::test]
async fn retiring_waits_for_the_last_key() {
    let harness = Harness::new().await;
    let wallet = harness
        .user(&*harness.test().await, "ada@example.com")
        .await
        .wallets[0]
        .id;
    let status = async || harness.service.vault_status().await.unwrap();
    for purpose in KeyPurpose::ALL {
        harness.vaults.of(purpose).add_root_version().await.unwrap();
    }
    assert_eq!(
        harness
            .service
            .vault_retire(Principal::cli())
            .await
            .unwrap(),
        4
    );
    assert_versions(&status().await, 2, &[1, 2], [&[(1, 2)]; 2]);
    harness
        .service
        .vault_rotate_root(Principal::cli(), &|_, _| {})
        .await
        .unwrap();
    assert_eq!(
        harness
            .service
            .vault_retire(Principal::cli())
            .await
            .unwrap(),
        0
    );
    assert_versions(&status().await, 3, &[3], [&[(3, 2)], &[(3, 3)]]);
    sign(&harness.other_process(), &harness, wallet).await;
    // AUD-1: destruction is recorded once for each root key.
    let log = written(&harness, World::DEPLOYMENT).await;
    let log = log
        .iter()
        .map(|entry| (entry.event.action, entry.event.subject.id.as_str()));
    let action = ControlAction::RootKeyRetire;
    assert!(log.eq([(action, "wallets"), (action, "secrets")]));
    assert_eq!(
        harness
            .service
            .vault_retire(Principal::cli())
            .await
            .unwrap(),
        0
    );
    assert_eq!(written(&harness, World::DEPLOYMENT).await.len(), 2);
}

/// Swapped root keys are detected, although their versions are equal.
#[tokio::test]
async fn status_finds_the_wrong_root_key() {
    let harness = Harness::new().await;
    let swapped = Vaults {
        wallets: Arc::clone(&harness.vaults.secrets),
        secrets: Arc::clone(&harness.vaults.wallets),
    };
    let swapped = harness.process_with_vaults(&swapped);
    for report in swapped.vault_status().await.unwrap() {
        assert_eq!(report.wrong, [1], "{report:?}");
    }
}

/// R17: a rotation is overtaken by another one, which then destroys the version that the first one has yet to open.
#[tokio::test]
async fn r17_a_rotation_whose_old_version_is_destroyed_ends() {
    let harness = Harness::new().await;
    let operator = harness.other_process();
    harness.store.before_next_begin(async move {
        operator
            .vault_rotate_root(Principal::cli(), &|_, _| {})
            .await
            .unwrap();
        assert_eq!(operator.vault_retire(Principal::cli()).await.unwrap(), 0);
    });
    let rotation = harness
        .service
        .vault_rotate_root(Principal::cli(), &|_, _| {})
        .await
        .unwrap();
    assert_eq!(rotation, rotated(2, 0));
    let status = harness.service.vault_status().await.unwrap();
    assert_versions(&status, 3, &[3], [&[(3, 2)], &[(3, 3)]]);
}

/// R17: an App key created while the root key above it is being destroyed still opens.
#[tokio::test]
async fn r17_a_key_created_during_the_destruction_is_not_lost() {
    let harness = Harness::new().await;
    let intrude = || {
        let operator = harness.other_process();
        harness.store.before_next_begin(async move {
            operator
                .vault_rotate_root(Principal::cli(), &|_, _| {})
                .await
                .unwrap();
            assert_eq!(operator.vault_retire(Principal::cli()).await.unwrap(), 0);
        });
    };
    intrude();
    harness
        .service
        .create_app(Principal::cli(), "Another")
        .await
        .unwrap();
    intrude();
    let rotation = harness
        .service
        .vault_rotate_apps(Principal::cli(), &|_, _| {})
        .await;
    // Two for each of four environments, and one for the built-in App, which has no wallets.
    assert_eq!(rotation.unwrap().minted, 9);
    let report = harness.service.vault_verify(&|_| {}).await.unwrap();
    // One of them is the key under which the deployment log is written. Its rotation leaves two, as for every world.
    assert_eq!((report.app_keys, report.failed_app_keys), (23, vec![]));
}

/// `vault verify` names every wallet whose row or key was edited, and continues after each.
#[tokio::test]
async fn verify_finds_edits() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let good = harness.user(&test, "good@example.com").await.wallets[0].id;
    let mut edited = unstored(&harness, &test, "edited@example.com").await;
    edited.0.wallet.public_address = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94".into();
    let mut one = unstored(&harness, &test, "one@example.com").await;
    let mut two = unstored(&harness, &test, "two@example.com").await;
    std::mem::swap(&mut one.1.ciphertext, &mut two.1.ciphertext);
    let mut bad = vec![
        store(&harness, &edited).await,
        store(&harness, &one).await,
        store(&harness, &two).await,
    ];
    let steps = AtomicU64::new(0);
    let report = harness
        .service
        .vault_verify(&|seen| steps.store(seen, Ordering::SeqCst))
        .await
        .unwrap();
    bad.sort();
    assert_eq!(report.failed, bad);
    assert_eq!((report.wallets, report.app_keys), (1, 4));
    assert_eq!(steps.load(Ordering::SeqCst), 4);
    harness.service.get_wallet(&test, good).await.unwrap();
}

/// The same holds for the key of the audit log itself, although the finding cannot be recorded without it.
#[tokio::test]
async fn an_overwritten_secrets_key_keeps_no_other_under_an_old_root_key() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.user(&test, "ada@example.com").await;
    let mut tx = harness.fake.begin().await.unwrap();
    let keys = tx.app_keys().all().await.unwrap();
    let key = keys
        .iter()
        .find(|key| key.world == test.world && key.purpose.as_str() == "secrets")
        .unwrap();
    let mut bytes = key.wrapped.bytes.clone();
    bytes[20] ^= 1;
    let altered = WrappedKey {
        root_version: 1,
        bytes,
    };
    assert!(tx.app_keys().rewrap(key, 1, &altered).await.unwrap());
    tx.commit().await.unwrap();
    let other = harness.other_process();
    let rotation = other
        .vault_rotate_root(Principal::cli(), &|_, _| {})
        .await
        .unwrap();
    let failed = [format!("{}/test/secrets/1", harness.app.id)];
    assert_eq!((rotation.rewrapped, &rotation.failed[..]), (3, &failed[..]));
}

/// An overwritten wrapped App key is named, and nothing under it can be opened.
#[tokio::test]
async fn verify_finds_an_overwritten_app_key() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    let mut tx = harness.fake.begin().await.unwrap();
    let keys = tx.app_keys().all().await.unwrap();
    let key = keys
        .iter()
        .find(|key| key.world == test.world && key.purpose.as_str() == "wallets")
        .unwrap();
    let mut bytes = key.wrapped.bytes.clone();
    bytes[20] ^= 1;
    let altered = WrappedKey {
        root_version: 1,
        bytes,
    };
    assert!(tx.app_keys().rewrap(key, 1, &altered).await.unwrap());
    tx.commit().await.unwrap();
    let other = harness.other_process();
    let report = other.vault_verify(&|_| {}).await.unwrap();
    assert_eq!(
        report.failed_app_keys,
        [format!("{}/test/wallets/1", harness.app.id)]
    );
    assert_eq!(
        (report.app_keys, report.failed.as_slice()),
        (3, &[wallet][..])
    );
    let signed = other.sign(&test, text(wallet, "hi")).await;
    assert!(
        matches!(
            signed,
            Err(SignError::Common(Refusal::Fault(Fault::Tampered(_))))
        ),
        "{signed:?}"
    );
    // The others are moved off the old root key regardless, and the old root key is kept for this one.
    let rotation = other
        .vault_rotate_root(Principal::cli(), &|_, _| {})
        .await
        .unwrap();
    assert_eq!(
        (rotation.rewrapped, rotation.failed),
        (3, report.failed_app_keys)
    );
    assert_eq!(other.vault_retire(Principal::cli()).await.unwrap(), 1);
}

/// More wallets than one step covers.
#[tokio::test]
async fn verify_walks_all_wallets() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut rows = Vec::new();
    for _ in 0..501 {
        rows.push(
            harness
                .ports
                .custodian
                .create_wallet(harness.order(&test))
                .await
                .unwrap(),
        );
    }
    rows[500].0.wallet.is_imported = true;
    let mut tx = harness.fake.begin().await.unwrap();
    for (wallet, key) in &rows {
        let id = wallet.wallet.user_id;
        let user = User::new(id, test.world, UserStatus::Active, harness.now());
        tx.users().insert(&user).await.unwrap();
        assert_eq!(
            tx.wallets().insert(wallet, key).await.unwrap(),
            Created::Yes
        );
    }
    tx.commit().await.unwrap();
    let report = harness.service.vault_verify(&|_| {}).await.unwrap();
    assert_eq!(
        (report.wallets, report.failed),
        (500, vec![rows[500].0.wallet.id])
    );
}

/// K9: a key removed from the database is missed, and a change to a wallet that never had one is found.
#[tokio::test]
async fn wallets_without_a_key_are_verified_too() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let addresses = [
        "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    ];
    let mut rows = Vec::new();
    for address in addresses {
        let order = AddressOrder {
            wallet_id: harness.order(&test).wallet_id,
            world: test.world,
            user_id: user,
            wallet_type: WalletType::Ethereum,
            public_address: address.to_owned(),
            created_at: harness.now(),
        };
        rows.push(harness.ports.custodian.adopt_address(order).await.unwrap());
    }
    rows[1].wallet.created_at = rows[1].wallet.created_at + Seconds(1);
    let (lost, _key) = unstored(&harness, &test, "bob@example.com").await;
    rows.push(lost);
    let mut tx = harness.fake.begin().await.unwrap();
    for row in &rows {
        assert_eq!(
            tx.wallets().insert_keyless(row).await.unwrap(),
            Created::Yes
        );
    }
    tx.commit().await.unwrap();
    let report = harness.service.vault_verify(&|_| {}).await.unwrap();
    assert_eq!((report.wallets, report.read_only), (0, 1));
    let mut expected = [rows[1].wallet.id, rows[2].wallet.id];
    expected.sort();
    let mut failed = report.failed;
    failed.sort();
    assert_eq!(failed, expected);
}
