//! Signatures by other implementations: eth-account 0.14 and solders 0.29 (PyPI), and RFC 8032.

use vestry_domain::Secret;

use super::*;

const TEXT: &str = "Sign in\nwith ünïcode 👛";
const ETHEREUM: &str = "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23";
const ETHEREUM_SIGNATURE: &str = "3718dbb1ce79de94dfc87f63881d02de10109ca16e1d6c9707d7b2e8e2101ecd\
                                  6e0675be8f8127a14ab27d3c0ad7c037bd61de54bd872bea675ae9507c4a14821b";
const SOLANA: &str = "FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF";
const SOLANA_SIGNATURE: &str =
    "33ghEgzA3n6psQxnw9iF3LpA1KccKsgsJdLX3yE685PwpR9RHAkpymNbKDvgRqevLGRH6Q5d7R6uFHMysc6Lvyu4";

fn chains() -> Chains {
    Chains::new(&Secret::new([7; 32]))
}

fn is_signed(wallet_type: WalletType, address: &str, message: &str, signature: &str) -> bool {
    let verified = chains().verify_own(wallet_type, address, message.as_bytes(), signature);
    verified.is_ok()
}

#[test]
fn ethereum_signatures_of_eth_account_verify() {
    let signed =
        |text: &str, signature: &str| is_signed(WalletType::Ethereum, ETHEREUM, text, signature);
    assert!(signed(TEXT, ETHEREUM_SIGNATURE));
    assert!(signed(TEXT, &format!("0x{ETHEREUM_SIGNATURE}")));
    assert!(signed(
        "",
        "8a68b4e66cd2b575338e16069d7b65f6f67c7ceae8945dccf8cb7bdb06278d93\
         3dd9c888f3444ca4698464079a067ad3cfffe96d493b8ecf56885169d0fdfe7d1b"
    ));
    // The Ethereum form of EIP-4361, with the address of this key.
    let message = format!(
        "example.com wants you to sign in with your Ethereum account:\n{ETHEREUM}\n\n\
         I accept the ExampleOrg Terms of Service: https://example.com/tos\n\nURI: https://example.com/login\n\
         Version: 1\nChain ID: 1\nNonce: 32891756\nIssued At: 2021-09-30T16:25:24Z"
    );
    assert!(signed(
        &message,
        "0x859137d54b01ef51ce7e5768f9eacadb03efc73f887521f27ebe420b68461dab\
         16ace32a18647eb94ce85f7e0e1675c54b2eb5811e3fb8609a826eca12a1c5581c"
    ));
    // Found by `cargo xtask fuzz`: exactly one `0x` is allowed in front.
    for prefix in ["0X", "0x0x", "0x0X", "00", " "] {
        assert!(!signed(TEXT, &format!("{prefix}{ETHEREUM_SIGNATURE}")));
    }
    // A `v` of 0 instead of 27, as hardware wallets send it.
    let metal = ETHEREUM_SIGNATURE.strip_suffix("1b").unwrap();
    assert!(signed(TEXT, &format!("{metal}00")));
    for wrong in ["01", "1c", "1d", "1a", "02", "ff"] {
        assert!(!signed(TEXT, &format!("{metal}{wrong}")), "{wrong}");
    }
}

#[test]
fn solana_signatures_of_solders_verify() {
    let signed =
        |text: &str, signature: &str| is_signed(WalletType::Solana, SOLANA, text, signature);
    assert!(signed(TEXT, SOLANA_SIGNATURE));
    assert!(signed(
        TEXT,
        "ZllReiib32biRKdPdxC62YUgPZ6PUN7LVm2polLQRy85xFQsuIZmVdRSg/2pFO2JZeZz1ked3GixYUeDbRmyAw=="
    ));
    // RFC 8032 section 7.1, TEST 2, in base58.
    let address = bs58::encode(
        hex::decode("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c").unwrap(),
    )
    .into_string();
    let signature = bs58::encode(
        hex::decode(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        )
        .unwrap(),
    )
    .into_string();
    assert!(is_signed(WalletType::Solana, &address, "r", &signature));
    assert!(!is_signed(WalletType::Solana, &address, "s", &signature));
}

