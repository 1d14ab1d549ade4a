use super::*;
use stellar_strkey::Strkey;
use stellar_strkey::ed25519::{PrivateKey as Secret, PublicKey};

/// CH-1, XLM-1: stellar-sdk and bip-utils agree.
#[test]
fn the_first_key_of_the_abandon_phrase_has_its_address_on_every_network() {
    let wallet = Wallet::abandon();
    let address = "GB3JDWCQJCWMJ3IILWIGDTQJJC5567PGVEVXSCVPEQOTDN64VJBDQBYX";
    assert_eq!(wallet.address, address);
    let live = Stellar.address(&wallet.public_key, Environment::Live);
    assert_eq!(live.as_deref(), Ok(address));
    let secret = "SBUV3MRWKNS6AYKZ6E6MOUVF2OYMON3MIUASWL3JLY5E3ISDJFELYBRZ";
    assert_eq!(&Secret::from_string(secret).unwrap().0, wallet.key.expose());
}

/// SEP-5, test 1, index 0.
#[test]
fn the_first_key_of_sep_5_has_its_address() {
    let secret = "SBGWSG6BTNCKCOB3DIFBGCVMUPQFYPA2G4O34RMTB343OYPXU5DJDVMN";
    let seed = hex::encode(Secret::from_string(secret).unwrap().0);
    assert_eq!(
        Wallet::of_seed(&seed, Environment::Live).address,
        "GDRXE2BQUC3AZNPVFSCEZ76NJ3WWL25FYFK6RGZGIEKWE4SOOHSUJUJ6"
    );
}

/// SEP-23, "Valid test cases" 1. Its key is that of no point of small order.
#[test]
fn a_public_key_is_written_as_in_sep_23() {
    let key =
        hex::decode("3f0c34bf93ad0d9971d04ccc90f705511c838aad9734a4a2fb0d7a03fc7fe89a").unwrap();
    assert_eq!(
        Stellar.address(&key, Environment::Live).as_deref(),
        Ok("GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ")
    );
}

/// SEP-23, "Invalid test cases": the library that we write and read addresses with refuses each.
#[test]
fn the_invalid_strkeys_of_sep_23_are_refused() {
    for text in [
        "GAAAAAAAACGC6",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUR",
        "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZA",
        "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUACUSI",
        "G47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVP2I",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLKA",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAAV75I",
        "M47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUK===",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUO",
        "BAAD6DBUX6J22DMZOHIEZTEQ64CVCHEDRKWZONFEUL5Q26QD7R76RGR4TV",
        "BAAT6DBUX6J22DMZOHIEZTEQ64CVCHEDRKWZONFEUL5Q26QD7R76RGXACA",
    ] {
        assert!(Strkey::from_string(text).is_err(), "{text}");
        assert!(PublicKey::from_string(text).is_err(), "{text}");
    }
}

#[test]
fn other_lengths_are_no_keys() {
    for length in [0, 31, 33, 64] {
        let bytes = vec![1; length];
        assert_eq!(
            Stellar.private_key(&bytes).err(),
            Some(ChainError::PrivateKey)
        );
        assert_eq!(
            Stellar.address(&bytes, Environment::Live),
            Err(ChainError::PublicKey)
        );
    }
    for bytes in [[0; 32], [2; 32], [255; 32]] {
        let refused = Stellar.address(&bytes, Environment::Test);
        assert_eq!(refused, Err(ChainError::PublicKey));
    }
}
