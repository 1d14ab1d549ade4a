//! OTP-5: lockouts grow with failures; reserved addresses and numbers.

use super::*;
use crate::email::Email;

#[test]
fn otp_5_lockouts_begin_after_twenty_failures_and_double_to_a_day() {
    for (failures, wait) in [
        (0, None),
        (19, None),
        (20, Some(60)),
        (21, Some(120)),
        (25, Some(1_920)),
        (31, Some(86_400)),
        (1_000, Some(86_400)),
    ] {
        assert_eq!(wait_after(failures), wait.map(Seconds), "after {failures}");
    }
}

#[test]
fn otp_5_a_hundred_failures_take_more_than_sixty_days() {
    // NIST SP 800-63B-4, 3.2.2: no more than 100 consecutive failures without a further obstacle.
    let waits: i64 = (0..100).filter_map(wait_after).map(|wait| wait.0).sum();
    assert!(waits > 60 * 86_400, "100 failures take only {waits} s");
}

#[test]
fn m_17_malformed_codes_are_rejected() {
    for (text, digits) in [
        ("123456", Some("123456")),
        (" 123 456\t", Some("123456")),
        ("000\u{2009}000", Some("000000")),
        ("12345678", Some("12345678")),
        ("1234 5678", Some("12345678")),
        ("", None),
        ("   ", None),
        ("12345", None),
        ("1234567", None),
        ("123456789", None),
        ("12345a", None),
        ("123-456", None),
        ("+12345", None),
        ("１２３４５６", None),
    ] {
        let typed = typed(text);
        let typed = typed.as_ref().map(|typed| typed.expose().as_str());
        assert_eq!(typed, digits, "{text:?}");
    }
}

#[test]
fn reserved_addresses() {
    for (address, expected) in [
        ("ok@vestry.test", Some(Reserved::Ok)),
        ("OK+17@Vestry.Test", Some(Reserved::Ok)),
        ("expired@vestry.test", Some(Reserved::Expired)),
        ("wrong@vestry.test", Some(Reserved::Wrong)),
        ("bounce@vestry.test", Some(Reserved::Bounce)),
        ("slow@vestry.test", Some(Reserved::Slow)),
        ("okay@vestry.test", None),
        ("ok@vestry.test.example.com", None),
        ("ok@example.com", None),
    ] {
        assert_eq!(
            Reserved::of_email(Email::parse(address).unwrap().identity()),
            expected,
            "{address}"
        );
    }
}

#[test]
fn method_ids_are_of_two_kinds() {
    assert!(
        "email_0ujtsYcgvSTl8PAuAdqWYSMnLOv"
            .parse::<MethodId>()
            .is_ok()
    );
    assert!("pn_0ujtsYcgvSTl8PAuAdqWYSMnLOv".parse::<MethodId>().is_ok());
    assert!(
        "user_0ujtsYcgvSTl8PAuAdqWYSMnLOv"
            .parse::<MethodId>()
            .is_err()
    );
}

/// They are valid numbers, so that nothing has to be recognized before validation.
#[test]
fn reserved_numbers() {
    for (number, expected) in [
        ("+15005550006", Some(Reserved::Ok)),
        ("+15005550001", Some(Reserved::Expired)),
        ("+15005550002", Some(Reserved::Wrong)),
        ("+15005550003", Some(Reserved::Bounce)),
        ("+15005550004", None),
        ("+14155552671", None),
    ] {
        let number = crate::phone::PhoneNumber::parse(number).unwrap();
        assert_eq!(Reserved::of_phone(&number), expected, "{}", number.as_str());
    }
}
