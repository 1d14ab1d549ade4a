//! The one error body, from every layer, and requests that never reach a handler.

use std::time::Duration;

use serde_json::json;
use vestry_edge::WebSettings;

use crate::harness::{Api, Lane, Options, assert_response_snapshot, described, on, on_with};

const CREATE: &str = "/v1/auth/users/create";

/// Runs a test that uses no database on the lane that is always available.
async fn run(test: impl AsyncFnOnce(&Api)) {
    on(Lane::Sqlite, test).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_route_is_not_found() {
    run(async |api| {
        for path in [
            "/",
            "/v1",
            "/v1/",
            "/v2/auth/users/create",
            "/v1/auth/users",
            "/v1/wallets/create/",
            "//v1/wallets/list",
            "/v1/auth/users//",
            "/v1/wallets",
            "/v1/walletsx/list",
            "/v1/wallets%2flist",
            "/v1/wallets/wallet_x/nowhere",
            "/%2e%2e/etc",
            "/favicon.ico",
        ] {
            for method in ["GET", "POST", "DELETE", "OPTIONS", "BREW"] {
                for client in [api.test(), api.anonymous()] {
                    client
                        .send(method, path, None)
                        .await
                        .refuses(404, "not_found", Some("route"));
                }
            }
        }
        let response = api.test().get("/v1/nowhere").await;
        assert_response_snapshot!(response, @r#"
        {
          "body": {
            "error": {
              "code": "not_found",
              "message": "no such endpoint",
              "param": "route"
            },
            "error_message": "no such endpoint",
            "error_type": "not_found",
            "request_id": "[request id]",
            "status_code": 404
          },
          "status": 404
        }
        "#);
    })
    .await;
}

/// HEAD gets the response of GET without the body (RFC 9110, section 9.3.2).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn head_responds_like_get() {
    run(async |api| {
        let (key_set, test) = (format!("/v1/auth/jwks/{}", api.app.id), api.test());
        for path in [
            "/livez",
            "/readyz",
            "/openapi.json",
            &key_set,
            "/v1/auth/jwks/default",
            "/v1/wallets/list",
            "/v1/test/messages",
            "/v1/auth/users/user_",
            "/v1/auth/sessions/list",
        ] {
            let get = test.get(path).await;
            let head = test.send("HEAD", path, None).await;
            assert_eq!(
                (head.status, head.text.as_str()),
                (get.status, ""),
                "{path}"
            );
            for name in ["content-type", "content-length", "cache-control"] {
                assert_eq!(head.header(name), get.header(name), "{path}: {name}");
            }
        }
        let refused = api.anonymous().send("HEAD", "/v1/wallets/list", None).await;
        assert_eq!(refused.status, 401);
    })
    .await;
}

/// Unknown methods too; `Allow` lists the supported ones (RFC 9110, section 15.5.6).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_method_is_not_allowed() {
    run(async |api| {
        for operation in described().all() {
            let path = operation.path.replace(['{', '}'], "");
            for method in [
                "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW",
            ] {
                let mut allowed: Vec<&str> = described()
                    .all()
                    .filter(|other| other.path == operation.path)
                    .map(|other| other.method.as_str())
                    .collect();
                if allowed.contains(&"GET") {
                    allowed.push("HEAD");
                }
                allowed.sort_unstable();
                if allowed.contains(&method) {
                    continue;
                }
                let response = api.test().send(method, &path, None).await;
                response.refuses(405, "method_not_allowed", None);
                let mut allow: Vec<&str> = response.header("allow").unwrap().split(", ").collect();
                allow.sort_unstable();
                assert_eq!(allow, allowed, "{method} {path}");
            }
        }
        let response = api.test().send("HEAD", "/v1/auth/otps/verify", None).await;
        assert_eq!((response.status, response.text.as_str()), (405, ""));
        let response = api.test().send("PATCH", "/v1/test/messages", None).await;
        assert_response_snapshot!(response, @r#"
        {
          "body": {
            "error": {
              "code": "method_not_allowed",
              "message": "method not allowed for this path; see the Allow header"
            },
            "error_message": "method not allowed for this path; see the Allow header",
            "error_type": "method_not_allowed",
            "request_id": "[request id]",
            "status_code": 405
          },
          "status": 405
        }
        "#);
    })
    .await;
}

/// The bad-input list: a body of 257 KiB, with or without Content-Length.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_over_256_kib_is_too_large() {
    run(async |api| {
        let json = api.test().header("Content-Type", "application/json");
        let body = |bytes: usize| {
            let frame = r#"{"email": "ada@example.com", "x": ""}"#;
            frame
                .replace(r#""""#, &format!("\"{}\"", "x".repeat(bytes - frame.len())))
                .into_bytes()
        };
        json.send_bytes("POST", CREATE, &body(256 * 1024))
            .await
            .ok();
        for bytes in [256 * 1024 + 1, 257 * 1024, 5 * 1024 * 1024] {
            let response = json.send_bytes("POST", CREATE, &body(bytes)).await;
            response.refuses(413, "body_too_large", None);
            assert_eq!(response.header("connection"), Some("close"), "{bytes}");
        }
        // A gigabyte that is never sent: refused by its Content-Length (B9).
        let mut connection = api.connect().await;
        connection
            .send(json.head("POST", CREATE, 1 << 30).as_bytes())
            .await;
        let response = json.checked("POST", CREATE, connection.receive().await.unwrap());
        response.refuses(413, "body_too_large", None);
        assert_response_snapshot!(response, @r#"
        {
          "body": {
            "error": {
              "code": "body_too_large",
              "message": "the body exceeds 256 KiB"
            },
            "error_message": "the body exceeds 256 KiB",
            "error_type": "body_too_large",
            "request_id": "[request id]",
            "status_code": 413
          },
          "status": 413
        }
        "#);
        // Chunked, without Content-Length.
        let chunked = json.clone().header("Transfer-Encoding", "chunked");
        let mut connection = api.connect().await;
        connection
            .send(chunked.head("POST", CREATE, 0).as_bytes())
            .await;
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(5);
        connection.send_while_taken(chunk.as_bytes()).await;
        let response = json.checked("POST", CREATE, connection.receive().await.unwrap());
        response.refuses(413, "body_too_large", None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_another_type_is_unsupported() {
    run(async |api| {
        let body = br#"{"email": "ada@example.com"}"#;
        let types = [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=utf-16",
            "application/vnd.api+json",
            "json",
            "",
            "application/json, application/json",
        ];
        for kind in types {
            let response = api
                .test()
                .header("Content-Type", kind)
                .send_bytes("POST", CREATE, body)
                .await;
            response.refuses(415, "unsupported_media_type", None);
        }
        let response = api.test().send_bytes("POST", CREATE, body).await;
        response.refuses(415, "unsupported_media_type", None);
        assert_response_snapshot!(response, @r#"
        {
          "body": {
            "error": {
              "code": "unsupported_media_type",
              "message": "send the body as `Content-Type: application/json`, without a content encoding"
            },
            "error_message": "send the body as `Content-Type: application/json`, without a content encoding",
            "error_type": "unsupported_media_type",
            "request_id": "[request id]",
            "status_code": 415
          },
          "status": 415
        }
        "#);
        let json = api.test().header("Content-Type", "application/json");
        for coding in ["gzip", "br", "deflate, gzip"] {
            let response = json
                .clone()
                .header("Content-Encoding", coding)
                .send_bytes("POST", CREATE, body)
                .await;
            response.refuses(415, "unsupported_media_type", None);
        }
        let twice = json.clone().header("Content-Type", "application/json");
        twice
            .send_bytes("POST", CREATE, body)
            .await
            .refuses(415, "unsupported_media_type", None);
        let charset = api
            .test()
            .header("Content-Type", "Application/JSON; charset=UTF-8");
        charset
            .header("Content-Encoding", "identity")
            .send_bytes("POST", CREATE, body)
            .await
            .ok();
    })
    .await;
}

/// The service does not wait for a body that never arrives in full (B8).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_body_is_refused_and_its_connection_closed() {
    let web = WebSettings {
        read_deadline: Duration::from_millis(100),
        ..WebSettings::default()
    };
    let options = Options {
        web,
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api| {
        let json = api.test().header("Content-Type", "application/json");
        let mut connection = api.connect().await;
        connection
            .send(json.head("POST", CREATE, 100).as_bytes())
            .await;
        connection.send(b"{\"email\": ").await;
        let response = json.checked("POST", CREATE, connection.receive().await.unwrap());
        response.refuses(400, "invalid_request", None);
        assert_response_snapshot!(response, @r#"
        {
          "body": {
            "error": {
              "code": "invalid_request",
              "message": "the body did not arrive in time"
            },
            "error_message": "the body did not arrive in time",
            "error_type": "invalid_request",
            "request_id": "[request id]",
            "status_code": 400
          },
          "status": 400
        }
        "#);
        assert_eq!(response.header("connection"), Some("close"));
        assert!(connection.is_closed().await);
        // A truncated body gets no response and does no harm.
        let mut connection = api.connect().await;
        connection
            .send(json.head("POST", CREATE, 100).as_bytes())
            .await;
        drop(connection);
        api.test()
            .post(CREATE, json!({"email": "ada@example.com"}))
            .await
            .ok();
    })
    .await;
}

/// Requests that a proxy in front could delimit differently are refused before our code sees them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b1_broken_framing_is_refused_and_closed() {
    run(async |api| {
        let key = api.test();
        let head = key.head("POST", CREATE, 0);
        let head = head.trim_end();
        let cases = [
            format!("{head}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}x"),
            format!("{head}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            format!("{head}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
            format!("{head}\r\nContent-Length: +2\r\n\r\n{{}}"),
            format!("{head}\r\nContent-Length: -1\r\n\r\n{{}}"),
            format!("{head}\r\nX-A: b\r\n folded: c\r\n\r\n"),
            format!("{head}\r\nX-A: a\0b\r\n\r\n"),
            format!("{head}\r\nX A: b\r\n\r\n"),
            "GET /livez\r\n\r\n".to_owned(),
            "\u{0}\u{1}\u{2}\r\n\r\n".to_owned(),
        ];
        for case in cases {
            let mut connection = api.connect().await;
            connection.send(case.as_bytes()).await;
            if let Some(response) = connection.receive().await {
                assert!(
                    (400..500).contains(&response.status),
                    "{case:?}: {}",
                    response.status
                );
                assert!(connection.is_closed().await, "{case:?}");
            }
        }
        api.anonymous().get("/livez").await.ok();
    })
    .await;
}

/// Two pipelined requests on one connection are answered in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_serves_many_requests() {
    run(async |api| {
        let json = api.test().header("Content-Type", "application/json");
        let body = br#"{"email": ""}"#;
        let first = json
            .clone()
            .header("X-Request-Id", "first")
            .head("POST", CREATE, body.len());
        let second = api
            .test()
            .header("X-Request-Id", "second")
            .head("GET", "/v1/nowhere", 0);
        let mut connection = api.connect().await;
        connection
            .send(&[first.as_bytes(), body, second.as_bytes()].concat())
            .await;
        let response = json.checked("POST", CREATE, connection.receive().await.unwrap());
        response.refuses(400, "invalid_field", Some("email"));
        assert_eq!(response.header("x-request-id"), Some("first"));
        let response = json.checked("GET", "/v1/nowhere", connection.receive().await.unwrap());
        response.refuses(404, "not_found", Some("route"));
        assert_eq!(response.header("x-request-id"), Some("second"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_well_formed_request_id_is_kept() {
    run(async |api| {
        let longest = "a".repeat(128);
        for id in ["a", "A-Z_09", "0", longest.as_str()] {
            for path in ["/livez", "/v1/nowhere", "/v1/wallets/list"] {
                let response = api.anonymous().header("X-Request-Id", id).get(path).await;
                assert_eq!(response.header("x-request-id"), Some(id));
            }
        }
        let too_long = "a".repeat(129);
        let mut seen = Vec::new();
        for id in ["", "a b", "a.b", "é", "<script>", too_long.as_str()] {
            let response = api
                .anonymous()
                .header("X-Request-Id", id)
                .get("/livez")
                .await;
            seen.push(response.header("x-request-id").unwrap().to_owned());
        }
        let twice = api
            .anonymous()
            .header("X-Request-Id", "a")
            .header("X-Request-Id", "b")
            .get("/livez")
            .await;
        seen.push(twice.header("x-request-id").unwrap().to_owned());
        for id in &seen {
            assert!(id.starts_with("req_") && id.len() == 36, "{id}");
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 7, "no two are the same");
    })
    .await;
}

/// Responses hold codes, tokens and personal data.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_must_not_be_cached() {
    run(async |api| {
        for path in ["/v1/wallets/list", "/v1/nowhere", "/livez", "/readyz"] {
            let response = api.test().get(path).await;
            assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
            assert_eq!(
                response.header("x-content-type-options"),
                Some("nosniff"),
                "{path}"
            );
        }
    })
    .await;
}
