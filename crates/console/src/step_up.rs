//! Proving the second factor: to complete a sign-in, or for an action that needs it again.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Query;
use askama::Template;
use vestry_app::Refusal;
use vestry_app::operators::SecondFactor;

use crate::filters;
use crate::form::{Form, Posted, token_of};
use crate::frame::Outer;
use crate::page::{self, page, received, safe_return};
use crate::passkeys::credential;
use crate::sign_in::{Return, begin, message};
use crate::visit::{Signed, Visit};

const WRONG: &str = "The code is wrong or was used already.";
const WRONG_PASSKEY: &str = "This passkey is not one of yours.";

#[derive(Template)]
#[template(path = "step_up.html")]
struct StepUpPage<'a> {
    outer: Outer,
    token: String,
    after: &'a str,
    email: &'a str,
    has_totp: bool,
    has_passkey: bool,
    error: Option<&'a str>,
}

/// `GET step-up`
pub(crate) async fn show(visit: Visit, Query(wanted): Query<Return>) -> HttpResponse {
    match page::operator(&visit).await {
        Ok(signed) => form(&visit, &signed, &wanted.after, None).await,
        Err(response) => response,
    }
}

async fn form(visit: &Visit, signed: &Signed, after: &str, error: Option<&str>) -> HttpResponse {
    let asked = signed.session.clone();
    let found = visit.run(|service| async move { service.factors_of_operator(&asked).await });
    let factors = match found.await {
        Ok(factors) => factors,
        Err(fault) => return page::refused(visit, Refusal::from(fault).into()),
    };
    let template = StepUpPage {
        outer: Outer::of(visit),
        token: token_of(&signed.token),
        after: safe_return(after),
        email: &signed.session.email,
        has_totp: !factors.totps.is_empty(),
        has_passkey: !factors.passkeys.is_empty(),
        error,
    };
    let status = match error {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    page(visit, status, &template)
}

/// `POST step-up`
pub(crate) async fn prove(visit: Visit, posted: Posted) -> HttpResponse {
    let (fields, signed) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let after = fields.text("return").to_owned();
    let proved = prove_with(&visit, &signed, proof(&fields)).await;
    match proved {
        Ok(response) => response(&after),
        Err(Ok(text)) => form(&visit, &signed, &after, Some(&text)).await,
        Err(Err(problem)) => page::refused(&visit, problem),
    }
}

/// The answer of a passkey, or a code: six digits are one of the authenticator app, anything longer is a recovery code.
fn proof(fields: &Form) -> SecondFactor {
    if !fields.text("credential").is_empty() {
        return SecondFactor::Passkey(credential(fields));
    }
    let code = fields.secret("code");
    let characters = code.expose().chars().filter(|one| !one.is_whitespace());
    if characters.count() <= 6 {
        SecondFactor::Totp(code)
    } else {
        SecondFactor::RecoveryCode(code)
    }
}

type Proved<'a> = Box<dyn FnOnce(&str) -> HttpResponse + 'a>;

/// Proves a second factor and returns how to go on, or what to say.
pub(crate) async fn prove_with<'a>(
    visit: &'a Visit,
    signed: &Signed,
    proof: SecondFactor,
) -> Result<Proved<'a>, Result<String, vestry_edge::Problem>> {
    let (request, session) = (visit.request.clone(), signed.session.clone());
    let token = signed.token.clone();
    let wrong = match proof {
        SecondFactor::Passkey(_) => WRONG_PASSKEY,
        SecondFactor::Totp(_) | SecondFactor::RecoveryCode(_) => WRONG,
    };
    let proved = visit.run(|service| async move {
        service
            .prove_second_factor(&request, &session, token, proof)
            .await
    });
    match proved.await {
        Ok(session) => Ok(Box::new(move |after| begin(visit, &session, after))),
        Err(error) => Err(message(error, wrong)),
    }
}
