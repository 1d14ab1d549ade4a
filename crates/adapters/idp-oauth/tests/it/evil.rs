//! F6 and attack 18: providers with bad responses, and two providers of which one is evil. Every case is refused, with its own fault, in
//! twenty rounds. Then the same App signs a user in at the same provider, which behaves again.

use futures_util::future::join_all;
use serde_json::json;
use vestry_contract::provider::evil::{Fault, OTHER_ISSUERS, SPOILED, answers, claim};
use vestry_contract::provider::{Callback, ProviderServer, Reply, Shape, SignsBy};
use vestry_contract::rng::{self, Rng};
use vestry_domain::Secret;
use vestry_ports::identity_providers::ProviderFault;

use crate::app::{App, Flow, adapter, hasty, settings};

const ROUNDS: u64 = 20;

/// Asserts that an error contains nothing that was sent or received, and no address.
fn is_silent(fault: &ProviderFault, case: &str) {
    let mut said = format!("{fault} {fault:?}");
    let mut cause = std::error::Error::source(fault);
    while let Some(inner) = cause {
        said.push_str(&format!(" {inner}"));
        cause = inner.source();
    }
    for secret in ["hunter2", "127.0.0.1", "of-tests", "eyJ", "ada@"] {
        assert!(!said.contains(secret), "{case}: {said}");
    }
}

fn is(outcome: Result<impl std::fmt::Debug, ProviderFault>, expected: Fault, case: &str) {
    let fault = match outcome {
        Err(fault) => fault,
        Ok(accepted) => panic!("{case}: accepted as {accepted:?}"),
    };
    assert_eq!(Fault::of(&fault), expected, "{case}: {fault:?}");
    is_silent(&fault, case);
}

/// Starts a provider that signs with the round's algorithm.
async fn provider(rng: &mut Rng) -> ProviderServer {
    let server = ProviderServer::start(Shape::OpenId).await;
    let by = if rng.below(2) == 0 {
        SignsBy::Es256
    } else {
        SignsBy::EdDsa
    };
    server.signs_by(by);
    server
}

/// Runs the rounds concurrently: a provider in one round does not affect another.
async fn rounds<F: Future<Output = ()>>(round: impl Fn(Rng) -> F) {
    let seed = rng::seed();
    let all = (0..ROUNDS).map(|number| round(Rng::from_seed(seed.wrapping_add(number))));
    join_all(all).await;
}

#[tokio::test]
async fn f6_tokens_that_must_not_be_accepted() {
    for (case, spoil) in SPOILED {
        // Ports are reused, and caches are keyed by address.
        let providers = adapter(&settings());
        rounds(async |mut rng| {
            let server = provider(&mut rng).await;
            let app = App::beside(&providers, &server, "example");
            server.spoils(spoil);
            is(app.sign_in(&server, rng.next()).await, Fault::Invalid, case);
            server.spoils_nothing();
            app.sign_in(&server, rng.next()).await.unwrap();
        })
        .await;
    }
    println!(
        "F6: {} spoiled tokens x {ROUNDS} rounds refused",
        SPOILED.len()
    );
}

#[tokio::test]
async fn f6_malformed_responses() {
    let answers = answers();
    for (case, at, reply, fault) in &answers {
        let settings = match reply {
            Reply::Stalls(_) => hasty(),
            _ => settings(),
        };
        // The second adapter has not seen the first attempt, after which a provider may not be retried for a minute.
        let (providers, others) = (adapter(&settings), adapter(&self::settings()));
        let case = &format!("{at:?} {case}");
        rounds(async |mut rng| {
            let server = provider(&mut rng).await;
            // Userinfo is requested only if the address is not in the id token.
            server.spoils(|draft| drop(draft.claims.remove("email")));
            let app = App::beside(&providers, &server, "example");
            server.replies(at.path(&server), Some(reply.clone()));
            is(app.sign_in(&server, rng.next()).await, *fault, case);
            server.replies(at.path(&server), None);
            let app = App::beside(&others, &server, "example");
            app.sign_in(&server, rng.next()).await.unwrap();
        })
        .await;
    }
    println!(
        "F6: {} malformed responses x {ROUNDS} rounds refused",
        answers.len()
    );
}

