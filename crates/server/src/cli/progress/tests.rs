use super::bar;

#[test]
fn a_bar_fills_up() {
    assert_eq!(bar(0), ".".repeat(30));
    assert_eq!(bar(50), format!("{}{}", "#".repeat(15), ".".repeat(15)));
    assert_eq!(bar(100), "#".repeat(30));
}
