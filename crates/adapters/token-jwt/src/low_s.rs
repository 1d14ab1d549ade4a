//! Normalises ECDSA signatures on P-256 to the low `s`, so that each message and nonce has one signature.
//!
//! If `s` is valid, so is n − s. JWS allows both (RFC 7518 section 3.4), so anyone could turn a token into another valid one with the same
//! claims. That would evade a look-up or block by the token's text.

/// n, the order of P-256 (SEC 2 section 2.4.2).
const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];
/// n / 2, rounded down; n is odd.
const HALF: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0x80, 0x00, 0x00, 0x00, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xde, 0x73, 0x7d, 0x56, 0xd3, 0x8b, 0xcf, 0x42, 0x79, 0xdc, 0xe5, 0x61, 0x7e, 0x31, 0x92, 0xa8,
];
const LENGTH: usize = 64;

/// Whether `r‖s` has 64 bytes and a low `s`.
pub(crate) fn is_low(signature: &[u8]) -> bool {
    // Arrays of big-endian digits compare like numbers.
    s_of(signature).is_some_and(|s| *s <= HALF)
}

/// Returns the signature with the low `s`; `None` if it is not 64 bytes long. Nothing in it is secret.
pub(crate) fn lowered(signature: &[u8]) -> Option<[u8; LENGTH]> {
    let mut lowered: [u8; LENGTH] = signature.try_into().ok()?;
    if !is_low(&lowered) {
        let (_, s) = lowered.split_at_mut(LENGTH / 2);
        negate(s);
    }
    Some(lowered)
}

fn s_of(signature: &[u8]) -> Option<&[u8; 32]> {
    if signature.len() == LENGTH {
        signature.last_chunk()
    } else {
        None
    }
}

/// Replaces s with n − s, for s from 1 to n − 1.
fn negate(s: &mut [u8]) {
    let mut borrow = false;
    for (digit, of_order) in s.iter_mut().zip(ORDER).rev() {
        let (difference, first) = of_order.overflowing_sub(*digit);
        let (difference, second) = difference.overflowing_sub(u8::from(borrow));
        *digit = difference;
        borrow = first || second;
    }
}

#[cfg(test)]
mod tests;
