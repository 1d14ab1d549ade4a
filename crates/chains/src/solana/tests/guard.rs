//! A message that is a transaction of the wallet is not signed as a message.

use super::references::{string, transactions, transfer, unsigned_by};
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const REFUSED: Result<Fields, SigningRefused> = Err(SigningRefused::MessageIsTransaction);

/// By every way in, and in every encoding that can name the bytes.
fn every_way(wallet: &Wallet, bytes: &[u8]) -> Vec<Result<Fields, SigningRefused>> {
    let (in_base64, in_base58) = (STANDARD.encode(bytes), bs58::encode(bytes).into_string());
    let mut answers = vec![
        wallet.sign_message(&in_base64, Some("base64")),
        wallet.sign_message(&hex::encode(bytes), Some("hex")),
        wallet.rpc(
            "sol_signMessage",
            json!({"message": in_base64, "encoding": "base64"}),
        ),
    ];
    if in_base58.len() <= 2048 {
        answers.push(wallet.sign_message(&in_base58, Some("base58")));
        answers.push(wallet.rpc(
            "signMessage",
            json!({"message": in_base58, "encoding": "base58"}),
        ));
    }
    answers
}

#[test]
fn messages_and_whole_transactions_of_the_wallet_are_refused() {
    for case in transactions() {
        let wallet = Wallet::of_seed(string(&case, "seed"));
        for name in ["message", "before", "after"] {
            let bytes = STANDARD.decode(string(&case, name)).unwrap();
            for answer in every_way(&wallet, &bytes) {
                assert_eq!(answer, REFUSED, "{} {name}", case["kind"]);
            }
        }
    }
}

/// Whoever is named signs or loses something: the list of accounts counts, not only that of signers.
#[test]
fn a_wallet_that_is_only_an_account_is_refused_too() {
    let (wallet, payer) = (Wallet::of_seed(ABANDON), Wallet::of_seed(&"07".repeat(32)));
    let mut message = transfer(&payer);
    let receiver = 4 + 32;
    message[receiver..receiver + 32].copy_from_slice(&wallet.public_key);
    for answer in every_way(&wallet, &message) {
        assert_eq!(answer, REFUSED);
    }
}

#[test]
fn bytes_that_are_nearly_a_transaction_are_a_message() {
    let (wallet, other) = (Wallet::of_seed(ABANDON), Wallet::of_seed(&"07".repeat(32)));
    let message = transfer(&wallet);
    let whole = STANDARD.decode(unsigned_by(&wallet)).unwrap();
    for bytes in [
        [&message[..], &[0]].concat(),
        [&whole[..], &[0]].concat(),
        message[..message.len() - 1].to_vec(),
        whole[1..whole.len() - 1].to_vec(),
        [b"sign in: ", &message[..]].concat(),
        [&[0xff], &message[..]].concat(),
        wallet.public_key.clone(),
    ] {
        for answer in every_way(&wallet, &bytes) {
            assert!(answer.is_ok(), "{}", hex::encode(&bytes));
        }
    }
    // A transaction of somebody else cannot be signed by this wallet, so it is a message like any other.
    for answer in every_way(&other, &message) {
        assert!(answer.is_ok());
    }
}

/// It need not make sense, only decode: what the network refuses today it may take tomorrow.
#[test]
fn transactions_without_sense_are_refused() {
    let wallet = Wallet::of_seed(ABANDON);
    let mut program_out_of_range = transfer(&wallet);
    program_out_of_range[4 + 3 * 32 + 32 + 1] = 200;
    let mut no_signer = transfer(&wallet);
    no_signer[0] = 0;
    let mut too_large = transfer(&wallet);
    let data = too_large.len() - 13;
    too_large.truncate(data);
    too_large.extend_from_slice(&[0x80, 0x60]);
    too_large.extend_from_slice(&[7; 0x60 << 7]);
    for bytes in [program_out_of_range, no_signer, too_large] {
        for answer in every_way(&wallet, &bytes) {
            assert_eq!(answer, REFUSED);
        }
    }
}
