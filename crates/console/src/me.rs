//! The operator's own factors and sessions.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use vestry_app::Refusal;
use vestry_app::operators::{Factors, SecondFactor};
use vestry_domain::ids::{SessionId, TotpId, WebauthnCredentialId};
use vestry_domain::operator::Operator;
use vestry_domain::session::Session;

use crate::cookie::Cookie;
use crate::device::device;
use crate::filters;
use crate::flash::Done;
use crate::form::{Posted, token_of};
use crate::frame::{Frame, Outer};
use crate::page::{
    self, done, page, received, redirect, refused_action, safe_return, to_step_up, with_cookie,
};
use crate::passkeys::credential;
use crate::qr::QrCode;
use crate::step_up::prove_with;
use crate::theme::Theme;
use crate::visit::{Signed, Visit};

const ME: &str = "/console/me";

#[derive(Template)]
#[template(path = "me.html")]
struct MePage<'a> {
    frame: Frame,
    operator: &'a Operator,
    may_change: bool,
    factors: Factors,
    sessions: Vec<Session>,
    own: SessionId,
    error: Option<&'a str>,
}

/// The page of an operator without a second factor.
#[derive(Template)]
#[template(path = "enrol.html")]
struct EnrolPage<'a> {
    outer: Outer,
    token: String,
    email: &'a str,
    factors: Factors,
    error: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "totp.html")]
struct TotpPage<'a> {
    outer: Outer,
    token: String,
    email: &'a str,
    secret: &'a str,
    key_uri: &'a str,
    qr: QrCode,
    recovery_codes: Vec<&'a str>,
}

/// `GET me`
pub(crate) async fn show(visit: Visit) -> HttpResponse {
    match page::operator(&visit).await {
        Ok(signed) => shown(&visit, &signed, None).await,
        Err(response) => response,
    }
}

