//! F6 and attack 18: providers that answer badly, and two of which one is evil. Every case is refused, with the fault that it
//! has, in twenty rounds; then the same App signs somebody in at the same provider, which behaves again.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use vestry_contract::provider::{
    Callback, Draft, ProviderServer, Reply, Shape, Signature, SignsBy,
};
use vestry_contract::rng::{self, Rng};
use vestry_domain::Secret;
use vestry_ports::identity_providers::ProviderFault;

use crate::app::{App, Flow, adapter, hasty, settings};

const ROUNDS: u64 = 20;

/// What a fault must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Refused,
    Invalid,
    Unavailable,
    Misconfigured,
}

fn kind(fault: &ProviderFault) -> Fault {
    match fault {
        ProviderFault::Refused => Fault::Refused,
        ProviderFault::Invalid(_) => Fault::Invalid,
        ProviderFault::Unavailable(_) => Fault::Unavailable,
        ProviderFault::Misconfigured(_) => Fault::Misconfigured,
    }
}

/// What is wrong with the answer of a token endpoint.
type Spoil = fn(&mut Draft);

/// Sets a claim.
fn claim(draft: &mut Draft, name: &str, value: Value) {
    draft.claims.insert(name.to_owned(), value);
}

/// Sets a member of the header.
fn header(draft: &mut Draft, name: &str, value: Value) {
    draft.header.insert(name.to_owned(), value);
}

/// A moment that the token has, moved by so many seconds.
fn moved(draft: &mut Draft, name: &str, seconds: i64) {
    let issued = draft.claims.get("iat").and_then(Value::as_i64).unwrap();
    claim(draft, name, json!(issued + seconds));
}

const SPOILED: [(&str, Spoil); 46] = [
    ("alg none", |d| {
        header(d, "alg", json!("none"));
        d.signature = Signature::Empty;
    }),
    ("alg nOnE", |d| {
        header(d, "alg", json!("nOnE"));
        d.signature = Signature::Empty;
    }),
    ("alg empty", |d| header(d, "alg", json!(""))),
    ("alg missing", |d| drop(d.header.remove("alg"))),
    ("alg of another type", |d| {
        header(d, "alg", json!(["ES256"]))
    }),
    ("HS256 with the public key", |d| {
        header(d, "alg", json!("HS256"));
        d.signature = Signature::HmacOfPublicKey;
    }),
    ("HS256 in the clothes of ES256", |d| {
        d.signature = Signature::HmacOfPublicKey
    }),
    ("an algorithm that the key is not of", |d| {
        header(d, "alg", json!("RS256"))
    }),
    ("no signature", |d| d.signature = Signature::Empty),
    ("a stranger's signature", |d| {
        d.signature = Signature::Strangers
    }),
    ("a broken signature", |d| d.signature = Signature::Broken),
    ("the signature of something else", |d| {
        d.signature = Signature::OfOtherClaims
    }),
    ("an unknown key", |d| {
        header(d, "kid", json!("unknown"));
    }),
    ("a key that is a path", |d| {
        header(d, "kid", json!("../../dev/null"))
    }),
    ("a key that it brings along", |d| {
        header(d, "jwk", json!({"kty": "oct", "k": "AAAA"}));
        header(d, "jku", json!("http://127.0.0.1:1/jwks"));
        d.signature = Signature::Strangers;
    }),
    ("an extension that must be understood", |d| {
        header(d, "crit", json!(["b64"]))
    }),
    ("a token of another kind", |d| {
        header(d, "typ", json!("at+jwt"))
    }),
    ("a token of another kind, of another type", |d| {
        header(d, "typ", json!(1))
    }),
    ("another issuer", |d| {
        claim(d, "iss", json!("https://evil.example.com"))
    }),
    ("the issuer with a slash", |d| {
        let issuer = d.claims.get("iss").and_then(Value::as_str).unwrap();
        let issuer = json!(format!("{issuer}/"));
        claim(d, "iss", issuer);
    }),
    ("no issuer", |d| drop(d.claims.remove("iss"))),
    ("a list of issuers", |d| {
        let issuer = json!([d.claims.get("iss")]);
        claim(d, "iss", issuer);
    }),
    ("another audience", |d| {
        claim(d, "aud", json!("another-client"))
    }),
    ("no audience", |d| drop(d.claims.remove("aud"))),
    ("several audiences and no party", |d| {
        claim(d, "aud", json!(["another-client", "client-of-tests"]));
    }),
    ("another party", |d| {
        claim(d, "azp", json!("another-client"))
    }),
    ("another nonce", |d| {
        claim(d, "nonce", json!("another-nonce"))
    }),
    ("no nonce", |d| drop(d.claims.remove("nonce"))),
    ("an empty nonce", |d| claim(d, "nonce", json!(""))),
    ("over", |d| moved(d, "exp", -3_600)),
    ("no end", |d| drop(d.claims.remove("exp"))),
    ("an end that is a text", |d| {
        claim(d, "exp", json!("9999999999"))
    }),
    ("an end that is a fraction", |d| {
        claim(d, "exp", json!(9_999_999_999.5))
    }),
    ("from the future", |d| moved(d, "iat", 3_600)),
    ("from long ago", |d| moved(d, "iat", -7_200)),
    ("no beginning", |d| drop(d.claims.remove("iat"))),
    ("not valid yet", |d| moved(d, "nbf", 3_600)),
    ("nobody", |d| drop(d.claims.remove("sub"))),
    ("an empty subject", |d| claim(d, "sub", json!(""))),
    ("a subject that is a number", |d| {
        claim(d, "sub", json!(1001))
    }),
    ("no id token", |d| {
        drop(d.body.insert("id_token".to_owned(), Value::Null))
    }),
    ("an id token of one part", |d| {
        drop(d.body.insert("id_token".to_owned(), json!("hunter2")))
    }),
    ("an id token of four parts", |d| {
        drop(
            d.body
                .insert("id_token".to_owned(), json!("e30.e30.e30.e30")),
        )
    }),
    ("an id token that is too large", |d| {
        drop(
            d.body
                .insert("id_token".to_owned(), json!("x".repeat(70_000))),
        );
    }),
    ("no access token", |d| drop(d.body.remove("access_token"))),
    ("an access token that is no bearer token", |d| {
        drop(d.body.insert("token_type".to_owned(), json!("mac")));
    }),
];

