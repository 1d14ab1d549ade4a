use serde::Deserialize;
use serde_json::json;

use super::*;

/// One field of every type that requests use.
#[derive(Debug, Default, PartialEq, Deserialize)]
struct Sample {
    text: String,
    optional: Option<String>,
    number: Option<i64>,
    count: Option<u64>,
    flag: Option<bool>,
    inner: Option<Inner>,
    list: Option<Vec<Inner>>,
    metadata: Option<Map<String, Value>>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
struct Inner {
    ip: String,
    port: Option<i64>,
}

fn read(body: &str) -> Result<Sample, Refused> {
    from_body(body.as_bytes())
}

/// The rejected field and the reason.
fn refused(body: &str) -> (String, Reason) {
    match read(body) {
        Err(Refused::Field(invalid)) => (invalid.param.into_owned(), invalid.reason),
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn a_whole_body_is_read() {
    let body = r#"{"text": "t", "optional": "o", "number": -5, "count": 7, "flag": true, "more": [1, {"a": null}],
        "inner": {"ip": "1", "port": 2}, "list": [{"ip": "3"}],
        "metadata": {"a": 1, "b": [1.5, -2, true, null, "x"], "big": 18446744073709551615, "deep": {"c": {}}}}"#;
    let sample = read(body).unwrap();
    assert_eq!(
        sample,
        Sample {
            text: "t".into(),
            optional: Some("o".into()),
            number: Some(-5),
            count: Some(7),
            flag: Some(true),
            inner: Some(Inner {
                ip: "1".into(),
                port: Some(2)
            }),
            list: Some(vec![Inner {
                ip: "3".into(),
                port: None
            }]),
            metadata:
                json!({"a": 1, "b": [1.5, -2, true, null, "x"], "big": u64::MAX, "deep": {"c": {}}})
                    .as_object()
                    .cloned(),
        }
    );
}

/// `integer` in the API description has JSON Schema's meaning: a whole number, however it is written.
#[test]
fn a_whole_number_may_be_written_with_a_fraction() {
    for (written, number) in [("5.0", 5), ("-5.0", -5), ("5e1", 50), ("-0.0", 0)] {
        let body = format!(r#"{{"text": "t", "number": {written}}}"#);
        assert_eq!(read(&body).unwrap().number, Some(number), "{written}");
    }
}

#[test]
fn null_is_absent() {
    let body = r#"{"text": "t", "optional": null, "number": null, "flag": null, "inner": null, "metadata": null}"#;
    assert_eq!(
        read(body).unwrap(),
        Sample {
            text: "t".into(),
            ..Sample::default()
        }
    );
    assert_eq!(
        refused(r#"{"text": null}"#),
        ("text".into(), Reason::Missing)
    );
}

#[test]
fn a_missing_field_is_named_with_its_path() {
    assert_eq!(refused("{}"), ("text".into(), Reason::Missing));
    assert_eq!(
        refused(r#"{"text": "", "inner": {}}"#),
        ("inner.ip".into(), Reason::Missing)
    );
    assert_eq!(
        refused(r#"{"text": "", "list": [{"ip": ""}, {}]}"#),
        ("list[1].ip".into(), Reason::Missing)
    );
}

/// B7: a number that is not whole or is out of range is refused, never rounded.
#[test]
fn b7_a_wrong_type_is_named_with_its_path() {
    let cases = [
        (r#""text": 1"#, "text"),
        (r#""text": ["a"]"#, "text"),
        (r#""text": {"a": 1}"#, "text"),
        (r#""text": "", "optional": false"#, "optional"),
        (r#""text": "", "number": "3""#, "number"),
        (r#""text": "", "number": 1.5"#, "number"),
        (r#""text": "", "count": -1.0"#, "count"),
        (r#""text": "", "number": 1e-3"#, "number"),
        (r#""text": "", "number": 9223372036854775808"#, "number"),
        (r#""text": "", "number": 1e300"#, "number"),
        (r#""text": "", "number": true"#, "number"),
        (r#""text": "", "count": -1"#, "count"),
        (r#""text": "", "flag": "true""#, "flag"),
        (r#""text": "", "flag": 1"#, "flag"),
        (r#""text": "", "inner": []"#, "inner"),
        (r#""text": "", "inner": "x""#, "inner"),
        (r#""text": "", "inner": {"ip": 1}"#, "inner.ip"),
        (r#""text": "", "list": {"0": 1}"#, "list"),
        (r#""text": "", "list": [{"ip": ""}, 7]"#, "list[1]"),
        (r#""text": "", "metadata": []"#, "metadata"),
        (r#""text": "", "metadata": "{}""#, "metadata"),
    ];
    for (fields, param) in cases {
        assert_eq!(
            refused(&format!("{{{fields}}}")),
            (param.to_owned(), Reason::Value),
            "{fields}"
        );
    }
}

/// B6: NUL is refused with the path of its field, at any depth.
#[test]
fn b6_nul_is_named_with_its_path() {
    let cases = [
        (r#"{"text": "a\u0000b"}"#, "text"),
        (r#"{"text": "", "unknown": "\u0000"}"#, "unknown"),
        (
            r#"{"text": "", "metadata": {"a": [0, {"b": "\u0000"}]}}"#,
            "metadata.a[1].b",
        ),
        (
            r#"{"text": "", "metadata": {"x\u0000": 1}}"#,
            "metadata.x\0",
        ),
    ];
    for (body, param) in cases {
        assert_eq!(refused(body), (param.to_owned(), Reason::Value), "{body}");
    }
}

#[test]
fn a_repeated_name_is_refused_at_every_depth() {
    let cases = [
        (r#"{"text": "a", "text": "b"}"#, "text"),
        (r#"{"text": "a", "t\u0065xt": "b"}"#, "text"),
        (r#"{"text": "", "x": 1, "x": 1}"#, "x"),
        (
            r#"{"text": "", "metadata": {"a": {"b": 1, "b": 1}}}"#,
            "metadata.a.b",
        ),
        (
            r#"{"text": "", "list": [{}, {"ip": "", "ip": ""}]}"#,
            "list[1].ip",
        ),
    ];
    for (body, param) in cases {
        assert_eq!(
            read(body),
            Err(Refused::Repeated {
                param: param.to_owned()
            }),
            "{body}"
        );
    }
}

#[test]
fn malformed_bodies_are_refused_without_an_echo() {
    let not_json = "the body is not valid JSON";
    let bodies: [(&[u8], &str); 12] = [
        (b"", not_json),
        (b"{", not_json),
        (b"{\"text\": \"canary}", not_json),
        (b"{\"text\": \"\\ud800\"}", not_json),
        (b"{\"text\": \"\xff\"}", not_json),
        (b"{\"text\": \"\"} {}", not_json),
        (b"{\"text\": 1e999}", not_json),
        (b"{\"text\": NaN}", not_json),
        (b"[]", "the body must be a JSON object"),
        (b"\"text\"", "the body must be a JSON object"),
        (b"7", "the body must be a JSON object"),
        (b"null", "the body must be a JSON object"),
    ];
    for (body, message) in bodies {
        let outcome: Result<Sample, Refused> = from_body(body);
        assert_eq!(
            outcome,
            Err(Refused::Syntax(message)),
            "{}",
            String::from_utf8_lossy(body)
        );
    }
}

/// Bad input: excessive nesting is refused with the field's name at every depth and never overflows the stack.
#[test]
fn excessive_nesting_names_the_field() {
    for levels in [120, 100_000] {
        let metadata = "[".repeat(levels);
        let body = format!(r#"{{"text": "", "metadata": {metadata}"#);
        assert_eq!(
            refused(&body),
            ("metadata".into(), Reason::Value),
            "{levels}"
        );
    }
}

#[test]
fn an_overlong_name_is_shortened() {
    let (param, _) = refused(&format!(
        r#"{{"text": "", "{}": "\u0000"}}"#,
        "n".repeat(100_000)
    ));
    assert_eq!(param, "n".repeat(MAX_PARAM));
}

#[derive(Debug, PartialEq, Deserialize)]
struct Filter {
    id: String,
    limit: Option<i64>,
    wait: Option<u64>,
    newest: Option<bool>,
}

fn query(pairs: &[(&str, &str)]) -> Result<Filter, Invalid> {
    let pairs = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
    from_query(pairs.collect())
}

#[test]
fn a_query_reads_numbers_from_text() {
    let filter = query(&[
        ("id", "x"),
        ("limit", "-5"),
        ("wait", "30"),
        ("newest", "true"),
        ("other", ""),
    ]);
    let expected = Filter {
        id: "x".into(),
        limit: Some(-5),
        wait: Some(30),
        newest: Some(true),
    };
    assert_eq!(filter, Ok(expected));
    // M-19
    let written_otherwise = query(&[("id", "x"), ("limit", "-5.0"), ("wait", "3e1")]);
    let numbers = written_otherwise.map(|filter| (filter.limit, filter.wait));
    assert_eq!(numbers, Ok((Some(-5), Some(30))));
    let empty = query(&[("id", "x"), ("limit", ""), ("wait", "")]);
    assert_eq!(
        empty,
        Ok(Filter {
            id: "x".into(),
            limit: None,
            wait: None,
            newest: None
        })
    );
}

#[test]
fn a_query_error_names_the_parameter() {
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, Reason);
    let cases: [Case<'_>; 7] = [
        (&[], "id", Reason::Missing),
        (&[("id", "")], "id", Reason::Missing),
        (&[("id", "x"), ("limit", "ten")], "limit", Reason::Value),
        (&[("id", "x"), ("limit", "+5")], "limit", Reason::Value),
        (&[("id", "x"), ("limit", "1.5")], "limit", Reason::Value),
        (&[("id", "x"), ("wait", "-1")], "wait", Reason::Value),
        (&[("id", "x"), ("newest", "yes")], "newest", Reason::Value),
    ];
    for (pairs, param, reason) in cases {
        let invalid = query(pairs).unwrap_err();
        assert_eq!(
            (&*invalid.param, invalid.reason),
            (param, reason),
            "{pairs:?}"
        );
    }
}
