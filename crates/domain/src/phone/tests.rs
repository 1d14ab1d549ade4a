//! E.164 by the library's numbering plans.

use super::*;

#[test]
fn accepts_real_numbers() {
    for text in [
        "+14155552671",
        "+15005550006",
        "+442071838750",
        "+4915123456789",
        "+390612345678",
    ] {
        assert_eq!(
            PhoneNumber::parse(text).map(|n| n.as_str().to_owned()),
            Ok(text.to_owned())
        );
    }
}

#[test]
fn refuses_the_rest() {
    for text in [
        "",
        "+",
        "14155552671",
        "+1415555267",
        "+141555526711",
        "+1 415 555 2671",
        "+1-415-555-2671",
        "+1415555CALL",
        "+14155552671;ext=5",
        "+999123456789",
        "+1415555\0 2671",
        "tel:+14155552671",
        "+0014155552671",
        "+1234567890123456",
    ] {
        assert!(PhoneNumber::parse(text).is_err(), "{text:?} was accepted");
    }
}
