//! Races, with two server processes on one Postgres and with one on SQLite.
//!
//! The counts are those for each change (`docs/requirements/faults.md`).

use std::collections::HashSet;
use std::future::Future;

use serde_json::{Value, json};
use vestry_contract::browser::Browser;
use vestry_testkit::lane::variable;

use crate::on_both_databases;
use crate::support::client::{Answer, Api};
use crate::support::database::Database;
use crate::support::flow::{captured_code, new_owner, send_code, sign, sign_in};
use crate::support::installation::{Installation, Keys, Server, text};

on_both_databases! {
    /// R1
    one_wallet_of_a_hundred_creates => super::one_wallet_of_a_hundred_creates;
    /// R2
    one_user_of_a_hundred_sign_ins => super::one_user_of_a_hundred_sign_ins;
    /// R3, OTP-3
    one_success_of_a_hundred_right_codes => super::one_success_of_a_hundred_right_codes;
    /// R6, W-1, attack-4
    one_success_of_a_hundred_answers_to_a_challenge => super::one_success_of_a_hundred_answers_to_a_challenge;
    /// R4, OTP-4
    five_tries_of_a_hundred_wrong_codes => super::five_tries_of_a_hundred_wrong_codes;
    /// R6, OTP-12
    one_success_of_a_hundred_totp_codes => super::one_success_of_a_hundred_totp_codes;
    /// R6, OTP-13
    one_success_of_a_hundred_recovery_codes => super::one_success_of_a_hundred_recovery_codes;
    /// R6, ML-3
    one_success_of_a_hundred_uses_of_a_link => super::one_success_of_a_hundred_uses_of_a_link;
    /// R6, P-13: the link of a password reset
    one_success_of_a_hundred_resets => super::one_success_of_a_hundred_resets;
    /// R6: the link and the code of one mail
    one_success_of_a_hundred_uses_of_a_mail => super::one_success_of_a_hundred_uses_of_a_mail;
    /// R6: the session of the browser that started the sign-in
    one_success_of_a_hundred_origins => super::one_success_of_a_hundred_origins;
    /// R6
    one_success_of_a_hundred_wallet_signatures => super::one_success_of_a_hundred_wallet_signatures;
    /// M-32, R1
    m_32_creates_beside_a_wallet_sign_in_answer_one_wallet => super::creates_beside_a_wallet_sign_in_answer_one_wallet;
    /// A disabled wallet does not sign, on any process.
    a_disabled_wallet_signs_no_more => super::a_disabled_wallet_signs_no_more;
    /// R16
    exactly_a_hundred_of_three_hundred_requests => super::exactly_a_hundred_of_three_hundred_requests;
}

pub(crate) const PARALLEL: usize = 100;

/// The rounds of each race: `VESTRY_TEST_ROUNDS`, set by `cargo xtask attacks --races`, or 5. A statement without a guard loses its race
/// in the first rounds; more rounds find rare failures.
pub(crate) fn rounds() -> usize {
    let wanted = variable("VESTRY_TEST_ROUNDS");
    wanted.map_or(5, |rounds| rounds.parse().unwrap())
}

/// The processes that race: two if they can share the database.
pub(crate) struct Field {
    servers: Vec<Server>,
    pub(crate) keys: Keys,
}

impl Field {
    pub(crate) async fn start(installation: &Installation) -> Self {
        let keys = installation.set_up();
        let servers = Self::serve(installation).await;
        Self { servers, keys }
    }

    async fn serve(installation: &Installation) -> Vec<Server> {
        let count = match installation.database {
            Database::Sqlite(_) => 1,
            Database::Postgres(_) | Database::Elsewhere(_) => 2,
        };
        let mut servers = Vec::new();
        for _ in 0..count {
            servers.push(installation.serve().await);
        }
        servers
    }

    /// Kills all processes like a power failure, and restarts them.
    pub(crate) async fn kill_and_start_again(&mut self, installation: &Installation) {
        for server in &mut self.servers {
            server.process.kill().await;
        }
        self.servers = Self::serve(installation).await;
    }

