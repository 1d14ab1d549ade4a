//! The contract of every key provider.
//!
//! [`wrapping`] applies to all of them, [`rotation`] to those that can create root versions: a root key from the environment cannot.

pub mod rotation;
pub mod wrapping;

use std::sync::Arc;

use vestry_domain::Secret;
use vestry_domain::envelope::WrappedKey;
use vestry_ports::vault::{KeyVault, VaultError};

use crate::samples::Samples;

/// Runs the whole suite for a key provider that can rotate, with each function as a test of its own.
///
/// The builder is the name of an async function in scope that returns `(Arc<dyn KeyVault>, Guard)`, or an `Option` of it; its provider has
/// one root version.
#[macro_export]
macro_rules! vault_suite {
    ($build:ident) => {
        $crate::vault_wrapping_suite!($build);
        $crate::suite_tests! { $build;
            vault::rotation {
                a_new_version_becomes_primary
                old_versions_still_open
                new_wrappings_use_the_new_version
                a_key_says_nothing_under_another_version
                retired_versions_are_unknown
                retiring_nothing_keeps_everything
                parallel_rotations_lose_no_version
                keys_open_while_the_root_rotates
            }
        }
    };
}

/// Runs the part of the suite that needs no rotation.
#[macro_export]
macro_rules! vault_wrapping_suite {
    ($build:ident) => {
        $crate::suite_tests! { $build;
            vault::wrapping {
                a_key_comes_back_as_it_was
                the_primary_version_wraps
                the_key_is_not_in_the_clear
                another_context_does_not_open
                a_changed_bit_does_not_open
                a_cut_or_lengthened_key_does_not_open
                an_unknown_version_is_told_apart
                parallel_wrappings_all_open
            }
        }
    };
}

/// The value of a vault call; panics at the caller's location if it failed.
#[track_caller]
fn works<T>(outcome: Result<T, VaultError>) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => panic!("the vault failed: {error:?}"),
    }
}

/// A key, its context and its wrapped form.
struct Wrapping {
    key: [u8; 32],
    context: Vec<u8>,
    wrapped: WrappedKey,
}

impl Wrapping {
    async fn new(vault: &Arc<dyn KeyVault>, samples: &mut Samples) -> Self {
        let key = samples.key();
        let length = samples.below(90);
        let context = samples.bytes(length);
        let wrapped = works(vault.wrap(&context, &Secret::new(key)).await);
        Self {
            key,
            context,
            wrapped,
        }
    }

    /// Panics unless the vault unwraps the key.
    async fn opens(&self, vault: &Arc<dyn KeyVault>) {
        let opened = works(vault.unwrap(&self.context, &self.wrapped).await);
        assert!(*opened.expose() == self.key, "the unwrapped key differs");
    }

    /// Panics unless the vault reports the wrapped key as corrupt.
    async fn is_corrupt(&self, vault: &Arc<dyn KeyVault>, what: &str) {
        match vault.unwrap(&self.context, &self.wrapped).await {
            Err(VaultError::Corrupt) => {}
            Err(error) => panic!("{what}: {error:?}"),
            Ok(_) => panic!("{what}: it opened"),
        }
    }
}
