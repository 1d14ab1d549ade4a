use super::*;

/// Unused prefixes, so that this file names no line.
const AREA: &str = "# Things\n\n## First: `ZZ-`\n\n- **ZZ-1** One.\n- **ZZ-2b** Two.\n\n## Second: `Q` `YY-J`\n\n- **Q3** Three.\n\n### More\n\n- **YY-J4** Four.\n";

fn tree(files: &[(&str, &str)]) -> Tree {
    let file = |(path, text): &(&str, &str)| File {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    };
    Tree {
        files: files.iter().map(file).collect(),
    }
}

fn found(path: &str, text: &str) -> Vec<String> {
    check(&tree(&[("docs/requirements/a.md", AREA), (path, text)]))
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn missing(text: &str) -> bool {
    match found("crates/a/tests/it/a.rs", text).as_slice() {
        [] => false,
        [one] => one.starts_with("crates/a/tests/it/a.rs:1: there is no line "),
        _ => panic!("several findings"),
    }
}

/// An attack of an area of its own.
fn attacks(text: &str) -> usize {
    let area = format!("## A: `{0}-`\n\n- **{0}-1** One.\n", "attack");
    let test = (
        "crates/a/tests/it/a.rs",
        "async fn attack_1_is_repelled() {}",
    );
    let files = tree(&[("docs/requirements/a.md", &area), ("docs/a.md", text), test]);
    check(&files).len()
}

/// A mention of a class of attacks is no test of it.
#[test]
fn a_class_of_attacks_needs_a_test_with_its_number() {
    let area = format!("## A: `{0}-`\n\n- **{0}-1** One.\n", "attack");
    for (test, findings) in [
        ("async fn attack_1_is_repelled() {}", 0),
        ("    attack_1_is_repelled => super::is_repelled;", 0),
        ("fn m_2_attack_1_is_repelled() {}", 1),
        ("/// Attack 1.\nfn is_repelled() {}", 1),
        ("assert!(it, \"attack 1: it got in\");", 1),
    ] {
        let test = ("crates/a/tests/it/a.rs", test);
        let found = check(&tree(&[("docs/requirements/a.md", &area), test]));
        assert_eq!(found.len(), findings, "{test:?}");
    }
}

#[test]
fn lines_that_exist_may_be_named() {
    for text in [
        "// ZZ-1, ZZ-2b and Q3 (YY-J4).",
        "fn zz_1_q3_yy_j4_it_works() {}",
        "assert!(it, \"Q3: it works\");",
    ] {
        assert!(!missing(text), "{text}");
    }
}

#[test]
fn a_line_that_does_not_exist_is_found_where_it_is_named() {
    assert_eq!(
        found("docs/a.md", "One.\nZZ-9 says so, only ZZ-9.\n"),
        ["docs/a.md:2: there is no line ZZ-9 in docs/requirements/"]
    );
    assert_eq!(found("Cargo.toml", "# Why: Q9.\na = \"Q9\"\n").len(), 1);
    for text in [
        "/// ZZ-2: one.",
        "//! (Q1)",
        "let a = 1; // Q4.",
        "assert!(it, \"Q9: it works\");",
        "assert!(it, \"it works (ZZ-3)\");",
        "    async fn zz_7_it_works() {",
        "    zz_1_q4_it_works",
        "    yy_j5_it_works => super::it_works;",
    ] {
        assert!(missing(text), "{text}");
    }
}

#[test]
fn what_only_looks_like_an_id_is_none() {
    for text in [
        "// AZZ-9, ZZ-9-z, ZZ-0, ZZ-1234, Q100, Q9a, q9.",
        "let q9 = Q9 + f(\"Q9\");",
        "let url = \"http://q9_a.example\";",
        "fn q9() {}",
        "fn b64_q9_text() {}",
        "fn it_is_zz_9_times() {}",
    ] {
        assert!(!missing(text), "{text}");
    }
    assert!(found("xtask/fuzz/corpus/emails/a.md", "ZZ-9\n").is_empty());
    assert!(found("docs/openapi.json", "ZZ-9\n").is_empty());
    // A curve, though its prefix is one of ours.
    let files = tree(&[
        ("docs/requirements/a.md", "## A: `P-`\n"),
        ("docs/a.md", "P-256 is a curve.\n"),
    ]);
    assert!(check(&files).is_empty());
}

#[test]
fn attacks_are_named_in_words_or_as_names() {
    for (text, missing) in [
        ("attack 1, Attacks 1 and 1; attack-1, `attack_1_a_name`", 0),
        ("under attack, 7 times", 0),
        ("attack 2", 1),
        ("attacks 1, 2, and 3, but not 4", 2),
        ("attack_2_a_name", 1),
        ("an attack on 2", 0),
        ("attack 1: 2", 0),
    ] {
        assert_eq!(attacks(text), missing, "{text}");
    }
}

#[test]
fn each_id_is_defined_once_under_its_heading() {
    let findings = |area: &str| -> Vec<String> {
        check(&tree(&[("docs/requirements/b.md", area)]))
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert!(findings(AREA).is_empty());
    assert_eq!(
        findings("## A: `ZZ-`\n- **ZZ-1** One.\n- **ZZ-1** Again.\n"),
        ["docs/requirements/b.md:3: ZZ-1 is defined twice"]
    );
    assert_eq!(
        findings("## A: `ZZ-`\n- **YY-1** One.\n- **ZZ-2** No end\n"),
        [
            "docs/requirements/b.md:2: `YY-1` is not a number behind a prefix that the heading above it ends with",
            "docs/requirements/b.md:3: ZZ-2 is not one sentence on one line",
        ]
    );
}

#[test]
fn a_line_is_tested_when_a_test_names_it() {
    let untested = |path: &str, text: &str| {
        let tree = tree(&[("docs/requirements/a.md", AREA), (path, text)]);
        let Untested { lines, of } = untested(&tree);
        assert_eq!(of, 4);
        lines.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let text = "// ZZ-1, Q3\nfn zz_2b_it_works() {}\n";
    let rest = ["docs/requirements/a.md:14: YY-J4 Four."];
    assert_eq!(untested("crates/a/tests/it/a.rs", text), rest);
    assert_eq!(untested("crates/a/src/a/tests.rs", text), rest);
    assert_eq!(untested("crates/contract/src/a.rs", text), rest);
    assert_eq!(untested("crates/a/src/a.rs", text).len(), 4);
    assert_eq!(untested("docs/a.md", "ZZ-1\n").len(), 4);
    assert_eq!(untested("xtask/interop/a.py", "# ZZ-1\n").len(), 3);
}