#[tokio::test]
async fn f6_a_document_of_another_issuer() {
    let providers = adapter(&settings());
    rounds(async |mut rng| {
        for other in OTHER_ISSUERS {
            let server = provider(&mut rng).await;
            let issuer = other(server.url());
            let case = issuer.to_string();
            server.says_in_its_document("issuer", issuer);
            let app = App::beside(&providers, &server, "example");
            let outcome = app.sign_in(&server, rng.next()).await;
            is(outcome, Fault::Invalid, &case);
        }
    })
    .await;
}

#[tokio::test]
async fn f6_an_array_of_members_is_not_a_document() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let url = server.url();
    let at = |path: &str| format!("{url}{path}");
    let members = [
        json!(url),
        json!(at("/authorize")),
        json!(at(server.token_path())),
        json!(at(server.userinfo_path())),
        json!(at(server.keys_path())),
        json!(true),
        json!(["client_secret_basic"]),
    ];
    let reply = Reply::json(200, &json!(members));
    server.replies(server.discovery_path(), Some(reply));
    let app = App::of(&server, "example");
    let case = "an array of the members";
    is(app.sign_in(&server, 1).await, Fault::Invalid, case);
}

/// Otherwise the token would be used, and the provider would not know it.
#[tokio::test]
async fn f6_a_token_response_with_trailing_data() {
    let server = ProviderServer::start(Shape::GitHub).await;
    let app = App::of(&server, "github");
    let answer = json!({"access_token": "hunter2", "token_type": "bearer"});
    for behind in ["x", "{}", "\u{0}"] {
        let reply = Reply::Says(200, String::new(), format!("{answer}{behind}"));
        server.replies(server.token_path(), Some(reply));
        let outcome = app.sign_in(&server, 1).await;
        is(outcome, Fault::Invalid, behind);
    }
    assert_eq!(server.asked(server.userinfo_path()), 0);
}

#[tokio::test]
async fn f6_a_wrong_clock() {
    let providers = adapter(&settings());
    rounds(async |mut rng| {
        let server = provider(&mut rng).await;
        let app = App::beside(&providers, &server, "example");
        for (seconds, is_right) in [(-30, true), (30, true), (-7_200, false), (7_200, false)] {
            server.shifts_its_clock(seconds);
            let outcome = app.sign_in(&server, rng.next()).await;
            assert_eq!(outcome.is_ok(), is_right, "{seconds}: {outcome:?}");
        }
    })
    .await;
}

/// Starts a flow, and returns it with the browser's callback.
async fn arrived(app: &App, server: &ProviderServer, rng: &mut Rng) -> (Flow, Callback) {
    let flow = Flow::new(rng.next());
    let callback = server.answer(&app.address(&flow).await.unwrap());
    (flow, callback)
}

#[tokio::test]
async fn attack_18_codes_work_only_once_and_in_their_own_flow() {
    let providers = adapter(&settings());
    rounds(async |mut rng| {
        let server = provider(&mut rng).await;
        let app = App::beside(&providers, &server, "example");
        let rng = &mut rng;
        // Used twice.
        let (flow, callback) = arrived(&app, &server, rng).await;
        app.exchange(&flow, &callback).await.unwrap();
        is(
            app.exchange(&flow, &callback).await,
            Fault::Refused,
            "a code used twice",
        );
        // Invented.
        let mut made_up = callback.clone();
        made_up.code = Some("hunter2-made-up".to_owned());
        is(
            app.exchange(&flow, &made_up).await,
            Fault::Refused,
            "an invented code",
        );
        // From another flow, whose verifier and nonce differ.
        let (theirs, callback) = arrived(&app, &server, rng).await;
        let mine = Flow::new(rng.next());
        is(
            app.exchange(&mine, &callback).await,
            Fault::Refused,
            "another flow's code",
        );
        let stolen = Flow {
            state: mine.state.clone(),
            nonce: mine.nonce.clone(),
            verifier: theirs.verifier.clone(),
        };
        let callback = server.answer(&app.address(&theirs).await.unwrap());
        is(
            app.exchange(&stolen, &callback).await,
            Fault::Invalid,
            "another flow's nonce",
        );
        // By a client that does not know the secret.
        let (flow, callback) = arrived(&app, &server, rng).await;
        let mut other = App::beside(&providers, &server, "example");
        other.secret = Secret::new("hunter2-wrong".to_owned());
        is(
            other.exchange(&flow, &callback).await,
            Fault::Misconfigured,
            "a wrong secret",
        );
    })
    .await;
}

