use proptest::prelude::*;

use super::*;

/// The example in the documentation of Go's `golang.org/x/mod/sumdb/note`.
const GO_KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const GO_TEXT: &str = "If you think cryptography is the answer to your problem,\n\
                       then you don't know what your problem is.\n";
const GO_LINE: &str = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

/// The example in the specification, whose text contains an empty line.
const C2SP_TEXT: &str = "Ognuno sta solo sul cuor della terra\n\
                         trafitto da un raggio di sole:\n\
                         \n\
                         ed \u{e8} subito sera.\n";
const C2SP_LINE: &str = "\u{2014} quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n";

fn go() -> String {
    format!("{GO_TEXT}\n{GO_LINE}")
}

fn signature(name: &str) -> NoteSignature {
    NoteSignature {
        name: name.to_owned(),
        key_id: [1, 2, 3, 4],
        signature: vec![5; 64],
    }
}

#[test]
fn published_notes_round_trip() {
    for (text, line, name) in [
        (GO_TEXT, GO_LINE, "PeterNeumann"),
        (C2SP_TEXT, C2SP_LINE, "quasimodo.example/salvatore"),
    ] {
        let note = format!("{text}\n{line}");
        let read = SignedNote::parse(&note).unwrap();
        assert_eq!(read.text, text);
        let [signature] = &*read.signatures else {
            panic!("{read:?}");
        };
        assert_eq!(signature.name, name);
        assert_eq!(signature.signature.len(), 64);
        assert_eq!(read.written().unwrap(), note);
    }
    let key: VerifierKey = GO_KEY.parse().unwrap();
    let signature = &SignedNote::parse(&go()).unwrap().signatures[0];
    assert_eq!(signature.key_id, key.key_id());
    assert_eq!(signature.key_id, [0xc7, 0x4f, 0x20, 0xa3]);
}

#[test]
fn a_note_can_have_several_signatures() {
    let note = format!("{GO_TEXT}\n{GO_LINE}{C2SP_LINE}{GO_LINE}");
    let read = SignedNote::parse(&note).unwrap();
    let names: Vec<_> = read.signatures.iter().map(|one| &*one.name).collect();
    assert_eq!(
        names,
        [
            "PeterNeumann",
            "quasimodo.example/salvatore",
            "PeterNeumann"
        ]
    );
    assert_eq!(read.written().unwrap(), note);
}

/// Each of these differs from Go's note in one place, given second.
#[test]
fn malformed_notes_are_rejected() {
    for (from, to) in [
        ("\u{2014} ", "\u{2014}"),
        ("\u{2014} ", "\u{2014}\u{a0}"),
        ("\u{2014} ", "\u{2013} "),
        ("\u{2014} ", "-- "),
        ("\u{2014} ", " \u{2014} "),
        ("Neumann ", "Neumann  "),
        ("PeterNeumann", "Peter+Neumann"),
        ("PeterNeumann", "Peter\u{2003}Neumann"),
        ("PeterNeumann", "Peter\u{7f}Neumann"),
        ("PeterNeumann", ""),
        ("PeterNeumann ", ""),
        ("AM=\n", "AM=\n\n"),
        ("AM=\n", "AM="),
        ("AM=\n", "AM\n"),
        ("AM=\n", "AN=\n"),
        ("AM=\n", "AM= \n"),
        ("AM=\n", "AM=\r\n"),
        ("AM=\n", "AM=\nmore\n"),
        ("x08go/", "x08go_"),
        (
            "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=",
            "xw==TyCj9kmS4FL1Qb9J99y8gBDFUG2IW6ksuvykBwSVkic0i4ZSBg3UUVgLallI1eAq+p+p2eCi2lFlvooTpHLIHAmcAw==",
        ),
        (GO_LINE, ""),
        (GO_LINE, "\u{2014} PeterNeumann \n"),
        (GO_LINE, "\u{2014} PeterNeumann x08g\n"),
        (GO_LINE, "\u{2014} PeterNeumann x08gow==\n"),
        ("is.\n\n", "is.\n"),
        ("is.\n\n", "is.\n\n\n\n"),
        ("If you", "If\tyou"),
        ("If you", "If\0you"),
        ("If you", "If\u{1b}you"),
        ("If you", "If\u{9b}you"),
        ("problem,\n", "problem,\r\n"),
    ] {
        let good = go();
        assert!(good.contains(from), "{from:?}");
        let note = good.replacen(from, to, 1);
        match SignedNote::parse(&note) {
            Err(refused) => assert_eq!(refused.param, "note"),
            // A text can end with empty lines.
            Ok(read) => assert_eq!((to, read.written()), ("is.\n\n\n\n", Ok(note))),
        }
    }
    for note in ["", "\n", "\n\n", "text\n", GO_LINE, &format!("\n{GO_LINE}")] {
        assert!(SignedNote::parse(note).is_err(), "{note:?}");
    }
}

