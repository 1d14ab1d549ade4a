//! The contract of every custody: keys and secrets open unaltered and in their own context, and nowhere else.
//!
//! The suite tests a custody from outside, through its two ports and the store with its App keys. Internals such as nonces, caches and an
//! unreachable key provider are tested by the adapter.

pub mod app_keys;
pub mod secrets;
pub mod transfers;
pub mod wallets;

use std::sync::Arc;

use vestry_domain::envelope::{AppKey, WalletKey};
use vestry_domain::ids::UserId;
use vestry_domain::signing::SigningRequest;
use vestry_domain::wallet::{AddressForm, StoredWallet, WalletType};
use vestry_domain::{Environment, World};
use vestry_ports::custody::{Custodian, CustodyError, Sealer, WalletOrder};
use vestry_ports::store::{Store, StoreResult};

use crate::samples::{Samples, other_environment};

/// What a builder returns: both ports of one custody, and the store from which it reads App keys.
pub struct House {
    /// Creates wallets and signs.
    pub custodian: Arc<dyn Custodian>,
    /// Encrypts small secrets.
    pub sealer: Arc<dyn Sealer>,
    /// The store that both ports read; empty.
    pub store: Arc<dyn Store>,
    /// Builds the second port for another process that shares the store and key provider, with empty caches.
    pub another: Box<dyn Fn() -> Arc<dyn Sealer> + Send + Sync>,
}

/// Runs the custody suite, with each function as a test of its own.
///
/// The builder is the name of an async function in scope that returns `(House, Guard)`, or an `Option` of it.
#[macro_export]
macro_rules! custody_suite {
    ($build:ident) => {
        $crate::suite_tests! { $build;
            custody::app_keys {
                a_new_app_gets_a_key_for_each_use
                a_world_without_keys_gets_none_implicitly
                a_rewrapped_key_is_the_same_key
                an_altered_key_is_not_rewrapped
            }
            custody::wallets {
                a_new_wallet_is_as_ordered
                a_new_wallet_signs
                every_wallet_has_a_key_of_its_own
                signatures_depend_on_wallet_and_message
                a_key_in_the_place_of_another_does_not_sign
                parts_of_another_key_do_not_sign
                a_changed_bit_of_a_key_does_not_sign
                a_cut_or_lengthened_key_does_not_sign
                an_edited_row_is_refused
                a_time_of_change_is_not_sealed
                a_changed_wallet_is_authentic
                a_wallet_of_unproven_origin_loses_the_default
                a_rewrapped_wallet_signs_as_before
                a_changed_hash_of_a_row_is_refused
                a_row_moved_to_another_world_is_refused
                an_adopted_address_is_authentic_and_has_no_key
                parallel_signatures_are_all_right
            }
            custody::transfers {
                a_key_pair_is_as_ordered
                a_sealed_key_becomes_a_wallet
                the_two_readings_are_not_interchangeable
                messages_sealed_for_something_else_do_not_open
                another_key_than_that_of_the_address_is_refused
                an_edited_key_pair_is_refused
                an_exported_key_opens_for_its_recipient
                export_rejects_invalid_recipients_and_edited_rows
            }
            custody::secrets {
                a_secret_comes_back_as_it_was
                a_secret_is_not_in_the_clear
                a_secret_opens_in_its_own_place_only
                a_changed_bit_of_a_secret_does_not_open
                a_cut_or_lengthened_secret_does_not_open
                a_keyed_hash_matches_what_it_was_made_of
                a_keyed_hash_matches_nothing_else
                a_changed_keyed_hash_matches_nothing
                m_8_a_secret_is_resealed_under_another_version
                m_8_hashes_of_the_audit_log_outlive_their_key
                m_8_decoys_are_the_same_under_every_version
                m_8_only_a_key_of_secrets_is_narrowed
            }
        }
    };
}

/// The value of a call; panics at the caller's location if it failed.
#[track_caller]
fn works<T>(outcome: Result<T, CustodyError>) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => panic!("custody failed: {error:?}"),
    }
}

