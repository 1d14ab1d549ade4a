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

/// A stored number is believed when its form is right: numbering plans change, rows stay.
#[test]
fn a_stored_number_needs_only_its_form() {
    for number in ["+14155552671", "+1", "+999999999999999"] {
        let stored = PhoneNumber::stored(number.to_owned());
        assert_eq!(
            stored.map(|stored| stored.as_str().to_owned()),
            Ok(number.to_owned())
        );
    }
    for number in [
        "",
        "+",
        "14155552671",
        "+1415555267x",
        "+1234567890123456",
        "+1 415",
    ] {
        assert!(PhoneNumber::stored(number.to_owned()).is_err(), "{number}");
    }
}
