//! Medians and ratios.

use super::*;

#[test]
fn the_median_does_not_depend_on_the_order() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
    assert_eq!(median(&[7.0]), 7.0);
    assert_eq!(median(&[]), 0.0);
}

#[test]
fn a_ratio_is_taken_within_each_pair_before_the_median() {
    // The machine was twice as fast during the second pair; the medians alone would say 0.5 of 300.
    let (these, those) = ([50.0, 200.0, 40.0], [100.0, 400.0, 400.0]);
    let expected = Ratio {
        least: 0.1,
        median: 0.5,
        most: 0.5,
    };
    assert_eq!(ratio(&these, &those), Some(expected));
    assert_eq!(ratio(&[50.0], &[0.0]), None);
    assert_eq!(ratio(&[], &[]), None);
}

#[test]
fn a_value_without_a_reference_does_not_count() {
    let found = ratio(&[50.0, 1_000.0], &[100.0]).unwrap();
    assert_eq!((found.least, found.median, found.most), (0.5, 0.5, 0.5));
}

#[test]
fn a_sequence_takes_the_time_of_both() {
    assert_eq!(in_sequence(100.0, 100.0), 50.0);
}

#[test]
fn a_percentile_is_one_of_the_values() {
    let delays: Vec<f64> = (1..=200).rev().map(f64::from).collect();
    assert_eq!(percentile(&delays, 50), 100.0);
    assert_eq!(percentile(&delays, 99), 198.0);
    assert_eq!(percentile(&[7.0], 99), 7.0);
    assert_eq!(percentile(&[], 99), 0.0);
}
