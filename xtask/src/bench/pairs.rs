//! The arithmetic of measurements that are taken again and again.

use std::fmt;

/// The middle one; of an even number, the mean of the two in the middle. 0 of nothing.
pub(super) fn median(values: &[f64]) -> f64 {
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

/// The median of what each is of the one that was measured right after it. A machine that others use changes its speed within
/// minutes: the two of a pair met the same one, two medians did not.
pub(super) fn ratio(these: &[f64], those: &[f64]) -> Option<Ratio> {
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

/// A ratio of pairs, and how far single ones were from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) least: f64,
    pub(super) median: f64,
    pub(super) most: f64,
}

/// With two digits behind the point, or as many as are asked for.
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

/// How many a second could do both, one after the other, were there nothing else to do.
pub(super) fn one_after_the_other(one: f64, other: f64) -> f64 {
    1.0 / (1.0 / one + 1.0 / other)
}

#[cfg(test)]
mod tests;
