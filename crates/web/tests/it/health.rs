//! Probes.

use serde_json::json;
use vestry_edge::{Draining, WebSettings};

use crate::harness::{Api, Lane, Options, assert_response_snapshot, on_both, on_with};

on_both! {
    the_probes_need_no_key
}

async fn the_probes_need_no_key(api: &Api) {
    let live = api.anonymous().get("/livez").await.ok();
    assert_response_snapshot!(live, @r#"
    {
      "body": {
        "status": "ok"
      },
      "status": 200
    }
    "#);
    let ready = api.anonymous().get("/readyz").await.ok();
    assert_response_snapshot!(ready, @r#"
    {
      "body": {
        "database": "ok",
        "mail": "ok",
        "sign_in_key": "ok",
        "sms": "ok",
        "status": "ok",
        "vault": "ok"
      },
      "status": 200
    }
    "#);
}

/// OPS-5, OPS-6: while it shuts down a process is not ready, but alive until the end, and still serves requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_in_shutdown_is_not_ready() {
    let draining = Draining::default();
    let web = WebSettings {
        draining: draining.clone(),
        ..WebSettings::default()
    };
    let options = Options {
        web,
        has_mailer: false,
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api| {
        let ready = api.anonymous().get("/readyz").await.ok();
        assert_eq!(ready.body["mail"], "not_configured");
        draining.begin();
        let ready = api.anonymous().get("/readyz").await;
        ready.refuses(503, "unavailable", Some("shutdown"));
        assert_response_snapshot!(ready, @r#"
        {
          "body": {
            "error": {
              "code": "unavailable",
              "message": "shutdown is not available",
              "param": "shutdown"
            },
            "error_message": "shutdown is not available",
            "error_type": "unavailable",
            "request_id": "[request id]",
            "status_code": 503
          },
          "status": 503
        }
        "#);
        api.anonymous().get("/livez").await.ok();
        api.test().get("/v1/wallets/list").await.ok();
    })
    .await;
}

/// The failing component is named, and nothing else is disclosed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_database_is_named() {
    on_with(Lane::Sqlite, Options::default(), async |api| {
        // The file in the database's place is not a database.
        api.place.break_sqlite();
        let ready = api.anonymous().get("/readyz").await;
        ready.refuses(503, "unavailable", Some("database"));
        assert_response_snapshot!(ready, @r#"
        {
          "body": {
            "error": {
              "code": "unavailable",
              "message": "database is not available",
              "param": "database"
            },
            "error_message": "database is not available",
            "error_type": "unavailable",
            "request_id": "[request id]",
            "status_code": 503
          },
          "status": 503
        }
        "#);
        api.anonymous().get("/livez").await.ok();
    })
    .await;
}

/// F5: without the root key of wallets the service is ready, signs users in, and refuses what needs a wallet key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f5_without_the_key_provider_calls_that_need_keys_are_sealed() {
    on_with(Lane::Sqlite, Options::default(), async |api| {
        api.vault.set_gone(true);
        let ready = api.anonymous().get("/readyz").await.ok();
        assert_eq!(ready.body["vault"], "unavailable");
        assert_eq!(ready.body["sign_in_key"], "ok");
        let request = json!({"email": "ada@example.com"});
        let refused = api
            .test()
            .post("/v1/auth/users/create", request.clone())
            .await;
        refused.refuses(503, "sealed", None);
        assert_response_snapshot!(refused, @r#"
        {
          "body": {
            "error": {
              "code": "sealed",
              "message": "the keys are temporarily unavailable; try again"
            },
            "error_message": "the keys are temporarily unavailable; try again",
            "error_type": "sealed",
            "request_id": "[request id]",
            "status_code": 503
          },
          "status": 503
        }
        "#);
        // Sign-in still works.
        let other = json!({"email": "eve@example.com"});
        let code = "/v1/auth/otps/email/login_or_create";
        api.test().post(code, other).await.ok();
        let listed = api.test().get("/v1/wallets/list").await.ok();
        assert_eq!(
            listed.body["total_count"], 0,
            "nothing was created silently"
        );
        api.vault.set_gone(false);
        let created = api.test().post("/v1/auth/users/create", request).await.ok();
        // Opened keys work for an hour without it.
        api.vault.set_gone(true);
        let path = format!("/v1/auth/users/{}", created.text_at("/user_id"));
        api.test().get(&path).await.ok();
        api.sign_in_key.set_gone(true);
        let ready = api.anonymous().get("/readyz").await.ok();
        assert_eq!(ready.body["sign_in_key"], "unavailable");
    })
    .await;
}
