//! F6: provider responses that must not be trusted.
//!
//! One table serves both the adapter, which is tested with all of it, and the service around it.

use std::time::Duration;

use serde_json::{Value, json};
use vestry_ports::identity_providers::ProviderFault;

use super::{Draft, ProviderServer, Reply, Signature};

/// What kind of fault a [`ProviderFault`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The provider rejects the code.
    Refused,
    /// The response fails validation.
    Invalid,
    /// The provider does not respond.
    Unavailable,
    /// The provider does not know this client, or does not exist.
    Misconfigured,
}

impl Fault {
    /// The kind of this fault.
    pub const fn of(fault: &ProviderFault) -> Self {
        match fault {
            ProviderFault::Refused => Self::Refused,
            ProviderFault::Invalid(_) => Self::Invalid,
            ProviderFault::Unavailable(_) => Self::Unavailable,
            ProviderFault::Misconfigured(_) => Self::Misconfigured,
        }
    }
}

/// A function that corrupts the response of a token endpoint.
pub type Spoil = fn(&mut Draft);

/// Sets a claim.
pub fn claim(draft: &mut Draft, name: &str, value: Value) {
    draft.claims.insert(name.to_owned(), value);
}

/// Sets a header parameter.
fn header(draft: &mut Draft, name: &str, value: Value) {
    draft.header.insert(name.to_owned(), value);
}

/// Moves a timestamp of the token by this many seconds.
fn moved(draft: &mut Draft, name: &str, seconds: i64) {
    let Some(issued) = draft.claims.get("iat").and_then(Value::as_i64) else {
        panic!("the token has no such timestamp to move");
    };
    claim(draft, name, json!(issued + seconds));
}

/// Tokens with one fault each; all of them are [`Fault::Invalid`].
pub const SPOILED: [(&str, Spoil); 45] = [
    ("alg none", |d| {
        header(d, "alg", json!("none"));
        d.signature = Signature::Empty;
    }),
    ("alg nOnE", |d| {
        header(d, "alg", json!("nOnE"));
        d.signature = Signature::Empty;
    }),
    ("alg empty", |d| header(d, "alg", json!(""))),
    ("alg missing", |d| drop(d.header.remove("alg"))),
    ("alg of the wrong type", |d| {
        header(d, "alg", json!(["ES256"]))
    }),
    ("HS256 with the public key", |d| {
        header(d, "alg", json!("HS256"));
        d.signature = Signature::HmacOfPublicKey;
    }),
    ("HS256 disguised as ES256", |d| {
        d.signature = Signature::HmacOfPublicKey
    }),
    ("an algorithm that does not match the key", |d| {
        header(d, "alg", json!("RS256"))
    }),
    ("no signature", |d| d.signature = Signature::Empty),
    ("a signature by an unknown key", |d| {
        d.signature = Signature::Strangers
    }),
    ("a broken signature", |d| d.signature = Signature::Broken),
    ("a signature over other claims", |d| {
        d.signature = Signature::OfOtherClaims
    }),
    ("an unknown key id", |d| {
        header(d, "kid", json!("unknown"));
    }),
    ("a key id that is a path", |d| {
        header(d, "kid", json!("../../dev/null"))
    }),
    ("an embedded key", |d| {
        header(d, "jwk", json!({"kty": "oct", "k": "AAAA"}));
        header(d, "jku", json!("http://127.0.0.1:1/jwks"));
        d.signature = Signature::Strangers;
    }),
    ("an unknown critical extension", |d| {
        header(d, "crit", json!(["b64"]))
    }),
    ("a token of another type", |d| {
        header(d, "typ", json!("at+jwt"))
    }),
    ("a typ of the wrong JSON type", |d| {
        header(d, "typ", json!(1))
    }),
    ("another issuer", |d| {
        claim(d, "iss", json!("https://evil.example.com"))
    }),
    ("the issuer with a trailing slash", |d| {
        let issuer = d.claims.get("iss").and_then(Value::as_str);
        let issuer = json!(format!("{}/", issuer.unwrap_or_default()));
        claim(d, "iss", issuer);
    }),
    ("no issuer", |d| drop(d.claims.remove("iss"))),
    ("a list of issuers", |d| {
        let issuer = json!([d.claims.get("iss")]);
        claim(d, "iss", issuer);
    }),
    ("another audience", |d| {
        claim(d, "aud", json!("another-client"))
    }),
    ("no audience", |d| drop(d.claims.remove("aud"))),
    ("several audiences and no azp", |d| {
        claim(d, "aud", json!(["another-client", "client-of-tests"]));
    }),
    ("another party", |d| {
        claim(d, "azp", json!("another-client"))
    }),
    ("another nonce", |d| {
        claim(d, "nonce", json!("another-nonce"))
    }),
    ("no nonce", |d| drop(d.claims.remove("nonce"))),
    ("an empty nonce", |d| claim(d, "nonce", json!(""))),
    ("over", |d| moved(d, "exp", -3_600)),
    ("no end", |d| drop(d.claims.remove("exp"))),
    ("an expiry that is a string", |d| {
        claim(d, "exp", json!("9999999999"))
    }),
    ("issued in the future", |d| moved(d, "iat", 3_600)),
    ("issued long ago", |d| moved(d, "iat", -7_200)),
    ("no beginning", |d| drop(d.claims.remove("iat"))),
    ("not valid yet", |d| moved(d, "nbf", 3_600)),
    ("nobody", |d| drop(d.claims.remove("sub"))),
    ("an empty subject", |d| claim(d, "sub", json!(""))),
    ("a subject that is a number", |d| {
        claim(d, "sub", json!(1001))
    }),
    ("no id token", |d| {
        drop(d.body.insert("id_token".to_owned(), Value::Null))
    }),
    ("an id token of one part", |d| {
        drop(d.body.insert("id_token".to_owned(), json!("hunter2")))
    }),
    ("an id token of four parts", |d| {
        drop(
            d.body
                .insert("id_token".to_owned(), json!("e30.e30.e30.e30")),
        )
    }),
    ("an id token that is too large", |d| {
        drop(
            d.body
                .insert("id_token".to_owned(), json!("x".repeat(70_000))),
        );
    }),
    ("no access token", |d| drop(d.body.remove("access_token"))),
    ("an access token that is not a bearer token", |d| {
        drop(d.body.insert("token_type".to_owned(), json!("mac")));
    }),
];

