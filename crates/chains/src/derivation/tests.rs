//! Vectors of the standards with their sources, and comparisons with libraries that leave keys in memory.

use ::bitcoin::NetworkKind;
use ::bitcoin::bip32::{ChildNumber, DerivationPath, Xpriv};
use ::bitcoin::secp256k1::{All, Secp256k1};
use alloy_primitives::hex;
use bip39::{Language, Mnemonic};
use proptest::prelude::*;
use serde_json::Value;
use std::str::FromStr;
use std::sync::LazyLock;
use stellar_strkey::ed25519::PrivateKey as SecretSeed;

use super::extended_key::ExtendedKey;
use super::hash::{SALT, stretched};
use super::{Phrase, account, bip32, ed25519_leaf, secp256k1_leaf, slip10};
use crate::ChainError;

static CURVE: LazyLock<Secp256k1<All>> = LazyLock::new(Secp256k1::new);

fn numbers(path: &DerivationPath) -> Vec<u32> {
    path.into_iter().copied().map(u32::from).collect()
}

fn is_of(key: &ExtendedKey, expected: &Xpriv) -> bool {
    *key.key() == expected.private_key.secret_bytes()
        && key.chain_code() == expected.chain_code.as_bytes()
}

/// bitcoin/bips, bip-0032.mediawiki, "Test Vectors" 1 to 4. Vector 5 tests extended keys as text, which are not supported.
#[test]
fn the_extended_keys_of_bip_32_are_derived() {
    let first = "000102030405060708090a0b0c0d0e0f";
    let second = "fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542";
    let third = "4b381541583be4423346c643850da4b320e46a87ae3d2a4e6da11eba819cd4acba45d239319ac14f863b8d5ab5a0d0c64d2e8a1e7d1457df2e5a3c51c73235be";
    let fourth = "3ddd5602285899a946114506157c7997e5444528f3003f6134712147db19b678";
    for (seed, path, expected) in [
        (
            first,
            "m",
            "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi",
        ),
        (
            first,
            "m/0'",
            "xprv9uHRZZhk6KAJC1avXpDAp4MDc3sQKNxDiPvvkX8Br5ngLNv1TxvUxt4cV1rGL5hj6KCesnDYUhd7oWgT11eZG7XnxHrnYeSvkzY7d2bhkJ7",
        ),
        (
            first,
            "m/0'/1",
            "xprv9wTYmMFdV23N2TdNG573QoEsfRrWKQgWeibmLntzniatZvR9BmLnvSxqu53Kw1UmYPxLgboyZQaXwTCg8MSY3H2EU4pWcQDnRnrVA1xe8fs",
        ),
        (
            first,
            "m/0'/1/2'",
            "xprv9z4pot5VBttmtdRTWfWQmoH1taj2axGVzFqSb8C9xaxKymcFzXBDptWmT7FwuEzG3ryjH4ktypQSAewRiNMjANTtpgP4mLTj34bhnZX7UiM",
        ),
        (
            first,
            "m/0'/1/2'/2",
            "xprvA2JDeKCSNNZky6uBCviVfJSKyQ1mDYahRjijr5idH2WwLsEd4Hsb2Tyh8RfQMuPh7f7RtyzTtdrbdqqsunu5Mm3wDvUAKRHSC34sJ7in334",
        ),
        (
            first,
            "m/0'/1/2'/2/1000000000",
            "xprvA41z7zogVVwxVSgdKUHDy1SKmdb533PjDz7J6N6mV6uS3ze1ai8FHa8kmHScGpWmj4WggLyQjgPie1rFSruoUihUZREPSL39UNdE3BBDu76",
        ),
        (
            second,
            "m",
            "xprv9s21ZrQH143K31xYSDQpPDxsXRTUcvj2iNHm5NUtrGiGG5e2DtALGdso3pGz6ssrdK4PFmM8NSpSBHNqPqm55Qn3LqFtT2emdEXVYsCzC2U",
        ),
        (
            second,
            "m/0",
            "xprv9vHkqa6EV4sPZHYqZznhT2NPtPCjKuDKGY38FBWLvgaDx45zo9WQRUT3dKYnjwih2yJD9mkrocEZXo1ex8G81dwSM1fwqWpWkeS3v86pgKt",
        ),
        (
            second,
            "m/0/2147483647'",
            "xprv9wSp6B7kry3Vj9m1zSnLvN3xH8RdsPP1Mh7fAaR7aRLcQMKTR2vidYEeEg2mUCTAwCd6vnxVrcjfy2kRgVsFawNzmjuHc2YmYRmagcEPdU9",
        ),
        (
            second,
            "m/0/2147483647'/1",
            "xprv9zFnWC6h2cLgpmSA46vutJzBcfJ8yaJGg8cX1e5StJh45BBciYTRXSd25UEPVuesF9yog62tGAQtHjXajPPdbRCHuWS6T8XA2ECKADdw4Ef",
        ),
        (
            second,
            "m/0/2147483647'/1/2147483646'",
            "xprvA1RpRA33e1JQ7ifknakTFpgNXPmW2YvmhqLQYMmrj4xJXXWYpDPS3xz7iAxn8L39njGVyuoseXzU6rcxFLJ8HFsTjSyQbLYnMpCqE2VbFWc",
        ),
        (
            second,
            "m/0/2147483647'/1/2147483646'/2",
            "xprvA2nrNbFZABcdryreWet9Ea4LvTJcGsqrMzxHx98MMrotbir7yrKCEXw7nadnHM8Dq38EGfSh6dqA9QWTyefMLEcBYJUuekgW4BYPJcr9E7j",
        ),
        (
            third,
            "m",
            "xprv9s21ZrQH143K25QhxbucbDDuQ4naNntJRi4KUfWT7xo4EKsHt2QJDu7KXp1A3u7Bi1j8ph3EGsZ9Xvz9dGuVrtHHs7pXeTzjuxBrCmmhgC6",
        ),
        (
            third,
            "m/0'",
            "xprv9uPDJpEQgRQfDcW7BkF7eTya6RPxXeJCqCJGHuCJ4GiRVLzkTXBAJMu2qaMWPrS7AANYqdq6vcBcBUdJCVVFceUvJFjaPdGZ2y9WACViL4L",
        ),
        (
            fourth,
            "m",
            "xprv9s21ZrQH143K48vGoLGRPxgo2JNkJ3J3fqkirQC2zVdk5Dgd5w14S7fRDyHH4dWNHUgkvsvNDCkvAwcSHNAQwhwgNMgZhLtQC63zxwhQmRv",
        ),
        (
            fourth,
            "m/0'",
            "xprv9vB7xEWwNp9kh1wQRfCCQMnZUEG21LpbR9NPCNN1dwhiZkjjeGRnaALmPXCX7SgjFTiCTT6bXes17boXtjq3xLpcDjzEuGLQBM5ohqkao9G",
        ),
        (
            fourth,
            "m/0'/1'",
            "xprv9xJocDuwtYCMNAo3Zw76WENQeAS6WGXQ55RCy7tDJ8oALr4FWkuVoHJeHVAcAqiZLE7Je3vZJHxspZdFHfnBEjHqU5hG1Jaj32dVoS6XLT1",
        ),
    ] {
        let seed = hex::decode(seed).unwrap();
        let path_numbers = numbers(&DerivationPath::from_str(path).unwrap());
        let key = bip32::extended(&CURVE, &seed, &path_numbers).unwrap();
        assert!(is_of(&key, &expected.parse().unwrap()), "{path}");
        let leaf = secp256k1_leaf(&CURVE, &seed, &path_numbers).unwrap();
        assert_eq!(leaf.expose(), key.key());
    }
}

