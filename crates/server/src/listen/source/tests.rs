use super::*;

const KEY: &str = "sk_test_abc";

fn asked(url: Option<&str>, key: Option<&str>, live: bool) -> Forward {
    Forward {
        forward_to: "http://127.0.0.1:3000/".parse().unwrap(),
        url: url.map(|url| url.parse().unwrap()),
        key: key.map(|key| Secret::new(key.to_owned())),
        key_file: None,
        secret: None,
        secret_file: None,
        live,
    }
}

fn record() -> Option<Record> {
    let keys = |environment| Keys {
        secret_key: format!("sk_{environment}_dev"),
    };
    Some(Record {
        base_url: "http://127.0.0.1:9000".to_owned(),
        test: keys("test"),
        live: keys("live"),
    })
}

/// The chosen service and key, and where the key was found.
fn chosen(source: Result<Source, Failure>) -> (String, String, KeyOrigin) {
    let source = source.unwrap();
    let key = source.key.expose().clone();
    (source.base.to_string(), key, source.key_origin)
}

#[test]
fn explicit_values_take_precedence() {
    let variable = || Some(Secret::new("sk_test_variable".to_owned()));
    let of = |base: &str, key: &str, key_origin| (base.to_owned(), key.to_owned(), key_origin);
    let url = Some("http://127.0.0.1:9001");
    assert_eq!(
        chosen(Source::of(
            &asked(url, Some(KEY), false),
            variable(),
            record()
        )),
        of("http://127.0.0.1:9001", KEY, KeyOrigin::Argument)
    );
    assert_eq!(
        chosen(Source::of(&asked(None, None, false), variable(), record())),
        of(
            "http://127.0.0.1:9000",
            "sk_test_variable",
            KeyOrigin::Variable
        )
    );
    assert_eq!(
        chosen(Source::of(&asked(None, None, false), None, record())),
        of("http://127.0.0.1:9000", "sk_test_dev", KeyOrigin::Record)
    );
    assert_eq!(
        chosen(Source::of(&asked(url, None, true), None, record())),
        of("http://127.0.0.1:9001", "sk_live_dev", KeyOrigin::Record)
    );
    assert_eq!(
        chosen(Source::of(&asked(None, Some(KEY), false), None, None)),
        of("http://127.0.0.1:8080", KEY, KeyOrigin::Argument)
    );
}

#[test]
fn a_missing_or_unintended_key_is_wrong_usage() {
    let elsewhere = Some("https://id.example.com");
    for refused in [
        Source::of(&asked(None, None, false), None, None),
        // The keys of `vestry dev` are not sent to other machines.
        Source::of(&asked(elsewhere, None, false), None, record()),
        Source::of(&asked(None, Some("sk_live_abc"), false), None, None),
        Source::of(&asked(None, Some("pk_test_abc"), false), None, None),
        Source::of(&asked(None, Some("sk_test_a\nb"), false), None, None),
        Source::of(&asked(None, Some(""), false), None, None),
    ] {
        let failure = refused.unwrap_err();
        assert_eq!(failure.exit_code(), Failure::WRONG_USAGE, "{failure}");
        assert!(!failure.to_string().contains("abc"), "{failure}");
    }
    assert!(Source::of(&asked(None, Some("sk_live_abc"), true), None, None).is_ok());
}
