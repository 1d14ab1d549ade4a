use super::*;

/// The texts and the log messages in a source, each with its line.
fn texts_of(source: &str) -> (Vec<String>, Vec<String>) {
    let file = File {
        path: "a.rs".to_owned(),
        text: source.to_owned(),
    };
    let texts = texts(&file).unwrap();
    let join = |paragraphs: Vec<Vec<Word>>| {
        let join = |words: Vec<Word>| {
            let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            format!("{}: {}", words[0].line, text.join(" "))
        };
        paragraphs.into_iter().map(join).collect()
    };
    (join(texts.prose), join(texts.logs))
}

#[test]
fn comments_are_read_as_paragraphs() {
    let source = "\
//! A module.
//!
//! More of
//! it.

/// A function.
// A reason
// of two lines.
fn f() {
    let url = \"https://example.com\"; // A remark.
    g(url);
    // Another one.
}
";
    assert_eq!(
        texts_of(source).0,
        [
            "1: A module.",
            "3: More of it.",
            "6: A function.",
            "7: A reason of two lines.",
            "10: A remark.",
            "12: Another one.",
        ]
    );
}

#[test]
fn literals_are_read_by_lines() {
    let source = "\
const NAME: &str = \"name\";
const TEXT: &str = \"\\
First line // of
the \\
text.\\nAnd another.\";
const RAW: &str = r#\"A \"raw\" text.\"#;
";
    assert_eq!(
        texts_of(source).0,
        [
            "3: First line // of",
            "4: the text.",
            "5: And another.",
            "6: A \"raw\" text.",
        ]
    );
}

#[test]
fn log_messages_are_told_apart() {
    let source = "\
fn f() {
    tracing::warn!(code = %code(\"in a field\"), \"a log message\");
    info!(\"another one\");
    format!(\"no log message\");
}
";
    let (prose, logs) = texts_of(source);
    assert_eq!(prose, ["4: no log message"]);
    assert_eq!(
        logs,
        ["2: in a field", "2: a log message", "3: another one"]
    );
}