/// A different text, a different address, and every changed character of a signature.
#[test]
fn whatever_differs_is_refused() {
    for (wallet_type, address, other, signature) in [
        (
            WalletType::Ethereum,
            ETHEREUM,
            "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
            ETHEREUM_SIGNATURE,
        ),
        (
            WalletType::Solana,
            SOLANA,
            "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
            SOLANA_SIGNATURE,
        ),
    ] {
        let refuses = |address: &str, text: &str, signature: &str| {
            assert!(
                !is_signed(wallet_type, address, text, signature),
                "{wallet_type}: {signature}"
            );
        };
        refuses(address, "Sign in", signature);
        refuses(other, TEXT, signature);
        refuses("", TEXT, signature);
        for place in 0..signature.len() {
            let changed: String = signature
                .char_indices()
                .map(|(at, character)| match (at == place, character) {
                    (false, _) => character,
                    (true, '1') => '2',
                    (true, _) => '1',
                })
                .collect();
            refuses(address, TEXT, &changed);
        }
        for odd in [
            "",
            "0x",
            "1",
            "=",
            "==",
            &signature[2..],
            &format!("{signature}11"),
        ] {
            refuses(address, TEXT, odd);
        }
        for without in [
            WalletType::Bitcoin,
            WalletType::Polkadot,
            WalletType::Stellar,
        ] {
            assert!(!is_signed(without, address, TEXT, signature));
        }
    }
}

/// Anyone can derive the signature with the other `s` from a valid one (EIP-2).
#[test]
fn a_high_s_is_refused() {
    let order = bitcoin::secp256k1::constants::CURVE_ORDER;
    let bytes = hex::decode(ETHEREUM_SIGNATURE).unwrap();
    let (r, rest) = bytes.split_at(32);
    let (low, _) = rest.split_at(32);
    let mut high = [0_u8; 32];
    let mut borrow = 0_i16;
    for place in (0..32).rev() {
        let difference = i16::from(order[place]) - i16::from(low[place]) - borrow;
        borrow = i16::from(difference < 0);
        high[place] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    let signature = [r, &high, &[28]].concat();
    assert!(!is_signed(
        WalletType::Ethereum,
        ETHEREUM,
        TEXT,
        &hex::encode(signature)
    ));
}

#[test]
fn addresses_become_canonical_or_are_refused() {
    let address = |wallet_type, text: &str| chains().own_address(wallet_type, text);
    let ethereum = |text: &str| address(WalletType::Ethereum, text);
    let digits = ETHEREUM.strip_prefix("0x").unwrap();
    for text in [
        ETHEREUM.to_owned(),
        format!("0x{}", digits.to_lowercase()),
        format!("0x{}", digits.to_uppercase()),
    ] {
        assert_eq!(ethereum(&text).unwrap(), ETHEREUM);
    }
    for text in [
        "",
        "0x",
        digits,
        &format!("0X{digits}"),
        &ETHEREUM.replacen('E', "e", 1),
        &ETHEREUM[..41],
        &format!("{ETHEREUM}0"),
        &format!(" {ETHEREUM}"),
        SOLANA,
    ] {
        assert_eq!(ethereum(text), Err(ChainError::Address), "{text}");
    }
    let solana = |text: &str| address(WalletType::Solana, text);
    assert_eq!(solana(SOLANA).unwrap(), SOLANA);
    for text in [
        "",
        "11111111111111111111111111111111",
        &SOLANA[1..],
        &format!("{SOLANA}1"),
        &format!("1{SOLANA}"),
        &SOLANA.replacen('F', "0", 1),
        ETHEREUM,
    ] {
        assert_eq!(solana(text), Err(ChainError::Address), "{text}");
    }
    for without in [
        WalletType::Bitcoin,
        WalletType::Polkadot,
        WalletType::Stellar,
    ] {
        assert_eq!(address(without, ETHEREUM), Err(ChainError::Address));
    }
}