/// satoshilabs/slips, slip-0010.md, "Test vector 1 for ed25519" and "Test vector 2 for ed25519".
#[test]
fn the_extended_keys_of_slip_10_are_derived() {
    let first = "000102030405060708090a0b0c0d0e0f";
    let second = "fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542";
    let long = [0, 1, 2, 2, 1_000_000_000];
    let large = [0, 2_147_483_647, 1, 2_147_483_646, 2];
    for (seed, path, chain_code, key) in [
        (
            first,
            &long[..0],
            "90046a93de5380a72b5e45010748567d5ea02bbf6522f979e05c0d8d8ca9fffb",
            "2b4be7f19ee27bbf30c667b642d5f4aa69fd169872f8fc3059c08ebae2eb19e7",
        ),
        (
            first,
            &long[..1],
            "8b59aa11380b624e81507a27fedda59fea6d0b779a778918a2fd3590e16e9c69",
            "68e0fe46dfb67e368c75379acec591dad19df3cde26e63b93a8e704f1dade7a3",
        ),
        (
            first,
            &long[..2],
            "a320425f77d1b5c2505a6b1b27382b37368ee640e3557c315416801243552f14",
            "b1d0bad404bf35da785a64ca1ac54b2617211d2777696fbffaf208f746ae84f2",
        ),
        (
            first,
            &long[..3],
            "2e69929e00b5ab250f49c3fb1c12f252de4fed2c1db88387094a0f8c4c9ccd6c",
            "92a5b23c0b8a99e37d07df3fb9966917f5d06e02ddbd909c7e184371463e9fc9",
        ),
        (
            first,
            &long[..4],
            "8f6d87f93d750e0efccda017d662a1b31a266e4a6f5993b15f5c1f07f74dd5cc",
            "30d1dc7e5fc04c31219ab25a27ae00b50f6fd66622f6e9c913253d6511d1e662",
        ),
        (
            first,
            &long[..5],
            "68789923a0cac2cd5a29172a475fe9e0fb14cd6adb5ad98a3fa70333e7afa230",
            "8f94d394a8e8fd6b1bc2f3f49f5c47e385281d5c17e65324b0f62483e37e8793",
        ),
        (
            second,
            &large[..0],
            "ef70a74db9c3a5af931b5fe73ed8e1a53464133654fd55e7a66f8570b8e33c3b",
            "171cb88b1b3c1db25add599712e36245d75bc65a1a5c9e18d76f9f2b1eab4012",
        ),
        (
            second,
            &large[..1],
            "0b78a3226f915c082bf118f83618a618ab6dec793752624cbeb622acb562862d",
            "1559eb2bbec5790b0c65d8693e4d0875b1747f4970ae8b650486ed7470845635",
        ),
        (
            second,
            &large[..2],
            "138f0b2551bcafeca6ff2aa88ba8ed0ed8de070841f0c4ef0165df8181eaad7f",
            "ea4f5bfe8694d8bb74b7b59404632fd5968b774ed545e810de9c32a4fb4192f4",
        ),
        (
            second,
            &large[..3],
            "73bd9fff1cfbde33a1b846c27085f711c0fe2d66fd32e139d3ebc28e5a4a6b90",
            "3757c7577170179c7868353ada796c839135b3d30554bbb74a4b1e4a5a58505c",
        ),
        (
            second,
            &large[..4],
            "0902fe8a29f9140480a00ef244bd183e8a13288e4412d8389d140aac1794825a",
            "5837736c89570de861ebc173b1086da4f505d4adb387c6a1b1342d5e4ac9ec72",
        ),
        (
            second,
            &large[..5],
            "5d70af781f3a37b829f0d060924d5e960bdc02e85423494afc0b1a41bbe196d4",
            "551d333177df541ad876a60ea71f00447931c0a9da16f227c11ea080d7391b8d",
        ),
    ] {
        let seed = hex::decode(seed).unwrap();
        let extended = slip10::extended(&seed, path).unwrap();
        assert_eq!(hex::encode(extended.key()), key, "{path:?}");
        assert_eq!(hex::encode(extended.chain_code()), chain_code, "{path:?}");
        assert_eq!(ed25519_leaf(&seed, path).unwrap().expose(), extended.key());
    }
}

