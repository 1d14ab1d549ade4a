//! Which forms are read, in which order, and which are not.

use super::super::readings;
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

const KEY: [u8; 32] = [
    0xc8, 0x55, 0x11, 0x02, 0x9a, 0x7f, 0x36, 0xd1, 0x5b, 0x0e, 0x44, 0x93, 0x21, 0xee, 0x70, 0x18,
    0x5d, 0xa2, 0x6c, 0x3b, 0xf0, 0x07, 0x88, 0xb9, 0xcd, 0x12, 0x64, 0x3a, 0x95, 0x4f, 0xe1, 0x29,
];

const ID_JSON: &str = "[1,8,15,22,29,36,43,50,57,64,71,78,85,92,99,106,113,120,127,134,141,148,155,162,169,176,183,190,197,204,211,\
    218,228,3,9,152,207,213,173,23,35,193,105,249,86,170,11,158,184,97,155,89,146,189,97,44,42,244,40,235,199,159,141,240]";

fn all(plaintext: &[u8]) -> Vec<Vec<u8>> {
    let of_the_chain = |text: &str| text.strip_prefix("own:").map(|_| b"own".to_vec().into());
    readings(plaintext, of_the_chain)
        .into_iter()
        .map(|reading| reading.to_vec())
        .collect()
}

/// IMP-3.
#[test]
fn the_bytes_themselves_come_first_and_text_in_the_order_of_the_rule() {
    // Valid in hex, base58 and base64 at once.
    let text = b"abcd";
    assert_eq!(
        all(text),
        [
            text.to_vec(),
            vec![0xab, 0xcd],
            bs58::decode("abcd").into_vec().unwrap(),
            STANDARD.decode("abcd").unwrap(),
        ]
    );
    assert_eq!(all(b"own:"), [b"own:".to_vec(), b"own".to_vec()]);
    assert_eq!(all(&[0xff, 0xfe]), [[0xff, 0xfe]]);
}

#[test]
fn white_space_around_a_text_is_no_part_of_it() {
    let address = address(WalletType::Ethereum, &KEY, LIVE);
    let digits = hex::encode(KEY);
    for text in [
        format!("{digits}\n"),
        format!(" \t0x{digits}\r\n"),
        digits.to_uppercase(),
    ] {
        let key = imported(WalletType::Ethereum, &text, &address, LIVE);
        assert_eq!(key.as_deref(), Ok(&KEY[..]), "{text:?}");
    }
}

#[test]
fn what_is_nearly_a_form_is_none() {
    let address = address(WalletType::Ethereum, &KEY, LIVE);
    let digits = hex::encode(KEY);
    let base58 = bs58::encode(KEY).into_string();
    let base64 = STANDARD.encode(KEY);
    for text in [
        String::new(),
        format!("0x0x{digits}"),
        format!("0X{digits}"),
        digits[1..].to_owned(),
        digits[2..].to_owned(),
        format!("{digits}00"),
        format!("00{digits}"),
        format!("{} {}", &digits[..32], &digits[32..]),
        format!("1{base58}"),
        format!("{base58}1"),
        base58.replacen(&base58[..1], "0", 1),
        format!("{base64}="),
        format!("\"{base64}\""),
        format!("[{}]", KEY.map(|byte| byte.to_string()).join(",")),
        "0".repeat(1_000_000),
    ] {
        assert_eq!(
            imported(WalletType::Ethereum, &text, &address, LIVE),
            Err(ChainError::Address),
            "{text:.100}"
        );
    }
}