/// Where an answer stands in the place of the right one.
#[derive(Debug, Clone, Copy)]
enum At {
    Discovery,
    Keys,
    Token,
    Userinfo,
}

impl At {
    fn path(self, server: &ProviderServer) -> &'static str {
        match self {
            Self::Discovery => server.discovery_path(),
            Self::Keys => server.keys_path(),
            Self::Token => server.token_path(),
            Self::Userinfo => server.userinfo_path(),
        }
    }
}

/// Answers that are none, at each endpoint.
fn answers() -> Vec<(&'static str, At, Reply, Fault)> {
    let html = || Reply::Says(200, String::new(), "<html>hunter2</html>".to_owned());
    let failed = || Reply::Says(500, String::new(), "hunter2".to_owned());
    let busy = || Reply::Says(429, "Retry-After: 30\r\n".to_owned(), String::new());
    let stalls = || Reply::Stalls(Duration::from_secs(30));
    let huge = || Reply::Huge(10 * 1024 * 1024);
    let mut all = Vec::new();
    for at in [At::Discovery, At::Keys, At::Token, At::Userinfo] {
        all.extend([
            ("fails", at, failed(), Fault::Unavailable),
            ("is busy", at, busy(), Fault::Unavailable),
            ("stalls", at, stalls(), Fault::Unavailable),
            ("hangs up", at, Reply::HangsUp, Fault::Unavailable),
            ("sends 10 MB", at, huge(), Fault::Invalid),
            ("sends a page", at, html(), Fault::Invalid),
            (
                "sends on",
                at,
                Reply::redirect(302, "http://127.0.0.1:1/"),
                Fault::Invalid,
            ),
        ]);
    }
    let gone = || Reply::json(404, &json!({}));
    all.extend([
        ("is not there", At::Discovery, gone(), Fault::Misconfigured),
        ("is not there", At::Keys, gone(), Fault::Misconfigured),
        (
            "has no keys",
            At::Keys,
            Reply::json(200, &json!({"keys": []})),
            Fault::Invalid,
        ),
        (
            "refuses the client",
            At::Token,
            Reply::json(
                401,
                &json!({"error": "invalid_client", "error_description": "hunter2"}),
            ),
            Fault::Misconfigured,
        ),
        (
            "refuses for a reason of its own",
            At::Token,
            Reply::json(400, &json!({"error": "hunter2"})),
            Fault::Invalid,
        ),
        (
            "refuses the token",
            At::Userinfo,
            Reply::json(403, &json!({"error": "insufficient_scope"})),
            Fault::Misconfigured,
        ),
    ]);
    all
}

/// Nothing that was sent or received is in an error, and neither is an address.
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
    assert_eq!(kind(&fault), expected, "{case}: {fault:?}");
    is_silent(&fault, case);
}

/// A provider that signs by an algorithm of the round.
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

/// Side by side: what a provider did in one round changes nothing in another.
async fn rounds<F: Future<Output = ()>>(round: impl Fn(Rng) -> F) {
    let seed = rng::seed();
    let all = (0..ROUNDS).map(|number| round(Rng::from_seed(seed.wrapping_add(number))));
    join_all(all).await;
}

