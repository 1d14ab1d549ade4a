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

use super::setup::{ProviderSetup, options_with_timeout, provider_options, users};
use super::{LOGIN, lands, token};
use crate::harness::{Api, Options, on_both};

on_both! { provider_options;
    f6_tokens_that_must_not_be_accepted
    f6_responses_that_are_invalid
    f6_a_document_of_another_issuer
    f6_a_clock_that_is_wrong
    f6_unknown_key_ids_fetch_the_set_once_more_and_then_no_more
}

/// Responses that never end. The service does not wait long for those.
mod endless {
    use super::{hasty_options, on_both};

    on_both! { hasty_options;
        f6_responses_that_do_not_end
    }

    async fn f6_responses_that_do_not_end(api: &crate::harness::Api) {
        super::refuses_responses(api, super::is_endless).await;
    }
}

fn hasty_options() -> Options {
    options_with_timeout(Duration::from_secs(2))
}

const fn is_endless(reply: &Reply) -> bool {
    matches!(reply, Reply::Stalls(_))
}

/// The value of `error=`.
const fn wire_name(fault: Fault) -> &'static str {
    match fault {
        Fault::Refused | Fault::Invalid => "provider_refused",
        Fault::Unavailable => "provider_unavailable",
        Fault::Misconfigured => "provider_misconfigured",
    }
}

/// A sign-in with our callback: no token, and the matching error.
async fn comes_to_nothing(setup: &ProviderSetup<'_>, fault: Fault, case: &str) {
    let (landed, _) = setup.landed().await;
    assert_eq!(
        landed,
        format!("{LOGIN}?error={}", wire_name(fault)),
        "{case}"
    );
}

/// Asserts that the connection still works, and signs a new person in.
async fn works(api: &Api, setup: &ProviderSetup<'_>) {
    assert_eq!(users(api).await, 0, "no user was created");
    let signed_in = setup.sign_in(Person::new("1001", "ada@example.com")).await;
    signed_in.ok();
    assert_eq!(users(api).await, 1);
}

async fn f6_tokens_that_must_not_be_accepted(api: &Api) {
    lands(api).await;
    let setup = ProviderSetup::at(api, "google", Shape::OpenId).await;
    for (case, spoil) in SPOILED {
        setup.server.spoils(spoil);
        comes_to_nothing(&setup, Fault::Invalid, case).await;
        let refused = setup.verifies(&setup.own().await).await;
        let found = (refused.status, refused.code());
        assert_eq!(found, (400, "invalid_oauth_token"), "{case}");
    }
    setup.server.spoils_nothing();
    works(api, &setup).await;
}

async fn f6_responses_that_are_invalid(api: &Api) {
    refuses_responses(api, |reply| !is_endless(reply)).await;
}

/// Substitutes each such response once for the right one. A provider whose document cannot be fetched is noticed before the browser leaves.
async fn refuses_responses(api: &Api, is_wanted: impl Fn(&Reply) -> bool) {
    lands(api).await;
    // Ports are reused, and caches are keyed by address: all providers stay until the end.
    let mut setups = Vec::new();
    for (case, at, reply, fault) in answers() {
        if !is_wanted(&reply) {
            continue;
        }
        let setup = ProviderSetup::at(api, "google", Shape::OpenId).await;
        // Queried for the address only if it is not in the id token.
        setup
            .server
            .spoils(|draft| drop(draft.claims.remove("email")));
        setup.server.replies(at.path(&setup.server), Some(reply));
        let case = format!("{at:?} {case}");
        if at == At::Discovery {
            does_not_begin(&setup, fault, &case).await;
        } else {
            comes_to_nothing(&setup, fault, &case).await;
        }
        setups.push(setup);
    }
    assert_eq!(users(api).await, 0, "no user was created");
    let setup = ProviderSetup::at(api, "google", Shape::OpenId).await;
    works(api, &setup).await;
}

/// Asserts that `begin` reports the provider as unreachable or misconfigured.
async fn does_not_begin(setup: &ProviderSetup<'_>, fault: Fault, case: &str) {
    let refused = setup.begins("").await;
    let expected = match fault {
        Fault::Unavailable => (503, "unavailable"),
        Fault::Refused | Fault::Invalid | Fault::Misconfigured => (400, "provider_not_configured"),
    };
    assert_eq!((refused.status, refused.code()), expected, "{case}");
}

async fn f6_a_document_of_another_issuer(api: &Api) {
    lands(api).await;
    let mut setups = Vec::new();
    for other in OTHER_ISSUERS {
        let setup = ProviderSetup::at(api, "google", Shape::OpenId).await;
        let issuer = other(setup.server.url());
        let case = issuer.to_string();
        setup.server.says_in_its_document("issuer", issuer);
        does_not_begin(&setup, Fault::Invalid, &case).await;
        setups.push(setup);
    }
    works(api, &ProviderSetup::at(api, "google", Shape::OpenId).await).await;
}

async fn f6_a_clock_that_is_wrong(api: &Api) {
    lands(api).await;
    let setup = ProviderSetup::at(api, "google", Shape::OpenId).await;
    for (seconds, is_right) in [(-30, true), (30, true), (-7_200, false), (7_200, false)] {
        let callback = setup.respond(&setup.begin("").await.url);
        let wrong = api.clock.machine() + Seconds(seconds);
        setup.server.sets_its_clock(wrong);
        let landed = setup.lands(&api.anonymous(), &callback).await;
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
    works(api, &setup).await;
}

/// Sign-ins of a flood.
const FLOOD: usize = 50;

/// Tokens with unknown keys cause one more fetch of the key set a minute; valid ones still pass.
async fn f6_unknown_key_ids_fetch_the_set_once_more_and_then_no_more(api: &Api) {
    lands(api).await;
    let setup = ProviderSetup::at(api, "google", Shape::OpenId).await;
    works(api, &setup).await;
    let fetches = || setup.server.asked(setup.server.keys_path());
    assert_eq!(fetches(), 1);
    for round in 1..=2 {
        setup.server.spoils(unknown_key);
        let flood = (0..FLOOD).map(|_| comes_to_nothing(&setup, Fault::Invalid, "a flood"));
        join_all(flood).await;
        println!(
            "F6: {} fetches of the key set after {} tokens of unknown keys",
            fetches(),
            FLOOD * round
        );
        assert_eq!(fetches(), 2);
        setup.server.spoils_nothing();
        let signed_in = setup.sign_in(Person::new("1001", "ada@example.com")).await;
        signed_in.ok();
        assert_eq!(fetches(), 2);
    }
    assert_eq!(users(api).await, 1);
}
