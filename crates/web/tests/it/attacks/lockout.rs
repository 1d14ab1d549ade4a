//! Attack 24: an attacker triggers messages to another person as fast as allowed, and she signs in anyway (M-5).

use futures_util::future::join_all;
use serde_json::{Value, json};
use vestry_contract::browser::Browser;
use vestry_contract::fakes::SeededEntropy;
use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;
use vestry_ports::clock::Clock;
use vestry_ports::entropy::Entropy;

use super::people::{self, CODES, LINKS, PAGE, PASSKEYS, PASSWORD, mail_to};
use crate::flows::signed_in;
use crate::harness::{Api, Response, on_both};

on_both! {
    attack_24_a_day_of_sends_locks_no_one_out
    m_5_concurrent_sends_are_one_message
}

const VICTIM: &str = "ada@example.com";
const DAY: Seconds = Seconds(86_400);
const QUARTER: Seconds = Seconds(900);

/// A sign-in method that begins with a message.
#[derive(Clone, Copy)]
struct Way {
    /// The call that sends it.
    path: &'static str,
    /// The kind of the message in the test environment.
    kind: &'static str,
}

const WAYS: [Way; 3] = [
    Way {
        path: "/v1/auth/otps/email/login_or_create",
        kind: "otp",
    },
    Way {
        path: "/v1/auth/magic_links/email/login_or_create",
        kind: "magic_link",
    },
    Way {
        path: "/v1/auth/passwords/reset/begin",
        kind: "password_reset",
    },
];

impl Way {
    async fn ask(self, api: &Api) -> Response {
        let request = json!({ "email": VICTIM });
        api.test().post(self.path, request).await
    }

    /// Signs in with the newest message of this method, as the reader of the mailbox does.
    async fn respond(self, api: &Api, sent: &Response) -> Response {
        let mail = match self.kind {
            "otp" => newest_code_to(api, VICTIM).await,
            kind => mail_to(api, kind, VICTIM).await,
        };
        let test = api.test();
        match self.kind {
            "otp" => {
                let method = sent.text_at("/email_id");
                let request =
                    json!({"method_id": method, "otp": mail["code"], "session_expires_in": 60});
                test.post(CODES, request).await
            }
            "magic_link" => {
                let request = json!({"token": mail["token"], "session_expires_in": 60});
                test.post(LINKS, request).await
            }
            _ => {
                let request = json!({
                    "token": mail["token"], "password": PASSWORD, "session_expires_in": 60,
                });
                test.post("/v1/auth/passwords/reset/complete", request)
                    .await
            }
        }
    }
}

/// An attacker who sends again in the very second in which it is allowed.
struct Attacker {
    next: [Timestamp; WAYS.len()],
    sent: u32,
    refused: u32,
}

impl Attacker {
    fn begins(now: Timestamp) -> Self {
        Self {
            next: [now; WAYS.len()],
            sent: 0,
            refused: 0,
        }
    }

    /// Runs the attacker up to a time, which then becomes the present.
    async fn goes_on_until(&mut self, api: &Api, moment: Timestamp) {
        while let Some(at) = self.next.iter().copied().min().filter(|at| *at <= moment) {
            pass_to(api, at);
            for (way, next) in WAYS.iter().zip(&mut self.next) {
                if *next > at {
                    continue;
                }
                let now = api.clock.machine();
                let response = way.ask(api).await;
                *next = now + wait(&response).unwrap_or(Seconds(20));
                // Mails of one second have no order.
                api.deliver().await;
                api.pass(1);
                match response.status {
                    200 => self.sent += 1,
                    _ => self.refused += 1,
                }
            }
        }
        pass_to(api, moment);
    }
}

/// The newest mail with a code, which may be that of a link.
async fn newest_code_to(api: &Api, email: &str) -> Value {
    api.deliver().await;
    let path = format!("/v1/test/messages?to={email}");
    let mut found = api.test().get(&path).await.ok().body;
    let messages = found["messages"].as_array_mut().unwrap();
    let newest = messages.iter().position(|mail| mail["code"] != "");
    messages.swap_remove(newest.expect("a code"))
}