/// O-6: the honest provider's code never reaches the evil one, and its tokens are not accepted from the evil one.
#[tokio::test]
async fn attack_18_an_evil_provider_beside_an_honest_one() {
    let providers = adapter(&settings());
    rounds(async |mut rng| {
        let (honest, evil) = (provider(&mut rng).await, provider(&mut rng).await);
        let (good, bad) = (
            App::beside(&providers, &honest, "example"),
            App::beside(&providers, &evil, "evil"),
        );
        let rng = &mut rng;
        // The user began at the evil provider, was redirected to the honest one, and returned to the evil one's callback.
        let (flow, callback) = arrived(&good, &honest, rng).await;
        is(
            bad.exchange(&flow, &callback).await,
            Fault::Invalid,
            "mix-up, named",
        );
        assert_eq!(
            evil.asked(evil.token_path()),
            0,
            "the code went to the evil one"
        );
        // The same without the issuer, which the evil provider claimed always to send.
        let mut unnamed = callback.clone();
        unnamed.iss = None;
        is(
            bad.exchange(&flow, &unnamed).await,
            Fault::Invalid,
            "mix-up, unnamed",
        );
        is(
            good.exchange(&flow, &unnamed).await,
            Fault::Invalid,
            "a callback without its issuer",
        );
        assert_eq!(
            evil.asked(evil.token_path()),
            0,
            "the code went to the evil one"
        );
        // The evil provider's code and issuer at the honest one's callback.
        let (flow, callback) = arrived(&bad, &evil, rng).await;
        is(
            good.exchange(&flow, &callback).await,
            Fault::Invalid,
            "the other way round",
        );
        // The honest provider's issuer on the evil one's callback: the honest one never issued this code.
        let mut renamed = callback.clone();
        renamed.iss = Some(honest.url().to_owned());
        is(
            good.exchange(&flow, &renamed).await,
            Fault::Refused,
            "a name that is not its own",
        );
        // The evil provider issues an id token in the honest one's name, signed with keys that are not the honest one's.
        let name = honest.url().to_owned();
        evil.spoils(move |draft| claim(draft, "iss", json!(name)));
        is(
            bad.sign_in(&evil, rng.next()).await,
            Fault::Invalid,
            "another one's name",
        );
        evil.spoils_nothing();
        // Its document claims the honest provider's keys as its own, and it passes on a token that the honest one issued.
        let keys = json!(format!("{}{}", honest.url(), honest.keys_path()));
        evil.says_in_its_document("jwks_uri", keys);
        let passed_on = issued_by(&good, &honest, rng).await;
        evil.spoils(move |draft| {
            draft.body.insert("id_token".to_owned(), json!(passed_on));
        });
        // An App that has not cached the earlier document.
        let fresh = App::of(&evil, "evil");
        is(
            fresh.sign_in(&evil, rng.next()).await,
            Fault::Invalid,
            "a token that was passed on",
        );
        // Neither provider is affected.
        good.sign_in(&honest, rng.next()).await.unwrap();
        evil.spoils_nothing();
        bad.sign_in(&evil, rng.next()).await.unwrap();
    })
    .await;
}

/// Returns a token that the honest provider issued to the same client, as the evil one could have obtained it.
async fn issued_by(app: &App, honest: &ProviderServer, rng: &mut Rng) -> String {
    let (sender, receiver) = std::sync::mpsc::channel();
    honest.spoils(move |draft| {
        drop(sender.send((draft.header.clone(), draft.claims.clone())));
    });
    app.sign_in(honest, rng.next()).await.unwrap();
    honest.spoils_nothing();
    let (header, claims) = receiver.recv().unwrap();
    honest.token(&header, &claims)
}
