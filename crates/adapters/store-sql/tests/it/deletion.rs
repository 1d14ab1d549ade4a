//! Data deleted with a user.

const SCHEMA: &str = include_str!("../../../store-rows/src/schema.rs");
const DELETION: &str = include_str!("../../../store-rows/repositories/user_deletion.rs");

/// Tables that keep naming a deleted user, only by id (E-6).
const OUTLIVE: [&str; 2] = ["unsequenced_events", "events"];
/// Tables whose rows the use case erases in the same transaction. The row of a key stays, without its response and without the user (M-9).
const ERASED: [&str; 2] = ["idempotency_keys", "operators"];

/// The deletion of a user must cover every table whose rows name the user (S-5): a new table has to be added there.
#[test]
fn every_table_that_names_a_user_is_emptied() {
    let tables: Vec<&str> = SCHEMA
        .split("diesel::table! {")
        .filter(|table| table.contains(" user_id ->"))
        .filter_map(|table| table.trim().split([' ', '(']).next())
        .collect();
    assert!(tables.len() >= 6, "{tables:?}");
    let (_, code) = DELETION.split_once("impl Unit").unwrap();
    let words: Vec<&str> = code
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .collect();
    for table in tables {
        if OUTLIVE.contains(&table) || ERASED.contains(&table) {
            continue;
        }
        assert!(
            words.contains(&table),
            "{table} keeps rows of deleted users"
        );
    }
}
