//! Clients that make all kinds of calls at once, remember the acknowledged ones, and check their effects afterwards.
//!
//! Every client keeps a history of acknowledged calls, and of calls without a response. The effects of acknowledged calls must exist. Calls
//! without a response may have taken effect at most once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use vestry_contract::rng::Rng;
use vestry_domain::message::LEASE;

use super::client::{Answer, Api};
use super::database::Database;
use super::flow::{Owner, assert_signed_by, sign};
use super::installation::{Installation, text};

/// Number of concurrent clients.
const CLIENTS: usize = 16;

/// How long a mail may take whose worker lost the database: its lease, one retry after the longest delay, and a slow machine.
const DELIVERED_WITHIN: Duration = Duration::from_secs(3 * LEASE.0.unsigned_abs());

/// Clients at work.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Client>>,
}

impl Load {
    /// Sixteen more clients, none of which is ever refused. `round` keeps their addresses apart from earlier ones.
    pub(crate) fn start(api: &Api, round: usize, rng: &mut Rng) -> Self {
        Self::of(api, round, 499, rng)
    }

    /// The same, for servers that may not have every acknowledged write yet. A refused client stops, and the effects of acknowledged calls
    /// must still exist afterwards.
    pub(crate) fn start_before_failover(api: &Api, round: usize, rng: &mut Rng) -> Self {
        Self::of(api, round, 399, rng)
    }

    /// The same without faults: an internal error of the service fails the test.
    pub(crate) fn start_undisturbed(api: &Api, round: usize, rng: &mut Rng) -> Self {
        Self::of(api, round, 599, rng)
    }

    /// Clients that stop at a response with a status above `most`.
    fn of(api: &Api, round: usize, most: u16, rng: &mut Rng) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let first = round * CLIENTS;
        let clients = (first..first + CLIENTS).map(|number| Client {
            api: api.clone(),
            rng: Rng::from_seed(rng.next()),
            number,
            steps: 0,
            most,
            gave_up: false,
            refused: None,
            history: History::default(),
        });
        let clients = clients.map(|client| tokio::spawn(client.run(Arc::clone(&stop))));
        Self {
            clients: clients.collect(),
            stop,
        }
    }

    /// Lets them work for a random time, one second at most. Afterwards every call is checked, so a longer history costs twice.
    pub(crate) async fn go_on(&self, rng: &mut Rng) {
        let moment = Duration::from_millis(50 + u64::try_from(rng.below(950)).unwrap());
        let load = tokio::time::timeout(moment, std::future::pending::<()>());
        load.await.expect_err("the load runs until it is stopped");
    }

    /// The clients once each has had its last response.
    pub(crate) async fn end(self) -> Vec<Client> {
        self.stop.store(true, Ordering::Relaxed);
        let mut ended = Vec::new();
        for client in self.clients {
            ended.push(client.await.unwrap());
        }
        ended
    }
}

/// The known state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Alive,
    Ended,
    /// The call to end it got no response.
    Unknown,
}

/// A code that was mailed.
struct Sent {
    email: String,
    method_id: String,
}

/// A code that was presented.
struct Presented {
    body: Value,
    /// Whether the response came and was positive.
    acknowledged: bool,
}

/// The history of one client.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) users: Vec<String>,
    pub(crate) owners: Vec<Owner>,
    /// Users for whom no wallet was acknowledged.
    without_wallet: Vec<String>,
    sessions: Vec<(String, Known)>,
    codes: Vec<Presented>,
    /// Acknowledged sends whose mail has not been read yet.
    unread: Vec<Sent>,
    pub(crate) acknowledged_writes: usize,
}

/// One client: its key, its random generator, and its history.
pub(crate) struct Client {
    api: Api,
    rng: Rng,
    number: usize,
    steps: usize,
    most: u16,
    /// Whether it stopped on its own, after an unexpected response.
    pub(crate) gave_up: bool,
    /// The response that stopped it, if any.
    pub(crate) refused: Option<Answer>,
    pub(crate) history: History,
}

impl Client {
    /// Runs until it is stopped, or gets an unexpected response or an internal error.
    async fn run(mut self, stop: Arc<AtomicBool>) -> Self {
        while !stop.load(Ordering::Relaxed) {
            self.steps += 1;
            // K1, without the calls that this build lacks.
            let went_on = match self.rng.below(100) {
                0..50 => self.sign_in().await,
                50..75 => self.create_wallet().await,
                75..90 => self.sign().await,
                _ => self.end_a_session().await,
            };
            if went_on.is_none() {
                self.gave_up = true;
                break;
            }
        }
        self
    }

