//! Redirect URLs: the list, adding and removing, and whether a URL would be accepted.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use serde::Deserialize;
use url::Url;
use vestry_app::Refusal;
use vestry_app::platform::RedirectUrl;
use vestry_domain::action::Action;
use vestry_domain::ids::RedirectUrlId;
use vestry_domain::redirect::{RedirectKind, RedirectTarget};

use crate::app::{Address, Inside, enter, received};
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::Done;
use crate::form::Posted;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, page};
use crate::problems::Problems;
use crate::visit::Visit;

const PAGE: &str = "redirect-urls";

#[derive(Template)]
#[template(path = "redirect_urls.html")]
struct RedirectUrlsPage<'a> {
    frame: Frame,
    urls: Vec<RedirectUrl>,
    may_change: bool,
    /// The form for a new one.
    url: &'a str,
    kind: &'a str,
    is_default: bool,
    problems: Problems,
    check: Option<Check>,
    by_api: ByApi,
}

/// Whether a URL would be accepted.
struct Check {
    url: String,
    kind: RedirectKind,
    is_accepted: bool,
    reason: String,
}

#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    check: String,
    #[serde(default)]
    kind: String,
}

/// `GET redirect-urls`
pub(crate) async fn list(
    visit: Visit,
    address: Path<Address>,
    Query(wanted): Query<Wanted>,
) -> Shown {
    let inside = enter(&visit, &address).await?;
    let urls = read(&visit, &inside).await?;
    let kind = wanted.kind.parse().unwrap_or(RedirectKind::Login);
    let check = (!wanted.check.is_empty()).then(|| checked(&urls, wanted.check, kind));
    Ok(show(&visit, &inside, urls, None, Problems::none(), check))
}

async fn read(visit: &Visit, inside: &Inside) -> Result<Vec<RedirectUrl>, HttpResponse> {
    let (by, world) = (inside.by.clone(), inside.world());
    let read =
        visit.run(|service| async move { service.list_redirect_urls(&by, world.into()).await });
    match read.await {
        Ok(urls) => Ok(urls),
        Err(refusal) => Err(inside.refused(visit, refusal, "").await),
    }
}

fn show(
    visit: &Visit,
    inside: &Inside,
    urls: Vec<RedirectUrl>,
    typed: Option<(&str, &str, bool)>,
    problems: Problems,
    check: Option<Check>,
) -> HttpResponse {
    let world = inside.world();
    let path = format!(
        "/v1/manage/apps/{}/{}/redirect_urls",
        world.app_id, world.environment
    );
    let body = r#"{"kind": "login", "url": "https://app.example.com/signed-in", "default": true}"#;
    let cli = format!(
        "vestry redirect-url add {} {} https://app.example.com/signed-in --kind login --default",
        world.app_id, world.environment
    );
    let (url, kind, is_default) = typed.unwrap_or(("", "login", false));
    let template = RedirectUrlsPage {
        frame: inside.frame(visit, PAGE),
        urls,
        may_change: inside.may(Action::AddRedirectUrl),
        url,
        kind,
        is_default,
        check,
        by_api: ByApi::new("POST", &path, body, cli),
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// Whether a URL would be accepted, and why not.
fn checked(urls: &[RedirectUrl], url: String, kind: RedirectKind) -> Check {
    let of_kind = |kind: RedirectKind| urls.iter().filter(move |own| own.kind == kind);
    let admitting = |url: &str| of_kind(kind).find(|own| own.target.admits(url));
    let other_slash = match url.strip_suffix('/') {
        Some(without) => without.to_owned(),
        None => format!("{url}/"),
    };
    let host = |text: &str| {
        Url::parse(text)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned))
    };
    let (is_accepted, reason) = if let Some(own) = admitting(&url) {
        (
            true,
            format!("{} is registered for {kind}.", own.target.as_str()),
        )
    } else if let Err(invalid) = RedirectTarget::parse(&url) {
        (
            false,
            format!("It can never be registered: {}.", invalid.message),
        )
    } else if let Some(own) = admitting(&other_slash) {
        let text = "because of the slash at the end. Register this URL, or send the other one.";
        (
            false,
            format!("It does not match {}, {text}", own.target.as_str()),
        )
    } else if let Some(own) = urls.iter().find(|own| own.target.admits(&url)) {
        (
            false,
            format!("It is registered for {}, not for {kind}.", own.kind),
        )
    } else if host(&url).is_some_and(|wanted| {
        of_kind(kind).any(|own| host(own.target.as_str()).as_ref() == Some(&wanted))
    }) {
        (
            false,
            "Its host is registered, but with another scheme, port, path or query.".to_owned(),
        )
    } else {
        (
            false,
            format!("No URL with its host is registered for {kind}."),
        )
    };
    Check {
        url,
        kind,
        is_accepted,
        reason,
    }
}

