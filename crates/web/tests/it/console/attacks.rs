//! CN-A1: attacks on the pages themselves: forged and tossed requests, redirects to elsewhere, other hosts, and markup in every field
//! (CON-2 to CON-5, CON-8).

use serde_json::json;
use vestry_app::platform::webhooks::NewEndpoint;
use vestry_domain::api_key::{ApiKeyKind, KeyFields};

use super::*;
use crate::console_pages::{path, user_in};

on_both! { behind_a_proxy;
    cn_a1_forms_come_from_the_own_origin
    cn_a1_a_session_is_never_given_in_advance
    cn_a1_redirects_stay_in_the_console
    cn_a1_no_page_names_another_host
    cn_a1_markup_in_every_field_is_text
}

const EVIL: &str = "evil.example";

/// A browser without `Sec-Fetch-Site` names the origin; a request with neither is not from a form of ours.
async fn cn_a1_forms_come_from_the_own_origin(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let token = ann.get("/console/me").await.field("form_token").to_owned();
    let form = [("form_token", token.as_str()), ("theme", "dark")];
    for head in [
        "Origin: https://evil.example\r\n",
        "Origin: https://sister.example.com\r\n",
        "Origin: https://console.example.com.evil.example\r\n",
        "Origin: http://console.example.com\r\n",
        "Origin: https://console.example.com:444\r\n",
        "Origin: null\r\n",
        "",
        // `Sec-Fetch-Site` counts, whatever the origin says.
        "Sec-Fetch-Site: same-site\r\nOrigin: https://console.example.com\r\n",
        "Sec-Fetch-Site: cross-site\r\nOrigin: https://console.example.com\r\n",
    ] {
        let head = format!("Host: console.example.com\r\n{head}");
        let sent = ann.send_with("POST", "/console/theme", &head, Some(&form));
        sent.await.shows(403, "This form has expired.");
    }
    let shown = ann.get("/console/me").await;
    assert!(!shown.html.contains("data-theme"), "{}", shown.html);
    let head = "Host: console.example.com\r\nOrigin: https://console.example.com\r\n";
    let sent = ann.send_with("POST", "/console/theme", head, Some(&form));
    assert_eq!(sent.await.status, 303);
}

/// A session that someone else put into the browser is not the one that signing in opens, and cookies that another host can set are ignored.
async fn cn_a1_a_session_is_never_given_in_advance(api: &Api) {
    let (mut ann, seed) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let own = ann.session().unwrap().clone();
    let (eve, _) = operator(
        api,
        "eve@example.com",
        grants(Role::Viewer, Some(api.app.id)),
    )
    .await;
    let planted = eve.session().unwrap().clone();
    for fixed in [planted.as_str(), &"x".repeat(48), ""] {
        let mut victim = Browser::new(api);
        let name = "__Host-vestry_console".to_owned();
        victim.cookies.insert(name, fixed.to_owned());
        let sent = victim.sign_in("ann@example.com", PASSWORD).await;
        assert_eq!(sent.status, 303, "{}", sent.html);
        let opened = victim.session().unwrap().clone();
        assert_ne!(opened, fixed);
        let code = code(api, &seed);
        victim.second_factor(&code).await.leads_to("/console/me");
        assert_ne!(victim.session().unwrap(), &opened);
    }
    // A sister host can set neither a cookie with the prefix nor, beside it, one that counts.
    let mut tossed = Browser::new(api);
    for name in [
        "vestry_console",
        "vestry_console_dev",
        "__host-vestry_console",
    ] {
        tossed.cookies.insert(name.to_owned(), own.clone());
    }
    let refused = tossed.get("/console/").await;
    refused.leads_to("/console/sign-in?return=%2Fconsole%2F");
    let twice = format!("{own}; __Host-vestry_console={planted}");
    let mut both = Browser::new(api);
    both.cookies
        .insert("__Host-vestry_console".to_owned(), twice);
    let refused = both.get("/console/").await;
    refused.leads_to("/console/sign-in?return=%2Fconsole%2F");
    ann.get("/console/").await.shows(200, "Apps");
}