/// trezor/python-mnemonic 0.21, vectors.json, all 24 in English: entropy, phrase, seed with the passphrase `TREZOR`.
#[test]
fn the_phrases_of_bip_39_have_their_entropy_and_seeds() {
    let rows: Vec<[String; 3]> = serde_json::from_str(include_str!("vectors/bip39.json")).unwrap();
    assert_eq!(rows.len(), 24);
    for [entropy, text, seed] in &rows {
        let phrase = Phrase::read(text.as_bytes()).unwrap();
        assert_eq!(hex::encode(phrase.entropy()), *entropy, "{text}");
        assert_eq!(phrase.words(), text);
        let with_passphrase = stretched(text.as_bytes(), b"mnemonicTREZOR");
        assert_eq!(hex::encode(with_passphrase), *seed, "{text}");
        assert_eq!(phrase.seed(), stretched(text.as_bytes(), SALT));
    }
}

/// The suite of ethers, @ethersproject/testcases 5.8.0 (npm), hdnode.json.gz: every other one of its English phrases, with its
/// passphrase if it has one and the last of its paths.
#[test]
fn the_keys_of_the_ethers_suite_are_derived() {
    let rows: Vec<[String; 4]> =
        serde_json::from_str(include_str!("vectors/ethers_hdnode.json")).unwrap();
    assert_eq!(rows.len(), 525);
    for [text, passphrase, path, key] in &rows {
        let phrase = Phrase::read(text.as_bytes()).unwrap();
        let seed = match passphrase.as_str() {
            "" => phrase.seed(),
            // Our phrases have no passphrase.
            _ => stretched(text.as_bytes(), format!("mnemonic{passphrase}").as_bytes()),
        };
        let path = numbers(&DerivationPath::from_str(path).unwrap());
        let leaf = secp256k1_leaf(&CURVE, &seed, &path).unwrap();
        assert_eq!(hex::encode(leaf.expose()), *key, "{text}");
    }
}

