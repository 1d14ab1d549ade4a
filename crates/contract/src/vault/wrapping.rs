//! Wrapping and opening keys.

use std::sync::Arc;

use vestry_domain::Secret;
use vestry_domain::envelope::WrappedKey;
use vestry_ports::vault::{KeyVault, VaultError};

use super::{Wrapping, works};
use crate::race::race;
use crate::samples::Samples;

/// A wrapped key opens unchanged, with contexts of any length.
pub async fn a_key_comes_back_as_it_was(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    for _ in 0..20 {
        Wrapping::new(&vault, &mut samples)
            .await
            .opens(&vault)
            .await;
    }
    for (key, context) in [([0; 32], Vec::new()), ([255; 32], samples.bytes(1_000))] {
        let wrapped = works(vault.wrap(&context, &Secret::new(key)).await);
        let wrapping = Wrapping {
            key,
            context,
            wrapped,
        };
        wrapping.opens(&vault).await;
    }
}

/// A new wrapping names the primary root version, which is one of those that can open.
pub async fn the_primary_version_wraps(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let status = works(vault.status().await);
    assert!(status.versions.contains(&status.primary_version));
    assert!(
        status.versions.is_sorted_by(|a, b| a < b),
        "{:?}",
        status.versions
    );
    assert!(!status.kind.is_empty());
    let wrapping = Wrapping::new(&vault, &mut samples).await;
    assert_eq!(wrapping.wrapped.root_version, status.primary_version);
}

/// No part of the key is readable in the wrapped bytes.
pub async fn the_key_is_not_in_the_clear(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let wrapping = Wrapping::new(&vault, &mut samples).await;
    let bytes = &wrapping.wrapped.bytes;
    let parts = wrapping.key.windows(8);
    let readable = parts.filter(|part| bytes.windows(8).any(|window| window == *part));
    assert_eq!(readable.count(), 0);
}

/// A wrapped key opens only in its own context, however similar another one is (T1, T3).
pub async fn another_context_does_not_open(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let mut wrapping = Wrapping::new(&vault, &mut samples).await;
    wrapping.context = samples.bytes(40);
    let key = Secret::new(wrapping.key);
    wrapping.wrapped = works(vault.wrap(&wrapping.context, &key).await);
    let right = wrapping.context.clone();
    let mut wrong = vec![Vec::new(), samples.bytes(40)];
    for position in 0..right.len() {
        let mut near = right.clone();
        near.iter_mut()
            .skip(position)
            .take(1)
            .for_each(|byte| *byte ^= 1);
        wrong.push(near);
    }
    wrong.push([right.as_slice(), &[0]].concat());
    wrong.push([&[0], right.as_slice()].concat());
    wrong.extend(right.split_last().map(|(_, rest)| rest.to_vec()));
    for context in wrong {
        wrapping.context = context;
        wrapping.is_corrupt(&vault, "in another context").await;
    }
    wrapping.context = right;
    wrapping.opens(&vault).await;
}

/// A wrapped key with any bit flipped does not open (T2).
pub async fn a_changed_bit_does_not_open(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let mut wrapping = Wrapping::new(&vault, &mut samples).await;
    let right = wrapping.wrapped.bytes.clone();
    for position in 0..right.len() {
        for bit in 0..8 {
            let mut bytes = right.clone();
            let changed = bytes.iter_mut().skip(position).take(1);
            changed.for_each(|byte| *byte ^= 1 << bit);
            wrapping.wrapped.bytes = bytes;
            let what = format!("bit {bit} of byte {position} changed");
            wrapping.is_corrupt(&vault, &what).await;
        }
    }
    wrapping.wrapped.bytes = right;
    wrapping.opens(&vault).await;
}

/// A wrapped key that is truncated, extended or empty does not open, and nothing panics (T2).
pub async fn a_cut_or_lengthened_key_does_not_open(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let mut wrapping = Wrapping::new(&vault, &mut samples).await;
    let right = wrapping.wrapped.bytes.clone();
    let cut = (0..right.len()).map(|length| right.iter().take(length).copied().collect());
    let mut wrong: Vec<Vec<u8>> = cut.collect();
    wrong.push([right.as_slice(), &[0]].concat());
    wrong.push([right.as_slice(), right.as_slice()].concat());
    wrong.push(vec![0; 100_000]);
    for bytes in wrong {
        let what = format!("{} bytes of {}", bytes.len(), right.len());
        wrapping.wrapped.bytes = bytes;
        wrapping.is_corrupt(&vault, &what).await;
    }
}

/// An unknown root version has its own error, distinct from damage, because another process may know it.
pub async fn an_unknown_version_is_told_apart(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let wrapping = Wrapping::new(&vault, &mut samples).await;
    let known = works(vault.status().await).versions;
    for root_version in [0, 7_777, u32::MAX] {
        assert!(
            !known.contains(&root_version),
            "the example version must be unknown"
        );
        let wrapped = WrappedKey {
            root_version,
            ..wrapping.wrapped.clone()
        };
        let outcome = vault.unwrap(&wrapping.context, &wrapped).await;
        assert!(
            matches!(outcome, Err(VaultError::UnknownVersion(version)) if version == root_version),
            "version {root_version}: {outcome:?}"
        );
    }
}

/// Fifty keys wrapped and opened in parallel all open unchanged.
pub async fn parallel_wrappings_all_open(vault: Arc<dyn KeyVault>) {
    let mut samples = Samples::fresh();
    let seeds: Vec<_> = (0..50)
        .map(|_| (samples.key(), samples.bytes(30)))
        .collect();
    let opened = race(seeds.into_iter().map(|(key, context)| {
        let vault = Arc::clone(&vault);
        async move {
            let wrapped = works(vault.wrap(&context, &Secret::new(key)).await);
            let opened = works(vault.unwrap(&context, &wrapped).await);
            *opened.expose() == key
        }
    }))
    .await;
    assert_eq!(opened, vec![true; 50]);
}
