use super::*;

/// The faults in a text, with the line of each sentence.
fn found(text: &str) -> Vec<(usize, String)> {
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line));
    let paragraphs = paragraphs(lines);
    let faults = paragraphs.iter().flat_map(|paragraph| faults(paragraph));
    faults.map(|fault| (fault.line, fault.what)).collect()
}

fn sentence_of(words: usize) -> String {
    format!("{}end.", "the ".repeat(words - 1))
}

#[test]
fn refused_words_are_found_in_any_form() {
    for (text, word) in [
        ("Whoever calls it waits.", "whoever"),
        ("It is nobody's key.", "nobody"),
        ("So many keys are read.", "so many"),
        ("It holds what\nwas sent.", "what was"),
        ("| key | what is sent |", "what is"),
        ("(It is sent anew.)", "anew"),
        ("**Nobody** reads [it, likewise](likely.md).", "nobody"),
    ] {
        assert_eq!(found(text)[0], (1, format!("`{word}`")), "{text}");
    }
    assert_eq!(
        found("Who calls it waits."),
        [(1, "`who` as a subject".to_owned())]
    );
}

#[test]
fn code_names_and_questions_are_not_words() {
    for text in [
        "Send it to `nobody`, or to `so many\npeople`.",
        "Send it to nobody@example.com or {nobody}.",
        "What is an App?",
        "Who may call it?",
        "```\nWhoever calls it waits.\n```",
        "A so-called many-to-many relation.",
        "The user who called it waits.",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn long_sentences_are_found() {
    assert_eq!(found(&sentence_of(30)), []);
    assert_eq!(found(&sentence_of(31)), [(1, "31 words".to_owned())]);
    let two = format!("{}\n{}", sentence_of(20), sentence_of(31));
    assert_eq!(found(&two), [(2, "31 words".to_owned())]);
    // Code is one word, and a dash is none.
    let text = format!("A `{}` – {}", sentence_of(40), sentence_of(28));
    assert_eq!(found(&text), []);
    // SQL is no English.
    assert_eq!(found(&"SELECT id, name FROM users WHERE ".repeat(8)), []);
}

#[test]
fn items_cells_and_headings_are_paragraphs() {
    let part = "the ".repeat(20);
    for between in ["\n\n", "\n- ", "\n12. ", " | ", "\n# "] {
        let text = format!("| {part}{between}{part}");
        assert_eq!(found(&text), [], "{between}");
    }
    assert_eq!(found(&format!("- {part}\n  {part}")).len(), 1);
    assert_eq!(found(&format!("# {part}\n{part}")), []);
}

#[test]
fn an_abbreviation_ends_no_sentence() {
    let part = "the ".repeat(20);
    for end in ["e.g.", "(i.e.", "..."] {
        assert_eq!(found(&format!("{part}{end} {part}")).len(), 1, "{end}");
    }
    for end in ["end.", "\"end!\"", "(end?)", "end.**"] {
        assert_eq!(found(&format!("{part}{end} {part}")), [], "{end}");
    }
}
