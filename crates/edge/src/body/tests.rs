use super::*;

#[test]
fn only_json_content_types_are_accepted() {
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
