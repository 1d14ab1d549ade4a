//! The binding of both layers, field by field, without the row check.

use vestry_chains::{Chain, Chains};
use vestry_contract::fakes::SeededEntropy;
use vestry_contract::samples::{Samples, other_environment};
use vestry_domain::Secret;
use vestry_domain::ids::WalletKeyId;
use vestry_domain::wallet::WalletType;

use super::*;
use crate::subkeys::Subkeys;

fn keys() -> WalletSubkeys {
    WalletSubkeys::derive(&Secret::new([1; 32])).unwrap()
}

fn private_key() -> PrivateKey {
    let chains = Chains::new(&Secret::new([2; 32]));
    let chain: &dyn Chain = chains.get(WalletType::Ethereum);
    chain.private_key(&[3; 32]).unwrap()
}

fn wallet() -> Wallet {
    let mut samples = Samples::fresh();
    let app = samples.app();
    let world = vestry_domain::World::new(app.id, vestry_domain::Environment::Live);
    let created_at = samples.tick();
    Wallet {
        id: samples.id(created_at),
        world,
        user_id: samples.id(created_at),
        key_id: Some(samples.id(created_at)),
        wallet_type: WalletType::Ethereum,
        public_address: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94".to_owned(),
        verified: true,
        is_default: true,
        is_read_only: false,
        is_imported: false,
        account_index: None,
        disabled: None,
        created_at,
        updated_at: created_at,
    }
}

fn binding(wallet: &Wallet) -> Binding<'_> {
    Binding {
        wallet,
        key_id: wallet.key_id.unwrap().to_string(),
        public_key: &[5; 33],
        format: FORMAT,
        key_version: 1,
    }
}

#[test]
fn sealed_keys_open_again() {
    let wallet = wallet();
    let layers = seal(
        &keys(),
        &SeededEntropy::fresh(),
        &binding(&wallet),
        &private_key(),
    )
    .unwrap();
    let opened = open(
        &keys(),
        &binding(&wallet),
        &layers.wrapped_data_key,
        &layers.ciphertext,
    )
    .unwrap();
    assert_eq!(opened.as_slice(), [3; 32]);
}

/// T1, T3: under the same App key, so that only the associated data differ. Each layer is tested separately, since a bound layer would hide
/// an unbound one (KEY-2).
#[test]
fn t1_t3_both_layers_are_bound_to_every_field() {
    let own = wallet();
    let mut samples = Samples::fresh();
    let mut others = vec![own.clone(); 5];
    others[0].id = samples.id(own.created_at);
    others[1].world = other_environment(own.world);
    others[2].world.app_id = samples.id(own.created_at);
    others[3].wallet_type = WalletType::Bitcoin;
    others[4].public_address = own.public_address.to_lowercase();
    let mut differing: Vec<(&str, Binding<'_>)> = others
        .iter()
        .zip(["wallet id", "environment", "App", "type", "address"])
        .map(|(wallet, field)| (field, binding(wallet)))
        .collect();
    differing.push((
        "key id",
        Binding {
            key_id: samples.id::<WalletKeyId>(own.created_at).to_string(),
            ..binding(&own)
        },
    ));
    differing.push((
        "public key",
        Binding {
            public_key: &[6; 33],
            ..binding(&own)
        },
    ));
    differing.push((
        "format",
        Binding {
            format: FORMAT + 1,
            ..binding(&own)
        },
    ));
    for (field, other) in differing {
        assert_ne!(other.data_key(), binding(&own).data_key(), "{field}");
        assert_ne!(other.private_key(), binding(&own).private_key(), "{field}");
        let layers = seal(&keys(), &SeededEntropy::fresh(), &other, &private_key()).unwrap();
        let opened = open(
            &keys(),
            &binding(&own),
            &layers.wrapped_data_key,
            &layers.ciphertext,
        );
        assert_eq!(opened.err(), Some(Refused), "{field}");
    }
}

/// The outer layer names the version of the App key, the inner one does not. A rotation of App keys therefore rewraps the data key and does
/// not re-encrypt the private key (KEY-1, KEY-4).
#[test]
fn a_data_key_can_be_wrapped_under_another_version_without_touching_the_private_key() {
    let wallet = wallet();
    let first = binding(&wallet);
    let second = Binding {
        key_version: 2,
        ..binding(&wallet)
    };
    let layers = seal(&keys(), &SeededEntropy::fresh(), &first, &private_key()).unwrap();
    let renamed = open(
        &keys(),
        &second,
        &layers.wrapped_data_key,
        &layers.ciphertext,
    );
    assert_eq!(renamed.err(), Some(Refused));

    let next = WalletSubkeys::derive(&Secret::new([9; 32])).unwrap();
    let data_key = keys()
        .data_keys
        .open(&first.data_key(), &layers.wrapped_data_key)
        .unwrap();
    let rewrapped = next
        .data_keys
        .seal(&SeededEntropy::fresh(), &second.data_key(), &data_key)
        .unwrap();
    let opened = open(&next, &second, &rewrapped, &layers.ciphertext).unwrap();
    assert_eq!(opened.as_slice(), [3; 32]);
}

#[test]
fn the_two_layers_cannot_be_swapped() {
    let wallet = wallet();
    let binding = binding(&wallet);
    assert_ne!(binding.data_key(), binding.private_key());
    let layers = seal(&keys(), &SeededEntropy::fresh(), &binding, &private_key()).unwrap();
    let opened = open(
        &keys(),
        &binding,
        &layers.ciphertext,
        &layers.wrapped_data_key,
    );
    assert_eq!(opened.err(), Some(Refused));
}

/// A format of a later release must not be read as this one, even if it would decrypt.
#[test]
fn another_format_is_refused() {
    let wallet = wallet();
    let other = Binding {
        format: FORMAT + 1,
        ..binding(&wallet)
    };
    let layers = seal(&keys(), &SeededEntropy::fresh(), &other, &private_key()).unwrap();
    let opened = open(
        &keys(),
        &other,
        &layers.wrapped_data_key,
        &layers.ciphertext,
    );
    assert_eq!(opened.err(), Some(Refused));
}
