//! The page and what it is made from.

use super::super::record::tests::example;
use super::*;

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
fn tables_stand_between_their_two_lines_and_replace_what_was_there() {
    let page = format!("before\n{BEGIN}old\n{END}after\n");
    let made = with_tables(&page, "new\n").unwrap();
    assert_eq!(made, format!("before\n{BEGIN}new\n{END}after\n"));
    assert!(with_tables("no lines", "new\n").is_err());
}

#[test]
fn a_line_shows_the_medians_and_the_ratio_of_pairs() {
    let text = tables(&[example("2026-11-24T18:30Z", "SQLite 3.50")]).unwrap();
    let row = "| SQLite 3.50 | session verify, cold | 10000 | 5.25 | 9.88 | 90 | 40 | 10 | 2.4 | 1.5 | raw SELECT, cold | 20000 | \
               0.50 | 0.50 |";
    assert!(text.lines().any(|line| line == row), "{text}");
    // Of the rounds 2 and 4, whose worst is 4.
    let flood = "| SQLite 3.50 | 1.50 | 5.00 | 3.00 | 4.00 |";
    assert!(text.lines().any(|line| line == flood), "{text}");
}
