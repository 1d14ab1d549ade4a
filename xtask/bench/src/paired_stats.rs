//! Statistics of repeated measurements, in pairs of a measurement and its reference.

use std::fmt;
use std::time::Duration;

/// The median, or 0 if there are no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let at = |place: usize| sorted.get(place).copied().unwrap_or_default();
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(at(middle.saturating_sub(1)), at(middle))
    } else {
        at(middle)
    }
}

/// A percentile, which is one of the values, or 0 if there are none.
pub(crate) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or_default()
}

/// A duration in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// The median ratio of each value to the reference measured right after it.
///
/// The speed of a shared machine changes within minutes. Both values of a pair are affected alike, two medians are not.
pub(crate) fn ratio(these: &[f64], those: &[f64]) -> Option<Ratio> {
    let mut ratios: Vec<f64> = these
        .iter()
        .zip(those)
        .filter(|(_, that)| **that > 0.0)
        .map(|(this, that)| this / that)
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    Some(Ratio {
        least: ratios.first().copied()?,
        median: median(&ratios),
        most: ratios.last().copied()?,
    })
}

/// The ratio as text, or nothing if there are no pairs.
pub(crate) fn shown_ratio(these: &[f64], those: &[f64]) -> String {
    ratio(these, those).map_or_else(String::new, |ratio| ratio.to_string())
}

/// A median ratio of pairs, with its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

/// Two decimal places, unless the format asks for another number.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            least,
            median,
            most,
        } = self;
        let digits = f.precision().unwrap_or(2);
        write!(f, "{median:.digits$} ({least:.digits$} to {most:.digits$})")
    }
}

/// The rate of two operations in sequence, each with its own rate.
pub(crate) fn in_sequence(one: f64, other: f64) -> f64 {
    1.0 / (1.0 / one + 1.0 / other)
}

#[cfg(test)]
mod tests;