#[test]
fn at_most_sixteen_signatures_are_accepted() {
    let note = |count: usize| format!("{GO_TEXT}\n{}", GO_LINE.repeat(count));
    let read = SignedNote::parse(&note(16)).unwrap();
    assert_eq!(read.signatures.len(), 16);
    for count in [0, 17, 100_000] {
        assert!(SignedNote::parse(&note(count)).is_err(), "{count}");
    }
}

#[test]
fn notes_have_a_maximum_size() {
    let rest = go().len();
    let note = |size: usize| format!("{}{}", "x".repeat(size - rest), go());
    let read = SignedNote::parse(&note(SignedNote::LARGEST)).unwrap();
    assert_eq!(read.written().unwrap().len(), SignedNote::LARGEST);
    let larger = SignedNote {
        text: format!("x{}", read.text),
        ..read
    };
    assert!(larger.written().is_err());
    assert!(SignedNote::parse(&note(SignedNote::LARGEST + 1)).is_err());
}

/// Nothing is written that would be parsed differently.
#[test]
fn unparsable_notes_are_not_written() {
    let good = SignedNote {
        text: "text\n".to_owned(),
        signatures: vec![signature("name")],
    };
    assert!(good.written().is_ok());
    for text in ["", "text", "te\rxt\n", "te\0xt\n"] {
        let text = text.to_owned();
        let note = SignedNote {
            text,
            ..good.clone()
        };
        assert!(note.written().is_err(), "{note:?}");
    }
    for name in ["", "two words", "a+b", "a\nb", "a\u{85}b", "a\u{1}b"] {
        let signatures = vec![signature(name)];
        let note = SignedNote {
            signatures,
            ..good.clone()
        };
        assert!(note.written().is_err(), "{note:?}");
    }
    let bare = NoteSignature {
        signature: Vec::new(),
        ..signature("name")
    };
    for signatures in [vec![], vec![signature("name"); 17], vec![bare]] {
        let note = SignedNote {
            signatures,
            ..good.clone()
        };
        assert!(note.written().is_err(), "{note:?}");
    }
}

/// Keys from others' tests and documents; the base64 of one contains a plus sign.
#[test]
fn published_keys_round_trip() {
    for text in [
        GO_KEY,
        "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop",
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "TEST+7997405c+AQcC+FTVKf0jlTdHDY3rbevmnKxxPjigCXlVtGe6RIr6",
    ] {
        let key: VerifierKey = text.parse().unwrap();
        assert_eq!(key.to_string(), text);
    }
}

#[test]
fn malformed_keys_are_rejected() {
    for text in [
        "",
        "PeterNeumann",
        "PeterNeumann+c74f20a3",
        "PeterNeumann+c74f20a3+",
        "+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        // Different name, id or key.
        "peterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TX",
        // Other spellings.
        "PeterNeumann+c74f20a3+AQ==GlzZBxQ8OExB6DDFvOEqqIF+xWSaqr8sMTiLNbLXRNY=",
        "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq_LDE4izWy10TW",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW\n",
        " PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        // Too short, and the key of a witness's cosignature (type 4).
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10==",
        "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
        // The private signing key, which must not be shared.
        "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz",
    ] {
        let refused = text.parse::<VerifierKey>().expect_err(text);
        assert_eq!(refused.param, "key");
    }
}

#[test]
fn key_names_must_fit_in_a_line() {
    for name in ["", "two words", "a+b", "a\nb", "a\u{3000}b", "a\u{7}b"] {
        assert!(VerifierKey::new(name, [1; 32]).is_err(), "{name:?}");
    }
}

fn any_signature() -> impl Strategy<Value = NoteSignature> {
    let signature = prop::collection::vec(any::<u8>(), 1..99);
    let all = ("[^+\\s\\p{Cc}]{1,20}", any::<[u8; 4]>(), signature);
    all.prop_map(|(name, key_id, signature)| NoteSignature {
        name,
        key_id,
        signature,
    })
}

proptest! {
    #[test]
    fn written_notes_can_be_parsed(
        text in "(\\PC|\n|\u{2014} ){0,60}\n",
        signatures in prop::collection::vec(any_signature(), 1..=16),
    ) {
        let note = SignedNote { text, signatures };
        prop_assert_eq!(SignedNote::parse(&note.written().unwrap()), Ok(note));
    }

    /// Every accepted note has only one form.
    #[test]
    fn parsed_notes_are_canonical(note in "(x|\n|\n\n|\u{2014} | |AAAAAAA=|AAAAAAB=|name){0,20}\n") {
        if let Ok(read) = SignedNote::parse(&note) {
            prop_assert_eq!(read.written(), Ok(note));
        }
    }

    #[test]
    fn keys_round_trip(name in "[^+\\s\\p{Cc}]{1,20}", key in any::<[u8; 32]>()) {
        let key = VerifierKey::new(name, key).unwrap();
        prop_assert_eq!(key.to_string().parse(), Ok(key));
    }
}
