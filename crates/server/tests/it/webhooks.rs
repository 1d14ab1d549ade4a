//! Webhook deliveries while processes are killed (WH-1, EV-K1).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vestry_contract::rng::{self, Rng};
use vestry_domain::webhook::SigningSecret;

use crate::on_both_databases;
use crate::support::client::Api;
use crate::support::installation::{Installation, Keys, text};
use crate::support::process::PATIENCE;
use crate::support::receiver::{Arrived, Manner, Receiver};

on_both_databases! {
    ev_k1_a_replay_survives_a_kill => super::a_replay_survives_a_kill;
    wh_10_disabling_takes_effect_on_every_process => super::disabling_takes_effect_on_every_process;
    wh_4_a_dead_receiver_holds_up_nobody => super::a_dead_receiver_holds_up_nobody;
    ev_f1_wh_4_a_hundred_dead_receivers_hold_up_nobody => super::a_hundred_dead_receivers_hold_up_nobody;
    wh_6_no_endpoint_leads_inwards => super::no_endpoint_leads_inwards;
}

/// An endpoint of the test environment, and its secret.
pub(crate) struct Endpoint {
    pub(crate) id: String,
    pub(crate) secret: SigningSecret,
}

pub(crate) fn endpoint(
    installation: &Installation,
    keys: &Keys,
    url: &str,
    types: &str,
) -> Endpoint {
    let made = installation.admin(&[
        "webhook", "create", &keys.app, "test", url, "--types", types,
    ]);
    Endpoint {
        id: text(&made, "id"),
        secret: SigningSecret::parse(&text(&made, "secret")).unwrap(),
    }
}

pub(crate) fn on_loopback(installation: &mut Installation) {
    installation.set("outbound.allowed_networks", "127.0.0.0/8");
    installation.set("webhooks.timeout", "2");
}

/// Creates a user in the test environment and returns its ID.
pub(crate) async fn user(api: &Api, number: usize) -> String {
    let body = json!({ "email": format!("receiver{number}@example.com") });
    text(
        &api.post("/v1/auth/users/create", &body).await.ok(),
        "user_id",
    )
}

/// Polls until a condition holds.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let lacks = async || match is_so().await {
        true => Vec::new(),
        false => vec![what.to_owned()],
    };
    until_nothing_lacks(what, lacks).await;
}

/// Polls until nothing is missing.
pub(crate) async fn until_nothing_lacks(what: &str, mut lacking: impl AsyncFnMut() -> Vec<String>) {
    let mut look = tokio::time::interval(Duration::from_millis(100));
    let mut lacks = Vec::new();
    for _ in 0..1_200 {
        look.tick().await;
        lacks = lacking().await;
        if lacks.is_empty() {
            return;
        }
    }
    panic!("{what}: there is still no {lacks:?}");
}

/// The whole log.
pub(crate) async fn log(api: &Api) -> Vec<Value> {
    let (mut log, mut after) = (Vec::new(), String::new());
    loop {
        let path = match after.as_str() {
            "" => "/v1/events?limit=1000".to_owned(),
            after => format!("/v1/events?limit=1000&after={after}"),
        };
        let page = api.try_get(&path).await.unwrap().ok();
        log.extend(page["events"].as_array().unwrap().iter().cloned());
        after = text(&page, "next_after");
        if page["has_more"] == false {
            return log;
        }
    }
}

