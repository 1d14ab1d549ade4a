//! What a request leaves in the log, and what it never does (OTP-9, S1).

use std::io;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;
use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::{Timestamp, World};
use vestry_ports::limiter::{LimiterUnavailable, RateLimiter};
use vestry_ports::port;

use crate::flows::{sent, verified};
use crate::harness::{Api, Lane, Options, assert_response_snapshot, on, on_with};

/// Everything that this process logs, from the first call on.
pub(crate) fn log() -> &'static Log {
    static LOG: LazyLock<Log> = LazyLock::new(|| {
        let log = Log::default();
        tracing_subscriber::fmt()
            .json()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(log.clone())
            .init();
        log
    });
    &LOG
}

#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }

    /// The lines with this request id, at the top level or in a span.
    fn of_request(&self, id: &str) -> Vec<Value> {
        let quoted = format!("\"{id}\"");
        let text = self.text();
        let lines = text.lines().filter(|line| line.contains(&quoted));
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn access(&self, id: &str) -> Value {
        let lines = self.of_request(id);
        let mut access = lines.iter().filter(|line| {
            line["fields"]["message"] == "request" && line["fields"]["request_id"] == id
        });
        let line = access
            .next()
            .unwrap_or_else(|| panic!("{id} is not in the log"))
            .clone();
        assert!(access.next().is_none(), "{id} is there twice");
        line["fields"].clone()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_is_one_line() {
    let log = log();
    on(Lane::Sqlite, async |api| {
        let user = format!("user_{}", "0".repeat(27));
        let client = |id: &str| api.test().header("X-Request-Id", id);
        client("log-found")
            .get("/v1/wallets/list?limit=10")
            .await
            .ok();
        client("log-missing")
            .get(&format!("/v1/auth/users/{user}"))
            .await;
        client("log-nowhere")
            .get("/v1/canary-path?canary=query")
            .await;
        api.anonymous()
            .header("X-Request-Id", "log-keyless")
            .get("/v1/wallets/list")
            .await;
        api.live()
            .header("X-Request-Id", "log-live")
            .send("PUT", "/v1/wallets/create", None)
            .await;
        let app = api.app.id.to_string();
        let expected = [
            (
                "log-found",
                "/v1/wallets/list",
                200,
                Some((app.as_str(), "test")),
            ),
            (
                "log-missing",
                "/v1/auth/users/{user_id}",
                404,
                Some((app.as_str(), "test")),
            ),
            ("log-nowhere", "-", 404, None),
            ("log-keyless", "/v1/wallets/list", 401, None),
            (
                "log-live",
                "/v1/wallets/create",
                405,
                Some((app.as_str(), "live")),
            ),
        ];
        for (id, route, status, caller) in expected {
            let line = log.access(id);
            assert_eq!(
                (line["route"].as_str(), line["status"].as_u64()),
                (Some(route), Some(status)),
                "{line}"
            );
            assert_eq!(
                line["app_id"].as_str().zip(line["environment"].as_str()),
                caller,
                "{line}"
            );
            assert!(line["duration_ms"].as_f64().unwrap() > 0.0, "{line}");
        }
        let text = log.text();
        for secret in ["canary-path", "canary=query", &user] {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "a path or a query is in the log");
        }
    })
    .await;
}

/// The whole flow at the most verbose level, with no secret in any line of the process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_no_secret_is_logged() {
    let log = log();
    on(Lane::Sqlite, async |api| {
        let key = api.new_key(vestry_domain::Environment::Test, &[]).await;
        let client = api.with_key(&key);
        let code = sent(api, &client, "log.canary@example.com").await;
        let signed_in = verified(&client, &code, json!({"session_expires_in": 60}))
            .await
            .ok();
        let (token, jwt) = (
            signed_in.text_at("/session_token"),
            signed_in.text_at("/session_jwt"),
        );
        client
            .post(
                "/v1/auth/sessions/verify",
                json!({ "session_token": token }),
            )
            .await
            .ok();
        client
            .post("/v1/auth/sessions/verify", json!({ "session_jwt": jwt }))
            .await
            .ok();
        client
            .get(&format!("/v1/auth/jwks/default?api_key={key}"))
            .await
            .ok();
        let wallet = json!({"user_id": code.user_id, "wallet_type": "ethereum"});
        let wallet = client.post("/v1/wallets/create", wallet).await.ok();
        let path = format!("/v1/wallets/{}/sign_message", wallet.text_at("/id"));
        client
            .post(&path, json!({"message": "log-canary-message"}))
            .await
            .ok();
        client
            .post(&path, json!({"message": 7, "log-canary-field": "x"}))
            .await;
        client
            .post(
                "/v1/auth/otps/verify",
                json!({"method_id": code.method_id, "otp": "log-canary-otp"}),
            )
            .await;
        let text = log.text();
        let secrets = [
            key.as_str(),
            key.trim_start_matches("sk_test_"),
            token.as_str(),
            jwt.as_str(),
            jwt.rsplit('.').next().unwrap(),
            "log.canary",
            "log-canary",
            &wallet.text_at("/public_address"),
        ];
        for secret in secrets {
            assert!(
                !text.contains(secret),
                "in the log: {}",
                text.lines().find(|line| line.contains(secret)).unwrap()
            );
        }
        let digits = format!("\"{}\"", code.code);
        assert!(
            !text.contains(&digits) && !text.contains(&format!("code is {}", code.code)),
            "a code is in the log"
        );
        assert!(
            text.contains("/v1/auth/otps/verify"),
            "the log is not looked at"
        );
    })
    .await;
}

