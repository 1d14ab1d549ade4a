use super::{missing, postgres_versions, sqlite_versions};

/// Architecture section 3: migrations come in pairs.
#[test]
fn both_backends_have_the_same_migrations() {
    let versions = sqlite_versions().unwrap();
    assert!(!versions.is_empty());
    assert_eq!(versions, postgres_versions().unwrap());
}

/// K10: a newer build has already migrated further.
#[test]
fn migrations_of_a_newer_build_are_no_obstacle() {
    let known = vec!["1".to_owned(), "2".to_owned()];
    let applied = ["1".to_owned(), "3".to_owned()];
    assert_eq!(missing(known, &applied), ["2"]);
}
