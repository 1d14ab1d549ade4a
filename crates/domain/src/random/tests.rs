//! OTP-1: codes are uniform and keep leading zeros.

use super::*;

/// Every byte value in turn: a fair draw must then use each character equally often.
fn counter() -> impl FnMut(&mut [u8]) {
    let mut next = 0_u8;
    move |buffer: &mut [u8]| {
        for byte in buffer {
            *byte = next;
            next = next.wrapping_add(1);
        }
    }
}

#[test]
fn otp_1_every_digit_is_equally_likely() {
    // 250 of the 256 byte values are usable for ten digits: 25 for each.
    let text = digits(&mut counter(), 250);
    for digit in '0'..='9' {
        assert_eq!(text.expose().matches(digit).count(), 25, "digit {digit}");
    }
}

#[test]
fn every_alphanumeric_is_equally_likely() {
    let text = alphanumeric(&mut counter(), 248);
    for character in ALPHANUMERIC {
        assert_eq!(
            text.expose()
                .bytes()
                .filter(|byte| byte == character)
                .count(),
            4
        );
    }
}

#[test]
fn otp_1_leading_zeros_are_kept() {
    let mut zeros = |buffer: &mut [u8]| buffer.fill(0);
    assert_eq!(digits(&mut zeros, 6).expose(), "000000");
}

#[test]
fn biased_bytes_are_discarded() {
    let mut first = true;
    let mut source = |buffer: &mut [u8]| {
        buffer.fill(if first { 255 } else { 7 });
        first = false;
    };
    assert_eq!(digits(&mut source, 6).expose(), "777777");
}