/// stellar/stellar-protocol, ecosystem/sep-0005.md, test 4, the only one with a passphrase.
#[test]
fn the_keys_of_sep_5_with_a_passphrase_are_derived() {
    let phrase = "cable spray genius state float twenty onion head street palace net private method loan turn phrase state blanket interest dry amazing dress blast tube";
    let seed = stretched(phrase.as_bytes(), b"mnemonicp4ssphr4se");
    for (index, secret) in [
        (
            0,
            "SAFWTGXVS7ELMNCXELFWCFZOPMHUZ5LXNBGUVRCY3FHLFPXK4QPXYP2X",
        ),
        (
            9,
            "SDXDYPDNRMGOF25AWYYKPHFAD3M54IT7LCLG7RWTGR3TS32A4HTUXNOS",
        ),
    ] {
        let key = ed25519_leaf(&seed, &[44, 148, index]).unwrap();
        assert_eq!(key.expose(), SecretSeed::from_string(secret).unwrap().0);
    }
}

/// polkadot-js/common, packages/util-crypto/src/mnemonic: Substrate's seed is made of the entropy, with bip-utils the same
/// (DOT-1).
#[test]
fn the_seed_of_substrate_is_made_of_the_entropy() {
    let phrase = Phrase::read(
        b"abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
    )
    .unwrap();
    assert_eq!(
        hex::encode(&phrase.substrate_seed()[..32]),
        "4ed8d4b17698ddeaa1f1559f152f87b5d472f725ca86d341bd0276f1b61197e2"
    );
}

#[test]
fn accounts_end_where_the_hardened_children_begin() {
    assert_eq!(account(0), Ok(0));
    assert_eq!(account(0x7fff_ffff), Ok(0x7fff_ffff));
    assert_eq!(account(0x8000_0000), Err(ChainError::Address));
    assert_eq!(account(u32::MAX), Err(ChainError::Address));
}

#[test]
fn white_space_and_compatible_letters_are_no_difference() {
    let words = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    for text in [
        format!("  {words}\r\n"),
        words.replace(' ', "\n"),
        words.replace(' ', " \t "),
        // The ideographic space between Japanese words, which is equal to a space under NFKD.
        words.replace(' ', "\u{3000}"),
        // Full-width letters.
        words.replace('a', "\u{ff41}"),
    ] {
        let phrase = Phrase::read(text.as_bytes()).unwrap();
        assert_eq!(phrase.words(), words, "{text:?}");
    }
}

/// Capitals occur in the output of some wallets, and phone keyboards capitalize the first letter.
#[test]
fn imp_4_capitals_are_no_difference() {
    let words = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    let seed = Phrase::read(words.as_bytes()).unwrap().seed();
    for text in [
        words.to_uppercase(),
        words.replacen('l', "L", 1),
        words.replace('w', "W"),
        // Full-width capitals.
        words.replace('a', "\u{ff21}"),
    ] {
        let phrase = Phrase::read(text.as_bytes()).unwrap();
        assert_eq!(phrase.words(), words, "{text}");
        assert_eq!(phrase.seed(), seed, "{text}");
    }
    // Letters outside ASCII whose lower case would be ASCII are in no list.
    let dotted = words.replace('i', "\u{130}");
    assert!(Phrase::read(dotted.as_bytes()).is_none());
}