/// A process is killed during a replay of a range. The other one continues it, and each event was queued for the endpoint once.
async fn a_replay_survives_a_kill(mut installation: Installation) {
    const USERS: usize = 60;
    on_loopback(&mut installation);
    let keys = installation.set_up();
    let mut rng = Rng::from_seed(rng::seed());
    let receiver = Receiver::start(Manner::Sound, &mut rng).await;
    let made = endpoint(&installation, &keys, &receiver.url, "user.created");
    let mut doomed = installation.serve().await;
    let other = installation.serve().await;
    let api = other.api(&keys.test);
    for number in 0..USERS {
        user(&api, number).await;
    }
    until("every event", async || receiver.arrived().len() == USERS).await;
    let first = receiver.arrived()[0].header("webhook-id").to_owned();
    let behind = log(&api).await.into_iter().filter_map(|event| {
        let is_of_user = event["type"] == "user.created";
        is_of_user.then(|| text(&event, "id"))
    });
    let behind: BTreeSet<String> = behind.skip_while(|id| *id != first).skip(1).collect();
    let which = [keys.app.as_str(), made.id.as_str()];
    let ask = [&["webhook", "replay"], &which[..], &["--after", &first]].concat();
    let asked = installation.admin(&ask);
    assert_eq!(asked["count"], behind.len());
    doomed.process.kill().await;
    let replayed = || -> BTreeSet<String> {
        let arrived = receiver.arrived().into_iter();
        let replays = arrived.filter(|request| request.header("vestry-replay") == "true");
        replays
            .map(|request| request.header("webhook-id").to_owned())
            .collect()
    };
    until("every event again", async || {
        // Deliveries of the killed process become due by the test clock.
        let ahead = json!({ "advance_seconds": 60 });
        api.post("/v1/test/clock", &ahead).await.ok();
        replayed() == behind
    })
    .await;
    let listed = installation.admin(&[&["webhook", "replays"], &which[..]].concat());
    let replay = &listed["replays"][0];
    assert_eq!(replay["replay_id"], asked["replay_id"]);
    assert_eq!(
        (&replay["state"], &replay["done"]),
        (&json!("done"), &asked["count"])
    );
    let all = [&["webhook", "deliveries"], &which[..], &["--limit", "1000"]].concat();
    let deliveries = installation.admin(&all);
    let deliveries = deliveries["deliveries"].as_array().unwrap();
    assert_eq!(deliveries.len(), USERS + behind.len());
    other.process.stop().await;
}