    /// Sets up a default redirect URL of each kind.
    pub(crate) async fn start_with_urls(installation: &Installation) -> Self {
        let field = Self::start(installation).await;
        installation.admin(&[
            "redirect-url",
            "add",
            &field.keys.app,
            "test",
            "https://app.example.com/in",
            "--kind",
            "login,registration,invite",
            "--default",
        ]);
        field
    }

    /// Clients for all processes, with one key.
    pub(crate) fn clients(&self, key: &str) -> Vec<Api> {
        let first = self.servers[0].api(key);
        self.servers
            .iter()
            .map(|server| first.at(&server.base_url))
            .collect()
    }

    pub(crate) async fn stop(self, row: &str, rounds: usize, parallel: usize) {
        println!(
            "{row}: {rounds} rounds of {parallel} parallel calls, {} processes",
            self.servers.len()
        );
        for server in self.servers {
            server.process.stop().await;
        }
    }
}

/// Runs `count` calls at once, spread over the clients.
pub(crate) async fn all_at_once<F, C>(clients: &[Api], count: usize, call: C) -> Vec<Answer>
where
    C: Fn(usize, Api) -> F,
    F: Future<Output = Answer> + Send + 'static,
{
    let calls = clients.iter().cycle().take(count).enumerate();
    let calls: Vec<_> = calls
        .map(|(number, api)| tokio::spawn(call(number, api.clone())))
        .collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    answers
}

async fn one_wallet_of_a_hundred_creates(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let mut wallets = 0;
    for round in 0..rounds() {
        // A user created by a sign-in has no wallet yet.
        let email = format!("user{round}@example.com");
        let body = json!({ "email": email });
        let created = clients[0]
            .post("/v1/auth/otps/email/login_or_create", &body)
            .await
            .ok();
        let body = json!({ "user_id": text(&created, "user_id"), "wallet_type": "ethereum" });
        let answers = all_at_once(&clients, PARALLEL, |_, api| {
            let body = body.clone();
            async move { api.post("/v1/wallets/create", &body).await }
        })
        .await;
        let made: HashSet<(String, String)> = answers
            .into_iter()
            .map(|answer| answer.ok())
            .map(|wallet| (text(&wallet, "id"), text(&wallet, "public_address")))
            .collect();
        assert_eq!(made.len(), 1, "round {round}");
        wallets += 1;
    }
    // "exactly 1 key generated and kept"
    let kept = installation
        .database
        .pairs("SELECT id AS one, wallet_id AS two FROM wallet_keys")
        .await;
    assert_eq!(kept.len(), wallets);
    field.stop("R1", rounds(), PARALLEL).await;
}

async fn a_disabled_wallet_signs_no_more(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let owner = new_owner(&clients[0], "ada@example.com").await;
    let [disable, enable] =
        ["disable", "enable"].map(|verb| format!("/v1/wallets/{}/{verb}", owner.wallet_id));
    let nothing = json!({});
    let entries = || {
        let audited = installation.admin(&["audit", "verify"]);
        assert_eq!(audited["ok"], true);
        audited["entries"].as_u64().unwrap()
    };
    let before = entries();
    for round in 0..rounds() {
        let signs = async || {
            all_at_once(&clients, 20, |number, api| {
                let owner = owner.clone();
                async move { sign(&api, &owner, &format!("{round} {number}")).await }
            })
            .await
        };
        for signed in signs().await {
            signed.ok();
        }
        let switching = &clients[round % clients.len()];
        switching.post(&disable, &nothing).await.ok();
        for refused in signs().await {
            assert_eq!(refused.error(403), "wallet_disabled", "round {round}");
        }
        switching.post(&enable, &nothing).await.ok();
    }
    // Each round signs twenty times, and disables and enables the wallet.
    let expected = u64::try_from(rounds() * (20 + 2)).unwrap();
    assert_eq!(entries() - before, expected);
    field.stop("disabled wallets", rounds(), 20).await;
}

