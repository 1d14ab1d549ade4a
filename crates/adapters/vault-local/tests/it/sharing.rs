//! Several processes sharing a file, modelled by two vaults on one path.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use vestry_contract::race::race;
use vestry_domain::Secret;
use vestry_ports::vault::{KeyVault, VaultError};

use crate::Keys;

fn key() -> Secret<[u8; 32]> {
    Secret::new([7; 32])
}

#[tokio::test]
async fn a_rotation_by_another_process_needs_no_restart() {
    let keys = Keys::new();
    let (here, there) = (keys.open(), keys.open());
    let old = here.wrap(b"c", &key()).await.unwrap();
    assert_eq!(there.add_root_version().await.unwrap(), 2);
    let new = there.wrap(b"c", &key()).await.unwrap();
    assert_eq!((old.root_version, new.root_version), (1, 2));
    for wrapped in [&old, &new] {
        let opened = here.unwrap(b"c", wrapped).await.unwrap();
        assert_eq!(opened.expose(), key().expose());
    }
}

/// A process that never unwraps a new key, and so never meets the new version, must not keep wrapping under the old one. Its keys would be
/// lost once the old version is retired.
#[tokio::test]
async fn a_version_replaced_by_another_process_is_not_used_for_wrapping() {
    let keys = Keys::new();
    let (here, there) = (keys.open(), keys.open());
    there.add_root_version().await.unwrap();
    there.retire_below(2).await.unwrap();
    let wrapped = here.wrap(b"c", &key()).await.unwrap();
    assert_eq!(wrapped.root_version, 2);
    assert!(keys.open().unwrap(b"c", &wrapped).await.is_ok());
}

#[tokio::test]
async fn a_missing_version_is_reported_after_rereading_the_file() {
    let keys = Keys::new();
    let vault = keys.open();
    let mut wrapped = vault.wrap(b"c", &key()).await.unwrap();
    wrapped.root_version = 9;
    assert!(matches!(
        vault.unwrap(b"c", &wrapped).await,
        Err(VaultError::UnknownVersion(9))
    ));
    // Without the file there is nothing to reread, which is another error.
    std::fs::remove_file(&keys.path).unwrap();
    assert!(matches!(
        vault.unwrap(b"c", &wrapped).await,
        Err(VaultError::Missing(_))
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_rotations_lose_no_version() {
    let keys = Keys::new();
    let first = keys.open().wrap(b"c", &key()).await.unwrap();
    let rotations = (0..24).map(|_| {
        let vault = keys.open();
        async move {
            let version = vault.add_root_version().await.unwrap();
            let wrapped = vault.wrap(b"c", &Secret::new([7; 32])).await.unwrap();
            (version, wrapped)
        }
    });
    let outcomes = race(rotations).await;
    let made: BTreeSet<u32> = outcomes.iter().map(|(version, _)| *version).collect();
    assert_eq!(made, (2..=25).collect());
    let fresh = keys.open();
    assert_eq!(
        fresh.status().await.unwrap().versions,
        (1..=25).collect::<Vec<_>>()
    );
    assert!(fresh.unwrap(b"c", &first).await.is_ok());
    for (_, wrapped) in outcomes {
        assert!(fresh.unwrap(b"c", &wrapped).await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_wrap_and_unwrap_while_versions_are_added_and_retired() {
    let keys = Keys::new();
    let vault = Arc::new(keys.open());
    let users = (0..16).map(|_| {
        let vault = Arc::clone(&vault);
        async move {
            for _ in 0..20 {
                let wrapped = vault.wrap(b"c", &Secret::new([7; 32])).await.unwrap();
                let opened = vault.unwrap(b"c", &wrapped).await;
                match opened {
                    Ok(opened) => assert_eq!(opened.expose(), &[7; 32]),
                    // Retired between the two calls: reported, and never unwrapped to something else.
                    Err(VaultError::UnknownVersion(version)) => {
                        assert_eq!(version, wrapped.root_version);
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            0_u32
        }
    });
    let other = keys.open();
    let rotation = async move {
        let mut version = 0;
        for _ in 0..10 {
            version = other.add_root_version().await.unwrap();
            other.retire_below(version).await.unwrap();
        }
        version
    };
    let mut tasks: Vec<Pin<Box<dyn Future<Output = u32> + Send>>> = vec![Box::pin(rotation)];
    for user in users {
        tasks.push(Box::pin(user));
    }
    let versions = race(tasks).await;
    assert_eq!(versions.first(), Some(&11));
}
