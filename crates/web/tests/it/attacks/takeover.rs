//! Row 1: accounts that somebody planted for another person.

use serde_json::json;

use crate::journeys::{sent, signed_in, verified};
use crate::rig::{Api, on_both};

on_both! {
    attack_1_a_planted_identifier_opens_nothing
}

const VICTIM: &str = "victim@example.com";

/// The trojan identifier: registered beside the victim's address, it is not let in after the victim came.
async fn attack_1_a_planted_identifier_opens_nothing(api: &Api) {
    let planted =
        json!({"email": VICTIM, "phone_number": "+14155552671", "requires_verification": true});
    let planted = api.test().post("/v1/auth/users/create", planted).await.ok();
    let victim = signed_in(api, VICTIM).await;
    assert_eq!(victim.text_at("/user_id"), planted.text_at("/user_id"));
    let user = api
        .test()
        .get(&format!("/v1/auth/users/{}", victim.text_at("/user_id")))
        .await
        .ok();
    let phones = user.body["phone_numbers"].as_array().unwrap();
    assert!(phones.iter().all(|phone| phone["verified"] == false));
    let code = sent(api, &api.test(), VICTIM).await;
    let more = json!({"session_token": victim.text_at("/session_token")});
    verified(&api.test(), &code, more).await.ok();
}
