//! Attack 28: a create call is repeated after its response was lost.

use futures_util::future::join_all;
use serde_json::json;

use crate::harness::{Api, on_both};

on_both! {
    attack_28_a_create_with_a_lost_response_creates_one_user
    attack_28_parallel_creates_make_one_user
}

const CREATE: &str = "/v1/auth/users/create";

/// The users that have the address.
async fn users(api: &Api, email: &str) -> Vec<String> {
    let fields = [json!({"field": "email", "operator": "eq", "value": email})];
    let request = json!({"filters": {"operator": "AND", "fields": fields}});
    let found = api.test().post("/v1/auth/users/search", request).await.ok();
    let users = found.body["users"].as_array().unwrap();
    users
        .iter()
        .map(|user| user["user_id"].as_str().unwrap().to_owned())
        .collect()
}

/// The client sends, and disconnects before it reads. Whatever the outcome, the repeat ends with one user, whom a lookup finds.
async fn attack_28_a_create_with_a_lost_response_creates_one_user(api: &Api) {
    for number in 0..20 {
        let email = format!("lost-{number}@example.com");
        let request = json!({"email": email, "wallet_type": "ethereum"});
        let body = request.to_string();
        let client = api.test().header("Content-Type", "application/json");
        let mut lost = api.connect().await;
        let head = client.head("POST", CREATE, body.len());
        lost.send(format!("{head}{body}").as_bytes()).await;
        drop(lost);
        let again = api.test().post(CREATE, request.clone()).await;
        if again.status != 200 {
            again.refuses(409, "duplicate", Some("email"));
        }
        let third = api.test().post(CREATE, request).await;
        third.refuses(409, "duplicate", Some("email"));
        let found = users(api, &email).await;
        assert_eq!(found.len(), 1, "{found:?}");
        let login = json!({ "email": email });
        let path = "/v1/auth/otps/email/login_or_create";
        let known = api.test().post(path, login).await.ok();
        assert_eq!(known.text_at("/user_id"), found[0]);
    }
}

async fn attack_28_parallel_creates_make_one_user(api: &Api) {
    for number in 0..4 {
        let email = format!("parallel-{number}@example.com");
        let request =
            json!({"email": email, "phone_number": format!("+1415555{:04}", 2_000 + number)});
        let tries = (0..50).map(|_| async { api.test().post(CREATE, request.clone()).await });
        let responses = join_all(tries).await;
        let made = responses
            .iter()
            .filter(|response| response.status == 200)
            .count();
        assert_eq!(made, 1);
        for refused in responses.iter().filter(|response| response.status != 200) {
            assert_eq!(
                (refused.status, refused.code()),
                (409, "duplicate"),
                "{}",
                refused.text
            );
        }
        assert_eq!(users(api, &email).await.len(), 1);
    }
}
