//! Creation and retirement of root versions.

use std::sync::Arc;

use vestry_domain::envelope::WrappedKey;
use vestry_ports::vault::{KeyVault, VaultError};

use super::{Wrapping, works};
use crate::race::race;
use crate::samples::Samples;

/// A new root version becomes the primary one, and the old ones still exist.
pub async fn a_new_version_becomes_primary(vault: Arc<dyn KeyVault>) {
    let before = works(vault.status().await);
    for _ in 0..3 {
        let known = works(vault.status().await).versions;
        let version = works(vault.add_root_version().await);
        assert!(
            !known.contains(&version),
            "version {version} already existed"
        );
        let status = works(vault.status().await);
        assert_eq!(status.primary_version, version);
        assert_eq!(status.versions, [known.as_slice(), &[version]].concat());
        assert_eq!(status.kind, before.kind);
    }
}

/// Keys wrapped by an old root version still open after rotations (R17).
pub async fn old_versions_still_open(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let mut wrappings = Vec::new();
    for _ in 0..3 {
        wrappings.push(Wrapping::new(&vault, &mut samples).await);
        works(vault.add_root_version().await);
    }
    for wrapping in wrappings {
        wrapping.opens(&vault).await;
    }
}

/// After a rotation keys are wrapped under the new root version.
pub async fn new_wrappings_use_the_new_version(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let version = works(vault.add_root_version().await);
    let wrapping = Wrapping::new(&vault, &mut samples).await;
    assert_eq!(wrapping.wrapped.root_version, version);
    wrapping.opens(&vault).await;
}

/// A wrapped key that claims another existing root version does not open (T3).
pub async fn a_key_says_nothing_under_another_version(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let mut old = Wrapping::new(&vault, &mut samples).await;
    works(vault.add_root_version().await);
    let mut new = Wrapping::new(&vault, &mut samples).await;
    std::mem::swap(&mut old.wrapped.root_version, &mut new.wrapped.root_version);
    old.is_corrupt(&vault, "an old key under the new version")
        .await;
    new.is_corrupt(&vault, "a new key under the old version")
        .await;
}

/// Retired root versions are gone, along with the keys they wrapped; the others still open.
pub async fn retired_versions_are_unknown(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let first = Wrapping::new(&vault, &mut samples).await;
    works(vault.add_root_version().await);
    let second = Wrapping::new(&vault, &mut samples).await;
    let version = works(vault.add_root_version().await);
    let third = Wrapping::new(&vault, &mut samples).await;
    works(vault.retire_below(second.wrapped.root_version).await);
    is_unknown(&vault, &first).await;
    second.opens(&vault).await;
    third.opens(&vault).await;
    works(vault.retire_below(version).await);
    is_unknown(&vault, &second).await;
    third.opens(&vault).await;
    let status = works(vault.status().await);
    assert_eq!(
        (status.primary_version, status.versions),
        (version, vec![version])
    );
    // The number of a destroyed version is not reused.
    let next = works(vault.add_root_version().await);
    assert!(next > version, "version {next} after {version}");
}

async fn is_unknown(vault: &Arc<dyn KeyVault>, wrapping: &Wrapping) {
    let WrappedKey { root_version, .. } = wrapping.wrapped;
    let outcome = vault.unwrap(&wrapping.context, &wrapping.wrapped).await;
    assert!(
        matches!(outcome, Err(VaultError::UnknownVersion(version)) if version == root_version),
        "retired version still works: {outcome:?}"
    );
}

/// Retiring versions below the oldest one destroys nothing.
pub async fn retiring_nothing_keeps_everything(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let wrapping = Wrapping::new(&vault, &mut samples).await;
    works(vault.add_root_version().await);
    let before = works(vault.status().await);
    for version in [0, wrapping.wrapped.root_version] {
        works(vault.retire_below(version).await);
    }
    assert_eq!(works(vault.status().await), before);
    wrapping.opens(&vault).await;
}

/// Eight parallel rotations make eight versions; none is lost or assigned twice.
pub async fn parallel_rotations_lose_no_version(vault: Arc<dyn KeyVault>) {
    let mut expected = works(vault.status().await).versions;
    let made = race((0..8).map(|_| {
        let vault = Arc::clone(&vault);
        async move { works(vault.add_root_version().await) }
    }))
    .await;
    expected.extend(made);
    expected.sort_unstable();
    let status = works(vault.status().await);
    assert_eq!(status.versions, expected);
    assert_eq!(Some(status.primary_version), expected.last().copied());
}

/// Keys are wrapped and opened without failures while the root rotates (R17).
pub async fn keys_open_while_the_root_rotates(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let old = Arc::new(Wrapping::new(&vault, &mut samples).await);
    let keys = (0..20).map(|_| (samples.key(), samples.bytes(20)));
    let keys: Vec<_> = keys.collect();
    race((0..20).zip(keys).map(|(number, (key, context))| {
        let (vault, old) = (Arc::clone(&vault), Arc::clone(&old));
        async move {
            if number % 5 == 0 {
                works(vault.add_root_version().await);
                return;
            }
            for _ in 0..10 {
                let key = vestry_domain::Secret::new(key);
                let wrapped = works(vault.wrap(&context, &key).await);
                let opened = works(vault.unwrap(&context, &wrapped).await);
                assert!(opened.expose() == key.expose(), "the unwrapped key differs");
                old.opens(&vault).await;
            }
        }
    }))
    .await;
}
