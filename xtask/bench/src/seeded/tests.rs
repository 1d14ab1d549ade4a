//! The seeding statements.

use super::*;

#[test]
fn hot_lines_are_few_and_evenly_spread() {
    let all: String = (0..1_000).map(|number| format!("{number}\n")).collect();
    let few = from_all_over(&all, HOT);
    let lines: Vec<_> = few.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[63]), (64, "0", "945"));
    assert_eq!(from_all_over("one\ntwo\n", HOT), "one\ntwo\n");
}

#[test]
fn a_session_is_the_template_with_its_own_ids() {
    let rows = "session_2\tuser_2\ttwo@x\temail_2\tff00\n";
    let template = "session_1\tone@x\temail_1\n";
    let sqlite = sessions(StoreKind::Sqlite, template, rows).unwrap();
    assert!(sqlite.contains("('session_2','user_2','two@x','email_2',X'ff00')"));
    assert!(sqlite.contains("'email_1', seed.email_id), 'one@x', seed.address)"));
    let postgres = sessions(StoreKind::Postgres, template, rows).unwrap();
    assert!(postgres.contains(r"'two@x','email_2','\xff00')"));
    assert!(sessions(StoreKind::Sqlite, "session_1\n", rows).is_err());
    assert!(sessions(StoreKind::Sqlite, template, "session_2\n").is_err());
}

#[test]
fn each_schema_has_its_own_fingerprint() {
    assert_ne!(
        fingerprint("sqlite").unwrap(),
        fingerprint("postgres").unwrap()
    );
}