/// A component that panics.
struct Panics;

#[port]
impl RateLimiter for Panics {
    async fn hit(
        &self,
        _: &World,
        _: Limit,
        _: Timestamp,
    ) -> Result<LimitVerdict, LimiterUnavailable> {
        panic!("canary-of-a-panic");
    }
}

/// S7: a panic is a 500 that discloses nothing, neither to the caller nor in the log, and the service keeps running.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s7_a_panic_is_an_internal_error_that_discloses_nothing() {
    let log = log();
    let options = Options {
        limiter: Arc::new(Panics),
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api| {
        let client = api.test().unlimited().header("X-Request-Id", "log-panic");
        for _ in 0..100 {
            let response = client.get("/v1/wallets/list").await;
            response.refuses(500, "internal", None);
        }
        let response = client.get("/v1/wallets/list").await;
        assert_response_snapshot!(response, @r#"
        {
          "body": {
            "error": {
              "code": "internal",
              "message": "internal error; try again, and report request_id if it persists"
            },
            "error_message": "internal error; try again, and report request_id if it persists",
            "error_type": "internal",
            "request_id": "log-panic",
            "status_code": 500
          },
          "status": 500
        }
        "#);
        api.anonymous().get("/livez").await.ok();
        assert!(!response.text.contains("canary"), "{}", response.text);
        let lines = log.of_request("log-panic");
        let errors = lines.iter().filter(|line| line["level"] == "ERROR");
        assert_eq!(errors.count(), 101);
        assert!(!log.text().contains("canary-of-a-panic"));
    })
    .await;
}

/// An internal failure is logged once, with its cause, under the request id that the caller sees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_internal_failure_is_logged_once_with_its_cause() {
    let log = log();
    let options = Options {
        has_mailer: false,
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api: &Api| {
        let client = api.live().header("X-Request-Id", "log-fault");
        let request = json!({"email": "ada@example.com"});
        let refused = client
            .post("/v1/auth/otps/email/login_or_create", request)
            .await;
        refused.refuses(503, "unavailable", None);
        let lines = log.of_request("log-fault");
        let errors: Vec<&Value> = lines
            .iter()
            .filter(|line| line["level"] == "ERROR")
            .collect();
        assert_eq!(errors.len(), 1, "{lines:?}");
        let fields = &errors[0]["fields"];
        assert_eq!(
            (fields["code"].as_str(), fields["request_id"].as_str()),
            (Some("unavailable"), Some("log-fault"))
        );
        assert!(
            fields["cause"].as_str().unwrap().contains("transport"),
            "{fields}"
        );
        assert!(!refused.text.contains("transport"), "{}", refused.text);
    })
    .await;
}
