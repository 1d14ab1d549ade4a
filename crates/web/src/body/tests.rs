use super::*;

#[test]
fn json_is_json_in_any_spelling_and_nothing_else_is() {
    for kind in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
        "application/json; profile=x",
    ] {
        assert!(is_json_type(kind), "{kind}");
    }
    for kind in [
        "",
        "text/plain",
        "text/json",
        "application/jsonp",
        "application/ld+json",
        "application/json, text/plain",
        "application/json; charset=utf-16",
        "application/x-www-form-urlencoded",
    ] {
        assert!(!is_json_type(kind), "{kind}");
    }
}