async fn one_user_of_a_hundred_sign_ins(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        // Spellings of one mailbox: some servers distinguish capital letters in the local part.
        let spellings = [
            format!("user{round}@example.com"),
            format!("user{round}@Example.com"),
            format!("user{round}@EXAMPLE.COM"),
            format!(" user{round}@example.com "),
        ];
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let body = json!({ "email": spellings[number % spellings.len()] });
            async move { api.post("/v1/auth/otps/email/login_or_create", &body).await }
        })
        .await;
        // All but one are repeats of that one and get the same response (M-5).
        for answer in &answers {
            assert_eq!(answer.status, 200, "round {round}: {}", answer.body);
            assert_eq!(answer.body["user_created"], true, "round {round}");
        }
        let users: HashSet<String> = answers
            .iter()
            .map(|answer| text(&answer.body, "user_id"))
            .collect();
        assert_eq!(users.len(), 1, "round {round}");

        // Spellings of one identity that may be several mailboxes: each gets its own message, up to the limit of the identity.
        let spellings = ["case", "Case", "CASE"].map(|local| format!("{local}{round}@example.com"));
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let body = json!({ "email": spellings[number % spellings.len()] });
            async move { api.post("/v1/auth/otps/email/login_or_create", &body).await }
        })
        .await;
        let (sent, limited): (Vec<_>, Vec<_>) =
            answers.iter().partition(|answer| answer.status == 200);
        for answer in limited {
            assert_eq!(answer.error(429), "too_many_attempts", "round {round}");
        }
        let users: HashSet<String> = sent
            .iter()
            .map(|answer| text(&answer.body, "user_id"))
            .collect();
        assert_eq!(users.len(), 1, "round {round}");
    }
    field.stop("R2", rounds(), PARALLEL).await;
}

fn verification(method_id: &str, otp: &str) -> Value {
    json!({ "method_id": method_id, "otp": otp, "session_expires_in": 60 })
}

async fn one_success_of_a_hundred_right_codes(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        let email = format!("user{round}@example.com");
        let method_id = send_code(&clients[0], &email).await;
        let body = verification(&method_id, &captured_code(&clients[0], &email).await);
        let answers = all_at_once(&clients, PARALLEL, |_, api| {
            let body = body.clone();
            async move { api.post("/v1/auth/otps/verify", &body).await }
        })
        .await;
        let (right, wrong): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(right.len(), 1, "round {round}");
        for answer in &wrong {
            assert_eq!(answer.error(400), "invalid_otp");
        }
        let user_id = text(&right[0].body, "user_id");
        let sessions = clients[0]
            .get(&format!("/v1/auth/sessions/list?user_id={user_id}"))
            .await
            .ok();
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    }
    field.stop("R3", rounds(), PARALLEL).await;
}

/// One assertion a hundred times: the challenge is used once, and all others get the same refusal.
async fn one_success_of_a_hundred_answers_to_a_challenge(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let owner = new_owner(&clients[0], "ada@example.com").await;
    let webauthn = "/v1/auth/webauthn";
    let mut browser = Browser::at("http://localhost:3000");
    let begin = json!({ "domain": "localhost", "user_id": owner.user_id });
    let begun = clients[0]
        .post(&format!("{webauthn}/registrations/begin"), &begin)
        .await
        .ok();
    let credential = browser
        .create(&begun["public_key_credential_creation_options"])
        .await;
    let body = json!({ "user_id": owner.user_id, "public_key_credential": credential });
    clients[0]
        .post(&format!("{webauthn}/registrations/create"), &body)
        .await
        .ok();
    for round in 0..rounds() {
        let begun = clients[0]
            .post(&format!("{webauthn}/authentication/begin"), &begin)
            .await
            .ok();
        let credential = browser
            .get(&begun["public_key_credential_request_options"])
            .await;
        let body = json!({ "public_key_credential": credential, "session_expires_in": 60 });
        let answers = all_at_once(&clients, PARALLEL, |_, api| {
            let body = body.clone();
            async move { api.post("/v1/auth/webauthn/verify", &body).await }
        })
        .await;
        let (right, wrong): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(right.len(), 1, "round {round}");
        for answer in &wrong {
            assert_eq!(answer.error(401), "invalid_credentials");
        }
        let sessions = clients[0]
            .get(&format!("/v1/auth/sessions/list?user_id={}", owner.user_id))
            .await
            .ok();
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), round + 1);
    }
    field.stop("R6", rounds(), PARALLEL).await;
}

