//! Attack 10: response times do not reveal who a user is.
//!
//! Samples are taken one after the other over one kept-alive connection. The order is redrawn for every turn, so that other load on the
//! machine affects all kinds alike.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::timeout;
use vestry_contract::rng::{Rng, seed};
use vestry_password_argon2::Settings as Hashing;

use super::people::{self, PASSWORD};
use super::statistics::{areas, widest};
use crate::flows::signed_in;
use crate::harness::{Api, Client, Lane, Options, Response, StalledTransport, on_with};

/// Samples of each kind in a pull request run: equal kinds then differ by 0.04 by chance. The threshold is over three such steps away, in
/// each of three rounds.
///
/// `cargo xtask attacks --timing` takes twenty times as many with an optimized build, where chance is 0.01.
const SAMPLES: usize = 100;
/// Whether this is an optimized build, whose times are representative.
const IS_OPTIMIZED: bool = !cfg!(debug_assertions);
/// The largest area by which one kind may differ from another; one half is chance. The threshold is 0.55 (attack 10).
///
/// Without optimization, decoding the rows of an existing user takes 0.3 ms of about 23, which a few hundred samples show as 0.55 to 0.56.
/// A skipped hash shows as 1.0.
const MAX_RATIO: f64 = if IS_OPTIMIZED { 0.55 } else { 0.65 };
/// Kinds whose medians are closer than this are not judged without optimization: on a quiet machine the decoding of a row is measurable. A
/// hash is 20 ms.
const LEAST: Duration = if IS_OPTIMIZED {
    Duration::ZERO
} else {
    Duration::from_millis(1)
};
/// On a busy machine two equal kinds may differ once; a real difference appears every time.
const ROUNDS: usize = 3;
/// After this many samples, kinds that differ by [`OBVIOUS`] are no accident, and measuring stops.
const FIRST_LOOK: usize = 200;
const OBVIOUS: f64 = 0.9;

/// The requested number of samples.
fn samples() -> usize {
    vestry_testkit::lane::variable("VESTRY_TEST_TIMING_SAMPLES").map_or(SAMPLES, |number| {
        number.parse().expect("a number of samples")
    })
}

/// Allows one measurement at a time, so that measurements do not disturb each other.
static QUIET: Mutex<()> = Mutex::const_new(());

/// A name and its call; some calls need a fresh body each time.
struct Kind<'a> {
    name: &'static str,
    path: &'static str,
    body: Box<dyn Fn(usize) -> Value + 'a>,
    expected: u16,
}

impl<'a> Kind<'a> {
    fn new(
        name: &'static str,
        path: &'static str,
        expected: u16,
        body: impl Fn(usize) -> Value + 'a,
    ) -> Self {
        Self {
            name,
            path,
            body: Box::new(body),
            expected,
        }
    }

    const fn name(&self) -> &'static str {
        self.name
    }
}

