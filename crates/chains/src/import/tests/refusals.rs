//! What must not be taken for a key or for an address, though it nearly is.

use super::*;
use ::bitcoin::{Address, KnownHrp, WitnessProgram, WitnessVersion};
use vestry_domain::signing::SigningRequest;

const ORDER: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
/// The order of ristretto255, little-endian.
const ORDER_OF_RISTRETTO: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";

fn refused(
    wallet_type: WalletType,
    plaintext: impl AsRef<[u8]>,
    address: &str,
    environment: Environment,
) {
    let plaintext = plaintext.as_ref();
    assert_eq!(
        imported(wallet_type, plaintext, address, environment),
        Err(ChainError::Address),
        "{wallet_type} {plaintext:02x?}"
    );
}

/// Bitcoin Wiki, "Wallet import format": the same key for compressed and uncompressed public keys, and the test network's
/// (BTC-6).
#[test]
fn a_wif_must_be_of_the_network_and_of_a_compressed_key() {
    let key = "0c28fca386c7a227600b2fe50b7cae11ec86d3bf1fbe471be89827e19d72aa1d";
    let compressed = "KwdMAjGmerYanjeui5SHS7JkmpZvVipYvB2LJGU1ZxJwYvP98617";
    let uncompressed = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ";
    let test = wif(&hex::decode(key).unwrap(), 0xef, true);
    let bytes = hex::decode(key).unwrap();
    for (environment, fits, other) in [(LIVE, compressed, &*test), (TEST, &*test, compressed)] {
        let address = address(WalletType::Bitcoin, &bytes, environment);
        let read = imported(WalletType::Bitcoin, fits, &address, environment);
        assert_eq!(read.as_ref(), Ok(&bytes));
        refused(WalletType::Bitcoin, other, &address, environment);
        refused(WalletType::Bitcoin, uncompressed, &address, environment);
    }
    let address = address(WalletType::Bitcoin, &bytes, LIVE);
    refused(
        WalletType::Bitcoin,
        wif(&bytes, 0x80, false),
        &address,
        LIVE,
    );
    for place in 0..compressed.len() {
        let mut altered = compressed.as_bytes().to_vec();
        altered[place] = if altered[place] == b'z' { b'y' } else { b'z' };
        refused(WalletType::Bitcoin, altered, &address, LIVE);
    }
    refused(WalletType::Bitcoin, &compressed[..51], &address, LIVE);
    // Of another chain, whose addresses the key has too.
    let ethereum = super::address(WalletType::Ethereum, &bytes, LIVE);
    refused(WalletType::Ethereum, compressed, &ethereum, LIVE);
}

fn wif(key: &[u8], version: u8, compressed: bool) -> String {
    let network = match version {
        0xef => ::bitcoin::NetworkKind::Test,
        _ => ::bitcoin::NetworkKind::Main,
    };
    let mut key = ::bitcoin::PrivateKey::from_slice(key, network).unwrap();
    key.compressed = compressed;
    key.to_wif()
}

#[test]
fn zero_and_the_order_are_keys_of_nobody() {
    for wallet_type in [WalletType::Ethereum, WalletType::Bitcoin] {
        let address = address(wallet_type, &[1; 32], LIVE);
        for number in ["00".repeat(32), ORDER.to_owned(), "ff".repeat(32)] {
            refused(wallet_type, hex::decode(&number).unwrap(), &address, LIVE);
            refused(wallet_type, number, &address, LIVE);
        }
    }
    let chain = chain(WalletType::Polkadot);
    let nonce = "11".repeat(32);
    for number in [
        "00".repeat(32),
        ORDER_OF_RISTRETTO.to_owned(),
        "ff".repeat(32),
    ] {
        let bytes = hex::decode(format!("{number}{nonce}")).unwrap();
        assert_eq!(
            chain.private_key(&bytes).err(),
            Some(ChainError::PrivateKey)
        );
    }
    for length in [0, 31, 33, 63, 65, 96] {
        let bytes = vec![1; length];
        assert_eq!(
            chain.private_key(&bytes).err(),
            Some(ChainError::PrivateKey)
        );
    }
}

/// A pair whose halves do not match signs with an unknown key, and leaks the private key (RFC 8032, section 8).
#[test]
fn a_solana_pair_must_be_one() {
    let address = address(WalletType::Solana, &[5; 32], LIVE);
    let stranger = bs58::decode(super::address(WalletType::Solana, &[6; 32], LIVE))
        .into_vec()
        .unwrap();
    let own = bs58::decode(&address).into_vec().unwrap();
    let seed = [5; 32];
    assert!(
        imported(
            WalletType::Solana,
            [&seed[..], &own].concat(),
            &address,
            LIVE
        )
        .is_ok()
    );
    for pair in [
        [&seed[..], &stranger].concat(),
        [&own[..], &seed].concat(),
        [&seed[..], &[0; 32]].concat(),
        [&seed[..], &own, &[0]].concat(),
    ] {
        refused(WalletType::Solana, &pair, &address, LIVE);
        refused(
            WalletType::Solana,
            bs58::encode(&pair).into_string(),
            &address,
            LIVE,
        );
    }
}