/// The first file is by `Keypair.to_json` of solders 0.29.0, the library of Solana's tools; the others are the same with white
/// space.
#[test]
fn imp_8_the_array_of_solanas_tools_is_a_key() {
    let file = ID_JSON;
    let address = "GM4eCsQuaLNXApYz6YYUQVMxajTaJ7dB4TbroFGBaou9";
    let seed: [u8; 32] = std::array::from_fn(|place| u8::try_from(place).unwrap() * 7 + 1);
    for text in [
        file.to_owned(),
        format!("{file}\n"),
        file.replace(',', ", "),
        file.replace('[', "[\r\n\t")
            .replace(',', ",\n    ")
            .replace(']', "\n]"),
    ] {
        assert!(text.len() + 16 <= vestry_domain::key_transfer::MAX_CIPHERTEXT);
        let key = imported(WalletType::Solana, &text, address, LIVE);
        assert_eq!(key.as_deref(), Ok(&seed[..]), "{text}");
        let other = imported(WalletType::Stellar, &text, address, LIVE);
        assert_eq!(other, Err(ChainError::Address));
    }
    let (half, _) = file
        .match_indices(',')
        .nth(31)
        .map(|(at, _)| file.split_at(at))
        .unwrap();
    for text in [
        format!("{half}]"),
        file.replacen('[', "[0,", 1),
        file.replacen("[1,", "[01,", 1),
        file.replacen("[1,", "[+1,", 1),
        file.replacen("[1,", "[257,", 1),
        file.replacen("[1,", "[1.0,", 1),
        file.replacen("[1,", "[\"1\",", 1),
        file.replacen("[1,", "[2,", 1),
        file.replacen("[1,", "[,", 1),
        file.replacen(']', ",]", 1),
        file[1..].to_owned(),
        format!("{file}{file}"),
        format!("[{file}]"),
        format!("{}{}{}", &file[..1], " ".repeat(2_000), &file[1..]),
    ] {
        let key = imported(WalletType::Solana, &text, address, LIVE);
        assert_eq!(key, Err(ChainError::Address), "{text:.300}");
    }
}

/// 64 characters of hex are 64 bytes as well: for a chain that takes keys of 64 bytes, the address decides.
#[test]
fn text_of_the_length_of_a_key_is_read_as_text() {
    let digits = hex::encode(KEY);
    assert_eq!(digits.len(), 64);
    for wallet_type in [WalletType::Solana, WalletType::Polkadot] {
        let address = address(wallet_type, &KEY, LIVE);
        let key = imported(wallet_type, &digits, &address, LIVE);
        assert_eq!(key.as_deref(), Ok(&KEY[..]));
    }
}

proptest! {
    /// No input causes more than an error, on any chain.
    #[test]
    fn any_bytes_are_refused_for_an_address_of_another_key(
        bytes in proptest::collection::vec(any::<u8>(), 0..160),
        index in any::<u32>(),
    ) {
        for wallet_type in WalletType::ALL {
            let address = address(wallet_type, &KEY, LIVE);
            prop_assert_eq!(imported(wallet_type, &bytes, &address, LIVE), Err(ChainError::Address));
            prop_assert_eq!(derived(wallet_type, &bytes, index, &address, LIVE), Err(ChainError::Address));
            let _ = chain(wallet_type).private_key(&bytes).map(|key| chain(wallet_type).public_key(&key).is_ok());
        }
    }

    #[test]
    fn any_text_is_refused_for_an_address_of_another_key(text in "[0-9A-Za-z+/=_x \u{a0}-\u{ff}-]{0,140}") {
        for wallet_type in WalletType::ALL {
            let address = address(wallet_type, &KEY, TEST);
            prop_assert_eq!(imported(wallet_type, &text, &address, TEST), Err(ChainError::Address));
        }
    }

    #[test]
    fn any_text_is_an_address_or_none(text in ".{0,100}") {
        for wallet_type in WalletType::ALL {
            for environment in [LIVE, TEST] {
                if let Ok(canonical) = chain(wallet_type).canonical_address(&text, environment) {
                    let again = chain(wallet_type).canonical_address(&canonical, environment);
                    prop_assert_eq!(again, Ok(canonical));
                }
            }
        }
    }

    /// All that a chain takes for a key, it takes again after export.
    #[test]
    fn expanded_secrets_come_back(number in any::<[u8; 31]>(), nonce in any::<[u8; 32]>()) {
        let mut bytes = [number.as_slice(), &[0x0f], &nonce].concat();
        bytes[0] |= 1;
        let chain = chain(WalletType::Polkadot);
        let key = chain.private_key(&bytes).unwrap();
        let public_key = chain.public_key(&key).unwrap();
        let address = chain.address(&public_key, LIVE).unwrap();
        for form in [chain.export_key(&key).unwrap().to_vec(), bytes.clone()] {
            let back = chain.import_key(&form, &address, LIVE).unwrap();
            prop_assert_eq!(back.expose(), bytes.as_slice());
        }
    }
}
