use vestry_domain::timestamp::Seconds;

use super::*;
use crate::problem::Code;

/// Text from a request cannot become markup, whichever message contains it.
#[test]
fn a_page_escapes_its_text() {
    let problem = Problem {
        message: "<script>alert(1)</script> & \"x\"".into(),
        ..Problem::new(Code::InvalidField)
    };
    let page = problem.page("<img src=x onerror=alert(2)>");
    assert!(!page.contains("<script") && !page.contains("<img"));
    assert!(page.contains("&lt;script&gt;") && page.contains("&lt;img"));
}

#[test]
fn a_page_says_how_long_to_wait() {
    for (seconds, wait) in [
        (1, "a minute"),
        (60, "a minute"),
        (61, "2 minutes"),
        (600, "10 minutes"),
    ] {
        let problem = Problem::new(Code::RateLimited).with_retry_after(Seconds(seconds));
        let page = problem.page("req");
        assert!(page.contains(&format!("Wait {wait},")), "{seconds}: {page}");
    }
}

/// The policy allows the page's own style and no other.
#[test]
fn the_policy_allows_the_style_of_the_page() {
    let page = Problem::new(Code::NotFound).page("req");
    let (_, rest) = page.split_once("<style>").unwrap();
    let (style, _) = rest.split_once("</style>").unwrap();
    let hash = to_base64(&Sha256::digest(style.as_bytes()));
    let headers = page_headers();
    let policy = headers
        .iter()
        .find(|(name, _)| *name == CONTENT_SECURITY_POLICY)
        .map(|(_, value)| value.to_str().unwrap())
        .unwrap();
    assert!(policy.contains(&format!("style-src 'sha256-{hash}'")));
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
}