/// The endpoint whose response is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The discovery document.
    Discovery,
    /// The key set.
    Keys,
    /// The token endpoint.
    Token,
    /// The userinfo endpoint. It is not queried for an address that is in the id token.
    Userinfo,
}

impl At {
    /// The endpoint's path.
    pub const fn path(self, server: &ProviderServer) -> &'static str {
        match self {
            Self::Discovery => server.discovery_path(),
            Self::Keys => server.keys_path(),
            Self::Token => server.token_path(),
            Self::Userinfo => server.userinfo_path(),
        }
    }
}

/// Sets a random, unknown key id.
pub fn unknown_key(draft: &mut Draft) {
    let token = draft.body.get("access_token").cloned().unwrap_or_default();
    header(draft, "kid", json!(format!("unknown-{token}")));
    draft.signature = Signature::Strangers;
}

/// Wrong issuers for a discovery document, built from the right one.
pub const OTHER_ISSUERS: [fn(&str) -> Value; 6] = [
    |url| json!(format!("{url}/")),
    |url| json!(url.replace("127.0.0.1", "localhost")),
    |_| json!("https://accounts.google.com"),
    |_| json!(""),
    |_| Value::Null,
    |url| json!([url]),
];

/// Invalid responses of each endpoint, and the fault that each must cause.
pub fn answers() -> Vec<(&'static str, At, Reply, Fault)> {
    let html = || Reply::Says(200, String::new(), "<html>hunter2</html>".to_owned());
    let failed = || Reply::Says(500, String::new(), "hunter2".to_owned());
    let busy = || Reply::Says(429, "Retry-After: 30\r\n".to_owned(), String::new());
    let stalls = || Reply::Stalls(Duration::from_secs(30));
    let huge = || Reply::Huge(10 * 1024 * 1024);
    let mut all = Vec::new();
    for at in [At::Discovery, At::Keys, At::Token, At::Userinfo] {
        all.extend([
            ("fails", at, failed(), Fault::Unavailable),
            ("is busy", at, busy(), Fault::Unavailable),
            ("stalls", at, stalls(), Fault::Unavailable),
            ("hangs up", at, Reply::HangsUp, Fault::Unavailable),
            ("sends 10 MB", at, huge(), Fault::Invalid),
            ("sends an HTML page", at, html(), Fault::Invalid),
            (
                "sends on",
                at,
                Reply::redirect(302, "http://127.0.0.1:1/"),
                Fault::Invalid,
            ),
        ]);
    }
    let gone = || Reply::json(404, &json!({}));
    all.extend([
        (
            "does not exist",
            At::Discovery,
            gone(),
            Fault::Misconfigured,
        ),
        ("does not exist", At::Keys, gone(), Fault::Misconfigured),
        (
            "has no keys",
            At::Keys,
            Reply::json(200, &json!({"keys": []})),
            Fault::Invalid,
        ),
        (
            "refuses the client",
            At::Token,
            Reply::json(
                401,
                &json!({"error": "invalid_client", "error_description": "hunter2"}),
            ),
            Fault::Misconfigured,
        ),
        (
            "refuses with an unknown error",
            At::Token,
            Reply::json(400, &json!({"error": "hunter2"})),
            Fault::Invalid,
        ),
        (
            "refuses the token",
            At::Userinfo,
            Reply::json(403, &json!({"error": "insufficient_scope"})),
            Fault::Misconfigured,
        ),
    ]);
    all
}
