//! The start page: the Apps that the operator sees.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use vestry_domain::app::App;

use crate::form::token_of;
use crate::page::{self, page, redirect, to_step_up};
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage<'a> {
    token: String,
    email: &'a str,
    apps: Vec<App>,
}

/// `GET /console`
pub(crate) async fn to_start() -> HttpResponse {
    redirect("/console/")
}

/// `GET /console/`
pub(crate) async fn show(visit: Visit) -> HttpResponse {
    let signed = match page::operator(&visit).await {
        Ok(signed) => signed,
        Err(response) => return response,
    };
    let session = &signed.session;
    let Some(by) = session.principal() else {
        return match session.may_change_factors() {
            true => redirect("/console/me"),
            false => to_step_up(&visit.address),
        };
    };
    let listed = visit.run(|service| async move { service.list_apps(&by).await });
    match listed.await {
        Ok(apps) => {
            let template = StartPage {
                token: token_of(&signed.token),
                email: &session.email,
                apps,
            };
            page(&visit, StatusCode::OK, &template)
        }
        Err(refusal) => page::refused(&visit, refusal.into()),
    }
}
