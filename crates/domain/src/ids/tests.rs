//! KSUID test vectors of the segmentio reference implementation, and properties of typed ids.

use sha2::{Digest, Sha256};

use super::*;

#[test]
fn agrees_with_the_reference_implementation() {
    // README of github.com/segmentio/ksuid: `ksuid -f inspect 0ujtsYcgvSTl8PAuAdqWYSMnLOv`.
    let random = [
        0xB5, 0xA1, 0xCD, 0x34, 0xB5, 0xF9, 0x9D, 0x11, 0x54, 0xFB, 0x68, 0x53, 0x34, 0x5C, 0x97,
        0x35,
    ];
    let id = UserId::new(Timestamp::from_unix(1_400_000_000 + 107_608_047), random);
    assert_eq!(id.to_string(), "user_0ujtsYcgvSTl8PAuAdqWYSMnLOv");
    assert_eq!(id.timestamp().unix(), 1_507_608_047);
}

#[test]
fn smallest_and_largest_are_in_bounds() {
    assert_eq!(
        UserId::new(Timestamp::from_unix(0), [0; 16]).to_string(),
        "user_000000000000000000000000000"
    );
    let largest = UserId::new(Timestamp::from_unix(i64::MAX), [0xff; 16]);
    assert_eq!(largest.to_string(), "user_aWgEPTl1tmebfsQzFP4bxwgy80V");
    assert_eq!(largest.to_string().parse::<UserId>(), Ok(largest));
}

#[test]
fn rejects_malformed_ids_and_other_kinds() {
    for text in [
        "",
        "user_",
        "0ujtsYcgvSTl8PAuAdqWYSMnLOv",
        "sess_0ujtsYcgvSTl8PAuAdqWYSMnLOv",
        "user_0ujtsYcgvSTl8PAuAdqWYSMnLO",
        "user_0ujtsYcgvSTl8PAuAdqWYSMnLOvv",
        "user_0ujtsYcgvSTl8PAuAdqWYSMnLO-",
        "user_0ujtsYcgvSTl8PAuAdqWYSMnL\u{f6}",
        // One more than 20 bytes can hold.
        "user_aWgEPTl1tmebfsQzFP4bxwgy80W",
        "user_zzzzzzzzzzzzzzzzzzzzzzzzzzz",
    ] {
        assert!(text.parse::<UserId>().is_err(), "{text:?} was accepted");
    }
}

/// Digits by long division of single bytes: slow but simple.
fn plainly_encoded(mut number: [u8; 20]) -> String {
    let digits = (0..27).map(|_| {
        let rest = number.iter_mut().fold(0_u16, |rest, byte| {
            let value = (rest << 8) | u16::from(*byte);
            *byte = u8::try_from(value / 62).unwrap();
            value % 62
        });
        char::from(ALPHABET[usize::from(rest)])
    });
    digits.collect::<Vec<_>>().into_iter().rev().collect()
}

#[test]
fn agrees_with_plain_long_division() {
    let drawn = (0_u32..2_000).map(|count| {
        let hash = Sha256::digest(count.to_be_bytes());
        let mut number: [u8; 20] = *hash.first_chunk().unwrap();
        // Runs of zeros and ones at every position, where carries go wrong.
        let (from, fill) = (
            usize::from(hash[20] % 20),
            [0, 0xff][usize::from(hash[21] % 2)],
        );
        let to = (from + usize::from(hash[22] % 20)).min(20);
        number[from..to].fill(fill);
        number
    });
    let ends = [[0; 20], [0xff; 20]];
    for number in drawn.chain(ends) {
        let text = plainly_encoded(number);
        let written = Ksuid::encode(number);
        assert_eq!(written.0.as_slice(), text.as_bytes());
        assert_eq!(Ksuid::parse(&text), Some(written), "{text}");
        assert_eq!(written.decode(), number, "{text}");
    }
}

/// API-1: an id contains its time.
#[test]
fn text_sorts_by_time() {
    let early = UserId::new(Timestamp::from_unix(1_700_000_000), [0xff; 16]);
    let late = UserId::new(Timestamp::from_unix(1_700_000_001), [0; 16]);
    assert!(early.to_string() < late.to_string());
    assert!(early < late);
}

#[test]
fn an_id_follows_another_within_its_moment() {
    let at = Timestamp::from_unix(1_700_000_000);
    for random in [[0; 16], [7; 16], [0xff; 16]] {
        let id = UserId::new(at, random);
        for distance in [1, 62, u64::MAX] {
            let following = id.following(distance);
            if random == [0xff; 16] {
                assert_eq!(following, None);
            } else {
                let following = following.unwrap();
                assert!(following > id && following.to_string() > id.to_string());
                assert_eq!(following.timestamp(), at);
            }
        }
    }
    let last = UserId::new(at, [0xff; 16]);
    let mut before = [0xff; 16];
    before[15] = 0xf0;
    assert_eq!(UserId::new(at, before).following(15), Some(last));
    assert_eq!(UserId::new(at, before).following(16), None);
}
