//! Typed data that is refused, and where.

use serde_json::json;

use super::support::{param, rpc};
use super::typed_data::{mail, sign, single};

#[test]
fn types_that_are_none_are_refused_where_they_stand() {
    for kind in [
        "uint",
        "int",
        "uint7",
        "uint264",
        "uint08",
        "uint0",
        "bytes0",
        "bytes33",
        "function",
        "",
        "[]",
        "uint8[",
        "uint8]",
        "uint8[-1]",
        "uint8[01]",
        "uint8[x]",
        "uint8[] ",
        "(uint8)",
        "uint8,T",
        "Unknown",
        "T x",
        "U[]",
        "uint8[99999999999999999999999]",
        "ufixed128x18",
        "1T",
    ] {
        assert_eq!(
            param(sign(&single(kind, json!(1)))),
            "params.typed_data.types.T[0].type",
            "{kind}"
        );
    }
    let deep = format!("uint8{}", "[]".repeat(33));
    assert_eq!(
        param(sign(&single(&deep, json!([])))),
        "params.typed_data.types.T[0].type"
    );
    for (pointer, value, path) in [
        ("/types", json!(null), "types"),
        ("/types", json!([]), "types"),
        ("/types/Mail", json!({}), "types.Mail"),
        ("/types/Mail/0", json!("Person from"), "types.Mail[0]"),
        ("/types/Mail/0/name", json!(null), "types.Mail[0].name"),
        ("/types/Mail/0/name", json!("a b"), "types.Mail[0].name"),
        ("/types/Mail/0/name", json!("to"), "types.Mail[1].name"),
        ("/types/Mail/0/type", json!(1), "types.Mail[0].type"),
        ("/primaryType", json!(null), "primaryType"),
        ("/primaryType", json!("Post"), "primaryType"),
        ("/primaryType", json!("EIP712Domain"), "primaryType"),
        ("/primaryType", json!("Mail[]"), "primaryType"),
        ("/domain", json!(null), "domain"),
        ("/domain", json!("x"), "domain"),
        ("/message", json!(null), "message"),
        ("/message", json!([]), "message"),
        ("/message/from", json!(null), "message.from"),
        ("/message/from/name", json!(null), "message.from.name"),
    ] {
        let mut changed = mail();
        *changed.pointer_mut(pointer).unwrap() = value.clone();
        assert_eq!(
            param(sign(&changed)),
            format!("params.typed_data.{path}"),
            "{pointer} {value}"
        );
    }
    for name in ["uint8", "address", "a b", "A(", "A,B", "", "1A", "bytes[]"] {
        let mut changed = mail();
        changed["types"][name] = json!([]);
        assert_eq!(
            param(sign(&changed)),
            format!("params.typed_data.types.{name}")
        );
    }
    for text in ["", "{", "[]", "5", "{}{}"] {
        let path = param(sign(&json!(text)));
        assert_eq!(path, "params.typed_data", "{text}");
    }
    assert_eq!(
        param(rpc("eth_signTypedData_v4", json!({}))),
        "params.typed_data"
    );
}

/// One reader takes the first of two members of a name, another the last: neither signs for what the other one shows.
#[test]
fn text_that_can_be_read_in_two_ways_is_refused() {
    let text = mail().to_string();
    assert!(sign(&json!(text)).is_ok());
    let twice = text.replacen(r#""contents":"#, r#""contents":"","contents":"#, 1);
    let with_nul = text.replacen(r#""contents":""#, r#""contents":"\u0000"#, 1);
    let deep = format!("{}{}", "[".repeat(101), "]".repeat(101));
    for changed in [twice, with_nul, deep] {
        assert_ne!(changed, text);
        assert_eq!(
            param(sign(&json!(changed))),
            "params.typed_data",
            "{changed}"
        );
    }
}

/// A few kilobytes of types can describe a tree of 2^60 structures; the work is bounded by the values present.
#[test]
fn types_that_multiply_and_values_that_are_deep_end_quickly() {
    let mut types = serde_json::Map::new();
    for level in 0..60 {
        let next = format!("T{}", level + 1);
        let members = json!([{ "name": "a", "type": next }, { "name": "b", "type": next }]);
        types.insert(format!("T{level}"), members);
    }
    types.insert("T60".to_owned(), json!([]));
    let data = json!({ "types": types, "primaryType": "T0", "domain": {}, "message": { "a": {} } });
    assert_eq!(param(sign(&data)), "params.typed_data.message.a.a");

    let mut message = json!({ "x": [] });
    for _ in 0..40 {
        message = json!({ "x": [message] });
    }
    let deep = json!({
        "types": { "T": [{ "name": "x", "type": "T[]" }] }, "primaryType": "T", "domain": {}, "message": message,
    });
    assert!(param(sign(&deep)).starts_with("params.typed_data.message.x[0].x[0]"));
}

/// A string that ends early or goes on after its end is no JSON; spaces are.
#[test]
fn a_string_is_whole_json_and_nothing_more() {
    let whole = mail().to_string();
    for end in 0..whole.len() {
        assert_eq!(
            param(sign(&json!(whole[..end]))),
            "params.typed_data",
            "{end}"
        );
    }
    assert_eq!(
        param(sign(&json!(format!("{whole}}}")))),
        "params.typed_data"
    );
    assert_eq!(
        param(sign(&json!(format!("{whole}0")))),
        "params.typed_data"
    );
    sign(&json!(format!(" {whole}\n"))).unwrap();

    let spaces = |most: usize| json!(format!("{whole}{}", " ".repeat(most - whole.len())));
    sign(&spaces(256 * 1024)).unwrap();
    assert_eq!(param(sign(&spaces(256 * 1024 + 1))), "params.typed_data");
}

/// The path of an error is part of a response, and would otherwise be rebuilt for each element of a list.
#[test]
fn long_names_make_no_long_paths() {
    let long = "x".repeat(100_000);
    let data = json!({
        "types": { "T": [{ "name": long, "type": "uint8[][]" }] },
        "primaryType": "T",
        "domain": {},
        "message": { long.clone(): [vec![1; 19_999], vec![256; 20_000]] },
    });
    let path = param(sign(&data));
    assert!(
        path.len() == 200 && path.starts_with("params.typed_data.message.xxx"),
        "{path}"
    );
    let mut list = vec![json!([]); 20_001];
    list[0] = json!(1);
    let many = json!({ "x": list });
    let refused = json!({ "types": { "T": [{ "name": "x", "type": "uint8[][]" }] }, "primaryType": "T", "domain": {}, "message": many });
    assert_eq!(param(sign(&refused)), "params.typed_data.message.x");
}
