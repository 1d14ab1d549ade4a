//! F6 through the running service: providers that respond badly.
//!
//! Every case ends in the documented error, at our callback and at the App's own, without a user, session or token. Then the same App signs
//! a person in.

use std::time::Duration;

use futures_util::future::join_all;
use vestry_contract::provider::evil::{At, Fault, OTHER_ISSUERS, SPOILED, answers, unknown_key};
use vestry_contract::provider::{Person, Reply, Shape};
use vestry_domain::timestamp::Seconds;
use vestry_ports::clock::Clock;

use super::desk::{Desk, provider_wishes, users, wishes_within};
use super::{LOGIN, lands, token};
use crate::rig::{Api, Wishes, on_both};

on_both! { provider_wishes;
    f6_tokens_that_must_not_be_accepted
    f6_responses_that_are_invalid
    f6_a_document_of_another_issuer
    f6_a_clock_that_is_wrong
    f6_unknown_key_ids_fetch_the_set_once_more_and_then_no_more
}

/// Responses that never end. The service does not wait long for those.
mod endless {
    use super::{hasty_wishes, on_both};

    on_both! { hasty_wishes;
        f6_answers_that_do_not_end
    }

    async fn f6_answers_that_do_not_end(api: &crate::rig::Api) {
        super::answers_refused(api, super::is_endless).await;
    }
}

fn hasty_wishes() -> Wishes {
    wishes_within(Duration::from_secs(2))
}

const fn is_endless(reply: &Reply) -> bool {
    matches!(reply, Reply::Stalls(_))
}

/// The value of `error=`.
const fn told(fault: Fault) -> &'static str {
    match fault {
        Fault::Refused | Fault::Invalid => "provider_refused",
        Fault::Unavailable => "provider_unavailable",
        Fault::Misconfigured => "provider_misconfigured",
    }
}

/// A sign-in with our callback: no token, and the matching error.
async fn comes_to_nothing(desk: &Desk<'_>, fault: Fault, case: &str) {
    let (landed, _) = desk.landed().await;
    assert_eq!(landed, format!("{LOGIN}?error={}", told(fault)), "{case}");
}

/// Asserts that the connection still works, and signs a new person in.
async fn works(api: &Api, desk: &Desk<'_>) {
    assert_eq!(users(api).await, 0, "no user was created");
    let signed_in = desk.sign_in(Person::new("1001", "ada@example.com")).await;
    signed_in.ok();
    assert_eq!(users(api).await, 1);
}

async fn f6_tokens_that_must_not_be_accepted(api: &Api) {
    lands(api).await;
    let desk = Desk::at(api, "google", Shape::OpenId).await;
    for (case, spoil) in SPOILED {
        desk.server.spoils(spoil);
        comes_to_nothing(&desk, Fault::Invalid, case).await;
        let refused = desk.verifies(&desk.own().await).await;
        let found = (refused.status, refused.code());
        assert_eq!(found, (400, "invalid_oauth_token"), "{case}");
    }
    desk.server.spoils_nothing();
    works(api, &desk).await;
}

async fn f6_responses_that_are_invalid(api: &Api) {
    answers_refused(api, |reply| !is_endless(reply)).await;
}

/// Substitutes each such response once for the right one. A provider whose document cannot be fetched is noticed before the browser leaves.
async fn answers_refused(api: &Api, is_wanted: impl Fn(&Reply) -> bool) {
    lands(api).await;
    // Ports are reused, and caches are keyed by address: all providers stay until the end.
    let mut desks = Vec::new();
    for (case, at, reply, fault) in answers() {
        if !is_wanted(&reply) {
            continue;
        }
        let desk = Desk::at(api, "google", Shape::OpenId).await;
        // Queried for the address only if it is not in the id token.
        desk.server
            .spoils(|draft| drop(draft.claims.remove("email")));
        desk.server.replies(at.path(&desk.server), Some(reply));
        let case = format!("{at:?} {case}");
        if at == At::Discovery {
            does_not_begin(&desk, fault, &case).await;
        } else {
            comes_to_nothing(&desk, fault, &case).await;
        }
        desks.push(desk);
    }
    assert_eq!(users(api).await, 0, "no user was created");
    let desk = Desk::at(api, "google", Shape::OpenId).await;
    works(api, &desk).await;
}

/// Asserts that `begin` reports the provider as unreachable or misconfigured.
async fn does_not_begin(desk: &Desk<'_>, fault: Fault, case: &str) {
    let refused = desk.begins("").await;
    let expected = match fault {
        Fault::Unavailable => (503, "unavailable"),
        Fault::Refused | Fault::Invalid | Fault::Misconfigured => (400, "provider_not_configured"),
    };
    assert_eq!((refused.status, refused.code()), expected, "{case}");
}

async fn f6_a_document_of_another_issuer(api: &Api) {
    lands(api).await;
    let mut desks = Vec::new();
    for other in OTHER_ISSUERS {
        let desk = Desk::at(api, "google", Shape::OpenId).await;
        let issuer = other(desk.server.url());
        let case = issuer.to_string();
        desk.server.says_in_its_document("issuer", issuer);
        does_not_begin(&desk, Fault::Invalid, &case).await;
        desks.push(desk);
    }
    works(api, &Desk::at(api, "google", Shape::OpenId).await).await;
}

async fn f6_a_clock_that_is_wrong(api: &Api) {
    lands(api).await;
    let desk = Desk::at(api, "google", Shape::OpenId).await;
    for (seconds, is_right) in [(-30, true), (30, true), (-7_200, false), (7_200, false)] {
        let callback = desk.answer(&desk.begin("").await.url);
        let wrong = api.clock.machine() + Seconds(seconds);
        desk.server.sets_its_clock(wrong);
        let landed = desk.lands(&api.anonymous(), &callback).await;
        if is_right {
            token(&landed);
        } else {
            assert_eq!(
                landed,
                format!("{LOGIN}?error=provider_refused"),
                "{seconds}"
            );
        }
    }
    works(api, &desk).await;
}

/// Sign-ins of a flood.
const FLOOD: usize = 50;

/// Tokens with unknown keys cause one more fetch of the key set a minute; valid ones still pass.
async fn f6_unknown_key_ids_fetch_the_set_once_more_and_then_no_more(api: &Api) {
    lands(api).await;
    let desk = Desk::at(api, "google", Shape::OpenId).await;
    works(api, &desk).await;
    let fetches = || desk.server.asked(desk.server.keys_path());
    assert_eq!(fetches(), 1);
    for round in 1..=2 {
        desk.server.spoils(unknown_key);
        let flood = (0..FLOOD).map(|_| comes_to_nothing(&desk, Fault::Invalid, "a flood"));
        join_all(flood).await;
        println!(
            "F6: {} fetches of the key set after {} tokens of unknown keys",
            fetches(),
            FLOOD * round
        );
        assert_eq!(fetches(), 2);
        desk.server.spoils_nothing();
        let signed_in = desk.sign_in(Person::new("1001", "ada@example.com")).await;
        signed_in.ok();
        assert_eq!(fetches(), 2);
    }
    assert_eq!(users(api).await, 1);
}
