//! Passkeys: signing in, proving the second factor, and setting them up. The script asks the browser and sends its answer in a form
//! (WebAuthn Level 3, sections 5.1.9 and 5.1.10).

use actix_web::HttpResponse;
use serde::Serialize;
use serde_json::Value;
use vestry_app::Refusal;
use vestry_edge::views::{CreationOptions, RequestOptions};

use crate::form::{Form, Posted};
use crate::page::{self, received};
use crate::sign_in::{begin, form, message};
use crate::visit::Visit;

const WRONG: &str = "This passkey is unknown here. Try another one, or sign in with your password.";

/// The answer of the browser: `PublicKeyCredential.toJSON()`; `null` if it is not JSON, which no use case accepts.
pub(crate) fn credential(fields: &Form) -> Value {
    serde_json::from_str(fields.text("credential")).unwrap_or_default()
}

/// Answers the script, which shows one message for all refusals.
fn options<T: Serialize>(visit: &Visit, begun: Result<T, Refusal>) -> HttpResponse {
    match begun {
        Ok(options) => HttpResponse::Ok().json(options),
        Err(refusal) => page::refused(visit, refusal.into()),
    }
}

/// `POST sign-in/passkey/options`
pub(crate) async fn to_sign_in(visit: Visit, Posted(posted): Posted) -> HttpResponse {
    if let Err(unread) = posted {
        return page::unread(&visit, unread);
    }
    let request = visit.request.clone();
    let begun = visit.run(|service| async move {
        let begun = service.begin_operator_passkey(&request, None).await;
        begun.map(RequestOptions::from)
    });
    options(&visit, begun.await)
}

/// `POST sign-in/passkey`
pub(crate) async fn sign_in(visit: Visit, Posted(posted): Posted) -> HttpResponse {
    let fields = match posted {
        Ok(fields) => fields,
        Err(unread) => return page::unread(&visit, unread),
    };
    let after = fields.text("return");
    let (request, credential) = (visit.request.clone(), credential(&fields));
    let signed_in = visit.run(|service| async move {
        service
            .sign_operator_in_by_passkey(&request, credential)
            .await
    });
    match signed_in.await {
        Ok(session) => begin(&visit, &session, after),
        Err(error) => match message(error, WRONG) {
            Ok(text) => form(&visit, after, "", Some(&text)).await,
            Err(problem) => page::refused(&visit, problem),
        },
    }
}

/// `POST step-up/passkey/options`
pub(crate) async fn to_step_up(visit: Visit, posted: Posted) -> HttpResponse {
    let (_, signed) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let (request, session) = (visit.request.clone(), signed.session);
    let begun = visit.run(|service| async move {
        let begun = service.begin_operator_passkey(&request, Some(&session));
        begun.await.map(RequestOptions::from)
    });
    options(&visit, begun.await)
}

/// `POST me/passkeys/options`
pub(crate) async fn to_create(visit: Visit, posted: Posted) -> HttpResponse {
    let (fields, signed) = match received(&visit, posted).await {
        Ok(received) => received,
        Err(response) => return response,
    };
    let (request, session) = (visit.request.clone(), signed.session);
    let kind = Some(fields.text("kind").to_owned());
    let begun = visit.run(|service| async move {
        let begun = service.begin_operator_registration(&request, &session, kind);
        begun.await.map(CreationOptions::from)
    });
    options(&visit, begun.await)
}