#[test]
fn what_is_no_phrase_is_refused() {
    let words: Vec<&str> =
        "legal winner thank year wave sausage worth useful legal winner thank yellow"
            .split(' ')
            .collect();
    let long = "abandon ".repeat(23);
    for text in [
        String::new(),
        " ".to_owned(),
        "abandon".to_owned(),
        // A wrong checksum: two words swapped, one replaced.
        [&words[1..2], &words[..1], &words[2..]].concat().join(" "),
        [&words[..11], &["zoo"]].concat().join(" "),
        // 11, 13, 24 less one, 25, 27 words.
        words[..11].join(" "),
        [&words[..], &words[..1]].concat().join(" "),
        long.clone(),
        format!("{long}art art"),
        format!("{long}abandon abandon abandon art"),
        // Words not in the list, in another list, or joined differently.
        [&words[..11], &["yellows"]].concat().join(" "),
        [&words[..11], &["abandonner"]].concat().join(" "),
        words.join(","),
        words.concat(),
        format!("{} \0", words.join(" ")),
        "z".repeat(10_000),
    ] {
        assert!(Phrase::read(text.as_bytes()).is_none(), "{text:?}");
    }
    assert!(Phrase::read(&[0xff; 40]).is_none());
}

/// With a four-bit checksum, exactly 1 in 16 replacements of the last word passes.
#[test]
fn the_checksum_of_twelve_words_has_four_bits() {
    let head = "abandon ".repeat(11);
    let good = Language::English
        .word_list()
        .iter()
        .filter(|last| Phrase::read(format!("{head}{last}").as_bytes()).is_some())
        .count();
    assert_eq!(good, 128);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Compared with the `bitcoin` library, whose keys are `Copy` and stay in memory.
    #[test]
    fn paths_lead_where_the_library_leads(
        seed in proptest::collection::vec(any::<u8>(), 16..=64),
        path in proptest::collection::vec(any::<u32>(), 0..6),
    ) {
        let master = Xpriv::new_master(NetworkKind::Main, &seed).unwrap();
        let children: Vec<ChildNumber> = path.iter().copied().map(ChildNumber::from).collect();
        let expected = master.derive_priv(&CURVE, &children).unwrap();
        prop_assert!(is_of(&bip32::extended(&CURVE, &seed, &path).unwrap(), &expected));
    }

    /// Compared with the `bip39` library, whose parser leaves the words on the stack.
    #[test]
    fn phrases_are_read_as_the_library_reads_them(
        entropy in proptest::collection::vec(any::<u8>(), 32),
        length in prop::sample::select(vec![16_usize, 20, 24, 28, 32]),
        changed in any::<prop::sample::Index>(),
        word in 0..2048_usize,
    ) {
        let made = Mnemonic::from_entropy(&entropy[..length]).unwrap().to_string();
        let phrase = Phrase::read(made.as_bytes()).unwrap();
        prop_assert_eq!(phrase.entropy(), &entropy[..length]);
        let mut words: Vec<&str> = made.split(' ').collect();
        let place = changed.index(words.len());
        words[place] = Language::English.word_list()[word];
        let altered = words.join(" ");
        let expected = Mnemonic::parse_in(Language::English, &altered).ok();
        let read = Phrase::read(altered.as_bytes());
        prop_assert_eq!(
            read.map(|phrase| phrase.entropy().to_vec()),
            expected.map(|phrase| phrase.to_entropy())
        );
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400), text in ".{0,100}") {
        let _ = Phrase::read(&bytes);
        let _ = Phrase::read(text.as_bytes());
    }
}

/// The seeds in the file are for a passphrase; those without one come from the library.
#[test]
fn seeds_without_a_passphrase_are_those_of_the_library() {
    let rows: Value = serde_json::from_str(include_str!("vectors/bip39.json")).unwrap();
    for row in rows.as_array().unwrap() {
        let text = row[1].as_str().unwrap();
        let expected = Mnemonic::parse_in(Language::English, text)
            .unwrap()
            .to_seed("");
        assert_eq!(
            Phrase::read(text.as_bytes()).unwrap().seed().as_slice(),
            expected
        );
    }
}