/// SEP-23: a key is none of the other kinds of text that look like it.
#[test]
fn only_secret_seeds_of_stellar_are_keys() {
    let seed = [9; 32];
    let address = address(WalletType::Stellar, &seed, LIVE);
    let secret = stellar_strkey::ed25519::PrivateKey(seed);
    let secret = secret.as_unredacted().to_string();
    assert!(imported(WalletType::Stellar, secret.as_bytes(), &address, LIVE).is_ok());
    refused(WalletType::Stellar, &address, &address, LIVE);
    refused(WalletType::Stellar, secret.to_lowercase(), &address, LIVE);
    for place in 0..secret.len() {
        let mut altered = secret.as_bytes().to_vec();
        altered[place] = if altered[place] == b'A' { b'B' } else { b'A' };
        refused(WalletType::Stellar, altered, &address, LIVE);
    }
}

#[test]
fn a_key_is_not_imported_for_the_address_of_another_chain() {
    for wallet_type in WalletType::ALL {
        for other in WalletType::ALL
            .into_iter()
            .filter(|other| *other != wallet_type)
        {
            refused(wallet_type, [3; 32], &address(other, &[3; 32], LIVE), LIVE);
        }
        refused(wallet_type, [3; 32], "", LIVE);
    }
    // Nor for the same chain's other network.
    refused(
        WalletType::Bitcoin,
        [3; 32],
        &address(WalletType::Bitcoin, &[3; 32], TEST),
        LIVE,
    );
    refused(
        WalletType::Bitcoin,
        [3; 32],
        &address(WalletType::Bitcoin, &[3; 32], LIVE),
        TEST,
    );
}