/// `POST redirect-urls`
pub(crate) async fn add(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    let world = inside.world();
    inside.ready(&visit, Action::AddRedirectUrl, world).await?;
    let (url, kind) = (
        form.text("url").trim().to_owned(),
        form.text("kind").to_owned(),
    );
    let is_default = form.text("is_default") == "on";
    let (by, world) = (inside.by.clone(), inside.world());
    let (wanted, named) = (url.clone(), kind.clone());
    let added = visit.run(|service| async move {
        let kind = named.parse::<RedirectKind>()?;
        service
            .add_redirect_url(&by, world, kind, &wanted, is_default)
            .await
    });
    match added.await {
        Ok(_) => Ok(done(&visit, Done::RedirectUrlAdded, &inside.path(PAGE))),
        Err(Refusal::Invalid(invalid)) => {
            let problems = Problems::of("The redirect URL was not added.", invalid);
            let urls = read(&visit, &inside).await?;
            let typed = Some((url.as_str(), kind.as_str(), is_default));
            Ok(show(&visit, &inside, urls, typed, problems, None))
        }
        Err(refusal) => Err(inside.refused(&visit, refusal, PAGE).await),
    }
}

/// `POST redirect-urls/{id}/default`
pub(crate) async fn make_default(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (_, inside) = received(&visit, posted, &address).await?;
    let Ok(id) = address.id.parse::<RedirectUrlId>() else {
        return Err(page::unknown(visit).await);
    };
    let (by, world) = (inside.by.clone(), inside.world());
    let made = visit.run(|service| async move {
        service
            .make_redirect_url_default(&by, world.into(), id)
            .await
    });
    match made.await {
        Ok(_) => Ok(done(&visit, Done::DefaultChanged, &inside.path(PAGE))),
        Err(refusal) => Err(inside.refused(&visit, refusal, PAGE).await),
    }
}

/// `GET redirect-urls/{id}/remove`
pub(crate) async fn confirm_removal(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::RemoveRedirectUrl, inside.world())
        .await?;
    let mut urls = read(&visit, &inside).await?.into_iter();
    let Some(url) = urls.find(|url| url.id.to_string() == address.id) else {
        return Err(page::unknown(visit).await);
    };
    let world = inside.world();
    let path = format!(
        "/v1/manage/apps/{}/{}/redirect_urls/{}",
        world.app_id, world.environment, url.id
    );
    let cli = format!("vestry redirect-url remove {} {}", world.app_id, url.id);
    let template = RemovalPage {
        frame: inside.frame(&visit, PAGE),
        by_api: ByApi::new("DELETE", &path, "", cli),
        url,
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

#[derive(Template)]
#[template(path = "redirect_url_remove.html")]
struct RemovalPage {
    frame: Frame,
    url: RedirectUrl,
    by_api: ByApi,
}

/// `POST redirect-urls/{id}/remove`
pub(crate) async fn remove(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (_, inside) = received(&visit, posted, &address).await?;
    let Ok(id) = address.id.parse::<RedirectUrlId>() else {
        return Err(page::unknown(visit).await);
    };
    let (by, world) = (inside.by.clone(), inside.world());
    let removed = visit
        .run(|service| async move { service.remove_redirect_url(&by, world.into(), id).await });
    match removed.await {
        Ok(()) => Ok(done(&visit, Done::RedirectUrlRemoved, &inside.path(PAGE))),
        Err(refusal) => Err(inside.refused(&visit, refusal, PAGE).await),
    }
}
