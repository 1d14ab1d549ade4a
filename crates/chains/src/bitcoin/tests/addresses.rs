//! Keys and addresses.

use ::bitcoin::NetworkKind;
use ::bitcoin::bip32::{DerivationPath, Xpriv};
use ::bitcoin::secp256k1::Secp256k1;
use vestry_domain::Environment;

use super::support::{address, bytes, chain, key, small};
use crate::{Chain, ChainError, PrivateKey};

/// The seed of BIP-39 for `abandon` ×11 + `about` without a passphrase.
const SEED: &str = "5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4";

fn derived(path: &str) -> PrivateKey {
    let curve = Secp256k1::new();
    let master = Xpriv::new_master(NetworkKind::Main, &bytes(SEED)).unwrap();
    let path: DerivationPath = path.parse().unwrap();
    let derived = master.derive_priv(&curve, &path).unwrap();
    chain().private_key(&derived.private_key[..]).unwrap()
}

/// BIP-84, section "Test vectors", and for the test network bip-utils 2.12.3 (CH-1, BTC-1).
#[test]
fn the_abandon_phrase_has_the_addresses_of_bip_84() {
    for (path, public_key, environment, expected) in [
        (
            "m/84'/0'/0'/0/0",
            "0330d54fd0dd420a6e5f8d3624f5f3482cae350f79d5f0753bf5beef9c2d91af3c",
            Environment::Live,
            "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
        ),
        (
            "m/84'/0'/0'/0/1",
            "03e775fd51f0dfb8cd865d9ff1cca2a158cf651fe997fdc9fee9c1d3b5e995ea77",
            Environment::Live,
            "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
        ),
        (
            "m/84'/0'/0'/1/0",
            "03025324888e429ab8e3dbaf1f7802648b9cd01e9b418485c5fa4c1b9b5700e1a6",
            Environment::Live,
            "bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el",
        ),
        (
            "m/84'/1'/0'/0/0",
            "02e7ab2537b5d49e970309aae06e9e49f36ce1c9febbd44ec8e0d1cca0b4f9c319",
            Environment::Test,
            "tb1q6rz28mcfaxtmd6v789l9rrlrusdprr9pqcpvkl",
        ),
    ] {
        let key = derived(path);
        assert_eq!(
            chain().public_key(&key).unwrap(),
            bytes(public_key),
            "{path}"
        );
        assert_eq!(address(&key, environment), expected, "{path}");
    }
}

/// BIP-173, section "Examples": the key is the base point.
#[test]
fn the_base_point_has_the_addresses_of_bip_173() {
    assert_eq!(
        address(&small(1), Environment::Live),
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
    );
    assert_eq!(
        address(&small(1), Environment::Test),
        "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"
    );
}

#[test]
fn numbers_outside_the_range_and_other_lengths_are_no_private_keys() {
    let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let largest = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140";
    for refused in [
        vec![0; 32],
        bytes(order),
        vec![0xff; 32],
        vec![],
        vec![1; 31],
        vec![1; 33],
    ] {
        assert_eq!(
            chain().private_key(&refused).err(),
            Some(ChainError::PrivateKey)
        );
    }
    assert_eq!(key(largest).expose(), bytes(largest));
}

#[test]
fn only_compressed_points_of_the_curve_are_public_keys() {
    let chain = chain();
    let good = chain.public_key(&small(1)).unwrap();
    let uncompressed = ::bitcoin::secp256k1::PublicKey::from_slice(&good)
        .unwrap()
        .serialize_uncompressed();
    // x = 5 is on no point of secp256k1.
    let mut off_curve = vec![0; 33];
    off_curve[0] = 2;
    off_curve[32] = 5;
    for refused in [
        uncompressed.to_vec(),
        off_curve,
        [good.as_slice(), &[0]].concat(),
        good[..32].to_vec(),
        vec![],
    ] {
        assert_eq!(
            chain.address(&refused, Environment::Live),
            Err(ChainError::PublicKey)
        );
    }
}