async fn five_tries_of_a_hundred_wrong_codes(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let mut successes = 0;
    for round in 0..rounds() {
        let email = format!("user{round}@example.com");
        let method_id = send_code(&clients[0], &email).await;
        let right = captured_code(&clients[0], &email).await;
        let right: u32 = right.parse().unwrap();
        // The right code is at a random place among distinct wrong ones.
        let place = round * 7 % PARALLEL;
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let wrong = u32::try_from(number).unwrap() + 1;
            let otp = if number == place {
                right
            } else {
                (right + wrong) % 1_000_000
            };
            let body = verification(&method_id, &format!("{otp:06}"));
            async move { api.post("/v1/auth/otps/verify", &body).await }
        })
        .await;
        let succeeded = answers.iter().filter(|answer| answer.status == 200).count();
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!(answer.error(400), "invalid_otp");
        }
        assert!(succeeded <= 1, "round {round}");
        assert!(
            succeeded == 0 || answers[place].status == 200,
            "round {round}"
        );
        successes += succeeded;
        let tries = format!(
            "SELECT method_id AS one, CAST(tries AS TEXT) AS two FROM codes WHERE method_id = '{method_id}'"
        );
        let tries = installation.database.pairs(&tries).await;
        let counted: u32 = tries[0].1.parse().unwrap();
        assert!(counted <= 5, "round {round}: {counted} comparisons");
        // Dead or used: even the right code no longer has any effect.
        let body = verification(&method_id, &format!("{right:06}"));
        let again = clients[0].post("/v1/auth/otps/verify", &body).await;
        assert_eq!(again.error(400), "invalid_otp");
    }
    println!("R4: the right code was among the first five {successes} times");
    field.stop("R4", rounds(), PARALLEL).await;
}

/// A user with an authenticator app whose first code was verified.
struct Authenticator {
    user_id: String,
    seed: Vec<u8>,
    /// The step of the first code. The next one is accepted too, however long the test takes.
    step: i64,
    recovery_codes: Vec<String>,
}

impl Authenticator {
    async fn new(api: &Api, round: usize) -> Self {
        let body = json!({ "email": format!("user{round}@example.com"), "include_user": true });
        let user = api.post("/v1/auth/users/create", &body).await.ok();
        let user_id = text(&user, "user_id");
        let body = json!({ "user_id": user_id });
        let created = api.post("/v1/auth/totps/create", &body).await.ok();
        let secret = text(&created, "secret");
        let codes = created["recovery_codes"].as_array().unwrap();
        let authenticator = Self {
            user_id,
            seed: data_encoding::BASE32_NOPAD
                .decode(secret.as_bytes())
                .unwrap(),
            step: user["user"]["created_at"].as_i64().unwrap() / 30,
            recovery_codes: codes
                .iter()
                .map(|code| code.as_str().unwrap().to_owned())
                .collect(),
        };
        let first = authenticator.code(authenticator.step);
        let body = json!({ "user_id": authenticator.user_id, "totp": first });
        api.post("/v1/auth/totps/verify", &body).await.ok();
        authenticator
    }

    fn code(&self, step: i64) -> String {
        vestry_domain::totp::code_at(&self.seed, step)
            .expose()
            .clone()
    }
}

/// Exactly one of a hundred identical requests succeeds, the others get this refusal, and there is one session.
async fn one_of_a_hundred(
    clients: &[Api],
    path: &'static str,
    body: Value,
    refusal: (u16, &str),
    round: usize,
) {
    let answers = all_at_once(clients, PARALLEL, |_, api| {
        let body = body.clone();
        async move { api.post(path, &body).await }
    })
    .await;
    let (right, wrong): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(right.len(), 1, "round {round}");
    for answer in &wrong {
        assert_eq!(answer.error(refusal.0), refusal.1);
    }
    let user_id = text(&right[0].body, "user_id");
    let sessions = clients[0]
        .get(&format!("/v1/auth/sessions/list?user_id={user_id}"))
        .await
        .ok();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
}

/// The refusal of a used code.
const USED_CODE: (u16, &str) = (400, "invalid_otp");

async fn one_success_of_a_hundred_totp_codes(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        let authenticator = Authenticator::new(&clients[0], round).await;
        let body = json!({
            "user_id": authenticator.user_id,
            "totp": authenticator.code(authenticator.step + 1),
            "session_expires_in": 60,
        });
        one_of_a_hundred(&clients, "/v1/auth/totps/verify", body, USED_CODE, round).await;
    }
    field.stop("R6 (TOTP step)", rounds(), PARALLEL).await;
}

