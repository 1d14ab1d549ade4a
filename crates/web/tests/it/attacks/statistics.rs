//! Statistics on whether two sets of times can be distinguished.

use std::time::Duration;

/// The probability that a sample of the first set is slower than one of the second: the area under the curve (Mann-Whitney). One half is
/// chance, and a tie counts as half a win.
pub(super) fn area(one: &[Duration], other: &[Duration]) -> f64 {
    let mut all: Vec<_> = one
        .iter()
        .map(|time| (*time, true))
        .chain(other.iter().map(|time| (*time, false)))
        .collect();
    all.sort();
    let (mut rank_sum, mut before) = (0.0, 0.0);
    for tied in all.chunk_by(|left, right| left.0 == right.0) {
        let size = number(tied.len());
        let of_one = tied.iter().filter(|(_, is_one)| *is_one).count();
        rank_sum += number(of_one) * (before + f64::midpoint(size, 1.0));
        before += size;
    }
    let (n, m) = (number(one.len()), number(other.len()));
    (rank_sum - n * (n + 1.0) / 2.0) / (n * m)
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

/// The given percentile of the sorted times.
fn quantile(sorted: &[Duration], per_cent: usize) -> Duration {
    sorted[(sorted.len() * per_cent / 100).min(sorted.len() - 1)]
}

/// The area for every pair, on the upper side of one half.
pub(super) fn areas(times: &[Vec<Duration>]) -> impl Iterator<Item = f64> {
    pairs(times).map(|(one, other)| upper_area(one, other))
}

fn pairs(times: &[Vec<Duration>]) -> impl Iterator<Item = (&[Duration], &[Duration])> {
    let firsts = times.iter().enumerate();
    firsts.flat_map(move |(at, one)| {
        let others = times.iter().skip(at + 1);
        others.map(move |other| (one.as_slice(), other.as_slice()))
    })
}

fn upper_area(one: &[Duration], other: &[Duration]) -> f64 {
    let area = area(one, other);
    area.max(1.0 - area)
}

/// Whether the medians differ by more than `least`.
fn differ(one: &[Duration], other: &[Duration], least: Duration) -> bool {
    let [one, other] = [one, other].map(|times| {
        let mut sorted = times.to_vec();
        sorted.sort();
        quantile(&sorted, 50)
    });
    one.abs_diff(other) > least
}

/// Prints medians, tails, and the area for every pair. Returns the largest area, on either side of one half, among the pairs whose medians
/// differ by more than `least`.
pub(super) fn widest(title: &str, names: &[&str], times: &[Vec<Duration>], least: Duration) -> f64 {
    println!("{title}: {} samples of each kind", times[0].len());
    for (name, times) in names.iter().zip(times) {
        let mut sorted = times.clone();
        sorted.sort();
        println!(
            "  {name:<20} median {:>9.3?}  p95 {:>9.3?}",
            quantile(&sorted, 50),
            quantile(&sorted, 95)
        );
    }
    for (at, name) in names.iter().enumerate() {
        for (other, other_name) in names.iter().enumerate().skip(at + 1) {
            let area = area(&times[at], &times[other]);
            println!("  {name} against {other_name}: AUC {area:.3}");
        }
    }
    pairs(times)
        .filter(|(one, other)| differ(one, other, least))
        .map(|(one, other)| upper_area(one, other))
        .fold(0.5, f64::max)
}

#[test]
fn the_area_distinguishes_slow_from_fast() {
    let times = |from: u64| {
        (from..from + 100)
            .map(Duration::from_millis)
            .collect::<Vec<_>>()
    };
    assert!(area(&times(1000), &times(0)) > 0.99);
    assert!(area(&times(0), &times(1000)) < 0.01);
    assert!((area(&times(0), &times(0)) - 0.5).abs() < 0.001);
    let millisecond = Duration::from_millis(1);
    assert!(differ(&times(2), &times(0), millisecond));
    assert!(!differ(&times(1), &times(0), millisecond));
    let shifted = area(&times(10), &times(0));
    assert!((0.55..0.65).contains(&shifted), "{shifted}");
    let (one, all) = (vec![Duration::ZERO; 50], vec![Duration::ZERO; 70]);
    assert!((area(&one, &all) - 0.5).abs() < 0.001);
}
