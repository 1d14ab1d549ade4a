//! Deletion of a user, and of the objects that belong to one.

use serde_json::{Value, json};

use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, Client, Response, assert_response_snapshot, on_both};

on_both! {
    a_deleted_user_is_gone
    a_removed_address_is_gone
    a_removed_number_is_gone_by_either_path
    the_last_sign_in_method_stays
    a_wallet_with_a_key_stays
    only_what_exists_is_deleted
}

async fn created(client: &Client<'_>, request: Value) -> Value {
    let mut request = request;
    request["include_user"] = json!(true);
    let created = client.post("/v1/auth/users/create", request).await.ok();
    created.body["user"].clone()
}

async fn delete(client: &Client<'_>, what: &str, id: &Value) -> Response {
    let id = id.as_str().unwrap();
    client
        .delete(&format!("/v1/auth/users/{what}{id}/delete"), None)
        .await
}

/// S-5, attack 14: everything of the user is void at once, and its address is free.
async fn a_deleted_user_is_gone(api: &Api) {
    let test = api.test();
    let session = signed_in(api, "ada@example.com").await;
    let id = session.text_at("/user_id");
    let wallet = json!({"user_id": id, "wallet_type": "ethereum"});
    let wallet = test
        .post("/v1/wallets/create", wallet)
        .await
        .ok()
        .text_at("/id");
    let code = sent(api, &test, "ada@example.com").await;
    let deleted = delete(&test, "", &json!(id)).await.ok();
    assert_response_snapshot!(deleted, @r#"
    {
      "body": {
        "message": "Successfully deleted user",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    for path in [
        format!("/v1/auth/users/{id}"),
        format!("/v1/auth/sessions/list?user_id={id}"),
    ] {
        test.get(&path)
            .await
            .refuses(404, "not_found", Some("user"));
    }
    let found = test.get(&format!("/v1/wallets/{wallet}")).await;
    found.refuses(404, "not_found", Some("wallet"));
    let signed = test
        .post(
            &format!("/v1/wallets/{wallet}/sign_message"),
            json!({"message": "x"}),
        )
        .await;
    signed.refuses(404, "not_found", Some("wallet"));
    for name in ["session_token", "session_jwt"] {
        let body = json!({ name: session.text_at(&format!("/{name}")) });
        let refused = test.post("/v1/auth/sessions/verify", body).await;
        refused.refuses(401, "invalid_session", None);
    }
    let refused = verified(&test, &code, json!({"session_expires_in": 60})).await;
    refused.refuses(400, "invalid_otp", None);
    for again in [
        delete(&test, "", &json!(id)).await,
        test.send(
            "PUT",
            &format!("/v1/auth/users/{id}/update"),
            Some(json!({})),
        )
        .await,
    ] {
        again.refuses(404, "not_found", Some("user"));
    }
    let fresh = created(&test, json!({"email": "ada@example.com"})).await;
    assert_ne!(fresh["user_id"], id);
}

/// Codes are voided with the address, sessions end, and the owner is notified at an address where mail is known to be read (S-6).
async fn a_removed_address_is_gone(api: &Api) {
    let test = api.test();
    let session = signed_in(api, "ada@example.com").await;
    let id = session.text_at("/user_id");
    api.pass(1);
    let request = json!({"emails": [{"email": "two@example.com", "verified": true}]});
    let updated = test
        .send("PUT", &format!("/v1/auth/users/{id}/update"), Some(request))
        .await
        .ok();
    let code = sent(api, &test, "ada@example.com").await;
    let email = &updated.body["emails"][0];
    assert_eq!(email["email"], "ada@example.com");
    let deleted = delete(&test, "emails/", &email["id"]).await.ok();
    let expected = json!({"message": "Successfully deleted user email", "user_id": id});
    assert_eq!(deleted.body, expected);
    let user = test.get(&format!("/v1/auth/users/{id}")).await.ok();
    assert_eq!(user.body["emails"].as_array().unwrap().len(), 1);
    assert_eq!(user.body["emails"][0]["email"], "two@example.com");
    let refused = verified(&test, &code, json!({})).await;
    refused.refuses(400, "invalid_otp", None);
    let token = json!({"session_token": session.text_at("/session_token")});
    let refused = test.post("/v1/auth/sessions/verify", token).await;
    refused.refuses(401, "invalid_session", None);
    api.deliver().await;
    let notices = test
        .get("/v1/test/messages?to=ada@example.com&kind=security_notice")
        .await
        .ok();
    assert!(
        notices.text_at("/messages/0/text").contains("removed"),
        "{}",
        notices.text
    );
    delete(&test, "emails/", &email["id"])
        .await
        .refuses(404, "not_found", Some("email"));
    created(&test, json!({"email": "ada@example.com"})).await;
}

async fn a_removed_number_is_gone_by_either_path(api: &Api) {
    let test = api.test();
    for (number, path) in ["phone_numbers/", "phone_number/"].into_iter().enumerate() {
        let request =
            json!({"email": format!("u{number}@example.com"), "phone_number": "+14155552671"});
        let user = created(&test, request).await;
        let phone = &user["phone_numbers"][0]["id"];
        let deleted = delete(&test, path, phone).await.ok();
        let expected = json!({"message": "Successfully deleted user phone number", "user_id": user["user_id"]});
        assert_eq!(deleted.body, expected);
        let left = test
            .get(&format!(
                "/v1/auth/users/{}",
                user["user_id"].as_str().unwrap()
            ))
            .await
            .ok();
        assert_eq!(left.body["phone_numbers"], json!([]));
        delete(&test, path, phone)
            .await
            .refuses(404, "not_found", Some("phone_number"));
    }
}

/// API-11: the last sign-in method cannot be removed.
async fn the_last_sign_in_method_stays(api: &Api) {
    let test = api.test();
    let user = created(
        &test,
        json!({"email": "ada@example.com", "phone_number": "+14155552671"}),
    )
    .await;
    delete(&test, "phone_numbers/", &user["phone_numbers"][0]["id"])
        .await
        .ok();
    let code = sent(api, &test, "ada@example.com").await;
    let refused = delete(&test, "emails/", &user["emails"][0]["id"]).await;
    assert_response_snapshot!(refused, @r#"
    {
      "body": {
        "error": {
          "code": "last_sign_in_method",
          "message": "this is the user's last sign-in method; add another one first"
        },
        "error_message": "this is the user's last sign-in method; add another one first",
        "error_type": "last_sign_in_method",
        "request_id": "[request id]",
        "status_code": 409
      },
      "status": 409
    }
    "#);
    // A refusal costs nothing: the pending code is valid.
    verified(&test, &code, json!({})).await.ok();
    let user = created(&test, json!({"phone_number": "+447400123456"})).await;
    let refused = delete(&test, "phone_numbers/", &user["phone_numbers"][0]["id"]).await;
    refused.refuses(409, "last_sign_in_method", None);
}

/// Only read-only imported wallets can be deleted (API-11).
async fn a_wallet_with_a_key_stays(api: &Api) {
    let test = api.test();
    let user = created(&test, json!({"email": "ada@example.com"})).await;
    let wallet = &user["wallets"][0]["id"];
    let refused = delete(&test, "wallets/", wallet).await;
    refused.refuses(403, "policy_denied", None);
    let path = format!("/v1/wallets/{}/sign_message", wallet.as_str().unwrap());
    test.post(&path, json!({"message": "still here"}))
        .await
        .ok();
}

/// B4: foreign, nonexistent and malformed look the same.
async fn only_what_exists_is_deleted(api: &Api) {
    let test = api.test();
    let user = created(
        &test,
        json!({"email": "ada@example.com", "phone_number": "+14155552671"}),
    )
    .await;
    let other = api.other_app().await;
    let before = test
        .get(&format!(
            "/v1/auth/users/{}",
            user["user_id"].as_str().unwrap()
        ))
        .await
        .ok();
    for (what, prefix, resource, own) in [
        ("", "user", "user", &user["user_id"]),
        ("emails/", "email", "email", &user["emails"][0]["id"]),
        (
            "phone_numbers/",
            "pn",
            "phone_number",
            &user["phone_numbers"][0]["id"],
        ),
        (
            "phone_number/",
            "pn",
            "phone_number",
            &user["phone_numbers"][0]["id"],
        ),
        ("wallets/", "wallet", "wallet", &user["wallets"][0]["id"]),
    ] {
        for client in [&api.live(), &other] {
            let foreign = delete(client, what, own).await;
            foreign.refuses(404, "not_found", Some(resource));
        }
        for absent in [
            format!("{prefix}_{}", "0".repeat(27)),
            format!("{prefix}_x"),
            "me".to_owned(),
        ] {
            let absent = delete(&test, what, &json!(absent)).await;
            absent.refuses(404, "not_found", Some(resource));
        }
    }
    let path = format!("/v1/auth/users/{}", user["user_id"].as_str().unwrap());
    assert_eq!(test.get(&path).await.ok().body, before.body);
}
