//! M-15: clients that send their secret key with every call send it to `begin` together with a public token.

use vestry_app::Principal;
use vestry_domain::api_key::{ApiKeyKind, KeyFields};
use vestry_domain::{Environment, World};

use super::{lands, public_token};
use crate::harness::{Api, Options, Response, on_both};

on_both! { few_a_minute;
    m_15_both_credentials_are_handled_like_the_public_token
    m_15_a_pair_is_refused_if_one_of_it_is_invalid
}

/// Calls with public tokens are counted separately, and this makes it visible.
fn few_a_minute() -> Options {
    let mut options = Options::default();
    options.service.test_per_minute = 30;
    options
}

async fn begins(api: &Api, key: &str, token: &str) -> Response {
    let path = format!("/v1/auth/oauth/test/begin?public_token={token}");
    api.with_key(key).get(&path).await
}

async fn m_15_both_credentials_are_handled_like_the_public_token(api: &Api) {
    lands(api).await;
    let token = public_token(api, Environment::Test).await;
    let remaining =
        |response: &Response| response.header("x-ratelimit-remaining").map(str::to_owned);
    for expected in ["29", "28"] {
        let both = begins(api, api.test_key(), &token).await.ok();
        assert_eq!(both.body.as_object().unwrap().len(), 1);
        assert!(both.text_at("/redirect_url").contains("state=test-"));
        assert_eq!(remaining(&both).as_deref(), Some(expected));
    }
    let alone = api
        .anonymous()
        .get(&format!("/v1/auth/oauth/test/begin?public_token={token}"))
        .await
        .ok();
    assert_eq!(remaining(&alone).as_deref(), Some("27"));
    // The key has its own counter, and opens what it opened before.
    let by_key = api.test().get("/v1/auth/oauth/test/begin").await.ok();
    assert_eq!(remaining(&by_key).as_deref(), Some("29"));
    assert!(by_key.body.get("url").is_some());
}

async fn m_15_a_pair_is_refused_if_one_of_it_is_invalid(api: &Api) {
    lands(api).await;
    let other = api
        .service
        .create_app(Principal::cli(), "Other")
        .await
        .unwrap();
    let token = public_token(api, Environment::Test).await;
    let live_token = public_token(api, Environment::Live).await;
    let (test, live) = (Environment::Test, Environment::Live);
    let secret = ApiKeyKind::Secret;
    let live_key = api.key_of(&api.app, secret, live, &[]).await;
    let foreign_key = api.key_of(&other, secret, test, &[]).await;
    let world = World::new(api.app.id, test);
    let mut revoked = Vec::new();
    for kind in [ApiKeyKind::Secret, ApiKeyKind::Public] {
        let made = api
            .service
            .create_api_key(Principal::cli(), world, kind, KeyFields::default());
        let made = made.await.unwrap();
        let gone = api
            .service
            .revoke_api_key(Principal::cli(), api.app.id.into(), made.record.id);
        gone.await.unwrap();
        revoked.push(made.key.expose().clone());
    }
    // The valid pair first, so that both are cached.
    begins(api, api.test_key(), &token).await.ok();
    let pairs: [(&str, &str); 9] = [
        (&live_key, &token),
        (&foreign_key, &token),
        (&revoked[0], &token),
        (api.test_key(), &revoked[1]),
        (api.test_key(), &live_token),
        ("sk_test_x", &token),
        (api.test_key(), "pk_test_x"),
        (api.test_key(), api.test_key()),
        (&token, &token),
    ];
    for (key, token) in pairs {
        let refused = begins(api, key, token).await;
        refused.refuses(401, "invalid_api_key", None);
    }
    let path = format!("/v1/auth/oauth/test/begin?public_token={token}");
    for header in [format!("Basic {token}"), format!("PublicToken {token}")] {
        let client = api.anonymous().header("Authorization", &header);
        client
            .get(&path)
            .await
            .refuses(401, "invalid_api_key", None);
    }
    let two = api
        .test()
        .header("Authorization", &format!("PublicToken {token}"));
    let refused = two.get("/v1/auth/oauth/test/begin").await;
    refused.refuses(401, "invalid_api_key", None);
    begins(api, api.test_key(), &token).await.ok();
}