/// IMP-4.
#[test]
fn a_phrase_must_be_one_and_the_index_that_of_an_account() {
    for (wallet_type, address) in [
        (
            WalletType::Ethereum,
            "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        ),
        (
            WalletType::Solana,
            "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk",
        ),
        (
            WalletType::Bitcoin,
            "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
        ),
        (
            WalletType::Polkadot,
            "13KVd4f2a4S5pLp4gTTFezyXdPWx27vQ9vS6xBXJ9yWVd7xo",
        ),
        (
            WalletType::Stellar,
            "GB3JDWCQJCWMJ3IILWIGDTQJJC5567PGVEVXSCVPEQOTDN64VJBDQBYX",
        ),
    ] {
        assert!(derived(wallet_type, ABANDON, 0, address, LIVE).is_ok());
        let thirteen = format!("{ABANDON} about");
        let checksum = ABANDON.replace("about", "abandon");
        for phrase in ["", &thirteen, &checksum, &ABANDON[8..], address] {
            let key = derived(wallet_type, phrase, 0, address, LIVE);
            assert_eq!(key, Err(ChainError::Address), "{wallet_type} {phrase}");
        }
        // 2^31 would be 0, hardened.
        for index in [1, 0x8000_0000, 0x8000_0001, u32::MAX] {
            let key = derived(wallet_type, ABANDON, index, address, LIVE);
            assert_eq!(key, Err(ChainError::Address), "{wallet_type} {index}");
        }
        // A phrase is no key, and a key no phrase.
        refused(wallet_type, ABANDON, address, LIVE);
        let key = derived(wallet_type, ABANDON, 0, address, LIVE).unwrap();
        let as_phrase = derived(wallet_type, hex::encode(key), 0, address, LIVE);
        assert_eq!(as_phrase, Err(ChainError::Address));
    }
}

#[test]
fn addresses_become_canonical() {
    let bitcoin = address(WalletType::Bitcoin, &[3; 32], LIVE);
    let ethereum = address(WalletType::Ethereum, &[3; 32], LIVE);
    let lower = ethereum.to_lowercase();
    // docs.polkadot.com: Alice on Polkadot, on Kusama, and with the generic prefix.
    let alice = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5";
    for (wallet_type, text, expected) in [
        (WalletType::Bitcoin, &*bitcoin.to_uppercase(), &*bitcoin),
        (WalletType::Ethereum, &lower, &ethereum),
        (
            WalletType::Polkadot,
            "HNZata7iMYWmk5RvZRTiAsSDhV8366zq2YGb3tLH5Upf74F",
            alice,
        ),
        (
            WalletType::Polkadot,
            "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
            alice,
        ),
    ] {
        let canonical = chain(wallet_type).canonical_address(text, LIVE);
        assert_eq!(canonical.as_deref(), Ok(expected));
    }
    for wallet_type in WalletType::ALL {
        for environment in [LIVE, TEST] {
            let own = address(wallet_type, &[3; 32], environment);
            let canonical = chain(wallet_type).canonical_address(&own, environment);
            assert_eq!(canonical.as_ref(), Ok(&own));
        }
    }
}

#[test]
fn what_no_wallet_of_ours_can_have_is_no_address() {
    let bitcoin = address(WalletType::Bitcoin, &[3; 32], LIVE);
    let neutral = chain(WalletType::Polkadot).address(&[0; 32], LIVE).unwrap();
    for (wallet_type, text) in [
        (WalletType::Bitcoin, ""),
        // The other network, regtest, mixed case, a space, P2PKH, P2SH, P2WSH (BIP-173), version 2 (BIP-350).
        (
            WalletType::Bitcoin,
            "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",
        ),
        (
            WalletType::Bitcoin,
            "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080",
        ),
        (WalletType::Bitcoin, &bitcoin.replacen('q', "Q", 1)),
        (WalletType::Bitcoin, &format!("{bitcoin} ")),
        (WalletType::Bitcoin, "17VZNX1SN5NtKa8UQFxwQbFeFc3iqRYhem"),
        (WalletType::Bitcoin, "3EktnHQD7RiAE6uzMj2ZifT9YgRrkSgzQX"),
        (
            WalletType::Bitcoin,
            "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3",
        ),
        (WalletType::Bitcoin, "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs"),
        // P2TR with the checksum of bech32 (BIP-350, "invalid"), and an x that is on no point.
        (
            WalletType::Bitcoin,
            "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd",
        ),
        (WalletType::Bitcoin, &off_curve()),
        (
            WalletType::Ethereum,
            "0x9858EfFD232B4033E47d90003D41EC34EcaEda9",
        ),
        (
            WalletType::Ethereum,
            "0x9858efFD232B4033E47d90003D41EC34EcaEda94",
        ),
        (WalletType::Solana, "11111111111111111111111111111111"),
        (
            WalletType::Stellar,
            "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ",
        ),
        (
            WalletType::Stellar,
            "SBUV3MRWKNS6AYKZ6E6MOUVF2OYMON3MIUASWL3JLY5E3ISDJFELYBRZ",
        ),
        // The neutral element.
        (WalletType::Polkadot, &neutral),
        (
            WalletType::Polkadot,
            "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp6",
        ),
    ] {
        let canonical = chain(wallet_type).canonical_address(text, LIVE);
        assert_eq!(canonical, Err(ChainError::Address), "{text}");
    }
}

/// P2TR of x = 5, which is on no point of secp256k1.
fn off_curve() -> String {
    let mut x = [0; 32];
    x[31] = 5;
    let program = WitnessProgram::new(WitnessVersion::V1, &x).unwrap();
    Address::from_witness_program(program, KnownHrp::Mainnet).to_string()
}

#[test]
fn taproot_addresses_are_bitcoins_alone() {
    let key = chain(WalletType::Ethereum).private_key(&[3; 32]).unwrap();
    let public_key = chain(WalletType::Ethereum).public_key(&key).unwrap();
    for wallet_type in [
        WalletType::Ethereum,
        WalletType::Solana,
        WalletType::Polkadot,
        WalletType::Stellar,
    ] {
        let made = chain(wallet_type).address_in_form(&public_key, LIVE, AddressForm::Taproot);
        assert_eq!(made, Err(ChainError::Address));
    }
    let bitcoin = chain(WalletType::Bitcoin);
    let made = bitcoin
        .address_in_form(&public_key, LIVE, AddressForm::Taproot)
        .unwrap();
    assert!(bitcoin.owns(&public_key, &made, LIVE));
    assert!(!bitcoin.owns(&public_key, &made, TEST));
    assert!(bitcoin.owns(
        &public_key,
        &address(WalletType::Bitcoin, &[3; 32], LIVE),
        LIVE
    ));
    assert!(!bitcoin.owns(
        &public_key,
        &address(WalletType::Bitcoin, &[4; 32], LIVE),
        LIVE
    ));
    assert_eq!(bitcoin.canonical_address(&made, LIVE).as_ref(), Ok(&made));
}

/// A key of 64 bytes belongs to Polkadot; everywhere else it is refused, and nothing is made of its first half.
#[test]
fn expanded_secrets_are_keys_of_no_other_chain() {
    let polkadot = chain(WalletType::Polkadot);
    let bytes = [[1; 31].as_slice(), &[0], &[2; 32]].concat();
    let key: PrivateKey = polkadot.private_key(&bytes).unwrap();
    for wallet_type in WalletType::ALL
        .into_iter()
        .filter(|kind| *kind != WalletType::Polkadot)
    {
        let other = chain(wallet_type);
        assert_eq!(other.public_key(&key).err(), Some(ChainError::PrivateKey));
        assert_eq!(other.export_key(&key).err(), Some(ChainError::PrivateKey));
    }
    let public_key = polkadot.public_key(&key).unwrap();
    let signer = crate::Signer {
        public_key: &public_key,
        address: &polkadot.address(&public_key, LIVE).unwrap(),
        environment: LIVE,
    };
    let prepared = polkadot
        .prepare(&SigningRequest::message("hello"), signer)
        .unwrap();
    // Signing verifies against the public key.
    let signed = prepared.sign(&key, &mut |bytes: &mut [u8]| bytes.fill(7));
    assert!(signed.is_ok());
}
