//! Captured mails and texts of the test environment. HTML mail is shown as text and as its source, and never rendered (CON-13).

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use serde::Deserialize;
use url::form_urlencoded;
use vestry_app::Refusal;
use vestry_app::delivery::test_messages::{FindMessages, PAGE, TestEnvError};
use vestry_domain::message::{CapturedMessage, MessageKind};

use crate::app::{Address, Inside, enter, received};
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::Flash;
use crate::form::Posted;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{done, page};
use crate::visit::Visit;

const MESSAGES: &str = "messages";

/// The query of the list.
#[derive(Deserialize, Default)]
pub(crate) struct Wanted {
    #[serde(default)]
    to: String,
    #[serde(default)]
    kind: String,
}

/// An active filter, with the search without it.
struct Chip {
    text: String,
    without: String,
}

#[derive(Template)]
#[template(path = "messages.html")]
struct MessagesPage {
    frame: Frame,
    to: String,
    kind: String,
    messages: Vec<CapturedMessage>,
    chips: Vec<Chip>,
    is_cut: bool,
    problem: Option<String>,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "messages_clear.html")]
struct ClearPage {
    frame: Frame,
    /// The number of messages, in words.
    messages: String,
    by_api: ByApi,
}

impl Wanted {
    fn chips(&self) -> Vec<Chip> {
        let own = [("to", "recipient", &self.to), ("kind", "kind", &self.kind)];
        let given = || own.into_iter().filter(|(.., value)| !value.is_empty());
        let without = |field: &str| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            for (name, _, value) in given().filter(|(name, ..)| *name != field) {
                query.append_pair(name, value);
            }
            format!("?{}", query.finish())
        };
        given()
            .map(|(field, name, value)| Chip {
                text: format!("{name}: {value}"),
                without: without(field),
            })
            .collect()
    }

    fn find(&self) -> FindMessages {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        FindMessages {
            to: given(&self.to),
            kind: given(&self.kind),
            ..FindMessages::default()
        }
    }
}

/// The newest messages that match. The use case enters the runtime of the service itself.
async fn find(
    visit: &Visit,
    inside: &Inside,
    query: FindMessages,
) -> Result<Vec<CapturedMessage>, Refusal> {
    let found = visit.service.captured_messages(&inside.caller, query).await;
    found.map_err(common)
}

fn common(error: TestEnvError) -> Refusal {
    match error {
        TestEnvError::NotFound => Refusal::NotFound("page"),
        TestEnvError::Common(refusal) => refusal,
    }
}

/// Whether there may be more messages than these.
fn is_cut(messages: &[CapturedMessage]) -> bool {
    i64::try_from(messages.len()).is_ok_and(|count| count >= PAGE)
}

/// `GET messages`
pub(crate) async fn list(
    visit: Visit,
    address: Path<Address>,
    Query(wanted): Query<Wanted>,
) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside.only_in_test(&visit).await?;
    let (messages, problem) = match find(&visit, &inside, wanted.find()).await {
        Ok(messages) => (messages, None),
        Err(Refusal::Invalid(invalid)) => (Vec::new(), Some(invalid.message.into_owned())),
        Err(refusal) => return Err(inside.refused(&visit, refusal, "").await),
    };
    Ok(results(&visit, &inside, wanted, messages, problem))
}

fn results(
    visit: &Visit,
    inside: &Inside,
    wanted: Wanted,
    messages: Vec<CapturedMessage>,
    problem: Option<String>,
) -> HttpResponse {
    let path = "/v1/test/messages?to=ada@example.com&kind=otp&wait=10";
    let status = match problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    let template = MessagesPage {
        frame: inside.frame(visit, MESSAGES),
        chips: wanted.chips(),
        is_cut: is_cut(&messages),
        messages,
        problem,
        by_api: ByApi::of_app("GET", path, "", String::new()),
        to: wanted.to,
        kind: wanted.kind,
    };
    page(visit, status, &template)
}

/// `GET messages/clear`
pub(crate) async fn confirm(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside.only_in_test(&visit).await?;
    let found = match find(&visit, &inside, FindMessages::default()).await {
        Ok(found) => found,
        Err(refusal) => return Err(inside.refused(&visit, refusal, MESSAGES).await),
    };
    let template = ClearPage {
        frame: inside.frame(&visit, MESSAGES),
        messages: match found.len() {
            _ if is_cut(&found) => "all messages".to_owned(),
            1 => "1 message".to_owned(),
            count => format!("{count} messages"),
        },
        by_api: ByApi::of_app("DELETE", "/v1/test/messages", "", String::new()),
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

/// `POST messages/clear`
pub(crate) async fn clear(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (_, inside) = received(&visit, posted, &address).await?;
    inside.only_in_test(&visit).await?;
    let caller = inside.caller.clone();
    let cleared = visit.run(|service| async move { service.clear_captured(&caller).await });
    match cleared.await {
        Ok(count) => {
            let result = Flash::messages_cleared(count);
            Ok(done(&visit, result, &inside.path(MESSAGES)))
        }
        Err(error) => Err(inside.refused(&visit, common(error), MESSAGES).await),
    }
}
