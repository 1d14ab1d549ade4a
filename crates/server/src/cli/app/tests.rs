use super::*;

#[test]
fn changes_are_pairs() {
    assert_eq!(
        assignment("name=My = Shop"),
        Ok(("name".to_owned(), "My = Shop".to_owned()))
    );
    assert_eq!(assignment("name="), Ok(("name".to_owned(), String::new())));
    assert!(assignment("=x").is_err());
    assert!(assignment("name").is_err());
}
