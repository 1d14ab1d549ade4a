use proptest::prelude::{any, proptest};

use super::*;

fn read(text: &str) -> Option<Item<'static>> {
    whole(hex::decode(text).unwrap().leak())
}

/// Examples of RFC 8949, appendix A, of the types that authenticators use.
#[test]
fn items_are_read() {
    for (text, number) in [
        ("00", 0),
        ("17", 23),
        ("1818", 24),
        ("1903e8", 1000),
        ("1a000f4240", 1_000_000),
        ("1b000000e8d4a51000", 1_000_000_000_000),
        ("20", -1),
        ("3863", -100),
        ("390100", -257),
    ] {
        assert_eq!(read(text), Some(Item::Number(number)), "{text}");
    }
    assert_eq!(read("4401020304"), Some(Item::Bytes(&[1, 2, 3, 4])));
    assert_eq!(read("62c3bc"), Some(Item::Text("ü")));
    assert_eq!(read("80"), Some(Item::Array(Vec::new())));
    let inner = Item::Array(vec![Item::Number(2), Item::Null]);
    assert_eq!(
        read("8301f58202f6"),
        Some(Item::Array(vec![Item::Number(1), Item::Bool(true), inner]))
    );
    let pair = (Item::Text("a"), Item::Bool(false));
    assert_eq!(read("a16161f4"), Some(Item::Map(vec![pair])));
}

#[test]
fn encodings_that_authenticators_never_use_are_refused() {
    for (text, what) in [
        ("", "nothing"),
        ("0000", "two items"),
        ("1817", "a long form of 23"),
        ("190017", "a longer one"),
        ("1a0000ffff", "65535 in four bytes"),
        ("1b00000000ffffffff", "2^32 - 1 in eight"),
        ("1bffffffffffffffff", "more than 63 bits"),
        ("3bffffffffffffffff", "less than 63 bits"),
        ("5f42010243030405ff", "an indefinite length"),
        ("9f01ff", "an indefinite array"),
        ("bf6161f5ff", "an indefinite map"),
        ("c074323031332d30332d32315432303a30343a30305a", "a tag"),
        ("f93c00", "a float"),
        ("fb3ff199999999999a", "a long float"),
        ("f7", "undefined"),
        ("f0", "a simple value"),
        ("f8ff", "a long simple value"),
        ("ff", "a break"),
        ("1c", "a reserved length"),
        ("62c328", "text that is not UTF-8"),
        ("4501020304", "fewer bytes than said"),
        ("a2616101616102", "a key twice"),
        ("a16161", "a key without a value"),
        ("9bffffffffffffffff", "an array without end"),
        ("818181818181818100", "too deep"),
    ] {
        assert_eq!(read(text), None, "{what}");
    }
}

proptest! {
    /// Attack 26: no input makes the parser panic, loop, or allocate more than the input justifies.
    #[test]
    fn attack_26_any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
        if let Some((_, rest)) = first(&bytes) {
            assert!(rest.len() < bytes.len());
        }
        let _ = crate::authenticator_data::AuthenticatorData::parse(&bytes);
        let _ = crate::cose::PublicKey::parse(&bytes);
    }

    /// The same after a head that claims a large length.
    #[test]
    fn attack_26_claimed_lengths_are_not_trusted(head in 0x80_u8..0xbb, bytes in any::<Vec<u8>>()) {
        let _ = first(&[&[head], bytes.as_slice()].concat());
    }
}
