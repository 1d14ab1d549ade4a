//! E.164 validation by the library's numbering plans.

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
        // A pattern of the plan matches only the first digits.
        "+387611234567",
        "+3586020123456",
        "+1234567890123456",
    ] {
        assert!(PhoneNumber::parse(text).is_err(), "{text:?} was accepted");
    }
}

/// A stored number only needs the right form: numbering plans change, rows stay.
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

/// Attack 7: adjacent numbers share a prefix, and numbers with similar prices a country.
#[test]
fn numbers_belong_to_ranges() {
    for (number, country, prefix, takes_texts) in [
        ("+14155552671", "US", "+1415555", true),
        ("+16137827274", "CA", "+1613782", true),
        ("+13459492311", "KY", "+1345949", true),
        ("+442071838750", "GB", "+44207183", true),
        ("+4915123456789", "DE", "+49151234", true),
        ("+4740612345", "NO", "+474061", true),
        ("+61406823897", "AU", "+6140682", true),
        // The national part begins with 0.
        ("+2250712345678", "CI", "+225071234", true),
        ("+2290195123456", "BJ", "+229019512", true),
        ("+390612345678", "IT", "+39061234", true),
        // Premium rate, personal, toll-free: not used for reading texts, and some of them expensive.
        ("+611900123456", "AU", "+61190012", false),
        ("+447012345678", "GB", "+44701234", false),
        ("+18007233456", "US", "+1800723", false),
        ("+15005550006", "US", "+1500555", false),
    ] {
        let range = PhoneNumber::parse(number).unwrap().range();
        assert_eq!(
            (&*range.country, &*range.prefix, range.takes_texts),
            (country, prefix, takes_texts),
            "{number}"
        );
    }
}

/// Stored numbers are counted somewhere, even after numbering plans have changed.
#[test]
fn a_number_in_no_plan_has_a_range_and_gets_no_texts() {
    let range = PhoneNumber::stored("+999123456789".to_owned())
        .unwrap()
        .range();
    assert_eq!(
        (&*range.country, &*range.prefix, range.takes_texts),
        ("+99", "+9991234", false)
    );
}

#[test]
fn countries_are_iso_codes() {
    for code in ["US", "DE", "KY"] {
        assert_eq!(country(code), Ok(()), "{code}");
    }
    for code in ["", "us", "USA", "1", "+1", "ZZ", "001"] {
        assert!(country(code).is_err(), "{code}");
    }
}