/// CON-8, corpus B11: signing in, the second factor and the theme lead only to paths of the console.
async fn cn_a1_redirects_stay_in_the_console(api: &Api) {
    let (mut ann, seed) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    for (number, wanted) in [
        "https://evil.example",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/console//evil.example",
        "/console/..//evil.example",
        "/console/%2e%2e//evil.example",
        "/console/\\evil.example",
        "/console/\r\nLocation: https://evil.example",
        "/console/%0d%0aLocation:%20https://evil.example",
        "/console\t//evil.example",
        "/console/@evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "/v1/auth/users",
        "https://console.example.com@evil.example/console/",
    ]
    .into_iter()
    .enumerate()
    {
        let theme = [("theme", "dark"), ("return", wanted)];
        let sent = ann.fill("/console/me", "/console/theme", &theme).await;
        let to = sent.header("location").to_owned();
        assert!(is_inside(&to), "{wanted} leads to {to}");
        // One of each kind is enough where each costs a password or a code.
        if number % 6 > 0 {
            continue;
        }
        let mut browser = Browser::from(api, &format!("192.0.2.{number}"));
        let fields = [
            ("email", "ann@example.com"),
            ("password", PASSWORD),
            ("return", wanted),
        ];
        let sent = browser
            .fill("/console/sign-in", "/console/sign-in", &fields)
            .await;
        let to = sent.header("location").to_owned();
        assert!(
            is_inside(&to) && !to.contains("evil"),
            "{wanted} leads to {to}"
        );
        let code = code(api, &seed);
        let fields = [("code", code.as_str()), ("return", wanted)];
        let sent = browser
            .fill("/console/step-up", "/console/step-up", &fields)
            .await;
        let to = sent.header("location").to_owned();
        assert!(
            is_inside(&to) && !to.contains("evil"),
            "{wanted} leads to {to}"
        );
    }
}

fn is_inside(to: &str) -> bool {
    let rest = to.strip_prefix("/console/");
    rest.is_some_and(|rest| {
        !rest.starts_with(['/', '\\']) && !rest.contains("..") && !rest.contains(['\r', '\n', '\\'])
    })
}

/// Whatever host a request names, pages, redirects and mailed links name the own one.
async fn cn_a1_no_page_names_another_host(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let lines = [
        format!("Host: {EVIL}"),
        format!("Host: console.example.com\r\nX-Forwarded-Host: {EVIL}"),
        format!("Host: console.example.com\r\nForwarded: host={EVIL}"),
        format!("Host: console.example.com\r\nX-Original-URL: https://{EVIL}/console/"),
    ];
    for line in lines {
        let head = format!("{line}\r\nSec-Fetch-Site: same-origin\r\n");
        for page in [
            "/console",
            "/console/",
            "/console/me",
            "/console/nowhere",
            "/console/operators/invite",
            &path(api, "live", "providers/google"),
        ] {
            let shown = ann.send_with("GET", page, &head, None).await;
            let headers = format!("{:?}", shown.headers);
            for text in [&shown.html, &headers] {
                assert!(!text.contains(EVIL), "{page} with {line}: {text}");
            }
        }
        let stranger = Browser::new(api)
            .send_with("GET", "/console/", &head, None)
            .await;
        stranger.leads_to("/console/sign-in?return=%2Fconsole%2F");
    }
}

/// The strings that a nightly run takes; CI takes a tenth (B5).
fn strings() -> Vec<String> {
    const PAYLOADS: [&str; 10] = [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "<iframe srcdoc=x>",
        "<a href=javascript:alert(1)>x</a>",
        "<style>*{display:none}</style>",
        "<meta http-equiv=refresh content=0>",
        "<base href=//evil.example>",
        "<form action=//evil.example><button>",
        " onfocus=alert(1) autofocus style=x ",
    ];
    const BEFORE: [&str; 10] = [
        "",
        "\"",
        "'",
        "\">",
        "'>",
        "</title>",
        "</textarea>",
        "-->",
        "</code></pre>",
        "{{ 7 }}`",
    ];
    const AFTER: [&str; 5] = ["", "\"", "<!--", "&lt;", "\u{202e}"];
    let mut strings = Vec::new();
    for after in AFTER {
        for (step, before) in BEFORE.iter().enumerate() {
            for (number, payload) in PAYLOADS.iter().enumerate() {
                // Neighbours differ in every part.
                let before = BEFORE.get((step + number) % BEFORE.len()).unwrap_or(before);
                strings.push(format!("{before}{payload}{after}"));
            }
        }
    }
    let every = strings.len() / rng::rounds(50).clamp(1, strings.len());
    strings.into_iter().step_by(every).collect()
}

