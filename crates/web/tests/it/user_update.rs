//! `PUT users/{user_id}/update`.

use serde_json::{Value, json};

use crate::flows::signed_in;
use crate::harness::{Api, Client, Response, assert_response_snapshot, on_both};

on_both! {
    an_update_returns_the_whole_user
    names_and_metadata_change_and_the_rest_stays
    identifiers_are_attached_and_never_removed
    an_identifier_of_another_user_changes_nothing
    metadata_follows_the_six_rules
    a_refused_update_names_its_field_and_changes_nothing
    api_10_a_user_has_at_most_100_addresses_and_numbers
    an_attached_address_is_announced_and_ends_no_session
    only_an_existing_user_is_updated
}

async fn created(client: Client<'_>, request: Value) -> String {
    let created = client.post("/v1/auth/users/create", request).await.ok();
    created.text_at("/user_id")
}

async fn update(client: &Client<'_>, user: &str, request: Value) -> Response {
    let path = format!("/v1/auth/users/{user}/update");
    client.send("PUT", &path, Some(request)).await
}

async fn user(client: &Client<'_>, id: &str) -> Value {
    client.get(&format!("/v1/auth/users/{id}")).await.ok().body
}

async fn an_update_returns_the_whole_user(api: &Api) {
    let id = created(api.test(), json!({"email": "ada@example.com"})).await;
    api.pass(5);
    let request = json!({
        "first_name": "Ada", "phone_numbers": [{"phone_number": "+14155552671"}], "metadata": {"plan": "pro"},
    });
    let updated = update(&api.test(), &id, request).await.ok();
    assert_response_snapshot!(updated, @r#"
    {
      "body": {
        "emails": [
          {
            "created_at": 1800000000,
            "email": "ada@example.com",
            "id": "[email id]",
            "updated_at": 1800000000,
            "verified": false
          }
        ],
        "phone_numbers": [
          {
            "created_at": 1800000005,
            "id": "[pn id]",
            "phone_number": "+14155552671",
            "updated_at": 1800000005,
            "verified": false
          }
        ],
        "user": {
          "active": true,
          "app_id": "[app id]",
          "created_at": 1800000000,
          "disabled_at": 0,
          "disabled_reason": "",
          "emails": [
            {
              "created_at": 1800000000,
              "email": "ada@example.com",
              "id": "[email id]",
              "updated_at": 1800000000,
              "verified": false
            }
          ],
          "external_key": "",
          "first_name": "Ada",
          "idp_providers": [],
          "last_name": "",
          "last_sign_in_at": 0,
          "metadata": {
            "plan": "pro"
          },
          "middle_name": "",
          "phone_numbers": [
            {
              "created_at": 1800000005,
              "id": "[pn id]",
              "phone_number": "+14155552671",
              "updated_at": 1800000005,
              "verified": false
            }
          ],
          "status": "active",
          "totps": [],
          "updated_at": 1800000005,
          "user_id": "[user id]",
          "wallets": [
            {
              "app_id": "[app id]",
              "created_at": 1800000000,
              "disabled_reason": "",
              "id": "[wallet id]",
              "is_default": true,
              "is_disabled": false,
              "is_imported": false,
              "is_read_only": false,
              "public_address": "[ethereum address]",
              "updated_at": 1800000000,
              "user_id": "[user id]",
              "verified": true,
              "wallet_type": "ethereum"
            }
          ],
          "webauthn_credentials": []
        },
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    assert_eq!(user(&api.test(), &id).await, updated.body["user"]);
}

async fn names_and_metadata_change_and_the_rest_stays(api: &Api) {
    let first = json!({
        "email": "ada@example.com", "first_name": "Ada", "middle_name": "King", "last_name": "Byron", "metadata": {"a": 1},
    });
    let id = created(api.test(), first).await;
    let before = user(&api.test(), &id).await;
    api.pass(5);
    // A call that changes nothing leaves even the time of the last change.
    for request in [
        json!({}),
        json!({"first_name": null, "emails": null, "phone_numbers": [], "metadata": null, "replace_metadata": true}),
        json!({"first_name": "Ada", "emails": [{"email": "ADA@example.com"}], "metadata": {"a": 1}, "of_tomorrow": 1}),
    ] {
        let updated = update(&api.test(), &id, request).await.ok();
        assert_eq!(updated.body["user"], before);
    }
    let updated = update(&api.test(), &id, json!({"last_name": "Lovelace"}))
        .await
        .ok();
    let mut expected = before;
    expected["last_name"] = json!("Lovelace");
    expected["updated_at"] = json!(1_800_000_005);
    assert_eq!(updated.body["user"], expected);
}

/// API-10: an update attaches identifiers and never removes any.
async fn identifiers_are_attached_and_never_removed(api: &Api) {
    let id = created(api.test(), json!({"email": "ada@example.com"})).await;
    api.pass(1);
    let request = json!({
        "emails": [{"email": "Ada@Example.com"}, {"email": " two@example.com"}, {"email": "TWO@example.com"}],
        "phone_numbers": [{"phone_number": "+14155552671"}, {"phone_number": "+14155552671"}],
    });
    let updated = update(&api.test(), &id, request).await.ok();
    let addresses = |response: &Response| {
        let emails = response.body["emails"].as_array().unwrap().clone();
        emails
            .iter()
            .map(|email| email["email"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(addresses(&updated), ["ada@example.com", "two@example.com"]);
    assert_eq!(updated.body["phone_numbers"].as_array().unwrap().len(), 1);
    let request = json!({"emails": [], "phone_numbers": []});
    let again = update(&api.test(), &id, request).await.ok();
    assert_eq!(addresses(&again), ["ada@example.com", "two@example.com"]);
    assert_eq!(again.body["phone_numbers"], updated.body["phone_numbers"]);
}

/// A user has at most 100 addresses and 100 numbers: one more is 409, and nothing changes until one is deleted.
async fn api_10_a_user_has_at_most_100_addresses_and_numbers(api: &Api) {
    let id = created(api.test(), json!({"email": "ada@example.com"})).await;
    let emails = |from: usize, to: usize| {
        let emails = (from..to).map(|number| json!({"email": format!("ada{number}@example.com")}));
        emails.collect::<Vec<_>>()
    };
    let numbers = |from: usize, to: usize| {
        let number = |number| json!({"phone_number": format!("+1415555{:04}", 2_000 + number)});
        (from..to).map(number).collect::<Vec<_>>()
    };
    let request = json!({"emails": emails(1, 100), "phone_numbers": numbers(0, 100)});
    let full = update(&api.test(), &id, request).await.ok();
    assert_eq!(full.body["emails"].as_array().unwrap().len(), 100);
    assert_eq!(full.body["phone_numbers"].as_array().unwrap().len(), 100);
    let before = user(&api.test(), &id).await;
    for (request, param) in [
        (
            json!({"emails": emails(100, 101), "first_name": "A"}),
            "emails[0].email",
        ),
        (
            json!({"emails": emails(1, 2), "phone_numbers": numbers(100, 101)}),
            "phone_numbers[0].phone_number",
        ),
    ] {
        let refused = update(&api.test(), &id, request).await;
        refused.refuses(409, "limit_reached", Some(param));
        assert_eq!(user(&api.test(), &id).await, before);
    }
    // An identifier that the user already has is not another one.
    let request = json!({"emails": emails(1, 2), "phone_numbers": numbers(0, 1)});
    update(&api.test(), &id, request).await.ok();
    let spare = before["emails"][99]["id"].as_str().unwrap();
    let path = format!("/v1/auth/users/emails/{spare}/delete");
    api.test().delete(&path, None).await.ok();
    let request = json!({"emails": emails(100, 101)});
    let updated = update(&api.test(), &id, request).await.ok();
    assert_eq!(updated.body["emails"].as_array().unwrap().len(), 100);
}

/// API-10: an identifier of another user is 409, and nothing changes.
async fn an_identifier_of_another_user_changes_nothing(api: &Api) {
    let other = json!({"email": "bob@example.com", "phone_number": "+14155552671"});
    created(api.test(), other).await;
    let id = created(api.test(), json!({"email": "ada@example.com"})).await;
    let before = user(&api.test(), &id).await;
    for (request, param) in [
        (
            json!({"first_name": "A", "metadata": {"a": 1}, "emails": [{"email": "new@example.com"}, {"email": "BOB@example.com"}]}),
            "emails[1].email",
        ),
        (
            json!({"emails": [{"email": "new@example.com"}], "phone_numbers": [{"phone_number": "+14155552671"}]}),
            "phone_numbers[0].phone_number",
        ),
    ] {
        let refused = update(&api.test(), &id, request).await;
        refused.refuses(409, "duplicate", Some(param));
        assert_eq!(user(&api.test(), &id).await, before);
    }
    // The other identifier of the call is still free, and the same address can exist in the other environment.
    created(api.test(), json!({"email": "new@example.com"})).await;
    let live = created(api.live(), json!({"email": "ada@example.com"})).await;
    let request = json!({"emails": [{"email": "bob@example.com"}]});
    update(&api.live(), &live, request).await.ok();
}

/// API-13, API-14; the domain crate tests the underlying laws.
async fn metadata_follows_the_six_rules(api: &Api) {
    let metadata = json!({"a": 1, "b": {"x": 1, "y": 2}, "c": [1, 2], "d": "gone"});
    let request = json!({"email": "ada@example.com", "metadata": metadata});
    let id = created(api.test(), request).await;
    for (rule, request, expected) in [
        (
            "1 and 2 and 5",
            json!({"metadata": {"b": {"z": 3}, "c": [3], "d": null, "e": true, "absent": null}}),
            json!({"a": 1, "b": {"z": 3}, "c": [3], "e": true}),
        ),
        (
            "4",
            json!({"metadata": null, "replace_metadata": true}),
            json!({"a": 1, "b": {"z": 3}, "c": [3], "e": true}),
        ),
        (
            "6",
            json!({"metadata": {"b": {"w": null}, "n": null}, "replace_metadata": true}),
            json!({"b": {"w": null}, "n": null}),
        ),
        (
            "6, but not by default",
            json!({"metadata": {"f": 1}, "replace_metadata": false}),
            json!({"b": {"w": null}, "n": null, "f": 1}),
        ),
        ("3", json!({"metadata": {}}), json!({})),
    ] {
        let updated = update(&api.test(), &id, request).await.ok();
        assert_eq!(updated.body["user"]["metadata"], expected, "rule {rule}");
        assert_eq!(
            user(&api.test(), &id).await["metadata"],
            expected,
            "rule {rule}"
        );
    }
    // The limits apply to the result.
    let keys = |from: usize, count: usize| -> Value {
        (from..from + count)
            .map(|key| (key.to_string(), json!(key)))
            .collect()
    };
    update(&api.test(), &id, json!({"metadata": keys(0, 30)}))
        .await
        .ok();
    let over = update(&api.test(), &id, json!({"metadata": keys(30, 21)})).await;
    over.refuses(400, "invalid_field", Some("metadata"));
    let over = json!({"metadata": {"k": "x".repeat(16 * 1024)}, "first_name": "A"});
    let over = update(&api.test(), &id, over).await;
    over.refuses(400, "invalid_field", Some("metadata"));
    let stored = user(&api.test(), &id).await;
    assert_eq!(
        (&stored["metadata"], &stored["first_name"]),
        (&keys(0, 30), &json!(""))
    );
    let other = json!({"metadata": keys(30, 50), "replace_metadata": true});
    update(&api.test(), &id, other).await.ok();
}

async fn a_refused_update_names_its_field_and_changes_nothing(api: &Api) {
    let id = created(api.test(), json!({"email": "ada@example.com"})).await;
    let before = user(&api.test(), &id).await;
    let many = vec![json!({"email": "a@example.com"}); 101];
    for (request, code, param) in [
        (json!({"first_name": ""}), "invalid_field", "first_name"),
        (
            json!({"middle_name": "a\nb"}),
            "invalid_field",
            "middle_name",
        ),
        (
            json!({"last_name": "x".repeat(256)}),
            "invalid_field",
            "last_name",
        ),
        (json!({"first_name": 7}), "invalid_field", "first_name"),
        (
            json!({"emails": "a@example.com"}),
            "invalid_field",
            "emails",
        ),
        (
            json!({"emails": ["a@example.com"]}),
            "invalid_field",
            "emails[0]",
        ),
        (json!({"emails": [{}]}), "missing_field", "emails[0].email"),
        (
            json!({"emails": [{"email": "new@example.com"}, {"email": ""}]}),
            "invalid_field",
            "emails[1].email",
        ),
        (json!({"emails": many}), "invalid_field", "emails"),
        (
            json!({"phone_numbers": [{"phone_number": "4155552671"}]}),
            "invalid_field",
            "phone_numbers[0].phone_number",
        ),
        (
            json!({"phone_numbers": [{}]}),
            "missing_field",
            "phone_numbers[0].phone_number",
        ),
        (json!({"metadata": []}), "invalid_field", "metadata"),
        (
            json!({"metadata": {"a": "x\u{0}"}}),
            "invalid_field",
            "metadata.a",
        ),
        (
            json!({"replace_metadata": "yes"}),
            "invalid_field",
            "replace_metadata",
        ),
    ] {
        let refused = update(&api.test(), &id, request).await;
        refused.refuses(400, code, Some(param));
    }
    let path = format!("/v1/auth/users/{id}/update");
    let nothing = api.test().send("PUT", &path, None).await;
    nothing.refuses(400, "invalid_request", None);
    assert_eq!(user(&api.test(), &id).await, before);
}

/// S-6: the owner is notified. An address that the App's backend attached cannot sign in yet, so no session ends.
async fn an_attached_address_is_announced_and_ends_no_session(api: &Api) {
    let session = signed_in(api, "ada@example.com").await;
    let id = session.text_at("/user_id");
    let request = json!({"emails": [{"email": "two@example.com"}], "phone_numbers": [{"phone_number": "+14155552671"}]});
    update(&api.test(), &id, request.clone()).await.ok();
    let token = json!({"session_token": session.text_at("/session_token")});
    api.test()
        .post("/v1/auth/sessions/verify", token)
        .await
        .ok();
    api.deliver().await;
    let notices = "/v1/test/messages?kind=security_notice";
    let messages = api.test().get(notices).await.ok();
    let messages = messages.body["messages"].as_array().unwrap().clone();
    assert_eq!(messages.len(), 2);
    assert!(
        messages
            .iter()
            .all(|message| message["to"] == "ada@example.com")
    );
    // An identifier that the user already has changes nothing and causes no notice.
    update(&api.test(), &id, request).await.ok();
    api.deliver().await;
    let messages = api.test().get(notices).await.ok();
    assert_eq!(messages.body["messages"].as_array().unwrap().len(), 2);
}

async fn only_an_existing_user_is_updated(api: &Api) {
    let id = created(api.test(), json!({"email": "ada@example.com"})).await;
    let absent = format!("user_{}", "0".repeat(27));
    for id in [absent.as_str(), "user_x", "me"] {
        let refused = update(&api.test(), id, json!({"first_name": "A"})).await;
        refused.refuses(404, "not_found", Some("user"));
    }
    for stranger in [api.live(), api.other_app().await] {
        let refused = update(&stranger, &id, json!({"first_name": "A"})).await;
        refused.refuses(404, "not_found", Some("user"));
    }
    assert_eq!(user(&api.test(), &id).await["first_name"], "");
}
