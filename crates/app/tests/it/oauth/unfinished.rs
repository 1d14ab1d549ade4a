//! The limit on unfinished sign-ins of one address with a public token (M-17).

use vestry_domain::timestamp::Seconds;

use super::*;

fn from(ip: &str) -> BeginOauth {
    BeginOauth {
        from: DeviceFingerprint::new(Some(ip.to_owned()), None).unwrap(),
        ..to_google()
    }
}

/// A harness whose App allows `most` unfinished sign-ins, and a caller with a public token.
async fn admitting(most: u32) -> (OauthHarness, Arc<Caller>) {
    let oauth = OauthHarness::new().await;
    let most = most.to_string();
    oauth
        .harness
        .set(&[("oauth_failures_per_address", &most)])
        .await;
    let page = oauth.page(&oauth.public_token().await).await;
    (oauth, page)
}

impl OauthHarness {
    /// Begins another sign-in from an address, if allowed.
    async fn admits(&self, page: &Caller, ip: &str) -> Result<BegunOauth, Seconds> {
        match self.harness.service.begin_oauth(page, from(ip)).await {
            Ok(begun) => Ok(begun),
            Err(BeginOauthError::TooMany { retry_after }) => Err(retry_after),
            Err(other) => panic!("{other}"),
        }
    }

    /// Begins a sign-in and finishes it with `oauth/verify`.
    async fn finishes(&self, page: &Caller, ip: &str) {
        let begun = self.admits(page, ip).await.unwrap();
        let token = self.brought_back(&begun).await;
        let verified = self.verify(&token, None, SessionFields::default());
        verified.await.unwrap();
    }

    async fn brought_back(&self, begun: &BegunOauth) -> String {
        let ada = person("1", "ada@example.com", true);
        let code = self.harness.providers.sign_in(begun.state.expose(), ada);
        let back = self.back(begun, Some(code)).await;
        let (_, token) = back.url.split_once("?token=").unwrap();
        token.to_owned()
    }
}

/// M-17: an office of any size can sign in, because finished sign-ins are not counted. Unfinished ones are, and the refusal says when to
/// retry.
#[tokio::test]
async fn m_17_unfinished_sign_ins_of_an_address_are_counted() {
    let (oauth, page) = admitting(3).await;
    for _ in 0..10 {
        oauth.finishes(&page, "192.0.2.1").await;
    }
    // Abandoned, denied at the provider, and returned but never verified.
    oauth.admits(&page, "192.0.2.1").await.unwrap();
    let denied = oauth.admits(&page, "192.0.2.1").await.unwrap();
    assert!(oauth.back(&denied, None).await.failure.is_some());
    let landed = oauth.admits(&page, "192.0.2.1").await.unwrap();
    let token = oauth.brought_back(&landed).await;
    oauth.harness.pass(60);
    let refused = oauth.admits(&page, "192.0.2.1").await.unwrap_err();
    assert_eq!(refused, Seconds(540));
    // No other address has to wait, and a secret key is the App's own responsibility.
    oauth.admits(&page, "192.0.2.2").await.unwrap();
    for _ in 0..5 {
        oauth.begin(from("192.0.2.1")).await;
    }
    // It is verified late: there is room for one.
    oauth
        .verify(&token, None, SessionFields::default())
        .await
        .unwrap();
    oauth.admits(&page, "192.0.2.1").await.unwrap();
    oauth.admits(&page, "192.0.2.1").await.unwrap_err();
    oauth.harness.pass(540);
    oauth.admits(&page, "192.0.2.1").await.unwrap();
}

/// M-17: a failing token refunds nothing; a good one refunds what it consumed, once.
#[tokio::test]
async fn m_17_only_finished_sign_ins_are_refunded() {
    let (oauth, page) = admitting(2).await;
    let begun = oauth.admits(&page, "192.0.2.1").await.unwrap();
    oauth.admits(&page, "192.0.2.1").await.unwrap();
    let token = oauth.brought_back(&begun).await;
    for _ in 0..3 {
        let other = "0".repeat(64);
        let refused = oauth.verify(&other, None, SessionFields::default()).await;
        assert!(refused.is_err());
        oauth.admits(&page, "192.0.2.1").await.unwrap_err();
    }
    let mut finished = 0;
    for _ in 0..3 {
        let outcome = oauth.verify(&token, None, SessionFields::default());
        finished += usize::from(outcome.await.is_ok());
    }
    assert_eq!(finished, 1);
    oauth.admits(&page, "192.0.2.1").await.unwrap();
    oauth.admits(&page, "192.0.2.1").await.unwrap_err();
}

/// M-17: an IPv6 /64 network counts as one address, 0 means no limit, and the default is 600.
#[tokio::test]
async fn m_17_the_limit_is_a_setting() {
    let (oauth, page) = admitting(1).await;
    oauth.admits(&page, "2001:db8::1").await.unwrap();
    oauth.admits(&page, "2001:db8::ffff:2").await.unwrap_err();
    oauth.admits(&page, "2001:db8:0:1::1").await.unwrap();
    let (oauth, page) = admitting(0).await;
    for _ in 0..700 {
        oauth.admits(&page, "192.0.2.1").await.unwrap();
    }
    let oauth = OauthHarness::new().await;
    let page = oauth.page(&oauth.public_token().await).await;
    for _ in 0..600 {
        oauth.admits(&page, "192.0.2.1").await.unwrap();
    }
    oauth.admits(&page, "192.0.2.1").await.unwrap_err();
}