async fn disabling_takes_effect_on_every_process(mut installation: Installation) {
    on_loopback(&mut installation);
    let keys = installation.set_up();
    let mut rng = Rng::from_seed(rng::seed());
    let receiver = Receiver::start(Manner::Sound, &mut rng).await;
    let servers = [installation.serve().await, installation.serve().await];
    let made = endpoint(&installation, &keys, &receiver.url, "user.created");
    let mut number = 0;
    let mut create = async |server: usize| {
        number += 1;
        user(&servers[server].api(&keys.test), number).await
    };
    let was_sent = |user: &str| {
        let arrived = receiver.arrived();
        let mut events = arrived.iter().map(Arrived::event);
        events.any(|event| event["data"]["user_id"] == user)
    };
    for server in [0, 1] {
        let user = create(server).await;
        until("a user", async || was_sent(&user)).await;
    }
    // Undelivered events are pending; disabling holds them.
    receiver.be(Manner::Says(500));
    let held = [create(0).await, create(1).await];
    until("the first tries", async || {
        held.iter().all(|user| was_sent(user))
    })
    .await;
    installation.admin(&["webhook", "disable", &keys.app, &made.id]);
    let waiting = async || {
        let list = [
            "webhook",
            "deliveries",
            &keys.app,
            &made.id,
            "--state",
            "held",
        ];
        installation.admin(&list)["deliveries"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(waiting().await, 2);
    let tries = receiver.arrived().len();
    let later = json!({ "advance_seconds": 3_600 });
    let api = servers[0].api(&keys.test);
    api.post("/v1/test/clock", &later).await.ok();
    let missed = [create(0).await, create(1).await];
    until("events of others", async || {
        let page = api.try_get("/v1/events?limit=1000").await.unwrap().ok();
        page.to_string().contains(&missed[1])
    })
    .await;
    assert_eq!(receiver.arrived().len(), tries);
    receiver.be(Manner::Sound);
    installation.admin(&["webhook", "enable", &keys.app, &made.id]);
    until("the held events", async || {
        let arrived = receiver.arrived();
        let taken = arrived.iter().filter(|request| request.was_taken);
        let taken: Vec<_> = taken.map(|request| request.event().to_string()).collect();
        held.iter()
            .all(|user| taken.iter().any(|event| event.contains(user)))
    })
    .await;
    assert_eq!(waiting().await, 0);
    assert!(!missed.iter().any(|user| was_sent(user)));
    receiver.be(Manner::Says(410));
    create(0).await;
    until("the end of the endpoint", async || {
        let shown = installation.admin(&["webhook", "show", &keys.app, &made.id]);
        shown["disabled_reason"] == "gone"
    })
    .await;
    for server in servers {
        server.process.stop().await;
    }
}

/// With more dead endpoints than there are slots, an endpoint that responds gets everything at once.
async fn a_dead_receiver_holds_up_nobody(mut installation: Installation) {
    on_loopback(&mut installation);
    installation.set("webhooks.max_in_flight", "16");
    installation.set("webhooks.timeout", "30");
    let keys = installation.set_up();
    let other = installation.new_app();
    let mut rng = Rng::from_seed(rng::seed());
    let dead = Receiver::start(Manner::Dead, &mut rng).await;
    let sound = Receiver::start(Manner::Sound, &mut rng).await;
    for number in 0..10 {
        endpoint(
            &installation,
            &keys,
            &format!("{}/{number}", dead.url),
            "user.created",
        );
    }
    endpoint(&installation, &other, &sound.url, "user.created");
    let mut server = installation.serve().await;
    let api = server.api(&keys.test);
    for number in 0..20 {
        user(&api, number).await;
    }
    // Half of the slots are theirs.
    until("half of the room", async || dead.arrived().len() == 8).await;
    let api = server.api(&other.test);
    for number in 0..20 {
        user(&api, number).await;
    }
    until("the other App's events", async || {
        sound.arrived().len() == 20
    })
    .await;
    assert_eq!(dead.arrived().len(), 8);
    // Shutdown would wait for running requests.
    server.process.kill().await;
}

/// If the operator allows no networks, nothing on this machine is connected to.
async fn no_endpoint_leads_inwards(installation: Installation) {
    let keys = installation.set_up();
    let mut rng = Rng::from_seed(rng::seed());
    let receiver = Receiver::start(Manner::Sound, &mut rng).await;
    let inner = receiver.url.replace("127.0.0.1", "localhost");
    let urls = [
        receiver.url.as_str(),
        &inner,
        "https://127.0.0.1/",
        "https://localhost/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/",
        "https://2130706433/number",
        "https://0x7f.1/hexadecimal",
    ];
    for url in urls {
        let made = endpoint(&installation, &keys, url, "*");
        let tried = installation.run(&["webhook", "test", &keys.app, &made.id, "--json"]);
        assert_eq!(tried.code, 1, "{url}: {tried:?}");
        let output = "the host resolves to a blocked address";
        assert_eq!(tried.json()["error"], output, "{url}");
    }
    assert!(receiver.arrived().is_empty());
}

/// The number of dead endpoints, and how many of them an App has.
const DEAD: usize = 100;
const OF_AN_APP: usize = 19;

/// EV-F1: a hundred endpoints that never respond, in six Apps, next to one that does. It gets everything while they hold their connections
/// open. The latency with and without them is only printed, as the machine is shared.
async fn a_hundred_dead_receivers_hold_up_nobody(mut installation: Installation) {
    on_loopback(&mut installation);
    installation.set("webhooks.timeout", "30");
    let keys = installation.set_up();
    let mut rng = Rng::from_seed(rng::seed());
    let dead = Receiver::start(Manner::Dead, &mut rng).await;
    let sound = Receiver::start(Manner::Sound, &mut rng).await;
    endpoint(&installation, &keys, &sound.url, "user.created");
    let mut server = installation.serve().await;
    let api = server.api(&keys.test);
    let alone = delays(&api, &sound, 0..50).await;

    let mut apps = vec![keys];
    for number in 0..DEAD {
        if number % OF_AN_APP == 0 && number > 0 {
            apps.push(installation.new_app());
        }
        let url = format!("{}/{number}", dead.url);
        endpoint(&installation, apps.last().unwrap(), &url, "user.created");
    }
    for keys in &apps {
        let api = server.api(&keys.test);
        for number in 50..55 {
            user(&api, number).await;
        }
    }
    // A slow machine has tried some of them twice by then.
    let tried = || {
        let arrived = dead.arrived().into_iter();
        let paths = arrived.map(|request| request.header(":path").to_owned());
        paths.collect::<BTreeSet<_>>().len()
    };
    until("each is tried", async || tried() == DEAD).await;
    let beside = delays(&api, &sound, 55..105).await;
    assert_eq!(sound.arrived().len(), 105);
    println!("EV-F1: the slowest of 50 alone {alone:?}, beside {DEAD} dead ones {beside:?}");
    // Shutdown would wait for running requests.
    server.process.kill().await;
}

/// Creates these users one after the other and waits for each event. Returns the longest time.
async fn delays(api: &Api, receiver: &Receiver, users: std::ops::Range<usize>) -> Duration {
    let mut longest = Duration::ZERO;
    for number in users {
        let begun = Instant::now();
        let id = user(api, number).await;
        let is_it = |arrived: &Arrived| arrived.event()["data"]["user_id"] == *id;
        let sent = tokio::time::timeout(PATIENCE, receiver.until(is_it)).await;
        sent.unwrap_or_else(|_late| panic!("{id} never arrives"));
        longest = longest.max(begun.elapsed());
    }
    longest
}
