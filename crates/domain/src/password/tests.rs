//! P-1 to P-3 and P-8, table-driven.

use super::*;

fn password(text: &str) -> Password {
    Password::presented("password", Secret::new(text.to_owned())).unwrap()
}

fn rules(least: usize, words: &[&str]) -> Rules {
    Rules {
        least,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
    }
}

fn refusal(rules: &Rules, text: &str) -> Option<String> {
    let refused = rules.check("password", &password(text)).err()?;
    Some(refused.message.into_owned())
}

#[test]
fn p_1_more_than_1024_bytes_are_refused_and_never_cut() {
    let longest = "é".repeat(512);
    assert_eq!(longest.len(), MAX_BYTES);
    assert_eq!(password(&longest).length(), 512);
    let beyond = Secret::new(longest + "x");
    let refused = Password::presented("password", beyond).unwrap_err();
    assert_eq!(refused.message, "password must have at most 1024 bytes");
}

#[test]
fn p_3_length_counts_code_points_of_the_normalized_text() {
    // e + combining acute is one letter, like é.
    assert_eq!(password("e\u{301}").length(), 1);
    assert_eq!(password("é").length(), 1);
    assert_eq!(password("🔑🔑").length(), 2);
    assert_eq!(
        refusal(&rules(8, &[]), "ключ🔑🔑🔑"),
        Some("password must have at least 8 characters".into())
    );
    assert_eq!(refusal(&rules(8, &[]), "ключ🔑🗝🔒x"), None);
}

#[test]
fn p_3_the_two_spellings_of_a_letter_are_one_password_but_look_alikes_are_not() {
    let normalized = |text: &str| password(text).in_form(Normalization::Nfc).expose().clone();
    assert_eq!(normalized("e\u{301}te\u{301}"), normalized("été"));
    // NFKC would merge these.
    assert_ne!(normalized("x²"), normalized("x2"));
    assert_ne!(normalized("ﬁ"), normalized("fi"));
    assert_eq!(
        password("e\u{301}").in_form(Normalization::Raw).expose(),
        "e\u{301}"
    );
}

#[test]
fn p_8_the_list_has_thousands_of_policy_length() {
    let lines: Vec<&str> = include_str!("common.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert!(lines.len() >= 3_000, "{}", lines.len());
    assert!(lines.iter().all(|line| line.chars().count() >= 8));
    assert!(lines.iter().all(|line| line.to_lowercase() == *line));
}

#[test]
fn p_8_common_passwords_are_rejected_in_any_case() {
    let eight = rules(8, &[]);
    for common in [
        "password",
        "PassWord",
        "qwertyuiop",
        "iloveyou",
        "1234567890",
    ] {
        let why = refusal(&eight, common).unwrap();
        assert!(
            why.contains("most common") || why.contains("one short piece"),
            "{common}: {why}"
        );
    }
    // Parts do not count: this one only contains a common password.
    assert_eq!(refusal(&eight, "password of my grandmother"), None);
}

#[test]
fn p_8_a_common_piece_repeated_is_refused_at_any_length() {
    for text in [
        "passwordpassword",
        "aaaaaaaaaaaaaaaaaa",
        "abcabcabcabcabcabc",
    ] {
        let why = refusal(&rules(15, &[]), text).unwrap();
        assert!(why.contains("one short piece"), "{text}: {why}");
    }
    assert_eq!(
        refusal(&rules(8, &[]), "unusual words unusual words "),
        None
    );
}

#[test]
fn p_8_words_of_the_account_are_refused_with_digits_and_signs_around_them() {
    let rules = rules(8, &["Corner Shop", "Ada", "Lovelace", "ada.lovelace99"]);
    for text in [
        "cornershop",
        "Corner Shop!",
        "lovelace1815",
        "!!Lovelace!!",
        "ada.lovelace",
        "AdaLovelace99",
    ] {
        let why = refusal(&rules, text).unwrap();
        assert!(why.contains("a name from the account"), "{text}: {why}");
    }
    for text in ["lovelace likes numbers", "cornershopkeeper", "adaptation"] {
        assert_eq!(refusal(&rules, text), None, "{text}");
    }
}

#[test]
fn p_2_no_rule_requires_character_classes() {
    for text in ["correct horse battery", "ωραία μεγάλη μέρα", "71083920584"] {
        assert_eq!(refusal(&rules(8, &[]), text), None, "{text}");
    }
}

#[test]
fn a_hash_round_trips_and_is_never_printed() {
    let hash = PasswordHash {
        normalization: Normalization::Nfc,
        text: Secret::new("$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA".to_owned()),
    };
    let back = PasswordHash::from_sealable(&hash.to_sealable()).unwrap();
    assert_eq!(back.normalization, Normalization::Nfc);
    assert_eq!(back.text.expose(), hash.text.expose());
    assert!(PasswordHash::from_sealable(&Secret::new(b"nfd:x".to_vec())).is_none());
    assert!(PasswordHash::from_sealable(&Secret::new(vec![0xff, b':'])).is_none());
    let shown = format!("{hash:?} {:?}", password("hunter2hunter"));
    assert!(
        !shown.contains("hunter2") && !shown.contains("argon2"),
        "{shown}"
    );
}
