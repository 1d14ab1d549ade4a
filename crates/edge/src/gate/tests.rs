use super::*;

#[test]
fn only_browsers_that_follow_a_link_get_a_page() {
    for (query, expected) in [
        ("redirect=true", true),
        ("public_token=pk_test_x&redirect=true", true),
        ("redirect=false", false),
        ("redirect=", false),
        ("public_token=redirect%3Dtrue", false),
        ("", false),
    ] {
        let mut headers = HeaderMap::new();
        assert_eq!(follows_a_link(&headers, query), expected, "{query}");
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
        assert!(!follows_a_link(&headers, query), "{query}");
    }
}
