//! Valid and invalid root key documents.

use super::*;

fn key(byte: u8) -> Secret<[u8; 32]> {
    Secret::new([byte; 32])
}

fn document(versions: &[u32], primary: u32) -> Document {
    Document {
        primary,
        roots: versions
            .iter()
            .map(|version| RootKey {
                version: *version,
                key: key(u8::try_from(*version % 251).unwrap()),
            })
            .collect(),
    }
}

fn text(document: &Document) -> String {
    String::from_utf8(document.text().unwrap().to_vec()).unwrap()
}

fn refusal(text: &str) -> DocumentError {
    Document::parse(text.as_bytes()).err().unwrap()
}

#[test]
fn documents_survive_a_round_trip() {
    let written = document(&[1, 2, 7], 7);
    let read = Document::parse(text(&written).as_bytes()).unwrap();
    assert_eq!(read.primary, 7);
    assert_eq!(read.roots.len(), 3);
    for (one, other) in written.roots.iter().zip(&read.roots) {
        assert_eq!(one.version, other.version);
        assert_eq!(one.key.expose(), other.key.expose());
    }
}

#[test]
fn the_text_fits_its_preallocated_buffer() {
    for count in [1, 2, 50] {
        let versions: Vec<u32> = (u32::MAX - count..u32::MAX).collect();
        let document = document(&versions, u32::MAX - 1);
        let bytes = document.text().unwrap();
        let room = 256 * (versions.len() + 1);
        assert!(bytes.len() <= room);
        assert_eq!(bytes.capacity(), room);
    }
}

#[test]
fn adding_counts_from_one_and_makes_the_new_key_primary() {
    let mut document = document(&[], 0);
    document.add(key(1)).unwrap();
    document.add(key(2)).unwrap();
    assert_eq!(document.primary, 2);
    assert_eq!(
        document
            .roots
            .iter()
            .map(|root| root.version)
            .collect::<Vec<_>>(),
        [1, 2]
    );
}

#[test]
fn exhausted_version_numbers_are_an_error_and_do_not_wrap() {
    let mut document = document(&[u32::MAX], u32::MAX);
    assert_eq!(document.add(key(1)), Err(DocumentError::Exhausted));
}

#[test]
fn every_altered_character_of_a_key_or_its_check_value_is_detected() {
    let good = text(&document(&[1], 1));
    let parsed: serde_json::Value = serde_json::from_str(&good).unwrap();
    for member in ["key", "check"] {
        let value = parsed["roots"][0][member].as_str().unwrap();
        for place in 0..value.len() {
            for other in ["A", "B", "/", "=", "!"] {
                let mut altered = value.to_owned();
                altered.replace_range(place..=place, other);
                if altered == value {
                    continue;
                }
                let error = refusal(&good.replace(value, &altered));
                assert!(
                    matches!(error, DocumentError::Damaged(1) | DocumentError::Key(1)),
                    "{member} {place} {other}: {error:?}"
                );
            }
        }
    }
}

#[test]
fn swapped_keys_are_detected() {
    let good = text(&document(&[1, 2], 2));
    let parsed: serde_json::Value = serde_json::from_str(&good).unwrap();
    let one = parsed["roots"][0]["key"].as_str().unwrap();
    let two = parsed["roots"][1]["key"].as_str().unwrap();
    let swapped = good.replace(one, "?").replace(two, one).replace('?', two);
    assert_eq!(refusal(&swapped), DocumentError::Damaged(1));
}

#[test]
fn versions_ascend_from_one_and_include_the_primary_one() {
    for (versions, primary) in [
        (&[][..], 0),
        (&[0], 0),
        (&[1], 2),
        (&[1], 0),
        (&[2, 1], 2),
        (&[1, 1], 1),
    ] {
        let wrong = text(&document(versions, primary));
        assert_eq!(refusal(&wrong), DocumentError::Versions, "{versions:?}");
    }
}

#[test]
fn a_newer_format_is_named_and_unknown_members_are_refused() {
    let good = text(&document(&[1], 1));
    let newer = good.replacen("\"format\": 1", "\"format\": 2", 1);
    assert_eq!(refusal(&newer), DocumentError::Format(2));
    let more = good.replacen("\"primary\"", "\"note\": 1, \"primary\"", 1);
    assert!(matches!(refusal(&more), DocumentError::Syntax { .. }));
}

#[test]
fn syntax_errors_give_the_position_and_not_the_text() {
    let good = text(&document(&[1], 1));
    for length in 0..good.trim_end().len() {
        let error = refusal(&good[..length]);
        assert!(matches!(error, DocumentError::Syntax { .. }), "{length}");
    }
    let key = STANDARD.encode([1_u8; 32]);
    let wrong = good.replacen(&format!("\"{key}\""), &format!("[\"{key}\"]"), 1);
    let shown = format!("{0} {0:?}", refusal(&wrong));
    assert!(!shown.contains(&key));
}

#[test]
fn a_single_key_is_exactly_32_bytes_of_base64() {
    let given = [0xA5_u8; 32];
    let document = Document::single(&STANDARD.encode(given)).unwrap();
    assert_eq!(document.primary, 1);
    assert_eq!(document.roots[0].key.expose(), &given);
    for wrong in [
        String::new(),
        STANDARD.encode([1; 31]),
        STANDARD.encode([1; 33]),
        STANDARD.encode([1; 64]),
        STANDARD.encode([1; 32]).trim_end_matches('=').to_owned(),
        "A".repeat(64),
        "not base64".to_owned(),
    ] {
        assert_eq!(Document::single(&wrong).err(), Some(DocumentError::Key(1)));
    }
}
