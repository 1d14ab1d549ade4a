//! Accepting a link: an invitation, the first owner's, or one that replaces lost factors.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Query;
use askama::Template;
use serde::Deserialize;
use vestry_app::operators::JoinError;
use vestry_domain::Secret;

use crate::form::Posted;
use crate::frame::Outer;
use crate::page::{self, page};
use crate::sign_in::{before_sign_in, begin, with_new_browser};
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "join.html")]
struct JoinPage<'a> {
    outer: Outer,
    token: String,
    link: &'a str,
    email: &'a str,
}

#[derive(Template)]
#[template(path = "join_invalid.html")]
struct InvalidLinkPage {
    outer: Outer,
}

#[derive(Deserialize)]
pub(crate) struct Link {
    #[serde(default)]
    token: String,
}

/// `GET join`: changes nothing, so programs that look at links in mails do not use them up (CON-4).
pub(crate) async fn show(visit: Visit, Query(link): Query<Link>) -> HttpResponse {
    let (token, asked) = (link.token.clone(), Secret::new(link.token));
    let found = visit.run(|service| async move { service.look_at_operator_link(&asked).await });
    match found.await {
        Ok(email) => {
            let (form_token, cookie) = before_sign_in(&visit);
            let template = JoinPage {
                outer: Outer::of(&visit),
                token: form_token,
                link: &token,
                email: email.address(),
            };
            with_new_browser(&visit, page(&visit, StatusCode::OK, &template), cookie)
        }
        Err(error) => refused(&visit, error),
    }
}

/// `POST join`
pub(crate) async fn accept(visit: Visit, Posted(posted): Posted) -> HttpResponse {
    let fields = match posted {
        Ok(fields) => fields,
        Err(unread) => return page::unread(&visit, unread),
    };
    let (request, link) = (visit.request.clone(), fields.secret("link"));
    let joined =
        visit.run(|service| async move { service.use_operator_link(&request, &link).await });
    match joined.await {
        Ok(session) => begin(&visit, &session, "/console/"),
        Err(error) => refused(&visit, error),
    }
}

fn refused(visit: &Visit, error: JoinError) -> HttpResponse {
    match error {
        JoinError::InvalidLink => {
            let outer = Outer::of(visit);
            page(visit, StatusCode::BAD_REQUEST, &InvalidLinkPage { outer })
        }
        JoinError::Common(refusal) => page::refused(visit, refusal.into()),
    }
}