    /// The response, if it determines the outcome.
    fn known(&mut self, answer: reqwest::Result<Answer>) -> Option<Answer> {
        let answer = answer.ok()?;
        if answer.status <= self.most {
            return Some(answer);
        }
        self.refused = Some(answer);
        None
    }

    async fn sign_in(&mut self) -> Option<()> {
        let email = format!("client{}-{}@example.com", self.number, self.steps);
        let body = json!({ "email": email, "expires_in": 10 });
        let sent = self
            .api
            .try_post("/v1/auth/otps/email/login_or_create", &body)
            .await;
        let sent = self.known(sent)?.ok();
        self.history.acknowledged_writes += 1;
        self.history.users.push(text(&sent, "user_id"));
        self.history.without_wallet.push(text(&sent, "user_id"));
        let method_id = text(&sent, "email_id");
        self.history.unread.push(Sent {
            email: email.clone(),
            method_id: method_id.clone(),
        });
        let mail = self
            .api
            .try_get(&format!("/v1/test/messages?to={email}&wait=10"))
            .await;
        let mail = self.known(mail)?.ok();
        let code = mail["messages"][0]["code"].as_str()?.to_owned();
        self.history.unread.pop();
        let body = json!({ "method_id": method_id, "otp": code, "session_expires_in": 60 });
        let verified = self.api.try_post("/v1/auth/otps/verify", &body).await;
        let answer = self.known(verified);
        self.history.codes.push(Presented {
            body,
            acknowledged: answer.is_some(),
        });
        let verified = answer?.ok();
        self.history.acknowledged_writes += 1;
        self.history
            .sessions
            .push((text(&verified, "session_token"), Known::Alive));
        Some(())
    }

    async fn create_wallet(&mut self) -> Option<()> {
        let Some(user_id) = self.history.without_wallet.last().cloned() else {
            return Some(());
        };
        let body = json!({ "user_id": user_id, "wallet_type": "ethereum" });
        let wallet = self.api.try_post("/v1/wallets/create", &body).await;
        let wallet = self.known(wallet)?.ok();
        self.history.acknowledged_writes += 1;
        self.history.without_wallet.pop();
        self.history.owners.push(Owner {
            user_id,
            wallet_id: text(&wallet, "id"),
            address: text(&wallet, "public_address"),
        });
        Some(())
    }

    async fn sign(&mut self) -> Option<()> {
        let owners = &self.history.owners;
        if owners.is_empty() {
            return Some(());
        }
        let owner = owners[self.rng.below(owners.len())].clone();
        let path = format!("/v1/wallets/{}/sign_message", owner.wallet_id);
        let message = json!({ "message": "test" });
        let signed = self.api.try_post(&path, &message).await;
        let signed = self.known(signed)?.ok();
        assert_eq!(signed["wallet"]["public_address"], owner.address.as_str());
        Some(())
    }

    async fn end_a_session(&mut self) -> Option<()> {
        let mut sessions = self.history.sessions.iter();
        let alive = sessions.position(|(_, known)| *known == Known::Alive);
        let Some(place) = alive else {
            return Some(());
        };
        let body = json!({ "session_token": self.history.sessions[place].0 });
        let ended = self.api.try_delete("/v1/auth/sessions/delete", &body).await;
        self.history.sessions[place].1 = match &ended {
            Ok(ended) if ended.status < 300 => Known::Ended,
            // Nothing was done.
            Ok(refused) if refused.status < 500 => Known::Alive,
            _ => Known::Unknown,
        };
        self.known(ended)?.ok();
        self.history.acknowledged_writes += 1;
        Some(())
    }
}

