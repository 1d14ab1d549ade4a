//! Values of gauges.

use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;

/// A time as Unix seconds.
pub(crate) fn unix(at: Timestamp) -> f64 {
    seconds(Seconds(at.unix()))
}

/// A length of time in seconds, or any other whole number.
pub(crate) fn seconds(length: Seconds) -> f64 {
    // 53 bits hold every second of the next 285 million years.
    let (high, low) = (length.0 >> 32, length.0 & 0xffff_ffff);
    let high = i32::try_from(high).map_or(f64::MAX, f64::from);
    let low = u32::try_from(low).map_or(0.0, f64::from);
    high.mul_add(4_294_967_296.0, low)
}

/// 0 or 1.
pub(crate) const fn flag(is_set: bool) -> f64 {
    if is_set { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        for (length, expected) in [
            (0, 0.0),
            (1, 1.0),
            (-1, -1.0),
            (1_764_509_000, 1_764_509_000.0),
            (4_294_967_296, 4_294_967_296.0),
            (20_000_000_001, 20_000_000_001.0),
        ] {
            assert!(
                (seconds(Seconds(length)) - expected).abs() < f64::EPSILON,
                "{length}"
            );
        }
    }
}