async fn one_success_of_a_hundred_recovery_codes(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        let authenticator = Authenticator::new(&clients[0], round).await;
        let body = json!({
            "user_id": authenticator.user_id,
            "recovery_code": authenticator.recovery_codes[round % 16],
            "session_expires_in": 60,
        });
        one_of_a_hundred(&clients, "/v1/auth/totps/recovery", body, USED_CODE, round).await;
    }
    field.stop("R6 (recovery code)", rounds(), PARALLEL).await;
}

/// Sends a link to a fresh address. Returns the mail and the ID of the address.
async fn mailed_link(api: &Api, email: &str) -> (Value, String) {
    let body = json!({ "email": email });
    let sent = api
        .post("/v1/auth/magic_links/email/login_or_create", &body)
        .await
        .ok();
    let path = format!("/v1/test/messages?to={email}&wait=20");
    let mut found = api.get(&path).await.ok();
    (found["messages"][0].take(), text(&sent, "email_id"))
}

/// The number of a user's sessions.
async fn sessions_of(api: &Api, user_id: &str) -> usize {
    let path = format!("/v1/auth/sessions/list?user_id={user_id}");
    let found = api.get(&path).await.ok();
    found["sessions"].as_array().unwrap().len()
}

async fn one_success_of_a_hundred_uses_of_a_link(installation: Installation) {
    let field = Field::start_with_urls(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        let (mail, _) = mailed_link(&clients[0], &format!("user{round}@example.com")).await;
        let body = json!({ "token": mail["token"], "session_expires_in": 60 });
        let answers = all_at_once(&clients, PARALLEL, |_, api| {
            let body = body.clone();
            async move { api.post("/v1/auth/magic_links/verify", &body).await }
        })
        .await;
        let (good, bad): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(good.len(), 1, "round {round}");
        for answer in &bad {
            assert_eq!(answer.error(400), "invalid_magic_token");
        }
        let user_id = text(&good[0].body, "user_id");
        assert_eq!(sessions_of(&clients[0], &user_id).await, 1);
    }
    field.stop("R6 (links)", rounds(), PARALLEL).await;
}

/// Always few rounds: every call first finds the link valid, and pays for a hash.
async fn one_success_of_a_hundred_resets(mut installation: Installation) {
    const ROUNDS: usize = 3;
    installation.set("passwords.memory_kib", "7168");
    installation.set("passwords.iterations", "5");
    installation.set("passwords.queue", "200");
    let field = Field::start_with_urls(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..ROUNDS {
        let email = format!("user{round}@example.com");
        let body = json!({ "email": email });
        let created = clients[0].post("/v1/auth/users/create", &body).await.ok();
        clients[0]
            .post("/v1/auth/passwords/reset/begin", &body)
            .await
            .ok();
        let path = format!("/v1/test/messages?to={email}&kind=password_reset&wait=20");
        let mail = clients[0].get(&path).await.ok()["messages"][0].take();
        let password = |number: usize| format!("password {number} of a hundred");
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let body = json!({
                "token": mail["token"], "password": password(number), "session_expires_in": 60,
            });
            async move { api.post("/v1/auth/passwords/reset/complete", &body).await }
        })
        .await;
        let winners: Vec<_> = (0..PARALLEL)
            .filter(|number| answers[*number].status == 200)
            .collect();
        assert_eq!(winners.len(), 1, "round {round}");
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            match answer.status {
                // On a busy machine some calls wait too long for their hash, and change nothing.
                503 => assert_eq!(answer.error(503), "unavailable"),
                _ => assert_eq!(answer.error(400), "invalid_magic_token"),
            }
        }
        let user_id = text(&created, "user_id");
        assert_eq!(sessions_of(&clients[0], &user_id).await, 1);
        // The password is that of the call that succeeded.
        for (number, status) in [(winners[0], 200), ((winners[0] + 1) % PARALLEL, 401)] {
            let body = json!({ "user_id": user_id, "password": password(number) });
            let verified = clients[0].post("/v1/auth/passwords/verify", &body).await;
            assert_eq!(verified.status, status, "round {round}");
        }
    }
    field.stop("R6 (resets)", ROUNDS, PARALLEL).await;
}

