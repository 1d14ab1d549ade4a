//! `webauthn/*`.

use serde_json::{Value, json};
use vestry_contract::browser::Browser;

use super::Flow;
use crate::Failure;
use crate::api::{Call, text};
use crate::people::Person;

const DOMAIN: &str = "localhost";
const PAGE: &str = "http://localhost:3000";

pub(super) async fn run(flow: Flow<'_>) -> Result<(), Failure> {
    let people = flow.people("passkeys").await?;
    let post = |path: &str, body| Call::post(format!("/v1/auth/webauthn/{path}"), body);
    let begin = |path: &'static str| {
        move |one: &Person| {
            Ok(post(
                path,
                json!({"domain": DOMAIN, "user_id": one.user_id}),
            ))
        }
    };
    let begun = flow.each(
        "webauthn registrations begin",
        &people,
        begin("registrations/begin"),
    );
    // One device for each.
    let mut browsers: Vec<_> = people.iter().map(|_| Browser::at(PAGE)).collect();
    let mut create = Vec::new();
    for ((browser, begun), one) in browsers.iter_mut().zip(&begun.await?).zip(&people) {
        let options = part(begun, "/public_key_credential_creation_options")?;
        let credential = browser.create(options).await;
        let body = json!({"user_id": one.user_id, "public_key_credential": credential});
        create.push(post("registrations/create", body));
    }
    let created = flow.measure("webauthn registrations create", create);
    let created = created.await?;
    let begun = flow.each(
        "webauthn authentication begin",
        &people,
        begin("authentication/begin"),
    );
    let mut verify = Vec::new();
    for (browser, begun) in browsers.iter_mut().zip(&begun.await?) {
        let options = part(begun, "/public_key_credential_request_options")?;
        let credential = browser.get(options).await;
        let body = json!({"public_key_credential": credential, "session_expires_in": 60});
        verify.push(post("verify", body));
    }
    flow.measure("webauthn verify", verify).await?;
    // One is kept, so that the database has some of everything.
    let deleted = created.get(1..).unwrap_or_default();
    flow.each("users webauthn_credentials delete", deleted, |created| {
        let id = text(created, "/webauthn_credential_id")?;
        let path = format!("/v1/auth/users/webauthn_credentials/{id}/delete");
        Ok(Call::delete(path))
    })
    .await?;
    Ok(())
}

fn part<'a>(answer: &'a Value, pointer: &str) -> Result<&'a Value, Failure> {
    let found = answer.pointer(pointer);
    found.ok_or_else(|| format!("the response has nothing at {pointer}").into())
}
