//! The migrations of the build.

use vestry_store_rows::migrations::missing;

/// Migrations come in pairs.
#[test]
fn both_backends_have_the_same_migrations() {
    let versions = vestry_store_sqlite::versions().unwrap();
    assert!(!versions.is_empty());
    assert_eq!(versions, vestry_store_postgres::versions().unwrap());
}

/// K10: a newer build has already applied more migrations.
#[test]
fn migrations_of_a_newer_build_are_ignored() {
    let known = vec!["1".to_owned(), "2".to_owned()];
    let applied = ["1".to_owned(), "3".to_owned()];
    assert_eq!(missing(known, &applied), ["2"]);
}
