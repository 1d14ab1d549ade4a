//! `webauthn/*`.

use serde_json::{Value, json};
use vestry_contract::browser::Browser;

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::people::people;
use crate::stopwatch::Stopwatch;

const DOMAIN: &str = "localhost";
const PAGE: &str = "http://localhost:3000";

pub(super) async fn run(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    let people = people(api, stopwatch, "passkeys").await?;
    let ask = |path: &'static str| {
        people
            .iter()
            .map(|one| Call::post(path, json!({"domain": DOMAIN, "user_id": one.user_id})))
            .collect::<Vec<_>>()
    };
    let begun = stopwatch
        .measure(
            api,
            "webauthn registrations begin",
            ask("/v1/auth/webauthn/registrations/begin"),
        )
        .await?;
    // One device for each.
    let mut browsers: Vec<_> = people.iter().map(|_| Browser::at(PAGE)).collect();
    let mut create = Vec::new();
    for ((browser, begun), one) in browsers.iter_mut().zip(&begun).zip(&people) {
        let options = part(begun, "/public_key_credential_creation_options")?;
        let credential = browser.create(options).await;
        let body = json!({"user_id": one.user_id, "public_key_credential": credential});
        create.push(Call::post("/v1/auth/webauthn/registrations/create", body));
    }
    let created = stopwatch
        .measure(api, "webauthn registrations create", create)
        .await?;
    let begun = stopwatch
        .measure(
            api,
            "webauthn authentication begin",
            ask("/v1/auth/webauthn/authentication/begin"),
        )
        .await?;
    let mut verify = Vec::new();
    for (browser, begun) in browsers.iter_mut().zip(&begun) {
        let options = part(begun, "/public_key_credential_request_options")?;
        let credential = browser.get(options).await;
        let body = json!({"public_key_credential": credential, "session_expires_in": 60});
        verify.push(Call::post("/v1/auth/webauthn/verify", body));
    }
    stopwatch.measure(api, "webauthn verify", verify).await?;
    // One is kept, so that the database has some of everything.
    let delete = created
        .iter()
        .skip(1)
        .map(|created| {
            let id = text(created, "/webauthn_credential_id")?;
            let path = format!("/v1/auth/users/webauthn_credentials/{id}/delete");
            Ok(Call::delete(path))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch
        .measure(api, "users webauthn_credentials delete", delete)
        .await?;
    Ok(())
}

fn part<'a>(answer: &'a Value, pointer: &str) -> Result<&'a Value, Failure> {
    let found = answer.pointer(pointer);
    found.ok_or_else(|| format!("the response has nothing at {pointer}").into())
}
