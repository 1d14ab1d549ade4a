//! Captured messages.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};

use crate::harness::{Api, assert_response_snapshot, on_both};

const MESSAGES: &str = "/v1/test/messages";

on_both! {
    a_message_is_captured_completely
    messages_are_found_by_recipient_and_kind
    a_query_names_what_it_refuses
    wait_returns_as_soon_as_there_is_a_message
    api_23_an_app_gets_at_most_half_of_the_slots
    messages_can_be_deleted
    a_clock_is_set_read_and_reset
    a_clock_names_what_it_refuses
    an_hour_passes_at_once_on_the_test_clock
    m_19_a_plus_in_a_recipient_needs_no_escape
    m_19_a_query_accepts_every_spelling_of_a_whole_number
}

const CLOCK: &str = "/v1/test/clock";

async fn send(api: &Api, email: &str) {
    let request = json!({"email": email});
    api.test()
        .post("/v1/auth/otps/email/login_or_create", request)
        .await
        .ok();
    api.deliver().await;
}

async fn a_message_is_captured_completely(api: &Api) {
    send(api, "Ok@vestry.test").await;
    let found = api.test().get(MESSAGES).await.ok();
    assert_response_snapshot!(found, @r#"
    {
      "body": {
        "messages": [
          {
            "channel": "email",
            "code": "000000",
            "created_at": 1800000000,
            "html": "<p>Your Demo code is</p><p style=\"font-size:2em;letter-spacing:.2em\"><b>000000</b></p><p>It is valid for 1 minute and works once.<br>If you did not request it, ignore this message. Without the code, no one can sign in.</p>",
            "id": "[msg id]",
            "kind": "otp",
            "link": "",
            "subject": "000000 is your Demo code",
            "text": "Your Demo code is 000000\n\nIt is valid for 1 minute and works once.\nIf you did not request it, ignore this message. Without the code, no one can sign in.\n",
            "to": "Ok@vestry.test",
            "token": ""
          }
        ]
      },
      "status": 200
    }
    "#);
}

async fn messages_are_found_by_recipient_and_kind(api: &Api) {
    for email in ["a@example.com", "b@example.com", "a@example.com"] {
        send(api, email).await;
        api.pass(10);
    }
    let found = async |query: &str| {
        let found = api.test().get(&format!("{MESSAGES}?{query}")).await.ok();
        let messages = found.body["messages"].as_array().unwrap().clone();
        messages
            .into_iter()
            .map(|message| {
                (
                    message["to"].clone(),
                    message["created_at"].as_i64().unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    let (a, b) = (json!("a@example.com"), json!("b@example.com"));
    let start = 1_800_000_000;
    let all = vec![
        (a.clone(), start + 20),
        (b.clone(), start + 10),
        (a.clone(), start),
    ];
    assert_eq!(found("").await, all);
    assert_eq!(found("to=&kind=&after=&wait=").await, all);
    assert_eq!(
        found("to=a%40example.com&kind=otp").await,
        [all[0].clone(), all[2].clone()]
    );
    assert_eq!(found("to=c@example.com").await, []);
    let newest = api
        .test()
        .get(&format!("{MESSAGES}?to=b@example.com"))
        .await
        .ok()
        .text_at("/messages/0/id");
    assert_eq!(found(&format!("after={newest}")).await, all[..1]);
}

async fn a_query_names_what_it_refuses(api: &Api) {
    for (query, param) in [
        ("kind=letter", "kind"),
        ("after=x", "after"),
        ("after=user_000000000000000000000000000", "after"),
        ("wait=31", "wait"),
        ("wait=-1", "wait"),
        ("wait=0.5", "wait"),
        ("wait=long", "wait"),
        ("to=a%00", "to"),
        ("wait=1&wait=2", "wait"),
    ] {
        let refused = api.test().get(&format!("{MESSAGES}?{query}")).await;
        refused.refuses(400, "invalid_field", Some(param));
    }
}

async fn wait_returns_as_soon_as_there_is_a_message(api: &Api) {
    let client = api.test();
    let path = format!("{MESSAGES}?to=late@example.com&wait=30");
    let waiting = client.get(&path);
    let sending = send(api, "late@example.com");
    let (found, ()) = tokio::join!(waiting, sending);
    assert_eq!(
        found.ok().body["messages"].as_array().map(Vec::len),
        Some(1)
    );
}

async fn api_23_an_app_gets_at_most_half_of_the_slots(api: &Api) {
    let client = api.test();
    let path = format!("{MESSAGES}?to=late@example.com&wait=30");
    let calls = (0..51).map(|_| client.get(&path));
    let mut calls: FuturesUnordered<_> = calls.collect();
    // One is too many. It gets a response after a second, so that a client that retries at once does not keep the service busy.
    let begun = Instant::now();
    let surplus = calls.next().await.unwrap().ok();
    assert_eq!(surplus.body["messages"], json!([]));
    assert!(begun.elapsed() >= Duration::from_secs(1));
    // The other half is reserved for other Apps.
    let foreign = api.other_app().await;
    let begun = Instant::now();
    foreign.get(&format!("{MESSAGES}?wait=2")).await.ok();
    assert!(begun.elapsed() >= Duration::from_secs(2), "it had no slot");
    let sending = send(api, "late@example.com");
    let (responses, ()) = tokio::join!(calls.collect::<Vec<_>>(), sending);
    for response in responses {
        assert_ne!(response.ok().body["messages"], json!([]));
    }
    // Waiting calls are ended when the service stops.
    let path = format!("{MESSAGES}?to=never@example.com&wait=30");
    let begun = Instant::now();
    let (waited, ()) = tokio::join!(client.get(&path), async { api.service.stop_waiting() });
    assert_eq!(waited.ok().body["messages"], json!([]));
    assert!(begun.elapsed() < Duration::from_secs(25), "it kept waiting");
}

async fn messages_can_be_deleted(api: &Api) {
    for email in ["a@example.com", "b@example.com"] {
        send(api, email).await;
    }
    let deleted = api.test().delete(MESSAGES, None).await.ok();
    assert_response_snapshot!(deleted, @r#"
    {
      "body": {
        "deleted_count": 2,
        "message": "Successfully deleted all messages"
      },
      "status": 200
    }
    "#);
    assert_eq!(
        api.test().get(MESSAGES).await.ok().body["messages"],
        Value::Array(Vec::new())
    );
    assert_eq!(
        api.test().delete(MESSAGES, None).await.ok().body["deleted_count"],
        0
    );
}

async fn a_clock_is_set_read_and_reset(api: &Api) {
    let read = api.test().get(CLOCK).await.ok();
    assert_response_snapshot!(read, @r#"
    {
      "body": {
        "frozen": false,
        "now": 1800000000,
        "set": false
      },
      "status": 200
    }
    "#);
    let change = json!({"now": 1_900_000_000, "frozen": true});
    let set = api.test().post(CLOCK, change).await.ok();
    assert_response_snapshot!(set, @r#"
    {
      "body": {
        "frozen": true,
        "now": 1900000000,
        "set": true
      },
      "status": 200
    }
    "#);
    let advanced = api
        .test()
        .post(CLOCK, json!({"advance_seconds": 5}))
        .await
        .ok();
    assert_eq!(advanced.body["now"], 1_900_000_005);
    let reset = api.test().delete(CLOCK, None).await.ok();
    assert_eq!(
        reset.body,
        json!({"now": 1_800_000_000, "frozen": false, "set": false})
    );
}

async fn a_clock_names_what_it_refuses(api: &Api) {
    for (change, param) in [
        (json!({}), "now"),
        (json!({"now": 5}), "now"),
        (json!({"now": "tomorrow"}), "now"),
        (json!({"now": 1_900_000_000.5}), "now"),
        (json!({"advance_seconds": -1}), "advance_seconds"),
        (
            json!({"advance_seconds": 4_000_000_000_i64}),
            "advance_seconds",
        ),
        (
            json!({"now": 1_900_000_000, "advance_seconds": 1}),
            "advance_seconds",
        ),
        (json!({"frozen": "yes"}), "frozen"),
    ] {
        let refused = api.test().post(CLOCK, change.clone()).await;
        assert_eq!(refused.status, 400, "{change}");
        assert_eq!(refused.body["error"]["param"], param, "{change}");
    }
    let read = api.test().get(CLOCK).await.ok();
    assert_eq!(read.body["set"], false, "a refused change changes nothing");
}

/// An hour passes at once, for sessions and the JWTs of the test environment.
async fn an_hour_passes_at_once_on_the_test_clock(api: &Api) {
    let sent = api
        .test()
        .post(
            "/v1/auth/otps/email/login_or_create",
            json!({"email": "ok@vestry.test"}),
        )
        .await
        .ok();
    let proof = json!({
        "method_id": sent.text_at("/email_id"),
        "otp": "000000",
        "session_expires_in": 60,
    });
    let verified = api.test().post("/v1/auth/otps/verify", proof).await.ok();
    api.test()
        .post(CLOCK, json!({"advance_seconds": 3599}))
        .await
        .ok();
    let verify = json!({"session_token": verified.text_at("/session_token")});
    api.test()
        .post("/v1/auth/sessions/verify", verify.clone())
        .await
        .ok();
    api.test()
        .post(CLOCK, json!({"advance_seconds": 1}))
        .await
        .ok();
    let over = api.test().post("/v1/auth/sessions/verify", verify).await;
    assert_eq!(
        (over.status, &over.body["error"]["code"]),
        (401, &json!("invalid_session"))
    );
}

/// Numbers begin with a plus, and addresses may have a tag after one.
async fn m_19_a_plus_in_a_recipient_needs_no_escape(api: &Api) {
    send(api, "ada+shop@example.com").await;
    send(api, "ada@example.com").await;
    let request = json!({"phone_number": "+14155552671"});
    let path = "/v1/auth/otps/sms/login_or_create";
    api.test().post(path, request).await.ok();
    api.deliver().await;
    for (to, expected) in [
        ("+14155552671", "+14155552671"),
        ("%2B14155552671", "+14155552671"),
        ("ada+shop@example.com", "ada+shop@example.com"),
        ("ada%2Bshop%40example.com", "ada+shop@example.com"),
        ("ada@example.com", "ada@example.com"),
    ] {
        let found = api.test().get(&format!("{MESSAGES}?to={to}")).await.ok();
        let messages = found.body["messages"].as_array().unwrap();
        let recipients: Vec<_> = messages.iter().map(|message| &message["to"]).collect();
        assert_eq!(recipients, [expected], "{to}");
    }
}

async fn m_19_a_query_accepts_every_spelling_of_a_whole_number(api: &Api) {
    for wait in ["0", "0.0", "0e0"] {
        api.test()
            .get(&format!("{MESSAGES}?wait={wait}"))
            .await
            .ok();
    }
    for limit in ["10", "10.0", "1e1"] {
        api.test()
            .get(&format!("/v1/wallets/list?limit={limit}"))
            .await
            .ok();
    }
    for limit in ["10.5", "+10", "ten", "0x10"] {
        let refused = api
            .test()
            .get(&format!("/v1/wallets/list?limit={limit}"))
            .await;
        refused.refuses(400, "invalid_field", Some("limit"));
    }
}