async fn shown(visit: &Visit, signed: &Signed, error: Option<&str>) -> HttpResponse {
    let session = &signed.session;
    if session.principal().is_none() && !session.may_change_factors() {
        return to_step_up(ME);
    }
    let asked = session.clone();
    let found = visit.run(|service| async move {
        let factors = service.factors_of_operator(&asked).await?;
        let sessions = service.sessions_of_operator(asked.operator.user_id).await?;
        Ok::<_, Refusal>((factors, sessions))
    });
    let (factors, sessions) = match found.await {
        Ok(found) => found,
        Err(refusal) => return page::refused(visit, refusal.into()),
    };
    let status = match error {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    if session.principal().is_none() {
        let template = EnrolPage {
            outer: Outer::of(visit),
            token: token_of(&signed.token),
            email: &session.email,
            factors,
            error,
        };
        return page(visit, status, &template);
    }
    let template = MePage {
        frame: Frame::new(visit, signed, "me"),
        operator: &session.operator,
        may_change: session.may_change_factors(),
        factors,
        sessions,
        own: session.session.id,
        error,
    };
    page(visit, status, &template)
}

/// Answers a change of factors that was refused.
async fn refused(visit: &Visit, signed: &Signed, refusal: Refusal) -> HttpResponse {
    match refusal {
        Refusal::InsufficientFactor => {
            shown(visit, signed, Some("Enter your current password too.")).await
        }
        Refusal::InvalidCredentials => {
            shown(visit, signed, Some("The current password is wrong.")).await
        }
        Refusal::Invalid(invalid) => shown(visit, signed, Some(&invalid.message)).await,
        Refusal::NotNow(message) => shown(visit, signed, Some(message)).await,
        other => refused_action(visit, signed, other, ME).await,
    }
}

/// `POST me/password`
pub(crate) async fn set_password(visit: Visit, posted: Posted) -> HttpResponse {
    let (fields, signed) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let (request, session) = (visit.request.clone(), signed.session.clone());
    let (token, password) = (signed.token.clone(), fields.secret("password"));
    let current = Some(fields.secret("current")).filter(|typed| !typed.expose().is_empty());
    let set = visit.run(|service| async move {
        service
            .set_operator_password(&request, &session, token, password, current)
            .await
    });
    match set.await {
        Ok(()) => done(&visit, Done::PasswordSet, ME),
        Err(refusal) => refused(&visit, &signed, refusal).await,
    }
}

/// `POST me/totp`: the response shows the seed and the recovery codes, once (CON-7).
pub(crate) async fn create_totp(visit: Visit, posted: Posted) -> HttpResponse {
    let (_, signed) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let (request, session) = (visit.request.clone(), signed.session.clone());
    let created =
        visit.run(|service| async move { service.create_operator_totp(&request, &session).await });
    match created.await {
        Ok(created) => {
            let codes = created.recovery_codes.iter();
            let template = TotpPage {
                outer: Outer::of(&visit),
                token: token_of(&signed.token),
                email: &signed.session.email,
                qr: QrCode::of(created.key_uri.expose()),
                secret: created.secret.expose(),
                key_uri: created.key_uri.expose(),
                recovery_codes: codes.map(|code| code.expose().as_str()).collect(),
            };
            page(&visit, StatusCode::OK, &template)
        }
        Err(refusal) => refused(&visit, &signed, refusal).await,
    }
}

/// `POST me/totp/verify`
pub(crate) async fn verify_totp(visit: Visit, posted: Posted) -> HttpResponse {
    let (fields, signed) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let proof = SecondFactor::Totp(fields.secret("code"));
    let proved = prove_with(&visit, &signed, proof).await;
    match proved {
        Ok(response) => response("/console/"),
        Err(Ok(text)) => shown(&visit, &signed, Some(&text)).await,
        Err(Err(problem)) => page::refused(&visit, problem),
    }
}

/// `POST me/totp/remove`
pub(crate) async fn remove_totp(visit: Visit, posted: Posted) -> HttpResponse {
    let (fields, signed) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let Ok(id) = fields.text("id").parse::<TotpId>() else {
        return page::unknown(visit).await;
    };
    let (request, session) = (visit.request.clone(), signed.session.clone());
    let removed = visit
        .run(|service| async move { service.delete_operator_totp(&request, &session, id).await });
    match removed.await {
        Ok(()) => done(&visit, Done::AuthenticatorRemoved, ME),
        Err(refusal) => refused(&visit, &signed, refusal).await,
    }
}

/// `POST me/passkeys`: the new passkey is then used once, which completes or renews the second factor.
pub(crate) async fn create_passkey(visit: Visit, posted: Posted) -> HttpResponse {
    let (fields, signed) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let (request, session) = (visit.request.clone(), signed.session.clone());
    let credential = credential(&fields);
    let created = visit.run(|service| async move {
        service
            .create_operator_passkey(&request, &session, credential)
            .await
    });
    match created.await {
        Ok(()) if signed.session.is_enrolled => done(&visit, Done::PasskeyAdded, ME),
        Ok(()) => to_step_up("/console/"),
        Err(Refusal::InvalidCredentials) => {
            shown(
                &visit,
                &signed,
                Some("The passkey came too late. Try again."),
            )
            .await
        }
        Err(refusal) => refused(&visit, &signed, refusal).await,
    }
}

/// `POST me/passkeys/remove`
pub(crate) async fn remove_passkey(visit: Visit, posted: Posted) -> HttpResponse {
    let (fields, signed) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let Ok(id) = fields.text("id").parse::<WebauthnCredentialId>() else {
        return page::unknown(visit).await;
    };
    let (request, session) = (visit.request.clone(), signed.session.clone());
    let removed = visit.run(|service| async move {
        service
            .delete_operator_passkey(&request, &session, id)
            .await
    });
    match removed.await {
        Ok(()) => done(&visit, Done::PasskeyRemoved, ME),
        Err(refusal) => refused(&visit, &signed, refusal).await,
    }
}

/// `POST me/sessions/end`
pub(crate) async fn end_session(visit: Visit, posted: Posted) -> HttpResponse {
    let (fields, signed) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let Ok(id) = fields.text("id").parse::<SessionId>() else {
        return page::unknown(visit).await;
    };
    let (request, session) = (visit.request.clone(), signed.session.clone());
    let ended = visit
        .run(|service| async move { service.end_operator_session(&request, &session, id).await });
    match ended.await {
        Ok(()) => done(&visit, Done::SessionsEnded, ME),
        Err(refusal) => refused(&visit, &signed, refusal).await,
    }
}

/// `POST theme`
pub(crate) async fn set_theme(visit: Visit, posted: Posted) -> HttpResponse {
    let (fields, _) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let Some(theme) = Theme::parse(fields.text("theme")) else {
        return page::unknown(visit).await;
    };
    let back = redirect(safe_return(fields.text("return")));
    with_cookie(
        back,
        &Cookie::Theme.set_text(&visit.settings, theme.as_str()),
    )
}