/// Checks a history against an undisturbed server; the unknown is known afterwards.
async fn check(api: &Api, history: &mut History, public_keys: &[(String, String)]) {
    for user in &history.users {
        api.get(&format!("/v1/auth/users/{user}")).await.ok();
    }
    for owner in &history.owners {
        let wallet = format!("/v1/wallets/{}", owner.wallet_id);
        assert_eq!(
            api.get(&wallet).await.ok()["public_address"],
            owner.address.as_str()
        );
        let signed = sign(api, owner, &owner.wallet_id).await.ok();
        let key = public_keys
            .iter()
            .find(|(wallet, _)| *wallet == owner.wallet_id);
        let (_, public_key) = key.expect("the wallet has a key");
        assert_signed_by(
            public_key,
            owner,
            &owner.wallet_id,
            &text(&signed, "signature"),
        );
    }
    for (token, state) in &mut history.sessions {
        let verified = api
            .post(
                "/v1/auth/sessions/verify",
                &json!({ "session_token": token }),
            )
            .await;
        let alive = verified.status == 200;
        match state {
            Known::Alive => assert!(
                alive,
                "I1: an acknowledged session is lost: {}",
                verified.body
            ),
            Known::Ended => assert!(!alive, "I6: an ended session is still valid"),
            Known::Unknown => *state = if alive { Known::Alive } else { Known::Ended },
        }
        if !alive {
            assert_eq!(verified.error(401), "invalid_session");
        }
    }
    for code in &mut history.codes {
        let again = api.post("/v1/auth/otps/verify", &code.body).await;
        if again.status == 200 {
            assert!(!code.acknowledged, "I4: a code worked twice");
            code.acknowledged = true;
            let third = api.post("/v1/auth/otps/verify", &code.body).await;
            assert_eq!(third.error(400), "invalid_otp");
        } else {
            assert_eq!(again.error(400), "invalid_otp");
        }
    }
}

/// Checks all clients concurrently.
pub(crate) async fn check_all(
    api: &Api,
    installation: &Installation,
    clients: Vec<Client>,
) -> Vec<Client> {
    let query = format!(
        "SELECT wallet_id AS one, {} AS two FROM wallet_keys",
        installation.database.hex("public_key")
    );
    let public_keys = Arc::new(installation.database.pairs(&query).await);
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            let (api, public_keys) = (api.clone(), Arc::clone(&public_keys));
            tokio::spawn(async move {
                check(&api, &mut client.history, &public_keys).await;
                client
            })
        })
        .collect();
    let mut clients = Vec::new();
    for task in tasks {
        clients.push(task.await.unwrap());
    }
    clients
}

/// I7: every acknowledged send is delivered, even if the worker that held it was killed.
pub(crate) async fn check_mails(api: &Api, histories: &[History]) {
    let unread = histories.iter().flat_map(|history| &history.unread);
    let tasks: Vec<_> = unread
        .map(|sent| {
            let api = api.clone();
            let path = format!("/v1/test/messages?to={}&wait=30", sent.email);
            let method_id = sent.method_id.clone();
            tokio::spawn(async move {
                // A call that finds no place to wait returns after a second.
                let read = async {
                    while !api.get(&path).await.ok()["messages"][0]["code"].is_string() {}
                };
                let delivered = tokio::time::timeout(DELIVERED_WITHIN, read).await;
                assert!(
                    delivered.is_ok(),
                    "the mail to {method_id} was never delivered"
                );
            })
        })
        .collect();
    println!(
        "sends whose mail was read after the last kill only: {}",
        tasks.len()
    );
    for task in tasks {
        task.await.unwrap();
    }
}

/// Checks the rows in the database directly.
pub(crate) async fn check_rows(installation: &Installation) {
    if matches!(installation.database, Database::Sqlite(_)) {
        let query = "SELECT integrity_check AS one, '' AS two FROM pragma_integrity_check";
        let output = installation.database.pairs(query).await;
        assert_eq!(output, [("ok".to_owned(), String::new())]);
    }
    let twice = "SELECT user_id AS one, wallet_type AS two FROM wallets GROUP BY user_id, wallet_type HAVING COUNT(*) > 1";
    assert!(
        installation.database.pairs(twice).await.is_empty(),
        "I2: two wallets of one type"
    );
    let keyless = "SELECT wallets.id AS one, wallets.user_id AS two FROM wallets LEFT JOIN wallet_keys ON wallet_keys.app_id = wallets.app_id AND wallet_keys.environment = wallets.environment AND wallet_keys.wallet_id = wallets.id WHERE wallet_keys.id IS NULL";
    assert!(
        installation.database.pairs(keyless).await.is_empty(),
        "a wallet without its key"
    );
}
