//! The sign-in methods of an environment: which are on, what the others lack, and where they are changed.

use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use vestry_app::platform::ListedConnection;
use vestry_domain::action::Action;
use vestry_domain::provider::{ProviderKind, ProviderName};

use crate::app::{Address, Inside, enter};
use crate::by_api::ByApi;
use crate::filters;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::page;
use crate::providers::{self, METHODS, WELL_KNOWN, connections};
use crate::visit::Visit;

/// An identity provider in the list.
struct ProviderRow {
    name: String,
    title: String,
    protocol: &'static str,
    tone: &'static str,
    state: &'static str,
    configuration: &'static str,
}

#[derive(Template)]
#[template(path = "methods.html")]
struct MethodsPage {
    frame: Frame,
    providers: Vec<ProviderRow>,
    may_change: bool,
    by_api: ByApi,
}

/// `GET methods`
pub(crate) async fn list(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    let known = connections(&visit, &inside).await?;
    let template = MethodsPage {
        providers: provider_rows(&known),
        may_change: inside.may(Action::SetProvider),
        by_api: by_api(&inside),
        frame: inside.frame(&visit, METHODS),
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

fn by_api(inside: &Inside) -> ByApi {
    let world = inside.world();
    let (app, environment) = (world.app_id, world.environment);
    let path = format!("/v1/manage/apps/{app}/{environment}/providers");
    ByApi::new("GET", &path, "", format!("vestry provider list {app}"))
}

/// Every connection and, after them, the well-known providers without one.
fn provider_rows(known: &[ListedConnection]) -> Vec<ProviderRow> {
    let connected = |kind: &ProviderKind| {
        let mut known = known.iter();
        known.any(|one| one.connection.name.as_str() == kind.as_str())
    };
    let others = WELL_KNOWN.into_iter().filter(|kind| !connected(kind));
    let others = others.filter_map(|kind| ProviderName::parse(kind.as_str()).ok());
    let rows = known.iter().map(|one| row(&one.connection.name, Some(one)));
    rows.chain(others.map(|name| row(&name, None))).collect()
}

fn row(name: &ProviderName, known: Option<&ListedConnection>) -> ProviderRow {
    let (tone, state) = providers::state(known);
    ProviderRow {
        name: name.to_string(),
        title: providers::title(name).to_owned(),
        protocol: providers::protocol(name.kind()),
        tone,
        state,
        configuration: match known {
            None => "Missing: client id and secret",
            Some(known) if known.secret.is_none() => "Missing: client secret",
            Some(_) => "Client id and secret set",
        },
    }
}
