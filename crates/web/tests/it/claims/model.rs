//! Random account histories checked against the ownership model (CL-1 to CL-8), over HTTP on both databases.

use std::collections::HashMap;

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_contract::claims::{Accounts, Entered, histories, history};
use vestry_contract::rng::{Rng, seed};
use vestry_domain::totp;
use vestry_ports::clock::Clock;
use vestry_ports::port;

use crate::attacks::people::{CODES, SESSION, TOTP};
use crate::flows::newest_code;
use crate::harness::{Api, Response, on_both};

on_both! {
    random_histories_end_as_the_model_predicts
}

/// The API as a history calls it.
struct OverHttp<'a> {
    api: &'a Api,
    /// The `method_id` of each identifier that a code was sent to.
    methods: HashMap<String, String>,
}

fn is_address(identifier: &str) -> bool {
    identifier.contains('@')
}

fn accepted(response: Response) -> Option<Response> {
    (response.status == 200).then_some(response)
}

impl OverHttp<'_> {
    /// Calls one of the endpoints that send a code; returns the user in the response.
    async fn send(
        &mut self,
        call: &str,
        identifier: &str,
        session: Option<&str>,
    ) -> Option<String> {
        // The order of two messages of one second is unknown.
        self.api.pass(1);
        let (channel, field, id) = if is_address(identifier) {
            ("email", "email", "/email_id")
        } else {
            ("sms", "phone_number", "/phone_number_id")
        };
        let mut request = json!({ field: identifier, "expires_in": 10 });
        if let Some(token) = session {
            request["session_token"] = token.into();
        }
        let path = format!("/v1/auth/otps/{channel}/{call}");
        let sent = loop {
            let sent = self.api.test().post(&path, request.clone()).await;
            if sent.status != 429 {
                break accepted(sent)?;
            }
            let wait = sent.header("retry-after").expect("a retry delay");
            self.api.pass(wait.parse().unwrap());
        };
        let method = sent.text_at(id);
        self.methods.insert(identifier.to_owned(), method);
        self.api.deliver().await;
        Some(sent.text_at("/user_id"))
    }

    fn shown_by(&self, authenticator: &str) -> String {
        let seed = data_encoding::BASE32_NOPAD.decode(authenticator.as_bytes());
        let step = self.api.clock.machine().unix().div_euclid(30);
        totp::code_at(&seed.unwrap(), step).expose().clone()
    }
}

#[port]
impl Accounts for OverHttp<'_> {
    async fn create(&mut self, identifiers: &[String]) -> Option<String> {
        let mut request = json!({});
        for text in identifiers {
            let field = if is_address(text) {
                "email"
            } else {
                "phone_number"
            };
            request[field] = text.as_str().into();
        }
        let path = "/v1/auth/users/create";
        let created = accepted(self.api.test().post(path, request).await)?;
        Some(created.text_at("/user_id"))
    }

    async fn attach(&mut self, user: &str, identifier: &str, vouched: bool) -> bool {
        let request = if is_address(identifier) {
            json!({"emails": [{"email": identifier, "verified": vouched}]})
        } else {
            json!({"phone_numbers": [{"phone_number": identifier, "verified": vouched}]})
        };
        let path = format!("/v1/auth/users/{user}/update");
        let response = self.api.test().send("PUT", &path, Some(request)).await;
        accepted(response).is_some()
    }

    async fn enrol(&mut self, user: &str) -> String {
        let path = "/v1/auth/totps/create";
        let request = json!({ "user_id": user });
        let created = self.api.test().post(path, request).await.ok();
        let secret = created.text_at("/secret");
        let request = json!({"user_id": user, "totp": self.shown_by(&secret)});
        self.api.test().post(TOTP, request).await.ok();
        self.api.pass(30);
        secret
    }

    async fn enter(&mut self, user: &str, authenticator: &str) -> Option<String> {
        self.api.pass(30);
        let shown = self.shown_by(authenticator);
        let request = json!({"user_id": user, "totp": shown, "session_expires_in": 600});
        let entered = accepted(self.api.test().post(TOTP, request).await)?;
        Some(entered.text_at("/session_token"))
    }

    async fn now(&mut self) -> i64 {
        self.api.clock.machine().unix()
    }

    async fn ask(&mut self, identifier: &str) -> String {
        let asked = self.send("login_or_create", identifier, None).await;
        asked.expect("a code for any address")
    }

    async fn ask_for(&mut self, identifier: &str, session: Option<&str>) -> Option<String> {
        self.send("send", identifier, session).await
    }

    async fn prove(&mut self, identifier: &str, session: Option<&str>) -> Option<Entered> {
        let method = self.methods.get(identifier)?.clone();
        let code = newest_code(&self.api.test(), identifier).await;
        let mut request = json!({"method_id": method, "otp": code, "session_expires_in": 600});
        if let Some(token) = session {
            request["session_token"] = token.into();
        }
        let proved = accepted(self.api.test().post(CODES, request).await)?;
        Some(Entered {
            user: proved.text_at("/user_id"),
            token: proved.text_at("/session_token"),
        })
    }

    async fn opens(&mut self, token: &str) -> Option<String> {
        let request = json!({ "session_token": token });
        let open = accepted(self.api.test().post(SESSION, request).await)?;
        Some(open.text_at("/session/user_id"))
    }

    async fn identifiers(&mut self, user: &str) -> Vec<(String, bool)> {
        let path = format!("/v1/auth/users/{user}");
        let user = self.api.test().get(&path).await.ok();
        let rows = |list: &str, field: &str| -> Vec<_> {
            let rows = user.body[list].as_array().unwrap().iter();
            let row = |row: &Value| {
                let text = row[field].as_str().unwrap().to_owned();
                (text, row["verified"].as_bool().unwrap())
            };
            rows.map(row).collect()
        };
        let mut all = rows("emails", "email");
        all.extend(rows("phone_numbers", "phone_number"));
        all.sort_unstable();
        all
    }
}

/// I, II and III of `claims.md`.
async fn random_histories_end_as_the_model_predicts(api: &Api) {
    let settings = [
        ("end_sessions_on_change", "false"),
        ("notify_on_change", "false"),
        ("login_requires_verification", "false"),
        ("new_users_per_hour", "0"),
        ("sms_per_hour", "0"),
        ("sms_country_per_hour", "0"),
        ("sms_prefix_per_hour", "0"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    api.service
        .set_app(Principal::cli(), api.app.id, &settings)
        .await
        .unwrap();
    // Settings are read once a second.
    api.pass(1);
    // A fiftieth of the number run on the fakes.
    let histories = histories() / 50;
    let mut rng = Rng::from_seed(seed());
    let mut service = OverHttp {
        api,
        methods: HashMap::new(),
    };
    for number in 0..histories {
        let read_by = [0, 1].map(|person| {
            let number = 2 * number + person;
            [
                format!("person{number}@example.com"),
                format!("+1415555{:04}", 2_000 + number),
            ]
        });
        history(&mut service, &mut rng, &read_by, 24).await;
    }
    println!("{histories} histories of 24 steps");
}