/// Panics unless tampering was detected.
#[track_caller]
fn is_tampered<T>(outcome: Result<T, CustodyError>, what: &str) {
    match outcome {
        Err(CustodyError::Tampered { .. }) => {}
        Err(error) => panic!("{what}: {error:?}"),
        Ok(_) => panic!("{what}: tampering was not detected"),
    }
}

/// A row and its key.
type Row = (StoredWallet, WalletKey);

impl House {
    /// The test and the live world of a new App with its keys.
    async fn worlds(&self, samples: &mut Samples) -> [World; 2] {
        let (app, now) = (samples.app(), samples.tick());
        let keys = works(self.custodian.mint_app_keys(app.id, now).await);
        let stored: StoreResult<()> = async {
            let mut tx = self.store.begin().await?;
            tx.apps().insert(&app).await?;
            for key in &keys {
                tx.app_keys().insert(key).await?;
            }
            tx.commit().await
        }
        .await;
        if let Err(error) = stored {
            panic!("the store failed: {error:?}");
        }
        let test = World::new(app.id, Environment::Test);
        [test, other_environment(test)]
    }

    /// Stores an App key.
    async fn add_app_key(&self, key: &AppKey) {
        let stored: StoreResult<()> = async {
            let mut tx = self.store.begin().await?;
            tx.app_keys().insert(key).await?;
            tx.commit().await
        }
        .await;
        works(stored.map_err(CustodyError::Store));
    }

    async fn world(&self, samples: &mut Samples) -> World {
        let [test, _] = self.worlds(samples).await;
        test
    }

    async fn wallet_of(
        &self,
        samples: &mut Samples,
        world: World,
        user_id: UserId,
        wallet_type: WalletType,
    ) -> Row {
        let order = WalletOrder {
            wallet_type,
            ..order(samples, world, user_id)
        };
        works(self.custodian.create_wallet(order).await)
    }

    async fn wallet_typed(
        &self,
        samples: &mut Samples,
        world: World,
        wallet_type: WalletType,
    ) -> Row {
        let user_id = samples.id(samples.now());
        self.wallet_of(samples, world, user_id, wallet_type).await
    }

    /// An Ethereum wallet, for tests where the type does not matter.
    async fn wallet(&self, samples: &mut Samples, world: World) -> Row {
        self.wallet_typed(samples, world, WalletType::Ethereum)
            .await
    }

    /// Panics unless both signing and the integrity check reject this row and key.
    async fn refuses(&self, stored: &StoredWallet, key: &WalletKey, what: &str) {
        let request = SigningRequest::message("message");
        let (row, of_row) = (stored.clone(), key.clone());
        let signed = self.custodian.sign(row, of_row, &request).await;
        is_tampered(signed, what);
        let (row, of_row) = (stored.clone(), key.clone());
        is_tampered(self.custodian.verify_wallet(row, of_row).await, what);
    }

    /// Panics unless the wallet signs and passes the integrity check.
    async fn accepts(&self, stored: &StoredWallet, key: &WalletKey) {
        let request = SigningRequest::message("message");
        let (row, of_row) = (stored.clone(), key.clone());
        works(self.custodian.sign(row, of_row, &request).await);
        let (row, of_row) = (stored.clone(), key.clone());
        works(self.custodian.verify_wallet(row, of_row).await);
    }
}

fn order(samples: &mut Samples, world: World, user_id: UserId) -> WalletOrder {
    let created_at = samples.tick();
    WalletOrder {
        wallet_id: samples.id(created_at),
        key_id: samples.id(created_at),
        world,
        user_id,
        wallet_type: WalletType::Ethereum,
        address_form: AddressForm::Usual,
        created_at,
    }
}

/// Every variant with one bit flipped.
fn changed_bits(right: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..right.len() * 8).map(|bit| {
        let mut bytes = right.to_vec();
        let changed = bytes.iter_mut().skip(bit / 8).take(1);
        changed.for_each(|byte| *byte ^= 1 << (bit % 8));
        bytes
    })
}

/// Every proper prefix, and some longer variants.
fn other_lengths(right: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let cut = (0..right.len()).map(|length| right.iter().take(length).copied().collect());
    let longer = [
        [right, &[0]].concat(),
        [&[0], right].concat(),
        [right, right].concat(),
    ];
    cut.chain(longer)
}
