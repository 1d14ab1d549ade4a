//! Typical integrator flows, from the first call to the last.

use serde_json::{Value, json};

use crate::harness::{Api, Client, Response};

/// Signs in by e-mail with a session, and returns the response of the verify call.
pub(crate) async fn signed_in(api: &Api, email: &str) -> Response {
    let sent = sent(api, &api.test(), email).await;
    let verified = verified(&api.test(), &sent, json!({"session_expires_in": 60})).await;
    let verified = verified.ok();
    assert_eq!(
        verified.text_at("/user_id"),
        sent.user_id,
        "III of claims.md"
    );
    verified
}

/// A sent code: where it went, and its digits.
pub(crate) struct Sent {
    pub(crate) user_id: String,
    pub(crate) method_id: String,
    pub(crate) code: String,
}

/// Sends a code in the test environment, and reads it.
pub(crate) async fn sent(api: &Api, client: &Client<'_>, email: &str) -> Sent {
    let request = json!({"email": email, "expires_in": 10});
    let sent = client
        .post("/v1/auth/otps/email/login_or_create", request)
        .await
        .ok();
    api.deliver().await;
    let code = newest_code(client, email).await;
    Sent {
        user_id: sent.text_at("/user_id"),
        method_id: sent.text_at("/email_id"),
        code,
    }
}

pub(crate) async fn newest_code(client: &Client<'_>, email: &str) -> String {
    let found = client
        .get(&format!(
            "/v1/test/messages?kind=otp&to={}",
            email.replace('+', "%2B")
        ))
        .await
        .ok();
    found.text_at("/messages/0/code")
}

/// Verifies with further fields.
pub(crate) async fn verified(client: &Client<'_>, sent: &Sent, further: Value) -> Response {
    let mut request = json!({"method_id": sent.method_id, "otp": sent.code});
    let fields = further.as_object().unwrap().clone();
    request.as_object_mut().unwrap().extend(fields);
    client.post("/v1/auth/otps/verify", request).await
}
