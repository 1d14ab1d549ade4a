//! Attack 1, the five kinds of pre-hijacking, with a victim who signs in through an identity provider that has verified the address (O-9,
//! O-10).
//!
//! `takeover` covers what the attacker plants and how each piece is tried afterwards.

use serde_json::json;
use vestry_contract::provider::{Person, Shape};

use super::people::{self, is_open};
use super::takeover::{
    ATTACKER, Planted, VICTIM, a_pending_address_is_no_way_back,
    a_planted_identifier_opens_nothing, an_extended_session_does_not_survive, planted, stays_out,
    user,
};
use crate::flows::signed_in;
use crate::harness::{Api, Response, on_both};
use crate::oauth::setup::{ProviderSetup, provider_options};
use crate::oauth::{token, verify};

on_both! { provider_options;
    attack_1_classic_federated_merge
    attack_1_unexpired_session
    attack_1_trojan_identifier
    attack_1_trojan_account_of_a_provider
    attack_1_unexpired_email_change
    attack_1_non_verifying_provider
    attack_18_a_claimed_address_does_not_replace_the_state
}

/// The victim's provider, which verifies addresses.
async fn google(api: &Api) -> ProviderSetup<'_> {
    people::with_urls(api).await;
    ProviderSetup::at(api, "google", Shape::OpenId).await
}

fn the_victim() -> Person {
    Person::new("1", VICTIM)
}

/// The attacker's own account at the same provider.
fn the_attacker() -> Person {
    Person::new("666", ATTACKER)
}

/// Planted: password, authenticator app, recovery codes, passkey, number, sessions, an unmailed link, and an unverified sign-in with the
/// attacker's own provider account.
async fn attack_1_classic_federated_merge(api: &Api) {
    let setup = google(api).await;
    let mut planted = Planted::everything(api).await;
    let (landed, state) = setup.landed().await;
    let waiting = token(&landed);
    for token in &planted.sessions[1..] {
        assert!(is_open(api, token).await);
    }

    let victim = setup.sign_in(the_victim()).await.ok();
    planted.is_dead(api, &victim).await;
    for token in &planted.sessions {
        let request = json!({"token": waiting, "state": state, "session_token": token});
        let refused = verify(&setup.client, request).await;
        refused.refuses(401, "invalid_session", None);
    }
    let request = json!({"token": waiting, "session_expires_in": 60});
    stays_out(&verify(&setup.client, request).await.ok(), &planted.user_id);
    let back = setup.sign_in(the_attacker()).await.ok();
    stays_out(&back, &planted.user_id);
    only_links(api, &planted.user_id, "1").await;
}

/// Asserts that the user has exactly this link.
async fn only_links(api: &Api, user_id: &str, subject: &str) {
    let user = user(api, user_id).await;
    let links = user["idp_providers"].as_array().unwrap();
    assert_eq!(links.len(), 1, "{user}");
    assert_eq!(links[0]["provider_subject"], subject);
}

async fn attack_1_unexpired_session(api: &Api) {
    let setup = google(api).await;
    let victim = async |_: &Api| setup.sign_in(the_victim()).await.ok();
    an_extended_session_does_not_survive(api, victim).await;
}

/// A number that the attacker has registered next to the victim's address.
async fn attack_1_trojan_identifier(api: &Api) {
    let setup = google(api).await;
    let victim = async |_: &Api| setup.sign_in(the_victim()).await.ok();
    a_planted_identifier_opens_nothing(api, victim).await;
}

/// The attacker's account came from their own provider account, and the victim's address was attached to it. The address moves to the
/// victim, and the attacker does not get into the victim's account.
async fn attack_1_trojan_account_of_a_provider(api: &Api) {
    let setup = google(api).await;
    let trojan = setup.sign_in(the_attacker().with_verified(json!(false)));
    let trojan = trojan.await.ok();
    let account = trojan.text_at("/user_id");
    let path = format!("/v1/auth/users/{account}/update");
    let attach = json!({"emails": [{"email": VICTIM}]});
    api.test().send("PUT", &path, Some(attach)).await.ok();

    let victim = setup.sign_in(the_victim()).await.ok();
    stays_out(&victim, &account);
    let victim = victim.text_at("/user_id");
    assert_eq!(user(api, &victim).await["emails"][0]["email"], VICTIM);
    assert_eq!(user(api, &account).await["emails"], json!([]));
    // Neither gets into the other's account: the session belongs to the attacker's own account, and their sign-in method leads only there.
    assert!(is_open(api, &trojan.text_at("/session_token")).await);
    let back = setup.sign_in(the_attacker()).await.ok();
    assert_eq!(back.text_at("/user_id"), account);
    only_links(api, &victim, "1").await;
    only_links(api, &account, "666").await;
}

