//! Attack 23: no request can make the service call an address of the caller's choice.
//!
//! For addresses that it does call, see `attack_23` in the tests of its one HTTP client (`crates/adapters/outbound`).

use futures_util::FutureExt;
use serde_json::json;
use tokio::net::TcpListener;
use vestry_app::Principal;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use super::people::{self, LINKS, link_to};
use crate::harness::{Api, on_both};

on_both! {
    attack_23_no_address_of_a_request_is_called
}

/// Redirect URLs, names, metadata, devices and messages that are URLs of a listening server: it never receives a connection.
async fn attack_23_no_address_of_a_request_is_called(api: &Api) {
    let test = api.test();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/callback");
    let world = World::new(api.app.id, Environment::Test);
    for kind in RedirectKind::ALL {
        let added = api
            .service
            .add_redirect_url(Principal::cli(), world, kind, &url, true);
        added.await.unwrap();
    }
    let device = json!({"ip": "127.0.0.1", "user_agent": url});
    let request = json!({
        "email": "ada@example.com", "first_name": url, "metadata": {"picture": url, "webhook": url},
    });
    let created = test.post("/v1/auth/users/create", request).await.ok();
    let request = json!({
        "email": "ada@example.com", "login_redirect_url": url, "registration_redirect_url": url,
        "device_fingerprint": device,
    });
    let path = "/v1/auth/magic_links/email/login_or_create";
    test.post(path, request).await.ok();
    let token = link_to(api, "/v1/auth/passwords/reset/begin", "ada@example.com").await;
    assert!(!token.is_empty());
    let token = link_to(api, path, "ada@example.com").await;
    let request = json!({"token": token, "session_expires_in": 60, "device_fingerprint": device});
    test.post(LINKS, request).await.ok();
    let wallet = json!({"user_id": created.text_at("/user_id"), "wallet_type": "ethereum"});
    let wallet = test.post("/v1/wallets/create", wallet).await.ok();
    let path = format!("/v1/wallets/{}/sign_message", wallet.text_at("/id"));
    test.post(&path, json!({ "message": url })).await.ok();
    for (name, value) in [("Origin", &url), ("Referer", &url), ("Forwarded", &url)] {
        let response = test
            .clone()
            .header(name, value)
            .get("/v1/wallets/list")
            .await;
        assert_eq!(response.status, 200);
    }
    let mail = people::mail_to(api, "magic_link", "ada@example.com").await;
    assert!(mail["link"].as_str().unwrap().starts_with(&url));
    assert!(
        listener.accept().now_or_never().is_none(),
        "the service called {url}"
    );
}
