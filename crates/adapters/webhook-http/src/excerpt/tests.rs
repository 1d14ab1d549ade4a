//! What an excerpt is; WH-7 decides from which receivers one is stored.

use super::*;

#[test]
fn text_is_stored_up_to_a_kibibyte() {
    let long = |count: usize, rest: &str| format!("{}{rest}", "x".repeat(count));
    for (body, kept) in [
        ("ok".to_owned(), "ok".to_owned()),
        ("{\"a\":\t1}\r\n".to_owned(), "{\"a\":\t1}\r\n".to_owned()),
        ("grüße 🦀".to_owned(), "grüße 🦀".to_owned()),
        (" ".to_owned(), " ".to_owned()),
        (long(1024, ""), long(1024, "")),
        (long(1025, ""), long(1024, "")),
        (long(65_536, ""), long(1024, "")),
        // Characters of two, three and four bytes that cross the cut, or end at it.
        (long(1023, "é"), long(1023, "")),
        (long(1022, "é!"), long(1022, "é")),
        (long(1022, "€"), long(1022, "")),
        (long(1021, "€!"), long(1021, "€")),
        (long(1021, "🦀"), long(1021, "")),
        (long(1020, "🦀!"), long(1020, "🦀")),
        // Bytes after the cut do not matter.
        (long(1024, "\0\x1b["), long(1024, "")),
    ] {
        let length = body.len();
        assert_eq!(excerpt(body.as_bytes()), Some(kept), "{length} bytes");
    }
}

#[test]
fn binary_bodies_are_not_stored() {
    for body in [
        b"".as_slice(),
        b"\xff\xfe",
        b"\x89PNG\r\n\x1a\n",
        b"ok\xff",
        b"ok\0",
        b"\x1b[31mred\x1b[0m",
        b"\x7f",
        // A two-byte control character, U+0085.
        b"a\xc2\x85b",
        // Half a surrogate pair, and an overlong encoding of a slash.
        b"\xed\xa0\x80",
        b"\xc0\xaf",
        // Ends in the middle of a character, without having been cut.
        b"gr\xc3",
    ] {
        assert_eq!(excerpt(body), None, "{body:?}");
    }
    // A byte that begins no character, just before the cut.
    let mut broken = vec![b'x'; 1023];
    broken.extend(b"\xffyyy");
    assert_eq!(excerpt(&broken), None);
    let mut whole = vec![b'x'; 1023];
    whole.push(b'\xc3');
    assert_eq!(excerpt(&whole), None);
}
