//! Random account histories checked against the ownership model (CL-1 to CL-8), on the fakes.

use std::collections::HashMap;
use std::sync::Arc;

use vestry_app::identity::codes::{SendCode, SendCodeByText, VerifyCode};
use vestry_app::identity::sessions::{SessionFields, SessionNamed};
use vestry_app::identity::users::{CreateUser, NewIdentifier, UpdateUser};
use vestry_app::{Caller, Refusal};
use vestry_contract::claims::{Accounts, Entered, histories, history};
use vestry_contract::rng::{Rng, seed};
use vestry_domain::Secret;
use vestry_domain::code::MethodId;
use vestry_domain::ids::{EmailId, Id, UserId};
use vestry_ports::port;

use crate::harness::{Harness, lasting, login, proof, text};
use crate::{send, texts, totps};

/// The use cases as a history runs them.
struct UseCases {
    harness: Harness,
    caller: Arc<Caller>,
    /// Where the newest code of each identifier was sent.
    methods: HashMap<String, MethodId>,
}

fn is_address(identifier: &str) -> bool {
    identifier.contains('@')
}

fn named(token: Option<&str>) -> SessionNamed {
    SessionNamed {
        token: token.map(|token| Secret::new(token.to_owned())),
        jwt: None,
    }
}

fn id(user: &str) -> UserId {
    user.parse().unwrap()
}

impl UseCases {
    async fn fresh() -> Self {
        let harness = Harness::new().await;
        harness
            .set(&[
                ("end_sessions_on_change", "false"),
                ("notify_on_change", "false"),
                ("login_requires_verification", "false"),
                ("new_users_per_hour", "0"),
                ("sms_per_hour", "0"),
                ("sms_country_per_hour", "0"),
                ("sms_prefix_per_hour", "0"),
            ])
            .await;
        Self {
            caller: harness.test().await,
            harness,
            methods: HashMap::new(),
        }
    }
}

#[port]
impl Accounts for UseCases {
    async fn create(&mut self, identifiers: &[String]) -> Option<String> {
        let of = |kind: bool| {
            let mut all = identifiers.iter();
            all.find(|text| is_address(text) == kind).cloned()
        };
        let command = CreateUser {
            email: of(true),
            phone_number: of(false),
            ..CreateUser::default()
        };
        let created = self
            .harness
            .service
            .create_user(&self.caller, command)
            .await;
        Some(created.ok()?.user.profile.user.id.to_string())
    }

    async fn attach(&mut self, user: &str, identifier: &str, vouched: bool) -> bool {
        let new = vec![NewIdentifier {
            text: identifier.to_owned(),
            verified: vouched,
        }];
        let command = if is_address(identifier) {
            UpdateUser {
                emails: new,
                ..UpdateUser::default()
            }
        } else {
            UpdateUser {
                phone_numbers: new,
                ..UpdateUser::default()
            }
        };
        let service = &self.harness.service;
        let updated = service.update_user(&self.caller, id(user), command).await;
        updated.is_ok()
    }

    async fn enrol(&mut self, user: &str) -> String {
        let made = self.harness.verified_totp(&self.caller, id(user)).await;
        made.secret.expose().clone()
    }

    async fn enter(&mut self, user: &str, authenticator: &str) -> Option<String> {
        self.harness.pass(30);
        let shown = totps::shown_by(authenticator, self.harness.now());
        let command = vestry_app::identity::totps::VerifyTotp {
            session_fields: lasting(600),
            ..totps::code(id(user), &shown)
        };
        let entered = self.harness.try_totp(&self.caller, command).await.ok()?;
        Some(entered.issued?.token.expose().clone())
    }

    async fn now(&mut self) -> i64 {
        self.harness.now().unix()
    }

