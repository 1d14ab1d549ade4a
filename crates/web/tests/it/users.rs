//! `users/create` and `users/{user_id}`.

use serde_json::json;

use crate::rig::{Api, on_both};

on_both! {
    a_user_is_created_with_a_wallet
}

async fn a_user_is_created_with_a_wallet(api: &Api) {
    let created = api.test().post("/v1/auth/users/create", json!({"email": "Ada@Example.com", "include_user": true})).await.ok();
    insta::assert_json_snapshot!(created.shown(), @"");
    let user = api.test().get(&format!("/v1/auth/users/{}", created.text_at("/user_id"))).await.ok();
    assert_eq!(user.body, created.body["user"]);
}
