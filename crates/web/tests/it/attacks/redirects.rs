//! Attack 17: URLs that look like the registered one, to somebody.

#[path = "../../../../domain/src/redirect/tests/tricks.rs"]
mod tricks;

use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::oauth::{cookie, location, path, public_token};
use crate::rig::{Api, Client, on_both};
use tricks::{EXACT, PATTERN_URL, TRICKS};

on_both! {
    attack_17_a_sign_in_lands_nowhere_else
}

/// O-1: whatever has been tried against redirect lists is refused before the browser leaves, by the name of the parameter, and
/// sends it nowhere; with a secret key, and with a public token as far as it may name a URL.
async fn attack_17_a_sign_in_lands_nowhere_else(api: &Api) {
    let world = World::new(api.app.id, Environment::Test);
    for kind in [RedirectKind::Login, RedirectKind::Registration] {
        for url in [EXACT, PATTERN_URL] {
            let added = api.service.add_redirect_url(world, kind, url, url == EXACT);
            added.await.unwrap();
        }
    }
    let token = public_token(api, Environment::Test).await;
    let page = api
        .anonymous()
        .header("Authorization", &format!("PublicToken {token}"));
    let (backend, landings) = (
        api.test(),
        ["login_redirect_url", "registration_redirect_url"],
    );
    for parameter in landings {
        takes_none(&page, parameter).await;
        takes_none(&backend, parameter).await;
        for url in [EXACT, "https://shop.example.com/callback"] {
            lands(api, parameter, url).await;
        }
    }
    takes_none(&backend, "redirect_uri").await;
}

fn begin(parameter: &str, url: &str, identity: &str) -> String {
    let encoded: String = url.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("/v1/auth/oauth/test/begin?redirect=true&identity={identity}&{parameter}={encoded}")
}

async fn takes_none(client: &Client<'_>, parameter: &str) {
    // Nothing at all is no trick in a query: the default counts.
    for trick in TRICKS.iter().filter(|trick| !trick.is_empty()) {
        let refused = client.get(&begin(parameter, trick, "verified")).await;
        let code = if trick.contains('\0') {
            "invalid_field"
        } else {
            "redirect_url_not_allowed"
        };
        let found = (refused.status, refused.code(), refused.param());
        assert_eq!(found, (400, code, Some(parameter)), "{trick:?}");
        assert_eq!(refused.header("location"), None, "{trick:?}");
        assert_eq!(refused.header("set-cookie"), None, "{trick:?}");
    }
}

/// The right ones go through: somebody new lands on the registration URL, somebody who says no on the login URL.
async fn lands(api: &Api, parameter: &str, url: &str) {
    let (identity, ending) = if parameter == "registration_redirect_url" {
        ("verified", "?token=")
    } else {
        ("denied", "?error=access_denied")
    };
    let sent = api.test().get(&begin(parameter, url, identity)).await;
    let browser = api.anonymous().header("Cookie", &cookie(&sent));
    let back = location(&browser.get(path(&location(&sent))).await);
    let landed = location(&browser.get(path(&back)).await);
    assert!(landed.starts_with(&format!("{url}{ending}")), "{landed}");
}
