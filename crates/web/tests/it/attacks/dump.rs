//! Attack 27: somebody reads the database.

use serde_json::json;

use crate::journeys::{sent, signed_in, verified};
use crate::rig::{Api, on_both};

on_both! {
    attack_27_a_dump_holds_no_bearer_value
}

/// The forms in which a text may lie in a dump.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let escaped = json!(secret).to_string();
    vec![
        secret.as_bytes().to_vec(),
        hex.to_uppercase().into_bytes(),
        hex.into_bytes(),
        escaped.trim_matches('"').as_bytes().to_vec(),
    ]
}

/// After a whole scenario, the database holds no token, JWT, code or API key of it, and a planted one is found.
async fn attack_27_a_dump_holds_no_bearer_value(api: &Api) {
    let session = signed_in(api, "ada@example.com").await;
    let live = json!({"email": "live@example.com"});
    let path = "/v1/auth/otps/email/login_or_create";
    api.live().post(path, live).await.ok();
    let waiting = api.place.dump().await;
    api.deliver().await;
    let (_, mail) = api.mailer.sent().pop().expect("a mail to live@example.com");
    let code = sent(api, &api.test(), "eve@example.com").await;
    verified(&api.test(), &code, json!({"session_expires_in": 60}))
        .await
        .ok();
    api.test().delete("/v1/test/messages", None).await.ok();
    let key = api.new_key(vestry_domain::Environment::Live, &[]).await;
    let mut secrets = vec![
        ("session token", session.text_at("/session_token")),
        ("session JWT", session.text_at("/session_jwt")),
        ("API key", key),
    ];
    let dump = api.place.dump().await;
    let holds = |dump: &[u8], form: &[u8]| dump.windows(form.len()).any(|window| window == form);
    assert!(holds(&dump, b"ada@example.com"), "the dump is one");
    // Six digits stand in a dump by chance; the sentence around them does not.
    secrets.push((
        "live mail",
        mail.text.lines().next().expect("a line").to_owned(),
    ));
    for (what, secret) in secrets {
        for form in forms(&secret) {
            assert!(!holds(&dump, &form), "the dump holds the {what}");
            assert!(
                !holds(&waiting, &form),
                "the dump before delivery holds the {what}"
            );
        }
    }
}
