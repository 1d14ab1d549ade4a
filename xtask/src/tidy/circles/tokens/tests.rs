use super::*;

fn written(source: &str) -> String {
    let tokens = tokens(source).into_iter();
    let texts = tokens.map(|token| match token.kind {
        Kind::Word(word) => word.to_owned(),
        Kind::Text(text) => format!("<{text}>"),
        Kind::Within => "::".to_owned(),
        Kind::Sign(sign) => sign.to_string(),
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn words_and_signs_are_told_apart() {
    assert_eq!(
        written("use crate::a::{self, b};"),
        "use crate :: a :: { self , b } ;"
    );
}

#[test]
fn comments_are_left_out() {
    assert_eq!(written("a // crate::b\nc"), "a c");
    assert_eq!(written("//! crate::b\n/// crate::c\nd"), "d");
    assert_eq!(written("a /* b /* c */ d */ e"), "a e");
    assert_eq!(written("a /**/ b /*/ c */ d"), "a b d");
}

#[test]
fn what_stands_between_quotes_is_no_code() {
    assert_eq!(written(r#"a("crate::b", c)"#), "a ( <crate::b> , c )");
    assert_eq!(
        written(r#"a("\"crate::b\\", c)"#),
        r#"a ( <\"crate::b\\> , c )"#
    );
    assert_eq!(written("r#\"\"crate::b\\\"# c"), "<\"crate::b\\> c");
    assert_eq!(written(r#"br"a" b"c" bar"#), "<a> <c> bar");
    assert_eq!(written(r#"['"', '\'', '\\', '\u{22}'] a"#), "[ , , , ] a");
}

#[test]
fn lifetimes_are_not_quotes() {
    assert_eq!(
        written("fn a<'b>(c: &'b str)"),
        "fn a < b > ( c : & b str )"
    );
    assert_eq!(written("&'a T, 'x'"), "& a T ,");
}

#[test]
fn lines_are_counted_in_texts_and_comments_too() {
    let tokens = tokens("a\n/*\n*/ \"\n\" b");
    let lines: Vec<usize> = tokens.iter().map(|token| token.line).collect();
    assert_eq!(lines, [1, 3, 4]);
}
