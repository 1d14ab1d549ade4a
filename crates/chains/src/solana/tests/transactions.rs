use super::references::unsigned_by;
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

#[test]
fn the_answer_is_in_the_encoding_of_the_request_and_the_signature_in_base58() {
    let wallet = Wallet::of_seed(ABANDON);
    let in_base64 = unsigned_by(&wallet);
    let in_base58 = bs58::encode(STANDARD.decode(&in_base64).unwrap()).into_string();
    let request = json!({"transaction": in_base64, "encoding": "base64", "unknown": null});
    let one = wallet.sign_transaction(request).unwrap();
    let request = json!({"transaction": in_base58, "encoding": "base58"});
    let other = wallet.sign_transaction(request).unwrap();
    assert_eq!(one["signature"], other["signature"]);
    assert_eq!(
        (&one["encoding"], &other["encoding"]),
        (&json!("base64"), &json!("base58"))
    );
    assert_eq!(one["fully_signed"], true);
    let signed = STANDARD.decode(text(&one, "signed_transaction")).unwrap();
    assert_eq!(
        bs58::decode(text(&other, "signed_transaction"))
            .into_vec()
            .unwrap(),
        signed
    );
    assert_eq!(
        bs58::encode(&signed[1..65]).into_string(),
        text(&one, "signature")
    );
}

/// A slot that holds something is not a slot that is signed (SOL-6).
#[test]
fn rubbish_in_the_slot_of_another_stays_and_is_not_counted() {
    let (wallet, other) = (Wallet::of_seed(ABANDON), Wallet::of_seed(&"07".repeat(32)));
    let mut message = references::transfer(&wallet);
    message[0] = 2;
    message[36..68].copy_from_slice(&other.public_key);
    for filler in [0, 5] {
        let whole = [&[2][..], &[0; 64], &[filler; 64], &message].concat();
        let request = json!({"transaction": STANDARD.encode(&whole), "encoding": "base64"});
        let fields = wallet.sign_transaction(request).unwrap();
        assert_eq!(fields["fully_signed"], false);
        let signed = STANDARD
            .decode(text(&fields, "signed_transaction"))
            .unwrap();
        assert_eq!(signed[65..], whole[65..]);
        let request = json!({"transaction": fields["signed_transaction"], "encoding": "base64"});
        let fields = other.sign_transaction(request).unwrap();
        assert_eq!(fields["fully_signed"], true);
    }
}

/// A message alone whose bytes can also be read as a whole transaction, one without accounts: its blockhash begins with a zero, and
/// its only instruction calls the second account about the first, as a memo does (SOL-5).
#[test]
fn a_message_is_not_taken_for_a_transaction_that_makes_no_sense() {
    let wallet = Wallet::of_seed(ABANDON);
    let (program, mut blockhash) = ([7; 32], [9; 32]);
    blockhash[0] = 0;
    let instruction = [&[1, 1, 1, 0, 4][..], b"memo"].concat();
    let header_and_count = [1, 0, 1, 2];
    let message = [
        &header_and_count[..],
        &wallet.public_key,
        &program,
        &blockhash,
        &instruction,
    ]
    .concat();
    let request = json!({"transaction": STANDARD.encode(&message), "encoding": "base64"});
    let fields = wallet.sign_transaction(request).unwrap();
    assert_eq!(fields["fully_signed"], true);
    let signed = STANDARD
        .decode(text(&fields, "signed_transaction"))
        .unwrap();
    assert_eq!(signed[65..], message);
}