/// CON-5: 50 strings, 500 at length, in the fields that callers and operators choose. No page gets a tag or an attribute from them.
async fn cn_a1_markup_in_every_field_is_text(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let (cli, test) = (Principal::cli(), World::new(api.app.id, Environment::Test));
    let mut pages = Vec::new();
    for (number, text) in strings().into_iter().enumerate() {
        let short: String = text.chars().take(90).collect();
        let user = json!({
            "first_name": short,
            "last_name": short,
            "metadata": {"note": text, (format!("k{number}")): [text]},
        });
        let user = user_in(api, Environment::Test, user).await;
        pages.push(path(api, "test", &format!("users/{user}")));
        let query = encoded(&[("q", &text)]);
        pages.push(path(api, "test", &format!("users?{query}")));
        pages.push(path(api, "test", &format!("events?{query}")));
        if number % 5 > 0 {
            continue;
        }
        pages.push(path(api, "test", &format!("users/{user}/edit")));
        api.service.create_app(cli, &short).await.unwrap();
        let fields = KeyFields {
            name: Some(short.clone()),
            ..KeyFields::default()
        };
        let made = api
            .service
            .create_api_key(cli, test, ApiKeyKind::Secret, fields);
        let key = made.await.unwrap().record.id;
        pages.push(path(api, "test", &format!("keys/{key}/edit")));
        if number % 25 == 0 {
            let new = NewEndpoint {
                url: format!(
                    "https://hooks.example.com/{number}?{}",
                    encoded(&[("x", &text)])
                ),
                name: Some(short),
                types: vec!["*".to_owned()],
                enabled: true,
            };
            let made = api.service.add_webhook(cli, test, new).await;
            let id = made.unwrap().0.endpoint.id;
            pages.push(path(api, "test", &format!("webhooks/{id}")));
        }
    }
    api.service.sequence_all().await.unwrap();
    for list in ["", "users", "keys", "webhooks", "events", "audit"] {
        pages.push(path(api, "test", list));
    }
    pages.push("/console/".to_owned());
    pages.push("/console/operators/invite".to_owned());
    for page in &pages {
        let shown = ann.get(page).await;
        assert!(
            [200, 400].contains(&shown.status),
            "{page}: {}",
            shown.status
        );
        let planted = foreign_markup(&shown.html);
        assert_eq!(planted, None, "{page}: {}", shown.html);
    }
    // The reader of pages notices what it looks for.
    for planted in [
        "<p><img src=x></p>",
        "<p onclick=\"x\">",
        "<a href=\"javascript:x\">",
        "<p style='x'>",
    ] {
        assert!(foreign_markup(planted).is_some(), "{planted}");
    }
}

/// A tag or an attribute that no template has.
fn foreign_markup(html: &str) -> Option<String> {
    const FOREIGN: [&str; 9] = [
        "img", "iframe", "style", "base", "object", "embed", "link", "meta", "script",
    ];
    // The head is the only part with links, scripts and a description of the page.
    let body = html.split_once("<body").map_or(html, |(_, body)| body);
    let mut rest = body;
    while let Some((_, tag)) = rest.split_once('<') {
        let name: String = tag
            .chars()
            .take_while(|letter| letter.is_ascii_alphanumeric())
            .collect();
        let mut attributes = tag.get(name.len()..)?;
        if FOREIGN.contains(&name.to_ascii_lowercase().as_str()) {
            return Some(name);
        }
        // Up to the end of the tag, attribute by attribute.
        while let Some(place) = attributes.find(|letter| "=>".contains(letter)) {
            let (attribute, after) = attributes.split_at(place);
            let attribute = attribute
                .rsplit(char::is_whitespace)
                .next()?
                .to_ascii_lowercase();
            if after.starts_with('>') {
                attributes = after;
                break;
            }
            let value = after.get(1..)?;
            let quote = value.chars().next().filter(|first| "\"'".contains(*first));
            let (value, next) = match quote {
                Some(quote) => value.get(1..)?.split_once(quote)?,
                None => value.split_at(value.find([' ', '>'])?),
            };
            let is_foreign = attribute.starts_with("on")
                || attribute == "style"
                || attribute == "srcdoc"
                || value.trim_start().starts_with("javascript:");
            if is_foreign {
                return Some(format!("{attribute}={value}"));
            }
            attributes = next;
        }
        rest = attributes;
    }
    None
}
