//! The generated page.

use super::*;
use crate::record::tests::example;

#[test]
fn the_page_has_the_tables_of_the_newest_records() {
    let text = fs::read_to_string(page()).unwrap();
    let made = with_tables(&text, &tables(&newest().unwrap()).unwrap()).unwrap();
    assert!(
        text == made,
        "docs/performance.md differs from bench/: run cargo xtask bench --report"
    );
}

#[test]
fn the_newest_record_of_each_store_counts() {
    let records = vec![
        example("2026-11-24T18:30Z", "SQLite 3.50"),
        example("2026-11-26T09:00Z", "Postgres 15.9"),
        example("2026-11-25T07:00Z", "SQLite 3.51"),
        example("2026-11-20T09:00Z", "Postgres 16.0"),
    ];
    let newest = newest_of(records);
    let kept: Vec<_> = newest.iter().map(|record| record.store.as_str()).collect();
    assert_eq!(kept, ["Postgres 15.9", "SQLite 3.51"]);
}

#[test]
fn tables_replace_those_between_the_two_lines() {
    let page = format!("before\n{BEGIN}old\n{END}after\n");
    let made = with_tables(&page, "new\n").unwrap();
    assert_eq!(made, format!("before\n{BEGIN}new\n{END}after\n"));
    assert!(with_tables("no lines", "new\n").is_err());
}

#[test]
fn a_line_shows_the_medians_and_the_ratio_of_pairs() {
    let text = tables(&[example("2026-11-24T18:30Z", "SQLite 3.50")]).unwrap();
    let row = "| SQLite 3.50 | session verify, cold | 10000 | 5.25 | 9.88 | 90 | 40 | 10 | 2.4 | 1.5 | raw SELECT, cold | 20000 | \
               0.50 (0.45 to 0.55) | 0.50 |";
    assert!(text.lines().any(|line| line == row), "{text}");
    let flood = "| SQLite 3.50 | 1.50 | 5.00 | 3.00 (2.00 to 4.00) |";
    assert!(text.lines().any(|line| line == flood), "{text}");
}

#[test]
fn other_numbers_of_connections_stand_side_by_side() {
    let mut record = example("2026-11-24T18:30Z", "SQLite 3.50");
    let mut few = record.measurements[0].clone();
    few.connections = 8;
    let mut one = record.measurements[1].clone();
    one.connections = 1;
    record.measurements.extend([few, one]);
    let text = tables(&[record]).unwrap();
    for row in [
        "| store | operation | 1: per second; p50, p99 ms; ratio | 8: per second; p50, p99 ms; ratio |",
        "| SQLite 3.50 | session verify, cold | – | 10000; 5.25, 9.88; 0.50 |",
        "| SQLite 3.50 | user create (with wallet) | 1234; 5.25, 9.88; – | – |",
    ] {
        assert!(text.lines().any(|line| line == row), "{row}\n{text}");
    }
}
