//! Probes.

use vestry_web::{Draining, WebSettings};

use crate::rig::{Api, Lane, Wishes, assert_answer_snapshot, on_both, on_with};

on_both! {
    the_probes_answer_without_a_key
}

async fn the_probes_answer_without_a_key(api: &Api) {
    let live = api.anonymous().get("/livez").await.ok();
    assert_answer_snapshot!(live, @r#"
    {
      "body": {
        "status": "ok"
      },
      "status": 200
    }
    "#);
    let ready = api.anonymous().get("/readyz").await.ok();
    assert_answer_snapshot!(ready, @r#"
    {
      "body": {
        "database": "ok",
        "mail": "ok",
        "status": "ok",
        "vault": "ok"
      },
      "status": 200
    }
    "#);
}

/// Operations, section 3: not ready while it shuts down, alive until the end, and requests still served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_shuts_down_is_not_ready() {
    let draining = Draining::default();
    let web = WebSettings {
        draining: draining.clone(),
        ..WebSettings::default()
    };
    let wishes = Wishes {
        web,
        has_mailer: false,
        ..Wishes::default()
    };
    on_with(Lane::Sqlite, wishes, async |api| {
        let ready = api.anonymous().get("/readyz").await.ok();
        assert_eq!(ready.body["mail"], "not_configured");
        draining.begin();
        let ready = api.anonymous().get("/readyz").await;
        ready.refuses(503, "unavailable", Some("shutdown"));
        assert_answer_snapshot!(ready, @r#"
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

/// The part that fails is named, and nothing else is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_gone_is_named() {
    on_with(Lane::Sqlite, Wishes::default(), async |api| {
        // The file in place of the database is none.
        api.place.break_sqlite();
        let ready = api.anonymous().get("/readyz").await;
        ready.refuses(503, "unavailable", Some("database"));
        assert_answer_snapshot!(ready, @r#"
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
