//! The file: its mode, its creation, its damage.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use vestry_domain::Secret;
use vestry_ports::vault::{KeyVault, VaultError};
use vestry_vault_local::{DocumentError, LocalVault, RootFileError};

use crate::{Keys, entropy};

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn refusal(keys: &Keys) -> RootFileError {
    LocalVault::open(&keys.path, entropy()).err().unwrap()
}

#[tokio::test]
async fn a_new_file_has_one_key_and_is_accessible_only_to_its_owner() {
    let keys = Keys::new();
    assert_eq!(mode(&keys.path), 0o600);
    let status = keys.open().status().await.unwrap();
    assert_eq!(
        (status.kind, status.primary_version, status.versions),
        ("local", 1, vec![1])
    );
}

#[test]
fn an_existing_file_is_never_replaced() {
    let keys = Keys::new();
    let before = fs::read(&keys.path).unwrap();
    let outcome = LocalVault::create(&keys.path, entropy().as_ref());
    assert!(matches!(outcome, Err(RootFileError::Exists(_))));
    assert_eq!(fs::read(&keys.path).unwrap(), before);
}

#[test]
fn of_concurrent_creations_exactly_one_succeeds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("root.key");
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| LocalVault::create(&path, entropy().as_ref())))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let made = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(made, 1);
    assert!(LocalVault::open(&path, entropy()).is_ok());
}

#[test]
fn two_new_files_have_different_keys() {
    let (one, other) = (Keys::new(), Keys::new());
    assert_ne!(fs::read(&one.path).unwrap(), fs::read(&other.path).unwrap());
}

