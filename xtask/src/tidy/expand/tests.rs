use super::*;
use crate::tidy::tree::File;

#[test]
fn later_migrations_only_expand() {
    let refusals = [
        ("CREATE TABLE a (id TEXT NOT NULL);", 0),
        ("ALTER TABLE a ADD COLUMN b TEXT;", 0),
        ("ALTER TABLE a ADD COLUMN b TEXT NOT NULL DEFAULT '';", 0),
        ("-- DROP TABLE a;\nCREATE INDEX a_b_idx ON a (b);", 0),
        ("DROP TABLE a;", 1),
        ("ALTER TABLE a DROP COLUMN b;", 1),
        ("drop index a_b_idx; ALTER TABLE a RENAME TO b;", 2),
        ("ALTER TABLE a\n    ADD COLUMN b TEXT NOT NULL;", 1),
        ("ALTER TABLE a ALTER COLUMN b SET NOT NULL;", 1),
    ];
    for (sql, count) in refusals {
        assert_eq!(refused(sql).len(), count, "{sql}");
    }
}

#[test]
fn the_first_migration_is_the_start() {
    let file = |path: &str| File {
        path: path.to_owned(),
        text: "DROP TABLE a;".to_owned(),
    };
    let tree = Tree {
        files: vec![
            file("migrations/sqlite/1_schema/up.sql"),
            file("migrations/sqlite/2_more/up.sql"),
            file("migrations/postgres/1_schema/up.sql"),
        ],
    };
    let found = check(&tree);
    assert_eq!(found.len(), 1);
    assert!(
        found[0]
            .to_string()
            .starts_with("migrations/sqlite/2_more/up.sql: DROP")
    );
}
