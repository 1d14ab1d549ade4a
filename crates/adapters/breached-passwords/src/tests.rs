//! P-9: look-ups without a network.

use std::io::Write;

use vestry_domain::Secret;

use super::*;

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn hash(text: &str) -> String {
    hex::encode_upper(Sha1::digest(text.as_bytes()))
}

/// Returns a list of these passwords in the downloader's format; `end` is its line ending.
fn list(passwords: &[String], end: &str) -> String {
    let mut lines: Vec<_> = passwords
        .iter()
        .enumerate()
        .map(|(count, text)| format!("{}:{}{end}", hash(text), count * count * 1000 + 1))
        .collect();
    lines.sort();
    lines.concat()
}

async fn contains(list: &BreachedFile, text: &str) -> bool {
    let password = Password::presented("password", Secret::new(text.to_owned())).unwrap();
    list.contains(&password).await.unwrap()
}

#[tokio::test]
async fn p_9_exactly_the_passwords_of_a_list_are_found() {
    for length in [1, 2, 3, 10, 333] {
        let passwords: Vec<String> = (0..length).map(|n| format!("password {n}")).collect();
        for end in ["\n", "\r\n"] {
            let text = list(&passwords, end);
            for text in [text.as_str(), text.trim_end(), &text.to_lowercase()] {
                let file = file(text);
                let list = BreachedFile::open(file.path()).unwrap();
                for known in &passwords {
                    assert!(contains(&list, known).await, "{known} of {length}");
                    assert!(!contains(&list, &format!("{known}x")).await);
                }
            }
        }
    }
}

#[tokio::test]
async fn counts_are_optional() {
    let mut lines = [hash("one"), hash("two"), hash("three")];
    lines.sort();
    let file = file(&lines.join("\n"));
    let list = BreachedFile::open(file.path()).unwrap();
    assert!(contains(&list, "two").await);
    assert!(!contains(&list, "four").await);
}

/// The normalized text is looked up (P-3).
#[tokio::test]
async fn p_9_both_spellings_of_a_letter_are_found() {
    let file = file(&list(&["été 1999".to_owned()], "\n"));
    let list = BreachedFile::open(file.path()).unwrap();
    assert!(contains(&list, "e\u{301}te\u{301} 1999").await);
}

#[test]
fn invalid_lists_are_refused_at_startup() {
    let (one, two) = ("0".repeat(40), "1".repeat(40));
    for text in [
        String::new(),
        "hunter2\npassword\n".to_owned(),
        format!("{two}:1\n{one}:1\n"),
        format!("{one}:1\nhunter2\n"),
        format!("{one}0:1\n"),
        "g".repeat(40),
    ] {
        let opened = BreachedFile::open(file(&text).path());
        assert!(matches!(opened, Err(ListError::NotAList)), "{text}");
    }
    let nowhere = tempfile::tempdir().unwrap().path().join("nothing");
    assert!(matches!(
        BreachedFile::open(&nowhere),
        Err(ListError::Io(_))
    ));
}

/// attack-19: a list damaged later gives an error, not "no".
#[tokio::test]
async fn attack_19_a_damaged_list_is_an_error() {
    let passwords: Vec<String> = (0..100).map(|n| format!("password {n}")).collect();
    let file = file(&list(&passwords, "\n"));
    let list = BreachedFile::open(file.path()).unwrap();
    let length = file.as_file().metadata().unwrap().len();
    let damage = "not a hash\n".repeat(usize::try_from(length / 11).unwrap());
    std::fs::write(file.path(), damage).unwrap();
    let password = Password::presented("password", Secret::new("x".to_owned())).unwrap();
    assert!(list.contains(&password).await.is_err());
}
