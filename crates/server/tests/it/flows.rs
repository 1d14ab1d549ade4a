//! End-to-end flows through the real binary, on both databases.

use serde_json::json;

use crate::on_both_databases;
use crate::support::flow::{assert_signed, new_owner, sign, sign_in};
use crate::support::installation::{Installation, text};

on_both_databases! {
    /// A user with a wallet signs a message.
    a_new_user_signs_a_message => super::a_new_user_signs_a_message;
    /// A mailed code becomes a session; ending the session works at once (S-4).
    a_code_becomes_a_session_and_the_session_ends => super::a_code_becomes_a_session_and_the_session_ends;
    /// I11: nothing of one App is visible to another, nothing of test in live.
    worlds_do_not_mix => super::worlds_do_not_mix;
}

async fn a_new_user_signs_a_message(installation: Installation) {
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    let owner = new_owner(&api, "ada@example.com").await;
    for message in ["test", "", "Grüße, 世界", &"long ".repeat(1000)] {
        let signed = sign(&api, &owner, message).await.ok();
        assert_eq!(signed["wallet"]["public_address"], owner.address.as_str());
        assert_signed(
            &installation.database,
            &owner,
            message,
            &text(&signed, "signature"),
        )
        .await;
    }
    let listed = api
        .get(&format!("/v1/wallets/list?user_id={}", owner.user_id))
        .await
        .ok();
    assert_eq!(listed["total_count"], 1);
    server.process.stop().await;
}

async fn a_code_becomes_a_session_and_the_session_ends(installation: Installation) {
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let signed_in = sign_in(&api, "ada@example.com").await;
    let token = json!({ "session_token": text(&signed_in, "session_token") });
    let jwt = json!({ "session_jwt": text(&signed_in, "session_jwt") });
    let session_id = signed_in["session"]["id"].clone();
    for named in [&token, &jwt] {
        let verified = api.post("/v1/auth/sessions/verify", named).await.ok();
        assert_eq!(verified["session"]["id"], session_id);
    }
    let set = api.get(&format!("/v1/auth/jwks/{}", keys.app)).await.ok();
    assert_eq!(
        set["keys"].as_array().unwrap().len(),
        2,
        "one for test, one for live"
    );

    api.delete("/v1/auth/sessions/delete", &token).await.ok();
    for named in [&token, &jwt] {
        let refused = api.post("/v1/auth/sessions/verify", named).await;
        assert_eq!(refused.error(401), "invalid_session");
    }
    server.process.stop().await;
}

async fn worlds_do_not_mix(installation: Installation) {
    let keys = installation.set_up();
    let others = installation.new_app();
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let owner = new_owner(&api, "ada@example.com").await;
    for key in [&keys.live, &others.test, &others.live] {
        let stranger = api.with_key(key);
        for path in [
            format!("/v1/auth/users/{}", owner.user_id),
            format!("/v1/wallets/{}", owner.wallet_id),
        ] {
            assert_eq!(stranger.get(&path).await.error(404), "not_found");
        }
        // The same address belongs to another user there.
        assert_ne!(
            new_owner(&stranger, "ada@example.com").await.user_id,
            owner.user_id
        );
    }
    server.process.stop().await;
}
