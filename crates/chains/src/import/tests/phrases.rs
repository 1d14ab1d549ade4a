//! Phrases of the standards, each with its source.

use super::*;
use stellar_strkey::ed25519::PrivateKey as SecretSeed;
use zeroize::Zeroizing;

/// CH-1: bip-utils 2.12.3, and eth-account, solders, stellar-sdk or polkadot.js agree.
#[test]
fn the_abandon_phrase_has_the_check_values() {
    for (wallet_type, environment, address) in [
        (
            WalletType::Ethereum,
            LIVE,
            "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        ),
        (
            WalletType::Ethereum,
            TEST,
            "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        ),
        (
            WalletType::Solana,
            LIVE,
            "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk",
        ),
        (
            WalletType::Bitcoin,
            LIVE,
            "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
        ),
        (
            WalletType::Bitcoin,
            TEST,
            "tb1q6rz28mcfaxtmd6v789l9rrlrusdprr9pqcpvkl",
        ),
        (
            WalletType::Bitcoin,
            LIVE,
            "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr",
        ),
        (
            WalletType::Polkadot,
            LIVE,
            "13KVd4f2a4S5pLp4gTTFezyXdPWx27vQ9vS6xBXJ9yWVd7xo",
        ),
        (
            WalletType::Stellar,
            LIVE,
            "GB3JDWCQJCWMJ3IILWIGDTQJJC5567PGVEVXSCVPEQOTDN64VJBDQBYX",
        ),
    ] {
        let key = derived(wallet_type, ABANDON, 0, address, environment);
        assert!(key.is_ok(), "{wallet_type} {environment:?} {address}");
        assert_eq!(
            derived(wallet_type, ABANDON, 1, address, environment),
            Err(ChainError::Address)
        );
    }
}

/// BTC-6: the private key as WIF.
#[test]
fn the_key_of_bip_84_is_that_of_its_wif() {
    let address = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu";
    let wif = "KyZpNDKnfs94vbrwhJneDi77V6jF64PWPF8x5cdJb8ifgg2DUc9d";
    let key = derived(WalletType::Bitcoin, ABANDON, 0, address, LIVE).unwrap();
    assert_eq!(
        imported(WalletType::Bitcoin, wif, address, LIVE).unwrap(),
        key
    );
}

/// bitcoin/bips, bip-0084.mediawiki and bip-0086.mediawiki, "Test vectors": the second receiving address.
#[test]
fn the_second_addresses_of_bip_84_and_86_are_derived() {
    for address in [
        "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
        "bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh",
    ] {
        assert!(
            derived(WalletType::Bitcoin, ABANDON, 1, address, LIVE).is_ok(),
            "{address}"
        );
    }
}

/// stellar/stellar-protocol, ecosystem/sep-0005.md, tests 1, 2, 3 and 5, all their accounts. Test 4 has a passphrase.
#[test]
fn the_accounts_of_sep_5_are_derived() {
    let text = include_str!("../vectors/sep-0005.txt");
    let mut phrase = "";
    let mut accounts = 0;
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [path, address, secret] = fields[..] else {
            phrase = line;
            continue;
        };
        let index = path["m/44'/148'/".len()..]
            .trim_end_matches('\'')
            .parse()
            .unwrap();
        let key = derived(WalletType::Stellar, phrase, index, address, LIVE).unwrap();
        assert_eq!(key, SecretSeed::from_string(secret).unwrap().0, "{path}");
        accounts += 1;
    }
    assert_eq!(accounts, 40);
}

/// Substrate's development phrase and its accounts, docs.polkadot.com and `subkey inspect //Alice`: ours start at the path
/// without a name, so Alice is a key and not an account.
#[test]
fn the_development_phrase_is_that_of_substrate() {
    let phrase = "bottom drive obey lake curtain smoke basket hold race lonely fit walk";
    let root = chain(WalletType::Polkadot)
        .canonical_address("5DfhGyQdFobKM8NsWvEeAKk5EQQgYe9AydgJ7rMB6E1EqRzV", LIVE)
        .unwrap();
    let seed = derived(WalletType::Polkadot, phrase, 0, &root, LIVE).unwrap();
    assert_eq!(
        hex::encode(seed),
        "fac7959dbfe72f052e5a0c3c8d6530f202b02fd8f9f5ca3580ec8deb7797479e"
    );
    let alice = "e5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a";
    let address = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5";
    assert_eq!(
        hex::encode(imported(WalletType::Polkadot, alice, address, LIVE).unwrap()),
        alice
    );
}

/// What export gives, import takes.
#[test]
fn exported_keys_come_back() {
    for wallet_type in WalletType::ALL {
        let chain = chain(wallet_type);
        let key = chain.private_key(&[0x2a; 32]).unwrap();
        let exported: Zeroizing<Vec<u8>> = chain.export_key(&key).unwrap();
        let address = address(wallet_type, &[0x2a; 32], LIVE);
        let length = if wallet_type == WalletType::Solana {
            64
        } else {
            32
        };
        assert_eq!(exported.len(), length);
        let back = chain.import_key(&exported, &address, LIVE).unwrap();
        assert_eq!(back.expose(), key.expose());
    }
}
