//! Discovery documents of an issuer: made-up text, and valid ones with edited members. `ISSUER` stands for the URL of the document.
//!
//! A browser is redirected only by the document of that issuer, to the page that it (or the App) names, over HTTPS or to this machine. The
//! last parameters are client, state, nonce and challenge of this flow. The first byte selects the provider, the settings of the App, and
//! the use of the rest.

#![no_main]

use std::collections::HashMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use url::{Host, Url};
use vestry_domain::provider::ConnectionSettings;
use vestry_fuzz::id_tokens::{json_of, map};
use vestry_fuzz::input::{choice, edited, pick};
use vestry_fuzz::provider::{
    CHALLENGE, CLIENT_ID, NONCE, Provider, REDIRECT_URI, STATE, connection, status,
};

const NAMES: [&str; 4] = ["example", "google", "microsoft", "apple"];
const PAGE: &str = "https://login.example.com/authorize";

static PROVIDER: LazyLock<Provider> = LazyLock::new(Provider::start);

fn is_this_machine(page: &Url) -> bool {
    match page.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn right(issuer: &str) -> Map<String, Value> {
    map(json!({
        "issuer": issuer,
        "authorization_endpoint": "https://issuer.example.com/authorize",
        "token_endpoint": "https://issuer.example.com/token",
        "userinfo_endpoint": "https://issuer.example.com/userinfo",
        "jwks_uri": "https://issuer.example.com/keys",
        "authorization_response_iss_parameter_supported": true,
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
    }))
}

fuzz_target!(|data: &[u8]| {
    let Some((options, rest)) = choice(data) else {
        return;
    };
    let name = *pick(&NAMES, options);
    let has_page = options / 4 % 2 == 1;
    let mut issuer = PROVIDER.fresh("issuer");
    if name == "microsoft" {
        issuer.push_str("/{tenantid}/v2.0");
    }
    let is_right = options / 8 % 2 == 1 && rest.is_empty();
    let document = if options / 8 % 2 == 0 {
        String::from_utf8_lossy(rest)
            .replace("ISSUER", &issuer)
            .into_bytes()
    } else {
        let edits = String::from_utf8_lossy(rest).replace("ISSUER", &issuer);
        json_of(&edited(&right(&issuer), edits.as_bytes()))
    };
    let status = status(options / 16);
    PROVIDER.answers("issuer", status, document.clone());
    let settings = ConnectionSettings {
        issuer: Some(issuer.clone()),
        authorization_endpoint: has_page.then(|| PAGE.to_owned()),
        ..ConnectionSettings::default()
    };
    let url = match PROVIDER.authorization_url(&connection(name, settings)) {
        Ok(url) => url,
        Err(fault) => {
            assert!(!is_right || status != 200, "{fault}");
            return;
        }
    };
    assert_eq!(status, 200);
    let document: Map<String, Value> = serde_json::from_slice(&document).expect("an object");
    let text = |name: &str| document[name].as_str().expect("a text");
    assert_eq!(text("issuer"), issuer);
    for endpoint in ["token_endpoint", "jwks_uri"] {
        Url::parse(text(endpoint)).expect("a URL");
    }
    let page = if has_page {
        PAGE
    } else {
        text("authorization_endpoint")
    };
    let page = Url::parse(page).expect("a page");
    let url = Url::parse(&url).expect("a URL");
    assert!(url.scheme() == "https" || is_this_machine(&url), "{url}");
    let mut bare = url.clone();
    bare.set_query(page.query());
    assert_eq!(bare, page);
    // Of two parameters with one name, the last one counts.
    let said: HashMap<_, _> = url.query_pairs().collect();
    for (name, right) in [
        ("client_id", CLIENT_ID),
        ("response_type", "code"),
        ("redirect_uri", REDIRECT_URI),
        ("state", STATE),
        ("nonce", NONCE),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(said.get(name).map(AsRef::as_ref), Some(right), "{name}");
    }
});
