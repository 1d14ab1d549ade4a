use super::*;

#[test]
fn every_usual_form_of_base64_is_accepted() {
    let bytes = [0xfb, 0xff, 0x00, 0x01];
    for text in ["+/8AAQ==", "+/8AAQ", "-_8AAQ==", "-_8AAQ"] {
        assert_eq!(from_base64("field", text).unwrap(), bytes, "{text}");
    }
    assert_eq!(to_base64(&bytes), "+/8AAQ==");
    assert!(from_base64("field", "").unwrap().is_empty());
}

#[test]
fn invalid_base64_is_refused_with_its_field() {
    for text in [
        "+_8AAQ==", "A", "A===", "AA=A", "AAAA ", " AAAA", "AA\nAA", "AAB", "ÄÄÄÄ",
    ] {
        let refused = from_base64("field", text).unwrap_err();
        assert_eq!(refused.param, "field", "{text}");
        assert_eq!(refused.message, "field must be base64");
    }
}
