//! Registered redirect URLs.

use vestry_app::{Principal, Refusal};
use vestry_domain::ids::{AppId, Id, RedirectUrlId};
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::harness::{Harness, START};

const URL: &str = "https://app.example.com/callback";

#[tokio::test]
async fn urls_are_stored_as_written() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Live);
    let mut added = Vec::new();
    for (kind, url) in [
        (RedirectKind::Login, URL),
        (RedirectKind::Registration, URL),
        (RedirectKind::Invite, "https://*.example.com/Path?x=1"),
        (RedirectKind::Login, "http://localhost:3000/callback"),
    ] {
        let made = harness
            .service
            .add_redirect_url(Principal::cli(), world, kind, url, false)
            .await
            .unwrap();
        assert_eq!(
            (made.world, made.kind, made.target.as_str(), made.created_at),
            (world, kind, url, harness.now())
        );
        added.push(made);
        harness.pass(1);
    }
    assert_eq!(
        harness
            .service
            .list_redirect_urls(Principal::cli(), harness.app.id.into())
            .await
            .unwrap(),
        added
    );
}

#[tokio::test]
async fn a_url_is_registered_once_for_each_kind_and_environment() {
    let harness = Harness::new().await;
    for environment in Environment::ALL {
        let world = harness.world(environment);
        for kind in RedirectKind::ALL {
            harness
                .service
                .add_redirect_url(Principal::cli(), world, kind, URL, false)
                .await
                .unwrap();
        }
    }
    let all = harness
        .service
        .list_redirect_urls(Principal::cli(), harness.app.id.into())
        .await
        .unwrap();
    assert_eq!(all.len(), 6);
    harness.pass(1);
    for known in &all {
        let again =
            harness
                .service
                .add_redirect_url(Principal::cli(), known.world, known.kind, URL, false);
        assert_eq!(again.await.unwrap(), *known);
    }
    assert_eq!(
        harness
            .service
            .list_redirect_urls(Principal::cli(), harness.app.id.into())
            .await
            .unwrap(),
        all
    );
}

/// A registered URL becomes the default on request, keeps its id, and stays the default.
#[tokio::test]
async fn a_known_url_becomes_the_default() {
    let harness = Harness::new().await;
    let (world, kind) = (harness.world(Environment::Test), RedirectKind::Login);
    let other = "https://b.example.com/";
    let add = async |url, is_default| {
        harness.pass(1);
        let added =
            harness
                .service
                .add_redirect_url(Principal::cli(), world, kind, url, is_default);
        added.await.unwrap()
    };
    let (first, second) = (add(URL, false).await, add(other, true).await);
    assert!(second.is_default);
    for is_default in [true, true, false] {
        let again = add(URL, is_default).await;
        assert_eq!((again.id, again.created_at), (first.id, first.created_at));
        assert!(again.is_default);
        let all = harness
            .service
            .list_redirect_urls(Principal::cli(), harness.app.id.into())
            .await
            .unwrap();
        let defaults: Vec<_> = all.iter().filter(|url| url.is_default).collect();
        assert_eq!((all.len(), defaults), (2, vec![&again]));
    }
}

/// One default for each kind and environment; the newest one wins.
#[tokio::test]
async fn there_is_one_default() {
    let harness = Harness::new().await;
    let (test, live) = (
        harness.world(Environment::Test),
        harness.world(Environment::Live),
    );
    for (world, kind, url) in [
        (test, RedirectKind::Login, "https://a.example.com/"),
        (test, RedirectKind::Invite, "https://a.example.com/"),
        (live, RedirectKind::Login, "https://a.example.com/"),
        (test, RedirectKind::Login, "https://b.example.com/"),
    ] {
        assert!(
            harness
                .service
                .add_redirect_url(Principal::cli(), world, kind, url, true)
                .await
                .unwrap()
                .is_default
        );
        harness.pass(1);
    }
    let all = harness
        .service
        .list_redirect_urls(Principal::cli(), harness.app.id.into())
        .await
        .unwrap();
    let defaults: Vec<_> = all.iter().map(|url| url.is_default).collect();
    assert_eq!(defaults, [false, true, true, true]);
}

#[tokio::test]
async fn removal_stays_within_the_app() {
    let harness = Harness::new().await;
    let stranger = harness.stranger().await.world.app_id;
    let made = harness
        .service
        .add_redirect_url(
            Principal::cli(),
            harness.world(Environment::Test),
            RedirectKind::Login,
            URL,
            true,
        )
        .await
        .unwrap();
    for (app, id) in [
        (stranger, made.id),
        (harness.app.id, RedirectUrlId::new(START, [7; 16])),
    ] {
        assert!(matches!(
            harness
                .service
                .remove_redirect_url(Principal::cli(), app.into(), id)
                .await,
            Err(Refusal::NotFound(_))
        ));
    }
    assert!(
        harness
            .service
            .list_redirect_urls(Principal::cli(), stranger.into())
            .await
            .unwrap()
            .is_empty()
    );
    harness
        .service
        .remove_redirect_url(Principal::cli(), harness.app.id.into(), made.id)
        .await
        .unwrap();
    assert!(
        harness
            .service
            .list_redirect_urls(Principal::cli(), harness.app.id.into())
            .await
            .unwrap()
            .is_empty()
    );
    assert!(matches!(
        harness
            .service
            .remove_redirect_url(Principal::cli(), harness.app.id.into(), made.id)
            .await,
        Err(Refusal::NotFound(_))
    ));
}

#[tokio::test]
async fn bad_urls_and_apps_are_refused() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Live);
    for url in [
        "",
        "callback",
        "ftp://a.example.com/",
        "http://app.example.com/",
        "javascript:alert(1)",
        "https://user@app.example.com/",
        "https://app.example.com/#x",
        "https://a.*.example.com/",
        "https://app.example.com/a b",
    ] {
        let refused = harness
            .service
            .add_redirect_url(Principal::cli(), world, RedirectKind::Login, url, false)
            .await;
        assert!(
            matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == "url"),
            "{url}: {refused:?}"
        );
    }
    let nobody = AppId::new(START, [7; 16]);
    let refused = harness
        .service
        .add_redirect_url(
            Principal::cli(),
            World::new(nobody, Environment::Test),
            RedirectKind::Login,
            URL,
            false,
        )
        .await;
    assert!(matches!(refused, Err(Refusal::NotFound("app"))));
    assert!(matches!(
        harness
            .service
            .list_redirect_urls(Principal::cli(), nobody.into())
            .await,
        Err(Refusal::NotFound("app"))
    ));
    assert!(
        harness
            .service
            .list_redirect_urls(Principal::cli(), harness.app.id.into())
            .await
            .unwrap()
            .is_empty()
    );
}

/// A URL that browsers would resolve is refused with advice on what to register, and nothing is registered.
#[tokio::test]
async fn m_19_a_dot_segment_is_refused() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Live);
    for url in [
        "https://app.example.com/a/../b",
        "https://app.example.com/%2E%2e/b",
        "com.example.app:/./b",
    ] {
        let refused = harness.service.add_redirect_url(
            Principal::cli(),
            world,
            RedirectKind::Login,
            url,
            true,
        );
        match refused.await {
            Err(Refusal::Invalid(invalid)) => {
                assert_eq!(invalid.param, "url");
                assert!(
                    invalid.message.contains("register the resolved form"),
                    "{invalid}"
                );
            }
            other => panic!("{url}: {other:?}"),
        }
    }
    assert_eq!(
        harness
            .service
            .list_redirect_urls(Principal::cli(), harness.app.id.into())
            .await
            .unwrap(),
        []
    );
}
