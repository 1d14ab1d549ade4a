//! The quick start: four calls in three languages, each marked once it has happened.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use vestry_app::delivery::events::{ListEvents, ListEventsError};
use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::platform::ActivityRange;
use vestry_domain::Timestamp;
use vestry_domain::action::Action;
use vestry_domain::activity::Measure;
use vestry_domain::event::EventKind;

use crate::app::{Address, Inside, enter};
use crate::filters;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::page;
use crate::visit::Visit;

const QUICK_START: &str = "quick-start";
/// The smallest page of events.
const FEW: i64 = 10;

/// A call, and when it last happened.
struct Step {
    /// The name of its radio buttons.
    name: &'static str,
    title: &'static str,
    text: &'static str,
    state: StepState,
    /// Language and code.
    code: [(&'static str, String); 3],
}

/// Whether a call has happened.
#[derive(Clone, Copy)]
enum StepState {
    /// Not that anything tells.
    Open,
    /// At this time.
    DoneAt(Timestamp),
    /// In the last twelve months, by the counters.
    Done,
}

impl From<Option<Timestamp>> for StepState {
    fn from(at: Option<Timestamp>) -> Self {
        at.map_or(Self::Open, Self::DoneAt)
    }
}

#[derive(Template)]
#[template(path = "quick_start.html")]
struct QuickStartPage {
    frame: Frame,
    base_url: String,
    app_id: String,
    may_issue: bool,
    steps: Vec<Step>,
}

/// When each step last happened.
struct Happened {
    user: Option<Timestamp>,
    code: Option<Timestamp>,
    session: Option<Timestamp>,
    has_signed: bool,
}

/// `GET quick-start`
pub(crate) async fn show(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::ReadEvents, inside.world())
        .await?;
    let happened = happened(&visit, &inside).await?;
    let base = visit.service.public_url();
    let template = QuickStartPage {
        base_url: base.to_owned(),
        app_id: inside.world().app_id.to_string(),
        may_issue: inside.may(Action::CreateApiKey),
        steps: steps(base, inside.caller.is_test(), &happened),
        frame: inside.frame(&visit, QUICK_START),
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

async fn happened(visit: &Visit, inside: &Inside) -> Result<Happened, HttpResponse> {
    let code = match inside.caller.is_test() && inside.may(Action::ControlTestEnvironment) {
        true => {
            let query = FindMessages {
                kind: Some("otp".to_owned()),
                ..FindMessages::default()
            };
            let found = visit.service.captured_messages(&inside.caller, query).await;
            found
                .ok()
                .and_then(|found| found.first().map(|first| first.created_at))
        }
        false => None,
    };
    Ok(Happened {
        user: last(visit, inside, EventKind::UserCreated).await?,
        session: last(visit, inside, EventKind::SessionCreated).await?,
        has_signed: has_signed(visit, inside).await?,
        code,
    })
}

/// Whether a wallet has signed. Signatures have events only where a webhook asks for them, so the counters tell.
async fn has_signed(visit: &Visit, inside: &Inside) -> Result<bool, HttpResponse> {
    let (by, world) = (inside.by.clone(), inside.world());
    let read = visit.run(|service| async move {
        let year = ActivityRange::Year;
        service.activity(&by, world, year).await
    });
    match read.await {
        Ok(found) => Ok(found
            .counts
            .keys()
            .any(|measure| matches!(measure, Measure::Signature(_)))),
        Err(refusal) => Err(inside.refused(visit, refusal, "").await),
    }
}

/// When an event of a type last happened.
async fn last(
    visit: &Visit,
    inside: &Inside,
    kind: EventKind,
) -> Result<Option<Timestamp>, HttpResponse> {
    let caller = inside.caller.clone();
    let query = ListEvents {
        limit: Some(FEW),
        kinds: vec![kind],
        descending: true,
        ..ListEvents::default()
    };
    let found = visit.run(|service| async move { service.list_events(&caller, &query).await });
    match found.await {
        Ok(found) => Ok(found.events.first().map(|event| event.event.created_at)),
        // There is no cursor.
        Err(ListEventsError::CursorUnknown) => Ok(None),
        Err(ListEventsError::Common(refusal)) => Err(inside.refused(visit, refusal, "").await),
    }
}

/// The blocks of a language continue each other. `console_journey.py` runs them as they are shown.
fn steps(base: &str, is_test: bool, happened: &Happened) -> Vec<Step> {
    let filled = |code: &str| code.trim().replace("BASE", base);
    let code = |curl: &str, typescript: &str, python: &str| {
        [
            ("curl", filled(curl)),
            ("TypeScript", filled(typescript)),
            ("Python", filled(python)),
        ]
    };
    let (sent, typescript, python) = match is_test {
        true => (
            "In test, the e-mail is captured. You find it under Messages.",
            TYPESCRIPT_CODE_TEST,
            PYTHON_CODE_TEST,
        ),
        false => (
            "The user gets an e-mail with the code.",
            TYPESCRIPT_CODE_LIVE,
            PYTHON_CODE_LIVE,
        ),
    };
    let verify = code(
        CURL_VERIFY,
        &format!("{typescript}{TYPESCRIPT_VERIFY}"),
        &format!("{python}{PYTHON_VERIFY}"),
    );
    vec![
        Step {
            name: "user",
            title: "1. Create a user",
            text: "Creates a user with an e-mail address and a default Ethereum wallet.",
            state: happened.user.into(),
            code: code(CURL_USER, TYPESCRIPT_USER, PYTHON_USER),
        },
        Step {
            name: "code",
            title: "2. Send a code",
            text: sent,
            state: happened.code.into(),
            code: code(CURL_CODE, TYPESCRIPT_CODE, PYTHON_CODE),
        },
        Step {
            name: "verify",
            title: "3. Verify the code and start a session",
            text: "With curl, set EMAIL_ID to the email_id of the last response, and CODE to the code.",
            state: happened.session.into(),
            code: verify,
        },
        Step {
            name: "sign",
            title: "4. Sign a message",
            text: "Uses the wallet of step 1. With curl, set WALLET to its id. Vestry sends nothing to any chain.",
            state: match happened.has_signed {
                true => StepState::Done,
                false => StepState::Open,
            },
            code: code(CURL_SIGN, TYPESCRIPT_SIGN, PYTHON_SIGN),
        },
    ]
}

const CURL_USER: &str = r#"
curl -s BASE/v1/auth/users/create \
  -H "Authorization: Bearer $VESTRY_KEY" -H 'Content-Type: application/json' \
  -d '{"email": "ada@example.com", "include_user": true}'
"#;

const CURL_CODE: &str = r#"
curl -s BASE/v1/auth/otps/email/login_or_create \
  -H "Authorization: Bearer $VESTRY_KEY" -H 'Content-Type: application/json' \
  -d '{"email": "grace@example.com"}'
"#;

const CURL_VERIFY: &str = r#"
curl -s BASE/v1/auth/otps/verify \
  -H "Authorization: Bearer $VESTRY_KEY" -H 'Content-Type: application/json' \
  -d '{"method_id": "'$EMAIL_ID'", "otp": "'$CODE'", "session_expires_in": 60}'
"#;

const CURL_SIGN: &str = r#"
curl -s BASE/v1/wallets/$WALLET/sign_message \
  -H "Authorization: Bearer $VESTRY_KEY" -H 'Content-Type: application/json' \
  -d '{"message": "hello"}'
"#;

const TYPESCRIPT_USER: &str = r#"
const base = "BASE";
const headers = {
  Authorization: `Bearer ${process.env.VESTRY_KEY}`,
  "Content-Type": "application/json",
};

const created = await fetch(`${base}/v1/auth/users/create`, {
  method: "POST",
  headers,
  body: JSON.stringify({ email: "ada@example.com", include_user: true }),
});
const { user } = await created.json();
"#;

const TYPESCRIPT_CODE: &str = r#"
const sent = await fetch(`${base}/v1/auth/otps/email/login_or_create`, {
  method: "POST",
  headers,
  body: JSON.stringify({ email: "grace@example.com" }),
});
const { email_id } = await sent.json();
"#;

const TYPESCRIPT_CODE_TEST: &str = r#"
const captured = await fetch(`${base}/v1/test/messages?to=grace@example.com&wait=5`, { headers });
const { messages } = await captured.json();
const code = messages[0].code;
"#;

const TYPESCRIPT_CODE_LIVE: &str = r#"
const code = "000000"; // the code that the user typed
"#;

const TYPESCRIPT_VERIFY: &str = r#"
const verified = await fetch(`${base}/v1/auth/otps/verify`, {
  method: "POST",
  headers,
  body: JSON.stringify({ method_id: email_id, otp: code, session_expires_in: 60 }),
});
const { session_token } = await verified.json();
"#;

const TYPESCRIPT_SIGN: &str = r#"
const signed = await fetch(`${base}/v1/wallets/${user.wallets[0].id}/sign_message`, {
  method: "POST",
  headers,
  body: JSON.stringify({ message: "hello" }),
});
console.log(await signed.json());
"#;

const PYTHON_USER: &str = r#"
import os

import httpx

vestry = httpx.Client(
    base_url="BASE",
    headers={"Authorization": f"Bearer {os.environ['VESTRY_KEY']}"},
)

created = vestry.post("/v1/auth/users/create", json={"email": "ada@example.com", "include_user": True})
user = created.raise_for_status().json()["user"]
"#;

const PYTHON_CODE: &str = r#"
sent = vestry.post("/v1/auth/otps/email/login_or_create", json={"email": "grace@example.com"})
email_id = sent.raise_for_status().json()["email_id"]
"#;

const PYTHON_CODE_TEST: &str = r#"
captured = vestry.get("/v1/test/messages", params={"to": "grace@example.com", "wait": 5})
code = captured.raise_for_status().json()["messages"][0]["code"]
"#;

const PYTHON_CODE_LIVE: &str = r#"
code = "000000"  # the code that the user typed
"#;

const PYTHON_VERIFY: &str = r#"
verified = vestry.post(
    "/v1/auth/otps/verify",
    json={"method_id": email_id, "otp": code, "session_expires_in": 60},
)
session_token = verified.raise_for_status().json()["session_token"]
"#;

const PYTHON_SIGN: &str = r#"
wallet_id = user["wallets"][0]["id"]
signed = vestry.post(f"/v1/wallets/{wallet_id}/sign_message", json={"message": "hello"})
print(signed.raise_for_status().json())
"#;
