//! Signing in and out.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Query;
use askama::Template;
use serde::Deserialize;
use vestry_app::Refusal;
use vestry_app::operators::{NewSession, SignInError};
use vestry_edge::Problem;

use crate::cookie::Cookie;
use crate::filters;
use crate::form::{Posted, token_of};
use crate::frame::Outer;
use crate::page::{self, page, redirect, safe_return, with_cookie};
use crate::visit::Visit;

/// One text for a wrong password and an address that is unknown, disabled or not invited (OPR-8).
const WRONG: &str = "The address or the password is wrong.";
const WRONG_CODE: &str = "The code is wrong or has expired.";

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    outer: Outer,
    token: String,
    after: &'a str,
    email: &'a str,
    error: Option<&'a str>,
    has_mail: bool,
    has_company: bool,
}

#[derive(Template)]
#[template(path = "code.html")]
struct CodePage<'a> {
    outer: Outer,
    token: String,
    after: &'a str,
    email: &'a str,
    error: Option<&'a str>,
}

#[derive(Deserialize)]
pub(crate) struct Return {
    #[serde(rename = "return", default)]
    pub(crate) after: String,
}

/// `GET sign-in`
pub(crate) async fn show(visit: Visit, Query(wanted): Query<Return>) -> HttpResponse {
    form(&visit, &wanted.after, "", None).await
}

/// The sign-in form, bound to a random value of the browser.
pub(crate) async fn form(
    visit: &Visit,
    after: &str,
    email: &str,
    error: Option<&str>,
) -> HttpResponse {
    let found = visit.run(|service| async move { service.has_company_sign_in().await });
    let has_company = match found.await {
        Ok(has_company) => has_company,
        Err(fault) => return page::refused(visit, Refusal::from(fault).into()),
    };
    let (token, cookie) = before_sign_in(visit);
    let template = SignInPage {
        outer: Outer::of(visit),
        token,
        after: safe_return(after),
        email,
        error,
        has_mail: visit.service.has_mailer(),
        has_company,
    };
    with_new_browser(visit, page(visit, status_of(error), &template), cookie)
}

fn status_of(error: Option<&str>) -> StatusCode {
    match error {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    }
}

/// The token of a form that is shown before signing in, and the random value to give to a browser that has none.
pub(crate) fn before_sign_in(visit: &Visit) -> (String, Option<vestry_domain::Secret<String>>) {
    match &visit.browser {
        Some(browser) => (token_of(browser), None),
        None => {
            let browser = visit.service.new_browser_value();
            (token_of(&browser), Some(browser))
        }
    }
}

pub(crate) fn with_new_browser(
    visit: &Visit,
    response: HttpResponse,
    browser: Option<vestry_domain::Secret<String>>,
) -> HttpResponse {
    match browser {
        Some(browser) => with_cookie(response, &Cookie::Browser.set(&visit.settings, &browser)),
        None => response,
    }
}

/// `POST sign-in`
pub(crate) async fn by_password(visit: Visit, Posted(posted): Posted) -> HttpResponse {
    let fields = match posted {
        Ok(fields) => fields,
        Err(unread) => return page::unread(&visit, unread),
    };
    let email = fields.text("email").to_owned();
    let (password, after) = (fields.secret("password"), fields.text("return").to_owned());
    let (request, address) = (visit.request.clone(), email.clone());
    let signed_in = visit.run(|service| async move {
        service
            .sign_operator_in_by_password(&request, &address, password)
            .await
    });
    match signed_in.await {
        Ok(session) => begin(&visit, &session, &after),
        Err(error) => match message(error, WRONG) {
            Ok(text) => form(&visit, &after, &email, Some(&text)).await,
            Err(problem) => page::refused(&visit, problem),
        },
    }
}

/// What to say beside a form, or the problem for which there is a page.
pub(crate) fn message(error: SignInError, wrong: &str) -> Result<String, Problem> {
    match error {
        SignInError::Wrong => Ok(wrong.to_owned()),
        SignInError::Common(Refusal::Invalid(invalid)) => Ok(invalid.message.into_owned()),
        SignInError::Common(refusal) => Err(refusal.into()),
    }
}

/// Gives the browser the token of its session. A session with one factor goes on to the second.
pub(crate) fn begin(visit: &Visit, session: &NewSession, after: &str) -> HttpResponse {
    let set = Cookie::Session.set(&visit.settings, &session.token);
    let response = with_cookie(redirect(safe_return(after)), &set);
    // Its forms are done with.
    with_cookie(response, &Cookie::Browser.remove(&visit.settings))
}

/// `POST sign-in/code`
pub(crate) async fn send_code(visit: Visit, Posted(posted): Posted) -> HttpResponse {
    let fields = match posted {
        Ok(fields) => fields,
        Err(unread) => return page::unread(&visit, unread),
    };
    let email = fields.text("email").to_owned();
    let after = fields.text("return").to_owned();
    let (request, address) = (visit.request.clone(), email.clone());
    let sent =
        visit.run(|service| async move { service.send_code_to_operator(&request, &address).await });
    match sent.await {
        Ok(()) => code_form(&visit, &after, &email, None),
        Err(Refusal::Invalid(invalid)) => {
            form(&visit, &after, &email, Some(&invalid.message)).await
        }
        Err(refusal) => page::refused(&visit, refusal.into()),
    }
}

fn code_form(visit: &Visit, after: &str, email: &str, error: Option<&str>) -> HttpResponse {
    let (token, cookie) = before_sign_in(visit);
    let template = CodePage {
        outer: Outer::of(visit),
        token,
        after: safe_return(after),
        email,
        error,
    };
    with_new_browser(visit, page(visit, status_of(error), &template), cookie)
}

/// `POST sign-in/code/verify`
pub(crate) async fn by_code(visit: Visit, Posted(posted): Posted) -> HttpResponse {
    let fields = match posted {
        Ok(fields) => fields,
        Err(unread) => return page::unread(&visit, unread),
    };
    let (email, after) = (fields.text("email"), fields.text("return"));
    let (request, address) = (visit.request.clone(), email.to_owned());
    let code = fields.secret("code");
    let signed_in = visit.run(|service| async move {
        service
            .sign_operator_in_by_code(&request, &address, code)
            .await
    });
    match signed_in.await {
        Ok(session) => begin(&visit, &session, after),
        Err(error) => match message(error, WRONG_CODE) {
            Ok(text) => code_form(&visit, after, email, Some(&text)),
            Err(problem) => page::refused(&visit, problem),
        },
    }
}

/// `POST sign-out`
pub(crate) async fn sign_out(visit: Visit, Posted(posted): Posted) -> HttpResponse {
    if let Err(unread) = posted {
        return page::unread(&visit, unread);
    }
    match visit.session().await {
        Err(refusal) => return page::refused(&visit, refusal.into()),
        Ok(None) => {}
        Ok(Some(signed)) => {
            let request = visit.request.clone();
            let ended = visit.run(|service| async move {
                let session = &signed.session;
                let id = session.session.id;
                service.end_operator_session(&request, session, id).await
            });
            match ended.await {
                Ok(()) | Err(Refusal::NotFound(_)) => {}
                Err(refusal) => return page::refused(&visit, refusal.into()),
            }
        }
    }
    page::without_session(&visit, redirect("/console/sign-in"))
}
