//! A message that is a transaction of the wallet is not signed as a message.

use super::references::{string, transactions, transfer, unsigned_by};
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

type Answer = Result<Fields, SigningRefused>;

/// By every way in, and in every encoding that can name the bytes; with the refusal that names the field of that way.
fn every_way(wallet: &Wallet, bytes: &[u8]) -> Vec<(Answer, Answer)> {
    let (in_base64, in_base58) = (STANDARD.encode(bytes), bs58::encode(bytes).into_string());
    let in_hex = hex::encode(bytes);
    let mut written = vec![(&in_base64, "base64"), (&in_hex, "hex")];
    if in_base58.len() <= 2048 {
        written.push((&in_base58, "base58"));
    }
    let mut answers = Vec::new();
    for (message, encoding) in written {
        let refused = |param| Err(SigningRefused::MessageIsTransaction { param });
        let answer = wallet.sign_message(message, Some(encoding));
        answers.push((answer, refused("message")));
        if encoding != "hex" {
            let params = json!({"message": message, "encoding": encoding});
            for method in ["sol_signMessage", "signMessage"] {
                answers.push((
                    wallet.rpc(method, params.clone()),
                    refused("params.message"),
                ));
            }
        }
    }
    answers
}

/// SOL-2.
#[test]
fn messages_and_whole_transactions_of_the_wallet_are_refused() {
    for case in transactions() {
        let wallet = Wallet::of_seed(string(&case, "seed"));
        for name in ["message", "before", "after"] {
            let bytes = STANDARD.decode(string(&case, name)).unwrap();
            for (answer, refused) in every_way(&wallet, &bytes) {
                assert_eq!(answer, refused, "{} {name}", case["kind"]);
            }
        }
    }
}

/// A named wallet signs or loses something, so the list of accounts counts, not only that of signers (SOL-2).
#[test]
fn a_wallet_that_is_only_an_account_is_refused_too() {
    let (wallet, payer) = (Wallet::of_seed(ABANDON), Wallet::of_seed(&"07".repeat(32)));
    let mut message = transfer(&payer);
    let receiver = 4 + 32;
    message[receiver..receiver + 32].copy_from_slice(&wallet.public_key);
    for (answer, refused) in every_way(&wallet, &message) {
        assert_eq!(answer, refused);
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
        for (answer, _) in every_way(&wallet, &bytes) {
            assert!(answer.is_ok(), "{}", hex::encode(&bytes));
        }
    }
    // This wallet cannot sign another party's transaction, so it is a message like any other.
    for (answer, _) in every_way(&other, &message) {
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
        for (answer, refused) in every_way(&wallet, &bytes) {
            assert_eq!(answer, refused);
        }
    }
}