/// Times every kind as often as requested, or until they obviously differ.
async fn sampled(api: &Api, client: Client<'_>, kinds: &[Kind<'_>]) -> Vec<Vec<Duration>> {
    let mut rng = Rng::from_seed(seed());
    let mut times = vec![Vec::with_capacity(samples()); kinds.len()];
    let mut connection = api.connect().await;
    let client = client.header("Content-Type", "application/json");
    for turn in 0..samples() {
        let is_obvious = turn == FIRST_LOOK && areas(&times).any(|area| area > OBVIOUS);
        if is_obvious {
            break;
        }
        let mut order: Vec<usize> = (0..kinds.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, rng.below(last + 1));
        }
        for kind in order {
            let Kind { path, body, .. } = &kinds[kind];
            let body = body(turn).to_string();
            let request = client.head("POST", path, body.len()) + &body;
            // Lockouts and limits are off: the test measures the work.
            api.pass(2 * 86_400);
            let sent = Instant::now();
            connection.send(request.as_bytes()).await;
            let response = connection.receive().await.expect("a response");
            times[kind].push(sent.elapsed());
            let response = Response::of(response);
            assert_eq!(response.status, kinds[kind].expected, "{}", response.text);
        }
    }
    times
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_10_password_times_reveal_nothing_on_sqlite() {
    passwords_take_their_time(Lane::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_10_password_times_reveal_nothing_on_postgres() {
    passwords_take_their_time(Lane::Postgres).await;
}

/// Wrong and empty password, user without a password, disabled, deleted and unknown user, with the service's parameters (P-4, P-10).
async fn passwords_take_their_time(lane: Lane) {
    let _quiet = QUIET.lock().await;
    let mut rounds = Vec::new();
    while rounds.len() < ROUNDS
        && rounds
            .last()
            .is_none_or(|widest| (MAX_RATIO..OBVIOUS).contains(widest))
    {
        let options = Options {
            hashing: Hashing::default(),
            ..Options::default()
        };
        let mut widest = None;
        on_with(lane, options, async |api| {
            widest = Some(of_passwords(api, lane).await);
        })
        .await;
        // The lane is missing, which has been reported.
        let Some(widest) = widest else { return };
        rounds.push(widest);
    }
    assert!(
        rounds.last().is_some_and(|widest| *widest < MAX_RATIO),
        "attack 10: kinds of users could be distinguished in every round: {rounds:?}"
    );
}

async fn of_passwords(api: &Api, lane: Lane) -> f64 {
    let path = "/v1/auth/passwords/verify";
    let known = people::with_password(api, "ada@example.com").await.user;
    let without = signed_in(api, "bob@example.com").await.text_at("/user_id");
    let disabled = people::with_password(api, "dan@example.com").await.user;
    let disable = format!("/v1/auth/users/{disabled}/disable");
    api.test().post(&disable, json!({})).await.ok();
    let deleted = people::with_password(api, "eve@example.com").await.user;
    let gone = format!("/v1/auth/users/{deleted}/delete");
    api.test().delete(&gone, None).await.ok();
    let unknown = format!("user_{}", "0".repeat(27));
    let kinds = [
        ("wrong password", known.as_str(), "correct horse batterz"),
        ("empty password", &known, ""),
        ("without a password", &without, PASSWORD),
        ("disabled user", &disabled, PASSWORD),
        ("deleted user", &deleted, PASSWORD),
        ("unknown user", &unknown, PASSWORD),
    ]
    .map(|(name, user, password)| {
        let body = json!({"user_id": user, "password": password});
        Kind::new(name, path, 401, move |_| body.clone())
    });
    let times = sampled(api, api.test(), &kinds).await;
    let title = format!("attack 10, passwords/verify on {lane:?}");
    widest(&title, &kinds.each_ref().map(Kind::name), &times, LEAST)
}

/// The threshold with `enumeration_safe`, for calls that hash nothing. These take fractions of a millisecond, so the threshold is wider.
///
/// In an optimized build decoding a row takes 20 microseconds of one millisecond, and areas were 0.49 to 0.55. An extra lookup, seal or
/// message of one kind shows above the threshold.
const MAX_CHEAP: f64 = if IS_OPTIMIZED { 0.60 } else { 0.75 };
/// As [`LEAST`]: half the time of a statement, measured now, because it depends on the machine and its load. Beyond the decoding of a user's
/// rows, an extra cost is another statement or seal.
async fn least_of_cheap(api: &Api) -> Duration {
    const STATEMENTS: usize = 51;
    if IS_OPTIMIZED {
        return Duration::ZERO;
    }
    let mut times = Vec::with_capacity(STATEMENTS);
    for _ in 0..STATEMENTS {
        let begun = Instant::now();
        api.service.ready().await.unwrap();
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    times[STATEMENTS / 2] / 2
}

/// Fails if two kinds of a call that hashes nothing can be distinguished in every round.
async fn assert_alike(api: &Api, title: &str, client: Client<'_>, kinds: &[Kind<'_>]) {
    let names: Vec<_> = kinds.iter().map(Kind::name).collect();
    let mut rounds = Vec::new();
    while rounds.len() < ROUNDS {
        let least = least_of_cheap(api).await;
        let times = sampled(api, client.clone(), kinds).await;
        let widest = widest(title, &names, &times, least);
        if widest < MAX_CHEAP {
            return;
        }
        rounds.push(widest);
    }
    panic!("{title}: kinds could be distinguished in every round: {rounds:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_10_code_and_link_times_reveal_nothing_on_sqlite() {
    codes_and_links_take_their_time(Lane::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_10_code_and_link_times_reveal_nothing_on_postgres() {
    codes_and_links_take_their_time(Lane::Postgres).await;
}

async fn codes_and_links_take_their_time(lane: Lane) {
    let _quiet = QUIET.lock().await;
    on_with(lane, Options::default(), async |api| {
        people::with_urls(api).await;
        people::enumeration_safe(api).await;
        signed_in(api, "known@example.com").await;
        for (path, is_judged) in [
            ("/v1/auth/otps/email/send", true),
            ("/v1/auth/passwords/reset/begin", true),
            // An unknown address becomes a user, which takes more writes. The time is printed, and the address is known from then on.
            ("/v1/auth/otps/email/login_or_create", false),
            ("/v1/auth/magic_links/email/login_or_create", false),
        ] {
            let kinds = [
                Kind::new(
                    "known",
                    path,
                    200,
                    |_| json!({"email": "known@example.com"}),
                ),
                Kind::new("unknown", path, 200, |turn| {
                    // The judged calls leave an unknown address unknown; the others need a new one each time.
                    let turn = if is_judged {
                        0
                    } else {
                        turn + path.len() * samples()
                    };
                    json!({"email": format!("unknown-{turn}@example.com")})
                }),
            ];
            let title = format!("attack 10, {path} on {lane:?}");
            if is_judged {
                assert_alike(api, &title, api.test(), &kinds).await;
            } else {
                let times = sampled(api, api.test(), &kinds).await;
                let names = kinds.each_ref().map(Kind::name);
                let _printed = widest(&title, &names, &times, Duration::ZERO);
            }
        }
        wrong_codes(api, lane).await;
    })
    .await;
}

/// A wrong code for a known and for an unknown user: the method id comes from `send`, whose responses do not differ.
///
/// In live, because the test environment also checks for reserved addresses and reads one more row for a known user.
async fn wrong_codes(api: &Api, lane: Lane) {
    let path = "/v1/auth/otps/verify";
    let known = json!({"email": "known@example.com"});
    api.live().post("/v1/auth/users/create", known).await.ok();
    let mut kinds = Vec::new();
    for name in ["known", "unknown"] {
        api.pass(86_400);
        let request = json!({"email": format!("{name}@example.com"), "expires_in": 10});
        let sent = api.live().post("/v1/auth/otps/email/send", request).await;
        let method = sent.ok().text_at("/email_id");
        let body = json!({"method_id": method, "otp": "271828"});
        kinds.push(Kind::new(name, path, 400, move |_| body.clone()));
    }
    let title = format!("attack 10, {path} on {lane:?}");
    assert_alike(api, &title, api.live(), &kinds).await;
}

/// How long a response may take on a busy machine; the transport never returns.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_10_no_response_waits_for_a_transport_on_sqlite() {
    no_response_waits_for_a_transport(Lane::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_10_no_response_waits_for_a_transport_on_postgres() {
    no_response_waits_for_a_transport(Lane::Postgres).await;
}

/// While mail and text messages hang in their transports, every sending call returns, for known and unknown identifiers alike.
async fn no_response_waits_for_a_transport(lane: Lane) {
    let stalled = Arc::new(StalledTransport::default());
    let options = Options {
        transport: Some(Arc::clone(&stalled)),
        ..Options::default()
    };
    on_with(lane, options, async |api| {
        people::with_urls(api).await;
        people::enumeration_safe(api).await;
        let (email, number) = (json!({"email": "known@example.com"}), "+14155552671");
        let live = api.live();
        let mail = "/v1/auth/otps/email/login_or_create";
        live.post(mail, email).await.ok();
        let text = "/v1/auth/otps/sms/login_or_create";
        live.post(text, json!({"phone_number": number})).await.ok();
        let service = Arc::clone(&api.service);
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let worker = tokio::spawn(async move {
            service.run_outbox(async { drop(stopped.await) }).await;
        });
        timeout(PATIENCE, stalled.hanging(2)).await.unwrap();
        for who in ["known", "unknown"] {
            let email = format!("{who}@example.com");
            for path in [
                mail,
                "/v1/auth/otps/email/send",
                "/v1/auth/magic_links/email/login_or_create",
                "/v1/auth/magic_links/email/invite",
                "/v1/auth/passwords/reset/begin",
            ] {
                api.pass(601);
                let response = live.post(path, json!({ "email": email }));
                timeout(PATIENCE, response).await.expect(path).ok();
            }
        }
        for number in [number, "+14155552672"] {
            for path in ["/v1/auth/otps/sms/send", text] {
                api.pass(601);
                let response = live.post(path, json!({"phone_number": number}));
                timeout(PATIENCE, response).await.expect(path).ok();
            }
        }
        stalled.let_go();
        drop(stop);
        timeout(PATIENCE, worker).await.unwrap().unwrap();
    })
    .await;
}
