use super::permitted;

const LIST: &str = r#"
[licenses]
allow = ["MIT", "ISC", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"]
"#;

fn is_permitted(expression: &str) -> bool {
    super::is_permitted(expression, &permitted(LIST).unwrap())
}

#[test]
fn an_alternative_needs_one_permitted_licence() {
    assert!(is_permitted("MIT"));
    assert!(is_permitted("GPL-3.0-only OR MIT"));
    assert!(is_permitted("MIT/Apache-2.0"));
    assert!(!is_permitted("GPL-3.0-only"));
}

#[test]
fn a_conjunction_needs_all_of_them() {
    assert!(is_permitted("(MIT OR GPL-3.0-only) AND ISC"));
    assert!(!is_permitted("MIT AND GPL-3.0-only"));
    assert!(!is_permitted("MIT OR ISC AND"));
}

#[test]
fn an_exception_belongs_to_its_licence() {
    assert!(is_permitted("Apache-2.0 WITH LLVM-exception"));
    assert!(!is_permitted("MIT WITH LLVM-exception"));
    assert!(is_permitted(
        "GPL-2.0-only WITH Classpath-exception-2.0 OR MIT"
    ));
}

#[test]
fn what_is_not_an_expression_is_refused() {
    assert!(!is_permitted(""));
    assert!(!is_permitted("MIT ISC"));
    assert!(!is_permitted("(MIT"));
    assert!(!is_permitted("MIT)"));
}
