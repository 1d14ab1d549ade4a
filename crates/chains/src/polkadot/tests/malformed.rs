//! Whatever comes in, it is answered: signed or refused, and never by a panic.

use proptest::prelude::*;

use super::*;

/// Rejected, or signed by our key, as what the request then says.
fn answered(wallet: &Wallet, request: &SigningRequest) -> bool {
    match wallet.prepare(request) {
        Ok(prepared) => {
            prepared.sign(&wallet.key, &mut source()).unwrap();
            true
        }
        Err(SigningRefused::Invalid(invalid)) => {
            assert!(!invalid.param.is_empty());
            false
        }
        Err(SigningRefused::UnsupportedMethod { .. }) => false,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn every_field_is_cut_at_every_length() {
    let wallet = Wallet::new(ABANDON);
    let fields = payload();
    for (name, value) in fields.as_object().unwrap() {
        let Some(text) = value.as_str() else { continue };
        for length in 0..text.len() {
            let mut cut = fields.clone();
            cut[name.as_str()] = text[..length].into();
            let prepared = wallet.prepare(&SigningRequest::Transaction(cut));
            // A number with fewer digits is another number, and a shorter call may be one.
            let may_be_good = length > 2
                && match name.as_str() {
                    "blockNumber" | "nonce" | "specVersion" | "tip" | "transactionVersion" => true,
                    "method" => length >= 6 && length % 2 == 0,
                    _ => false,
                };
            assert_eq!(prepared.is_ok(), may_be_good, "{name} {length}");
        }
    }
}

#[test]
fn a_changed_character_of_the_address_is_never_ours() {
    let wallet = Wallet::new(ABANDON);
    for index in 0..ADDRESS.len() {
        for replacement in
            "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0OIl +".chars()
        {
            let mut changed: Vec<char> = ADDRESS.chars().collect();
            if changed[index] == replacement {
                continue;
            }
            changed[index] = replacement;
            let text: String = changed.into_iter().collect();
            assert_ne!(
                address::decode(&text).map(|key| key.to_vec()),
                Some(wallet.public_key.clone())
            );
        }
    }
}

/// The prefixes that there are: 0 to 63 in one byte without the two reserved ones, 64 to 16383 in two (DOT-5).
#[test]
fn addresses_of_every_prefix_are_read_and_of_nothing_else() {
    let key = [7; 32];
    let encoded = |prefix: &[u8]| {
        let mut bytes = [prefix, &key].concat();
        bytes.extend_from_slice(&address_checksum(&bytes));
        bs58::encode(bytes).into_string()
    };
    for prefix in 0..=255 {
        let good = prefix < 64 && !matches!(prefix, 46 | 47);
        let read = address::decode(&encoded(&[prefix]));
        assert_eq!(read, good.then_some(key), "{prefix}");
    }
    let mut good = 0;
    for first in 0..=255_u8 {
        for second in [0, 1, 0x3f, 0x40, 0x80, 0xff] {
            let read = address::decode(&encoded(&[first, second]));
            if let Some(read) = read {
                assert_eq!(read, key);
                good += 1;
            }
        }
    }
    // Of 64 first and 6 second bytes those whose number has no upper bits and is below 64 have a form of one byte.
    let short = (64..128_u8)
        .flat_map(|first| [0, 1, 0x3f, 0x40, 0x80, 0xff].map(|second: u8| (first, second)))
        .filter(|(first, second)| second & 0x3f == 0 && (u16::from(*first) << 2 & 0xfc) < 64)
        .count();
    assert_eq!(good, 64 * 6 - short);
}

fn address_checksum(bytes: &[u8]) -> [u8; 2] {
    use blake2::{Blake2b512, Digest};
    let hash = Blake2b512::digest([b"SS58PRE", bytes].concat());
    [hash[0], hash[1]]
}

#[test]
fn short_and_long_addresses_are_refused() {
    // An account index, a public key of 33 bytes (ECDSA), and nothing.
    for length in (0..60).filter(|length| *length != 33) {
        let mut bytes = vec![0; length];
        bytes.extend_from_slice(&address_checksum(&bytes));
        let text = bs58::encode(bytes).into_string();
        assert_eq!(address::decode(&text), None, "{length}");
    }
}

/// JSON of any shape, with the names that mean something more often than chance would have it.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        "0x[0-9a-f]{0,80}".prop_map(Value::from),
        Just(Value::from(ADDRESS)),
        Just(Value::from("payload")),
        Just(payload()),
    ];
    let name = prop_oneof![
        ".{0,8}",
        prop::sample::select(vec![
            "address",
            "data",
            "type",
            "method",
            "era",
            "nonce",
            "tip",
            "signedExtensions",
            "version",
            "message",
            "transactionPayload",
            "encoding",
            "genesisHash",
            "mode",
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn any_json_is_answered(value in any_json(), name in prop::sample::select(rpc::METHODS)) {
        let wallet = Wallet::new(ABANDON);
        answered(&wallet, &SigningRequest::Transaction(value.clone()));
        if let Value::Object(params) = value {
            answered(&wallet, &SigningRequest::Method { name: name.to_owned(), params });
        }
    }

    #[test]
    fn one_changed_field_is_answered(
        name in prop::sample::select(payload().as_object().unwrap().keys().cloned().collect::<Vec<_>>()),
        value in any_json(),
    ) {
        let mut changed = payload();
        changed[name.as_str()] = value;
        answered(&Wallet::new(ABANDON), &SigningRequest::Transaction(changed));
    }

    #[test]
    fn any_text_is_an_address_or_not(text in ".{0,60}") {
        prop_assert_eq!(address::decode(&text), None);
    }

    #[test]
    fn any_bytes_are_a_message(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let wallet = Wallet::new(ABANDON);
        prop_assert!(answered(&wallet, &message(&hex::encode(bytes), Some("hex"))));
    }
}

/// Every bit of a small transaction is signed: the signature of one never fits another.
#[test]
fn a_flipped_byte_of_a_raw_payload_is_another_payload() {
    let wallet = Wallet::new(ABANDON);
    let genuine = wallet.transaction(payload());
    let signature = hex_of(&genuine["signature"]);
    let genesis = "91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3";
    let bytes = hex::decode(format!(
        "00000c68656c00140000fb4d0f001a000000{genesis}{genesis}00"
    ))
    .unwrap();
    assert!(wallet.verifies(&bytes, &signature[1..]));
    for index in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[index] ^= 0xff;
        assert!(!wallet.verifies(&flipped, &signature[1..]), "{index}");
    }
    // Nor does a changed signature fit, whichever byte it is.
    for index in 1..signature.len() {
        let mut flipped = signature.clone();
        flipped[index] ^= 1;
        assert!(!wallet.verifies(&bytes, &flipped[1..]), "{index}");
    }
}
