//! Captured messages.

use serde_json::{Value, json};

use crate::rig::{Api, assert_answer_snapshot, on_both};

const MESSAGES: &str = "/v1/test/messages";

on_both! {
    a_message_is_captured_whole
    messages_are_found_by_what_is_asked_for
    a_query_names_what_it_refuses
    wait_answers_as_soon_as_there_is_a_message
    messages_can_be_deleted
}

async fn send(api: &Api, email: &str) {
    let request = json!({"email": email});
    api.test()
        .post("/v1/auth/otps/email/login_or_create", request)
        .await
        .ok();
    api.deliver().await;
}

async fn a_message_is_captured_whole(api: &Api) {
    send(api, "Ok@vestry.test").await;
    let found = api.test().get(MESSAGES).await.ok();
    assert_answer_snapshot!(found, @r#"
    {
      "body": {
        "messages": [
          {
            "channel": "email",
            "code": "000000",
            "created_at": 1800000000,
            "html": "<p>Your Demo code is</p><p style=\"font-size:2em;letter-spacing:.2em\"><b>000000</b></p><p>It is valid for 1 minute and works once.<br>If you did not ask for it, ignore this message; nobody can sign in without the code.</p>",
            "id": "[msg id]",
            "kind": "otp",
            "link": "",
            "subject": "000000 is your Demo code",
            "text": "Your Demo code is 000000\n\nIt is valid for 1 minute and works once.\nIf you did not ask for it, ignore this message; nobody can sign in without the code.\n",
            "to": "Ok@vestry.test",
            "token": ""
          }
        ]
      },
      "status": 200
    }
    "#);
}

async fn messages_are_found_by_what_is_asked_for(api: &Api) {
    for email in ["a@example.com", "b@example.com", "a@example.com"] {
        send(api, email).await;
        api.pass(1);
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
        (a.clone(), start + 2),
        (b.clone(), start + 1),
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

async fn wait_answers_as_soon_as_there_is_a_message(api: &Api) {
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

async fn messages_can_be_deleted(api: &Api) {
    for email in ["a@example.com", "b@example.com"] {
        send(api, email).await;
    }
    let deleted = api.test().delete(MESSAGES, None).await.ok();
    assert_answer_snapshot!(deleted, @r#"
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