async fn one_success_of_a_hundred_uses_of_a_mail(installation: Installation) {
    let field = Field::start_with_urls(&installation).await;
    let clients = field.clients(&field.keys.test);
    let mut by_link = 0;
    for round in 0..rounds() {
        let (mail, email_id) = mailed_link(&clients[0], &format!("user{round}@example.com")).await;
        let link = json!({ "token": mail["token"], "session_expires_in": 60 });
        let code = verification(&email_id, &text(&mail, "code"));
        // Two of each, alternating: both processes get both.
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let (link, code) = (link.clone(), code.clone());
            async move {
                if number / 2 % 2 == 0 {
                    api.post("/v1/auth/magic_links/verify", &link).await
                } else {
                    api.post("/v1/auth/otps/verify", &code).await
                }
            }
        })
        .await;
        let mut good = Vec::new();
        for (number, answer) in answers.into_iter().enumerate() {
            let is_link = number / 2 % 2 == 0;
            if answer.status == 200 {
                by_link += usize::from(is_link);
                good.push(answer);
            } else {
                let expected = if is_link {
                    "invalid_magic_token"
                } else {
                    "invalid_otp"
                };
                assert_eq!(answer.error(400), expected);
            }
        }
        assert_eq!(good.len(), 1, "round {round}");
        let user_id = text(&good[0].body, "user_id");
        assert_eq!(sessions_of(&clients[0], &user_id).await, 1);
    }
    println!("R6: the link was faster than its code {by_link} times");
    field.stop("R6 (links and codes)", rounds(), PARALLEL).await;
}

async fn one_success_of_a_hundred_origins(installation: Installation) {
    let field = Field::start_with_urls(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        let email = format!("user{round}@example.com");
        send_code(&clients[0], &email).await;
        let body = json!({ "email": email });
        let made = clients[0]
            .post("/v1/auth/magic_links/create", &body)
            .await
            .ok();
        let body = json!({ "token": made["token"], "session_expires_in": 60 });
        let used = clients[0].post("/v1/auth/magic_links/verify", &body).await;
        let user_id = text(&used.ok(), "user_id");
        let body = json!({
            "email_id": made["email_id"], "request_origin_token": made["request_origin_token"],
        });
        let answers = all_at_once(&clients, PARALLEL, |_, api| {
            let body = body.clone();
            async move {
                api.post("/v1/auth/magic_links/email/login_status", &body)
                    .await
            }
        })
        .await;
        let (good, bad): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(good.len(), 1, "round {round}");
        for answer in &bad {
            assert_eq!(answer.error(400), "invalid_request_origin_token");
        }
        assert_eq!(sessions_of(&clients[0], &user_id).await, 2);
    }
    field
        .stop("R6 (origins of links)", rounds(), PARALLEL)
        .await;
}

/// These are wallets of the live environment; to the test environment they are external wallets.
async fn one_success_of_a_hundred_wallet_signatures(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let pockets = field.clients(&field.keys.live);
    for round in 0..rounds() {
        let owner = new_owner(&pockets[0], &format!("user{round}@example.com")).await;
        let path = format!("/v1/wallets/{}", owner.wallet_id);
        let address = text(&pockets[0].get(&path).await.ok(), "public_address");
        let mut body = json!({ "wallet_type": "ethereum", "public_address": address });
        let begun = clients[0]
            .post("/v1/auth/wallets/registrations/begin", &body)
            .await
            .ok();
        let message = json!({ "message": text(&begun, "challenge") });
        let path = format!("{path}/sign_message");
        let signed = pockets[0].post(&path, &message).await.ok();
        body["signature"] = signed["signature"].clone();
        body["session_expires_in"] = json!(60);
        let used = (401, "invalid_credentials");
        one_of_a_hundred(&clients, "/v1/auth/wallets/verify", body, used, round).await;
    }
    field
        .stop("R6 (wallet challenge)", rounds(), PARALLEL)
        .await;
}