fn pass_to(api: &Api, moment: Timestamp) {
    let left = moment - api.clock.machine();
    api.pass(left.0.max(0));
}

/// The retry delay of a refused call.
fn wait(response: &Response) -> Option<Seconds> {
    if response.status != 429 {
        assert_eq!(response.status, 200, "{}", response.text);
        return None;
    }
    response.refuses(429, "too_many_attempts", None);
    let wait = response.header("retry-after").expect("how long");
    Some(Seconds(wait.parse().unwrap()))
}

/// Twenty-four simulated hours. The attacker triggers codes, links and resets as fast as the service allows, always just before she does.
///
/// Once an hour she signs in by each of them and by passkey. It never takes her longer than a quarter of an hour.
async fn attack_24_a_day_of_sends_locks_no_one_out(api: &Api) {
    people::with_urls(api).await;
    let user = signed_in(api, VICTIM).await.text_at("/user_id");
    let mut browser = Browser::at(PAGE);
    people::passkey(api, &mut browser, &user).await;
    api.pass(86_400);
    let entropy = SeededEntropy::fresh();
    let begin = api.clock.machine();
    let mut attacker = Attacker::begins(begin);
    let (mut longest, mut signed) = (Seconds(0), 0);
    while api.clock.machine() < begin + DAY {
        let mut random = [0; 2];
        entropy.fill(&mut random);
        let later = Seconds(i64::from(u16::from_be_bytes(random)) % 3_600);
        attacker
            .goes_on_until(api, api.clock.machine() + later)
            .await;
        for way in WAYS {
            let asked = api.clock.machine();
            let mut response = way.ask(api).await;
            while let Some(left) = wait(&response) {
                attacker
                    .goes_on_until(api, api.clock.machine() + left)
                    .await;
                response = way.ask(api).await;
            }
            let proved = way.respond(api, &response).await.ok();
            assert_eq!(proved.text_at("/user_id"), user);
            longest = longest.max(api.clock.machine() - asked);
            signed += 1;
        }
        let credential = people::assertion(api, &mut browser).await;
        let request = json!({"public_key_credential": credential, "session_expires_in": 60});
        let proved = api.test().post(PASSKEYS, request).await.ok();
        assert_eq!(proved.text_at("/user_id"), user);
    }
    println!(
        "attack 24: in a day {} sends of the attacker went through and {} were refused; {signed} of her sign-ins by message worked, the slowest after {} s",
        attacker.sent, attacker.refused, longest.0
    );
    assert!(signed > 24, "attack 24: {signed} of her sign-ins worked");
    assert!(attacker.refused > 24, "the attacker met the limits");
    // Plus the seconds of the attacker's own calls, which come before hers.
    assert!(longest.0 <= QUARTER.0 + 3, "{} s", longest.0);
}

/// Twenty concurrent requests for an unknown address: one user, one message, and twenty identical responses.
async fn m_5_concurrent_sends_are_one_message(api: &Api) {
    people::with_urls(api).await;
    for way in &WAYS[..2] {
        let email = format!("{}@example.com", way.kind);
        let request = json!({ "email": email });
        let asked = (0..20).map(|_| async { api.test().post(way.path, request.clone()).await });
        let responses: Vec<Value> = join_all(asked)
            .await
            .into_iter()
            .map(|response| response.ok().body)
            .collect();
        for response in &responses {
            assert_eq!(response["user_created"], true);
            assert_eq!(response["user_id"], responses[0]["user_id"]);
            assert_eq!(response["email_id"], responses[0]["email_id"]);
        }
        api.deliver().await;
        let path = format!("/v1/test/messages?to={email}");
        let found = api.test().get(&path).await.ok();
        assert_eq!(found.body["messages"].as_array().unwrap().len(), 1);
        let found = json!({"filters": {"operator": "AND", "fields": [
            {"field": "email", "operator": "eq", "value": email}
        ]}});
        let found = api.test().post("/v1/auth/users/search", found).await.ok();
        assert_eq!(found.body["total_count"], 1);
    }
}