async fn attack_1_unexpired_email_change(api: &Api) {
    let setup = google(api).await;
    let victim = async |_: &Api| setup.sign_in(the_victim()).await.ok();
    a_pending_address_is_no_way_back(api, victim).await;
}

/// Providers that accept any claimed address, in each form in which they say that it is unverified.
async fn attack_1_non_verifying_provider(api: &Api) {
    let google = google(api).await;
    for (name, shape, verified) in [
        ("example", Shape::OpenId, json!(true)),
        ("microsoft", Shape::Microsoft, json!(true)),
        ("github", Shape::GitHub, json!(false)),
        ("discord", Shape::Discord, json!(false)),
    ] {
        let careless = ProviderSetup::at(api, name, shape).await;
        let claims = |subject: &str| Person::new(subject, VICTIM).with_verified(verified.clone());
        // Before the victim: an account without the address. With an account planted under it: not even that.
        let before = careless.sign_in(claims("666")).await.ok();
        let account = before.text_at("/user_id");
        assert_eq!(user(api, &account).await["emails"], json!([]), "{name}");
        let planted = planted(api).await;
        let refused = careless.sign_in(claims("667")).await;
        refused.refuses(409, "duplicate", Some("email"));

        let victims = if shape == Shape::Discord {
            signed_in(api, VICTIM).await
        } else {
            google.sign_in(the_victim()).await.ok()
        };
        assert_eq!(victims.text_at("/user_id"), planted, "{name}");
        nobody_claims_it(api, &careless, &before, &claims).await;
        assert!(is_open(api, &victims.text_at("/session_token")).await);
        // The next provider meets an unknown address.
        let path = format!("/v1/auth/users/{planted}/delete");
        api.test().delete(&path, None).await.ok();
        api.pass(86_400);
    }
}

/// After the victim: the claim is worth what it was before, within the attacker's session too.
async fn nobody_claims_it(
    api: &Api,
    careless: &ProviderSetup<'_>,
    before: &Response,
    claims: &impl Fn(&str) -> Person,
) {
    let account = before.text_at("/user_id");
    let again = careless.sign_in(claims("666")).await.ok();
    assert_eq!(again.text_at("/user_id"), account);
    let refused = careless.sign_in(claims("667")).await;
    refused.refuses(409, "duplicate", Some("email"));
    let session = again.text_at("/session_token");
    let linked = careless.link(claims("668"), &session).await.ok();
    assert_eq!(linked.text_at("/user_id"), account);
    assert_eq!(user(api, &account).await["emails"], json!([]));
}

/// The attacker's address is a claim in the victim's account, and the attacker passes the victim a token of their own sign-in.
async fn attack_18_a_claimed_address_does_not_replace_the_state(api: &Api) {
    let setup = google(api).await;
    let session = signed_in(api, VICTIM).await;
    let (id, session) = (
        session.text_at("/user_id"),
        session.text_at("/session_token"),
    );
    let path = format!("/v1/auth/users/{id}/update");
    let attach = json!({"emails": [{"email": ATTACKER}]});
    api.test().send("PUT", &path, Some(attach)).await.ok();
    setup.server.signs_in(Some(the_attacker()));
    let (landed, state) = setup.landed().await;
    let request = json!({"token": token(&landed), "session_token": session});
    let refused = verify(&setup.client, request.clone()).await;
    refused.refuses(401, "invalid_session", None);
    let before = user(api, &id).await;
    assert_eq!(before["idp_providers"], json!([]));
    assert_eq!(before["emails"][1]["verified"], false);
    assert!(is_open(api, &session).await);
    let mut request = request;
    request["state"] = json!(state);
    let linked = verify(&setup.client, request).await.ok();
    assert_eq!(linked.text_at("/user_id"), id);
}
