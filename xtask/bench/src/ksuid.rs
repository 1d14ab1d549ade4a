//! Ids of users that the bench writes directly to the database: 4 bytes of time and 16 others, in base62.

const EPOCH: u64 = 1_400_000_000;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The 27 characters of an id for a time. The number makes it unique.
pub(crate) fn text(at: u64, number: usize) -> String {
    let number = u128::try_from(number).unwrap_or_default();
    // An odd factor permutes the numbers, so that they look random.
    let rest = number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    // Five words of 32 bits, the highest first, repeatedly divided by 62.
    let word = |shift: u32| u64::try_from((rest >> shift) & 0xffff_ffff).unwrap_or_default();
    let mut words = [
        at.saturating_sub(EPOCH),
        word(96),
        word(64),
        word(32),
        word(0),
    ];
    let mut digits = [b'0'; 27];
    for digit in digits.iter_mut().rev() {
        let mut remainder = 0;
        for word in &mut words {
            let value = (remainder << 32) | *word;
            *word = value / 62;
            remainder = value % 62;
        }
        let place = usize::try_from(remainder).unwrap_or_default();
        *digit = ALPHABET.get(place).copied().unwrap_or(b'0');
    }
    digits.iter().copied().map(char::from).collect()
}
