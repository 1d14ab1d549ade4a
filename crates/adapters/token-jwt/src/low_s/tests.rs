//! Numbers around half the order, and signatures of the library.

use super::*;

fn signature(s: [u8; 32]) -> Vec<u8> {
    [[0x11; 32], s].concat()
}

fn plus_one(mut number: [u8; 32]) -> [u8; 32] {
    for digit in number.iter_mut().rev() {
        let (sum, carry) = digit.overflowing_add(1);
        *digit = sum;
        if !carry {
            break;
        }
    }
    number
}

#[test]
fn the_middle_is_half_the_order() {
    let mut doubled = [0; 32];
    let mut carry = 0;
    for (digit, of_half) in doubled.iter_mut().zip(HALF).rev() {
        let sum = u16::from(of_half) * 2 + carry;
        *digit = u8::try_from(sum & 0xff).unwrap();
        carry = sum >> 8;
    }
    assert_eq!((carry, plus_one(doubled)), (0, ORDER));
}

#[test]
fn s_above_half_the_order_is_negated() {
    let mut one = [0; 32];
    one[31] = 1;
    let mut largest = ORDER;
    largest[31] -= 1;
    let above = plus_one(HALF);
    for low in [one, HALF] {
        assert!(is_low(&signature(low)));
        assert_eq!(lowered(&signature(low)).unwrap().to_vec(), signature(low));
    }
    for (high, low) in [(above, HALF), (largest, one)] {
        assert!(!is_low(&signature(high)));
        assert_eq!(lowered(&signature(high)).unwrap().to_vec(), signature(low));
    }
}

#[test]
fn signatures_of_other_lengths_are_refused() {
    for length in [0, 32, 63, 65, 96, 128] {
        assert!(!is_low(&vec![0; length]));
        assert_eq!(lowered(&vec![0; length]), None);
    }
}