#[test]
fn permissions_of_group_or_others_are_refused_with_advice() {
    let keys = Keys::new();
    for bit in [0o040, 0o020, 0o010, 0o004, 0o002, 0o001] {
        set_mode(&keys.path, 0o600 | bit);
        let error = refusal(&keys);
        assert!(matches!(error, RootFileError::Permissions { .. }));
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
    set_mode(&keys.path, 0o400);
    assert!(LocalVault::open(&keys.path, entropy()).is_ok());
}

/// PR-43, PR-44: systemd and Kubernetes pass secrets as files of root that a group can read.
#[test]
fn a_file_of_root_may_be_readable_by_its_group() {
    let keys = Keys::new();
    set_mode(&keys.path, 0o440);
    let is_of_root = fs::metadata(&keys.path).unwrap().uid() == 0;
    assert_eq!(LocalVault::open(&keys.path, entropy()).is_ok(), is_of_root);
    for mode in [0o640, 0o460, 0o450, 0o444] {
        set_mode(&keys.path, mode);
        assert!(matches!(refusal(&keys), RootFileError::Permissions { .. }));
    }
}

/// A file whose permissions are widened at run time is not read again; the cached keys still unwrap.
#[tokio::test]
async fn the_mode_is_checked_whenever_the_file_is_read() {
    let keys = Keys::new();
    let vault = keys.open();
    let key = Secret::new([7; 32]);
    let wrapped = vault.wrap(b"here", &key).await.unwrap();
    set_mode(&keys.path, 0o644);
    assert!(matches!(
        vault.wrap(b"here", &key).await,
        Err(VaultError::Unavailable(_))
    ));
    assert!(vault.unwrap(b"here", &wrapped).await.is_ok());
}

#[test]
fn other_files_are_refused_by_kind() {
    let keys = Keys::new();
    let directory = LocalVault::open(keys.directory.path(), entropy());
    assert!(matches!(directory, Err(RootFileError::NotAFile(_))));
    let missing = LocalVault::open(&keys.directory.path().join("none"), entropy());
    assert!(matches!(missing, Err(RootFileError::Missing(_))));
    fs::write(&keys.path, vec![b' '; 2 * 1024 * 1024]).unwrap();
    assert!(matches!(refusal(&keys), RootFileError::NotAFile(_)));
    fs::write(&keys.path, "").unwrap();
    assert!(matches!(
        refusal(&keys),
        RootFileError::Contents(_, DocumentError::Syntax { .. })
    ));
}

#[test]
fn a_damaged_key_is_refused_before_anything_is_encrypted_under_it() {
    let keys = Keys::new();
    let text = fs::read_to_string(&keys.path).unwrap();
    let start = text.find("\"key\": \"").unwrap() + 8;
    let replacement = if text[start..].starts_with('A') {
        "B"
    } else {
        "A"
    };
    let mut damaged = text;
    damaged.replace_range(start..=start, replacement);
    fs::write(&keys.path, damaged).unwrap();
    assert!(matches!(
        refusal(&keys),
        RootFileError::Contents(_, DocumentError::Damaged(1))
    ));
}

/// The leftover of a crash between writing and renaming.
#[tokio::test]
async fn a_half_written_replacement_is_ignored() {
    let keys = Keys::new();
    let left_over = keys.directory.path().join("root.key.new");
    fs::write(&left_over, "{\"format\": 1, \"prim").unwrap();
    set_mode(&left_over, 0o644);
    let vault = keys.open();
    assert_eq!(vault.add_root_version().await.unwrap(), 2);
    assert_eq!(mode(&keys.path), 0o600);
    assert!(!left_over.exists());
    assert_eq!(keys.open().status().await.unwrap().versions, [1, 2]);
}

#[tokio::test]
async fn retired_keys_are_gone_from_the_file() {
    let keys = Keys::new();
    let vault = keys.open();
    let text = fs::read_to_string(&keys.path).unwrap();
    let start = text.find("\"key\": \"").unwrap() + 8;
    let old = text[start..start + 44].to_owned();
    vault.add_root_version().await.unwrap();
    assert!(fs::read_to_string(&keys.path).unwrap().contains(&old));
    vault.retire_below(2).await.unwrap();
    assert!(!fs::read_to_string(&keys.path).unwrap().contains(&old));
}

#[tokio::test]
async fn the_primary_version_cannot_be_retired() {
    let keys = Keys::new();
    let vault = keys.open();
    let before = fs::read(&keys.path).unwrap();
    for version in [2, u32::MAX] {
        assert!(matches!(
            vault.retire_below(version).await,
            Err(VaultError::Unavailable(_))
        ));
    }
    for version in [0, 1] {
        vault.retire_below(version).await.unwrap();
    }
    assert_eq!(fs::read(&keys.path).unwrap(), before);
}

#[test]
fn errors_and_debug_output_show_no_key() {
    let keys = Keys::new();
    let text = fs::read_to_string(&keys.path).unwrap();
    let start = text.find("\"key\": \"").unwrap() + 8;
    let key = &text[start..start + 44];
    fs::write(&keys.path, text.replace("\"check\"", "\"chuck\"")).unwrap();
    let error = refusal(&keys);
    let mut shown = format!("{error} {error:?}");
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        shown.push_str(&format!("{error} {error:?}"));
        cause = error.source();
    }
    assert!(!shown.contains(key), "{shown}");
}

/// F5: a missing file seals the vault; restoring it is enough.
#[tokio::test]
async fn a_lazy_vault_works_once_its_file_exists() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("root.key");
    let vault = LocalVault::lazy(&path, entropy());
    let (context, key) = (b"context", Secret::new([7; 32]));
    for _ in 0..2 {
        let sealed = vault.wrap(context, &key).await;
        assert!(matches!(sealed, Err(VaultError::Missing(_))));
    }
    LocalVault::create(&path, entropy().as_ref()).unwrap();
    let wrapped = vault.wrap(context, &key).await.unwrap();
    let reopened = LocalVault::lazy(&path, entropy());
    let unwrapped = reopened.unwrap(context, &wrapped).await.unwrap();
    assert_eq!(unwrapped.expose(), key.expose());
}
