//! Plain HTTP is refused where it could be intercepted (S-18), and no header overrides that (S-16).

use vestry_edge::WebSettings;

use crate::harness::{Lane, Options, assert_response_snapshot, on_with};

fn options(listen: &'static str, trusted: &[&str]) -> Options {
    let trusted_proxies = trusted.iter().map(|net| net.parse().unwrap()).collect();
    Options {
        listen,
        web: WebSettings {
            trusted_proxies,
            ..WebSettings::default()
        },
        ..Options::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_18_a_public_listener_refuses_plain_http() {
    on_with(Lane::Sqlite, options("0.0.0.0:0", &[]), async |api| {
        for client in [api.test(), api.anonymous()] {
            for path in [
                "/v1/wallets/list",
                "/v1/nowhere",
                "/openapi.json",
                "/docs",
                "/",
            ] {
                let refused = client.get(path).await;
                refused.refuses(400, "https_required", None);
                assert_eq!(refused.header("location"), None, "refused, not redirected");
            }
            // An untrusted client's header proves nothing.
            let claims = client.clone().header("X-Forwarded-Proto", "https");
            claims
                .get("/v1/wallets/list")
                .await
                .refuses(400, "https_required", None);
        }
        let refused = api.test().get("/v1/wallets/list").await;
        assert_response_snapshot!(refused, @r#"
        {
          "body": {
            "error": {
              "code": "https_required",
              "message": "plain HTTP is not accepted; use https"
            },
            "error_message": "plain HTTP is not accepted; use https",
            "error_type": "https_required",
            "request_id": "[request id]",
            "status_code": 400
          },
          "status": 400
        }
        "#);
        // Supervisors probe from inside.
        api.anonymous().get("/livez").await.ok();
        api.anonymous().get("/readyz").await.ok();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trusted_proxy_vouches_for_its_client() {
    on_with(
        Lane::Sqlite,
        options("0.0.0.0:0", &["127.0.0.0/8"]),
        async |api| {
            for https in ["https", "HTTPS", "https, https"] {
                api.test()
                    .header("X-Forwarded-Proto", https)
                    .get("/v1/wallets/list")
                    .await
                    .ok();
            }
            for plain in [
                "http",
                "",
                "https, http",
                "http, https",
                "garbage",
                "https;",
                "\u{ff}",
            ] {
                let refused = api
                    .test()
                    .header("X-Forwarded-Proto", plain)
                    .get("/v1/wallets/list")
                    .await;
                refused.refuses(400, "https_required", None);
            }
            let both = api
                .test()
                .header("X-Forwarded-Proto", "https")
                .header("X-Forwarded-Proto", "http");
            both.get("/v1/wallets/list")
                .await
                .refuses(400, "https_required", None);
            // Without a header from the proxy nothing is known about its client, and the listener is public.
            api.test()
                .get("/v1/wallets/list")
                .await
                .refuses(400, "https_required", None);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loopback_is_private_unless_a_proxy_says_otherwise() {
    on_with(
        Lane::Sqlite,
        options("127.0.0.1:0", &["127.0.0.1/32"]),
        async |api| {
            api.test().get("/v1/wallets/list").await.ok();
            api.test()
                .header("X-Forwarded-Proto", "https")
                .get("/v1/wallets/list")
                .await
                .ok();
            for plain in ["http", "garbage"] {
                let refused = api
                    .test()
                    .header("X-Forwarded-Proto", plain)
                    .get("/v1/wallets/list")
                    .await;
                refused.refuses(400, "https_required", None);
            }
        },
    )
    .await;
    on_with(
        Lane::Sqlite,
        options("127.0.0.1:0", &["10.0.0.0/8"]),
        async |api| {
            // Not one of our proxies: its header is ignored either way.
            api.test()
                .header("X-Forwarded-Proto", "http")
                .get("/v1/wallets/list")
                .await
                .ok();
        },
    )
    .await;
}