    async fn ask(&mut self, identifier: &str) -> String {
        // The order of two messages of one second is unknown.
        self.harness.pass(1);
        loop {
            let (service, caller) = (&self.harness.service, &self.caller);
            let asked = if is_address(identifier) {
                let sent = service.login_or_create_by_email(caller, login(identifier));
                let sent = sent.await;
                sent.map(|sent| (MethodId::Email(sent.email.id), sent.email.user_id))
            } else {
                let sent = service.login_or_create_by_text(caller, text(identifier));
                let sent = sent.await;
                sent.map(|sent| (MethodId::Phone(sent.phone.id), sent.phone.user_id))
            };
            match asked {
                Ok((method, user)) => {
                    self.methods.insert(identifier.to_owned(), method);
                    return user.to_string();
                }
                Err(Refusal::TooMany { retry_after }) => self.harness.pass(retry_after.0),
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    async fn ask_for(&mut self, identifier: &str, session: Option<&str>) -> Option<String> {
        self.harness.pass(1);
        loop {
            let session = named(session);
            let (service, caller) = (&self.harness.service, &self.caller);
            let expires_in = Some(10);
            let asked = if is_address(identifier) {
                let command = SendCode {
                    session,
                    expires_in,
                    ..send::send(identifier)
                };
                let sent = service.send_code_by_email(caller, command).await;
                sent.map(|sent| (MethodId::Email(sent.email.id), sent.email.user_id))
            } else {
                let command = SendCodeByText {
                    session,
                    expires_in,
                    ..texts::send(identifier)
                };
                let sent = service.send_code_by_text(caller, command).await;
                sent.map(|sent| (MethodId::Phone(sent.phone.id), sent.phone.user_id))
            };
            match asked {
                Ok((method, user)) => {
                    self.methods.insert(identifier.to_owned(), method);
                    return Some(user.to_string());
                }
                Err(Refusal::TooMany { retry_after }) => self.harness.pass(retry_after.0),
                Err(_) => return None,
            }
        }
    }

    async fn prove(&mut self, identifier: &str, session: Option<&str>) -> Option<Entered> {
        let method_id = *self.methods.get(identifier)?;
        let newest = self.harness.newest_to(&self.caller, identifier).await;
        let command = VerifyCode {
            method_id,
            session_fields: SessionFields {
                session_token: session.map(|token| Secret::new(token.to_owned())),
                ..lasting(600)
            },
            ..proof(
                EmailId::new(self.harness.now(), [0; 16]),
                &newest.message.code,
            )
        };
        let verified = self
            .harness
            .service
            .verify_code(&self.caller, command)
            .await;
        let verified = verified.ok()?;
        Some(Entered {
            user: verified.user_id.to_string(),
            token: verified.issued?.token.expose().clone(),
        })
    }

    async fn opens(&mut self, token: &str) -> Option<String> {
        let token = Secret::new(token.to_owned());
        let open = self.harness.by_token(&self.caller, &token).await.ok()?;
        Some(open.session.user_id.to_string())
    }

    async fn identifiers(&mut self, user: &str) -> Vec<(String, bool)> {
        let found = self.harness.service.get_user(&self.caller, id(user)).await;
        let profile = found.unwrap().profile;
        let emails = profile.emails.iter();
        let mut all: Vec<_> = emails
            .map(|row| (row.email.address().to_owned(), row.verified))
            .collect();
        let phones = profile.phones.iter();
        all.extend(phones.map(|row| (row.number.as_str().to_owned(), row.verified)));
        all.sort_unstable();
        all
    }
}

/// I, II and III of `claims.md`. Searching a harness's captured messages is linear, so each harness runs only a few histories.
#[tokio::test]
async fn random_histories_end_as_the_model_predicts() {
    let histories = histories();
    let mut rng = Rng::from_seed(seed());
    let mut service = UseCases::fresh().await;
    for number in 0..histories {
        if number % 20 == 0 {
            service = UseCases::fresh().await;
        }
        let read_by = [0, 1].map(|person| {
            let number = 2 * (number % 20) + person;
            [
                format!("person{number}@example.com"),
                format!("+1415555{:04}", 2_000 + number),
            ]
        });
        history(&mut service, &mut rng, &read_by, 24).await;
    }
    println!("{histories} histories of 24 steps");
}