/// Creates race with the signature that links an external wallet to the user. If the signature is first, creates return that wallet and
/// make none. Otherwise they make a new one. All creates return the same wallet, and there is never a second.
async fn creates_beside_a_wallet_sign_in_answer_one_wallet(installation: Installation) {
    const PARALLEL: usize = 8;
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let pockets = field.clients(&field.keys.live);
    let mut held_first = 0;
    for round in 0..rounds() {
        let pocket = new_owner(&pockets[0], &format!("pocket{round}@example.com")).await;
        // A user created by a sign-in has no wallet yet.
        let user = sign_in(&clients[0], &format!("user{round}@example.com")).await;
        let user = text(&user, "user_id");
        let mut proof = json!({
            "wallet_type": "ethereum", "public_address": pocket.address, "user_id": user,
        });
        let begun = clients[0]
            .post("/v1/auth/wallets/registrations/begin", &proof)
            .await
            .ok();
        let signed = sign(&pockets[0], &pocket, &text(&begun, "challenge")).await;
        proof["signature"] = signed.ok()["signature"].clone();
        proof.as_object_mut().unwrap().remove("user_id");
        let create = json!({ "user_id": user, "wallet_type": "ethereum" });
        // At another place among the calls in each round, so that either side can be first. After signing, the client creates at once.
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let (proof, create) = (proof.clone(), create.clone());
            async move {
                if number == round % PARALLEL {
                    api.post("/v1/auth/wallets/verify", &proof).await.ok();
                }
                api.post("/v1/wallets/create", &create).await
            }
        })
        .await;
        let mut created = HashSet::new();
        for answer in answers {
            let wallet = answer.ok();
            created.insert((text(&wallet, "id"), wallet["is_read_only"] == true));
        }
        assert_eq!(created.len(), 1, "round {round}: {created:?}");
        let is_held_first = created.iter().any(|(_, is_read_only)| *is_read_only);
        let listed = format!("/v1/wallets/list?user_id={user}");
        let listed = clients[0].get(&listed).await.ok();
        let wallets = listed["wallets"].as_array().unwrap().len();
        assert_eq!(wallets, if is_held_first { 1 } else { 2 }, "round {round}");
        held_first += usize::from(is_held_first);
    }
    println!("M-32: the signature came first in {held_first} rounds");
    field.stop("M-32", rounds(), PARALLEL).await;
}

async fn exactly_a_hundred_of_three_hundred_requests(mut installation: Installation) {
    const ROUNDS: usize = 5;
    const REQUESTS: usize = 300;
    installation.set("limits.store", "database");
    installation.set("limits.test_per_minute", "100");
    let field = Field::start(&installation).await;
    for round in 0..ROUNDS {
        // A window of its own.
        let keys = installation.new_app();
        let clients = field.clients(&keys.test);
        let answers = all_at_once(&clients, REQUESTS, |_, api| async move {
            api.get("/v1/wallets/list").await
        })
        .await;
        let number = |answer: &Answer, name: &str| -> i64 {
            answer.headers[name].to_str().unwrap().parse().unwrap()
        };
        let mut remaining = HashSet::new();
        let mut resets = HashSet::new();
        for answer in &answers {
            assert_eq!(number(answer, "x-ratelimit-limit"), 100);
            resets.insert(number(answer, "x-ratelimit-reset"));
            let left = number(answer, "x-ratelimit-remaining");
            if answer.status == 200 {
                assert!(remaining.insert(left), "two calls returned the same number");
            } else {
                assert_eq!(answer.error(429), "rate_limited");
                assert_eq!(left, 0);
                assert!(answer.headers.contains_key("retry-after"));
            }
        }
        assert_eq!(
            remaining,
            (0..100).collect(),
            "round {round}: exactly 100 were admitted"
        );
        assert_eq!(
            resets.len(),
            1,
            "all processes name the same end of the window"
        );
    }
    field.stop("R16", ROUNDS, REQUESTS).await;
}

/// Every later create returns the existing wallet, on either process.
#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_of_one_process_is_visible_to_the_other() {
    let Some(installation) = Installation::postgres().await else {
        return;
    };
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.live);
    let owner = new_owner(&clients[0], "ada@example.com").await;
    let body = json!({ "user_id": owner.user_id, "wallet_type": "ethereum" });
    for api in &clients {
        let wallet = api.post("/v1/wallets/create", &body).await.ok();
        assert_eq!(wallet["id"], owner.wallet_id.as_str());
    }
    for server in field.servers {
        server.process.stop().await;
    }
}
