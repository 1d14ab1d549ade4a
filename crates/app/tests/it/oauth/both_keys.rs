//! A secret key together with a public token (M-15).

use vestry_app::{AuthenticateError, Principal};
use vestry_domain::World;

use super::*;

/// M-15: a secret key sent with a public token must be valid, of the same App, and of the same environment.
#[tokio::test]
async fn m_15_both_credentials_belong_to_one_environment() {
    let oauth = OauthHarness::new().await;
    let service = &oauth.harness.service;
    let world = oauth.test.world;
    let token = oauth.public_token().await;
    let key = |world, kind| {
        let made = service.create_api_key(
            Principal::cli(),
            world,
            kind,
            vestry_domain::api_key::KeyFields::default(),
        );
        async move { made.await.unwrap() }
    };
    let secret_key = key(world, ApiKeyKind::Secret).await;
    let secret_key = secret_key.key.expose();
    let caller = service.authenticate_both(&token, secret_key).await.unwrap();
    assert_eq!((caller.has_public_token(), caller.world), (true, world));
    let other = service.create_app(Principal::cli(), "Other").await.unwrap();
    let live = World::new(world.app_id, Environment::Live);
    let foreign = World::new(other.id, Environment::Test);
    let live = key(live, ApiKeyKind::Secret).await;
    let foreign = key(foreign, ApiKeyKind::Secret).await;
    let revoked = key(world, ApiKeyKind::Secret).await;
    let app = world.app_id;
    service
        .revoke_api_key(Principal::cli(), app.into(), revoked.record.id)
        .await
        .unwrap();
    let revoked_token = key(world, ApiKeyKind::Public).await;
    service
        .revoke_api_key(Principal::cli(), app.into(), revoked_token.record.id)
        .await
        .unwrap();
    let pairs: [(&str, &str); 9] = [
        (&token, live.key.expose()),
        (&token, foreign.key.expose()),
        (&token, revoked.key.expose()),
        (revoked_token.key.expose(), secret_key),
        (&token, "sk_test_x"),
        (&token, &token),
        (secret_key, secret_key),
        ("", secret_key),
        (&token, ""),
    ];
    for (token, key) in pairs {
        let refused = service.authenticate_both(token, key).await;
        assert!(matches!(refused, Err(AuthenticateError::Unknown)));
    }
}
