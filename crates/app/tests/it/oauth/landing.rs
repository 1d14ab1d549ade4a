//! M-12: the landing URL reveals only what the App chose to reveal.

use super::{LOGIN, OauthHarness, REGISTRATION, person, to_google};

/// The landing URL of a person, without the token.
async fn lands(oauth: &OauthHarness, subject: &str, email: &str, verified: bool) -> String {
    let begun = oauth.begin(to_google()).await;
    let somebody = person(subject, email, verified);
    let code = oauth
        .harness
        .providers
        .sign_in(begun.state.expose(), somebody);
    let url = oauth.back(&begun, Some(code)).await.url;
    let (url, token) = url.split_once("?token=").unwrap_or((&url, ""));
    assert_eq!(token.len(), 64, "{url}");
    url.to_owned()
}

/// A known user lands elsewhere if the App has two URLs, but only if the provider vouches for the address. Anyone can enter any other
/// address at a provider.
#[tokio::test]
async fn m_12_an_unvouched_address_reveals_nothing() {
    let oauth = OauthHarness::new().await;
    let known = "ada@example.com";
    oauth.sign_in(&person("1", known, true)).await.unwrap();
    for (subject, email, verified, expected) in [
        ("1", known, true, LOGIN),
        ("1", known, false, LOGIN),
        ("2", known, true, LOGIN),
        ("3", known, false, REGISTRATION),
        ("4", "nobody@example.com", true, REGISTRATION),
        ("5", "nobody@example.com", false, REGISTRATION),
    ] {
        let landing = lands(&oauth, subject, email, verified).await;
        assert_eq!(landing, expected, "{subject} {email} {verified}");
    }
}