#[tokio::test]
async fn f6_tokens_that_must_not_be_accepted() {
    for (case, spoil) in SPOILED {
        // Ports come back, and what is kept is kept by address.
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
async fn f6_answers_that_are_none() {
    let answers = answers();
    for (case, at, reply, fault) in &answers {
        let settings = match reply {
            Reply::Stalls(_) => hasty(),
            _ => settings(),
        };
        // The second one has not seen the first attempt, after which a provider may be left alone for a minute.
        let (providers, others) = (adapter(&settings), adapter(&self::settings()));
        let case = &format!("{at:?} {case}");
        rounds(async |mut rng| {
            let server = provider(&mut rng).await;
            // Asked for the address only when it is not in the id token.
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
        "F6: {} answers that are none x {ROUNDS} rounds refused",
        answers.len()
    );
}

#[tokio::test]
async fn f6_a_document_of_another_issuer() {
    let providers = adapter(&settings());
    let others: [fn(&str) -> Value; 6] = [
        |url| json!(format!("{url}/")),
        |url| json!(url.replace("127.0.0.1", "localhost")),
        |_| json!("https://accounts.google.com"),
        |_| json!(""),
        |_| Value::Null,
        |url| json!([url]),
    ];
    rounds(async |mut rng| {
        for other in others {
            let server = provider(&mut rng).await;
            let (mut document, issuer) = (server.document(), other(server.url()));
            let case = issuer.to_string();
            let members = document.as_object_mut().unwrap();
            members.insert("issuer".to_owned(), issuer);
            server.replies(server.discovery_path(), Some(Reply::json(200, &document)));
            let app = App::beside(&providers, &server, "example");
            let outcome = app.sign_in(&server, rng.next()).await;
            is(outcome, Fault::Invalid, &case);
        }
    })
    .await;
}

#[tokio::test]
async fn f6_a_clock_that_is_wrong() {
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

/// A flow that was begun, and what the browser brought back.
async fn arrived(app: &App, server: &ProviderServer, rng: &mut Rng) -> (Flow, Callback) {
    let flow = Flow::new(rng.next());
    let callback = server.answer(&app.address(&flow).await.unwrap());
    (flow, callback)
}

#[tokio::test]
async fn attack_18_codes_are_worth_something_once_and_here() {
    let providers = adapter(&settings());
    rounds(async |mut rng| {
        let server = provider(&mut rng).await;
        let app = App::beside(&providers, &server, "example");
        let rng = &mut rng;
        // Twice.
        let (flow, callback) = arrived(&app, &server, rng).await;
        app.exchange(&flow, &callback).await.unwrap();
        is(
            app.exchange(&flow, &callback).await,
            Fault::Refused,
            "a code twice",
        );
        // Made up.
        let mut made_up = callback.clone();
        made_up.code = Some("hunter2-made-up".to_owned());
        is(
            app.exchange(&flow, &made_up).await,
            Fault::Refused,
            "a code that is none",
        );
        // Of another flow: its verifier is another one, and so is its nonce.
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
        // By somebody who does not know the secret.
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

/// O-6: the honest provider's code never reaches the evil one, and its tokens are not taken from the evil one's hands.
#[tokio::test]
async fn attack_18_two_providers_of_which_one_is_evil() {
    let providers = adapter(&settings());
    rounds(async |mut rng| {
        let (honest, evil) = (provider(&mut rng).await, provider(&mut rng).await);
        let (good, bad) = (
            App::beside(&providers, &honest, "example"),
            App::beside(&providers, &evil, "evil"),
        );
        let rng = &mut rng;
        // The person began at the evil one, was sent on to the honest one, and came back to the evil one's callback.
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
        // The same with the name left out, which the evil one said it would always give.
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
        // The evil one's code, with the evil one's name, at the honest one's callback.
        let (flow, callback) = arrived(&bad, &evil, rng).await;
        is(
            good.exchange(&flow, &callback).await,
            Fault::Invalid,
            "the other way round",
        );
        // The honest one's name on the evil one's callback: a code that the honest one never gave out.
        let mut renamed = callback.clone();
        renamed.iss = Some(honest.url().to_owned());
        is(
            good.exchange(&flow, &renamed).await,
            Fault::Refused,
            "a name that is not its own",
        );
        // The evil one hands out an id token in the honest one's name: its own keys did not sign what the honest one's would.
        let name = honest.url().to_owned();
        evil.spoils(move |draft| claim(draft, "iss", json!(name)));
        is(
            bad.sign_in(&evil, rng.next()).await,
            Fault::Invalid,
            "another one's name",
        );
        evil.spoils_nothing();
        // Its document says that the honest one's keys are its own, and it passes on a token that the honest one issued.
        let mut document = evil.document();
        let keys = json!(format!("{}{}", honest.url(), honest.keys_path()));
        document
            .as_object_mut()
            .unwrap()
            .insert("jwks_uri".to_owned(), keys);
        evil.replies(evil.discovery_path(), Some(Reply::json(200, &document)));
        let passed_on = issued_by(&good, &honest, rng).await;
        evil.spoils(move |draft| {
            draft.body.insert("id_token".to_owned(), json!(passed_on));
        });
        // Somebody who has not seen the earlier document.
        let fresh = App::of(&evil, "evil");
        is(
            fresh.sign_in(&evil, rng.next()).await,
            Fault::Invalid,
            "a token that was passed on",
        );
        // Neither of them is the worse for it.
        good.sign_in(&honest, rng.next()).await.unwrap();
        evil.spoils_nothing();
        bad.sign_in(&evil, rng.next()).await.unwrap();
    })
    .await;
}

/// A token that the honest provider issued to the same client, as the evil one could have got hold of it.
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
