//! One identity provider: its connection, the callback URL to register, a check, and removal. The client secret is never shown.

mod fields;
pub(crate) mod trial;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use vestry_app::Refusal;
use vestry_app::platform::{ListedConnection, NewConnection, ProviderCheck};
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::provider::{
    AppleKey, ConnectionSettings, ProviderKind, ProviderName, TokenEndpointAuth,
};

use crate::app::{Address, Inside, enter, received};
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::Done;
use crate::form::{Form, Posted};
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, page};
use crate::problems::Problems;
use crate::submission::{NotSubmitted, Submitted};
use crate::visit::Visit;
use fields::{Input, is_plain};

const PROVIDERS: &str = "providers";
/// The page that lists them.
pub(crate) const METHODS: &str = "methods";

/// The providers that need no name of the App's own.
pub(crate) const WELL_KNOWN: [ProviderKind; 5] = [
    ProviderKind::Apple,
    ProviderKind::Discord,
    ProviderKind::GitHub,
    ProviderKind::Google,
    ProviderKind::Microsoft,
];

/// What a page says about a kind of provider.
#[derive(Clone, Copy)]
struct Guide {
    /// Where clients are registered; empty if only the App's developers know.
    console: &'static str,
    console_name: &'static str,
    /// Where the callback URL is entered.
    place: &'static str,
    /// What every sign-in requests.
    scopes: &'static str,
}

impl Guide {
    const fn of(kind: ProviderKind) -> Self {
        let (console, console_name, place, scopes) = match kind {
            ProviderKind::Google => (
                "https://console.cloud.google.com/auth/clients",
                "Google Cloud console",
                "Clients → Authorized redirect URIs",
                "openid email profile",
            ),
            ProviderKind::Apple => (
                "https://developer.apple.com/account/resources",
                "Apple Developer",
                "Services IDs → Sign In with Apple → Return URLs",
                "openid email name",
            ),
            ProviderKind::Microsoft => (
                "https://entra.microsoft.com/",
                "Entra admin centre",
                "App registrations → Authentication → Web → Redirect URIs",
                "openid email profile",
            ),
            ProviderKind::GitHub => (
                "https://github.com/settings/developers",
                "GitHub developer settings",
                "OAuth Apps → Authorization callback URL",
                "read:user user:email",
            ),
            ProviderKind::Discord => (
                "https://discord.com/developers/applications",
                "Discord Developer Portal",
                "OAuth2 → Redirects",
                "identify email",
            ),
            ProviderKind::Oidc | ProviderKind::Test => (
                "",
                "",
                "Redirect URIs of the client",
                "openid email profile",
            ),
        };
        Self {
            console,
            console_name,
            place,
            scopes,
        }
    }
}

/// A result of a check.
struct Checked {
    name: &'static str,
    ok: bool,
    detail: String,
}

impl From<ProviderCheck> for Checked {
    fn from(check: ProviderCheck) -> Self {
        Self {
            name: match check.name {
                "discovery" => "Discovery document",
                "jwks" => "Signing keys (JWKS)",
                _ => "Sign-in page",
            },
            ok: check.ok,
            detail: check.detail,
        }
    }
}

#[derive(Template)]
#[template(path = "provider.html")]
struct ProviderPage {
    frame: Frame,
    kind: ProviderKind,
    /// The name; empty on the page for a new issuer.
    name: String,
    title: String,
    protocol: &'static str,
    tone: &'static str,
    state: &'static str,
    guide: Guide,
    known: Option<ListedConnection>,
    /// What readers who may not change it see.
    facts: Vec<(&'static str, String)>,
    may_change: bool,
    may_check: bool,
    /// Whether the provider can be tried out.
    may_try: bool,
    may_remove: bool,
    input: Input,
    /// Whether a refused form had a client secret, which has to be typed again.
    has_lost_secret: bool,
    base: String,
    submission: String,
    checks: Vec<Checked>,
    problems: Problems,
    by_api: ByApi,
}

impl ProviderPage {
    fn is_apple(&self) -> bool {
        self.kind == ProviderKind::Apple
    }

    fn is_microsoft(&self) -> bool {
        self.kind == ProviderKind::Microsoft
    }

    fn is_issuer(&self) -> bool {
        self.kind == ProviderKind::Oidc
    }

    fn has_id_tokens(&self) -> bool {
        !is_plain(self.kind)
    }

    /// Whether an empty field keeps a stored secret.
    fn keeps_secret(&self) -> bool {
        let known = self.known.as_ref();
        known.is_some_and(|known| known.secret.is_some())
    }
}

/// The provider that a page is about.
struct Target {
    name: ProviderName,
    known: Option<ListedConnection>,
}

/// The name of a provider in a heading.
pub(crate) fn title(name: &ProviderName) -> &str {
    match name.kind() {
        ProviderKind::Google => "Google",
        ProviderKind::Apple => "Apple",
        ProviderKind::Microsoft => "Microsoft",
        ProviderKind::GitHub => "GitHub",
        ProviderKind::Discord => "Discord",
        ProviderKind::Oidc | ProviderKind::Test => name.as_str(),
    }
}

pub(crate) const fn protocol(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::GitHub | ProviderKind::Discord => "OAuth 2.0",
        ProviderKind::Google | ProviderKind::Apple | ProviderKind::Microsoft => "OpenID Connect",
        ProviderKind::Oidc => "OpenID Connect, custom issuer",
        ProviderKind::Test => "Built in",
    }
}

/// The tone and the word for the state of a connection.
pub(crate) const fn state(known: Option<&ListedConnection>) -> (&'static str, &'static str) {
    match known {
        None => ("", "Off"),
        Some(known) if known.secret.is_none() => ("warn", "Incomplete"),
        Some(_) => ("ok", "On"),
    }
}

/// Whether pages offer to try a provider out. What an incomplete one lacks is its state.
pub(crate) fn may_try(inside: &Inside, known: Option<&ListedConnection>) -> bool {
    let is_complete = known.is_some_and(|known| known.secret.is_some());
    is_complete && inside.may(Action::TryProvider)
}

/// What a connection was when its form was filled, to see whether it has changed since. Each change increases the time.
fn base_of(known: Option<&ListedConnection>) -> String {
    known.map_or_else(String::new, |known| {
        let connection = &known.connection;
        let at = connection.updated_at.unix();
        format!("{}.{at}", connection.callback_id)
    })
}

/// The connections of the environment, by name.
///
/// # Errors
/// The page for a refusal.
pub(crate) async fn connections(
    visit: &Visit,
    inside: &Inside,
) -> Result<Vec<ListedConnection>, HttpResponse> {
    let (by, world) = (inside.by.clone(), inside.world());
    let listed =
        visit.run(|service| async move { service.list_providers(&by, world.into()).await });
    match listed.await {
        Ok(listed) => Ok(listed),
        Err(refusal) => Err(inside.refused(visit, refusal, "").await),
    }
}

/// A connection, or a well-known provider without one.
async fn find(visit: &Visit, inside: &Inside, name: &str) -> Result<Target, HttpResponse> {
    let unknown = || page::refused(visit, Refusal::NotFound("provider").into());
    let name = ProviderName::parse(name).map_err(|_malformed| unknown())?;
    let mut listed = connections(visit, inside).await?.into_iter();
    let known = listed.find(|listed| listed.connection.name == name);
    match known.is_some() || WELL_KNOWN.contains(&name.kind()) {
        true => Ok(Target { name, known }),
        false => Err(unknown()),
    }
}

/// The path of the page about a provider, below that of the environment.
fn path_of(name: &str) -> String {
    format!("{PROVIDERS}/{name}")
}

/// What the form shows, besides the connection itself.
#[derive(Default)]
struct Filled {
    /// The input of a refused form.
    input: Option<Input>,
    /// The state that the input changes, as it was when the form was first shown.
    base: Option<String>,
    problems: Option<Problems>,
    has_lost_secret: bool,
    checks: Vec<Checked>,
}

fn show_page(
    visit: &Visit,
    inside: &Inside,
    target: Option<Target>,
    filled: Filled,
) -> HttpResponse {
    let (name, known) = match target {
        Some(target) => (Some(target.name), target.known),
        None => (None, None),
    };
    let kind = name.as_ref().map_or(ProviderKind::Oidc, ProviderName::kind);
    let (tone, state) = state(known.as_ref());
    let stored = known.as_ref().map(|known| Input::of(&known.connection));
    let template = ProviderPage {
        kind,
        name: name.as_ref().map_or_else(String::new, ToString::to_string),
        title: name.as_ref().map_or_else(
            || "Add OpenID Connect issuer".to_owned(),
            |name| title(name).to_owned(),
        ),
        protocol: protocol(kind),
        tone,
        state,
        guide: Guide::of(kind),
        facts: known.as_ref().map_or_else(Vec::new, facts),
        may_change: inside.may(Action::SetProvider),
        may_check: inside.may(Action::CheckProvider) && known.is_some(),
        may_try: may_try(inside, known.as_ref()),
        may_remove: inside.may(Action::RemoveProvider) && known.is_some(),
        input: filled.input.or(stored).unwrap_or_default(),
        has_lost_secret: filled.has_lost_secret,
        base: filled.base.unwrap_or_else(|| base_of(known.as_ref())),
        submission: visit.new_submission(),
        checks: filled.checks,
        by_api: by_api(inside, name.as_ref(), known.as_ref()),
        problems: filled.problems.unwrap_or(Problems::none()),
        frame: inside.frame(visit, METHODS),
        known,
    };
    page(visit, template.problems.status(), &template)
}

/// The values of a connection, without those that are not set.
fn facts(known: &ListedConnection) -> Vec<(&'static str, String)> {
    let input = Input::of(&known.connection);
    let on = |is_on: bool| if is_on { "Yes" } else { "" }.to_owned();
    let secret = match known.secret {
        Some(_) => "Set",
        None => "Missing",
    };
    let mut facts = vec![
        ("Client id", input.client_id),
        ("Client secret", secret.to_owned()),
        ("Issuer", input.issuer),
        ("Team id", input.apple_team_id),
        ("Key id", input.apple_key_id),
        ("Trusted tenants", input.tenants.replace('\n', ", ")),
        ("Trusts email_verified", on(input.trust_email_verified)),
        ("Additional scopes", input.scopes),
        ("Returns tokens", on(input.store_tokens)),
        ("Authorization endpoint", input.authorization_endpoint),
        ("Token endpoint", input.token_endpoint),
        ("Userinfo endpoint", input.userinfo_endpoint),
        ("JWKS URL", input.jwks_uri),
        ("Client authentication", input.token_endpoint_auth_method),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// The path of a call about a provider.
fn path_in_api(inside: &Inside, name: &str) -> String {
    let world = inside.world();
    let (app, environment) = (world.app_id, world.environment);
    format!("/v1/manage/apps/{app}/{environment}/providers/{name}")
}

fn by_api(inside: &Inside, name: Option<&ProviderName>, known: Option<&ListedConnection>) -> ByApi {
    let kind = name.map_or(ProviderKind::Oidc, ProviderName::kind);
    let name = name.map_or("acme", ProviderName::as_str);
    let (client_id, settings) = match known {
        Some(known) => {
            let connection = &known.connection;
            (connection.client_id.as_str(), connection.settings.clone())
        }
        None => ("CLIENT_ID", sample(kind)),
    };
    let needs_secret = known.is_none_or(|known| known.secret.is_none());
    let body = fields::body(client_id, needs_secret, &settings);
    let world = inside.world();
    let cli = format!(
        "vestry provider set {} {} {name} {}",
        world.app_id,
        world.environment,
        fields::options(client_id, &settings)
    );
    let by_api = ByApi::new("PUT", &path_in_api(inside, name), &body, cli);
    match known {
        Some(_) => by_api.with_etag(),
        None => by_api,
    }
}

/// The settings that a new connection of this kind needs.
fn sample(kind: ProviderKind) -> ConnectionSettings {
    let is_issuer = kind == ProviderKind::Oidc;
    let is_apple = kind == ProviderKind::Apple;
    ConnectionSettings {
        issuer: is_issuer.then(|| "https://id.acme.example".to_owned()),
        apple: is_apple.then(|| AppleKey {
            team_id: "TEAM_ID".to_owned(),
            key_id: "KEY_ID".to_owned(),
        }),
        ..ConnectionSettings::default()
    }
}

/// `GET providers`: the form for an issuer with a name of the App's own
pub(crate) async fn new(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::SetProvider, inside.world())
        .await?;
    Ok(show_page(&visit, &inside, None, Filled::default()))
}

/// `POST providers`
pub(crate) async fn create(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::SetProvider, inside.world())
        .await?;
    let parsed = ProviderName::parse(form.text("provider").trim());
    let named = parsed.and_then(|name| match name.kind() {
        ProviderKind::Oidc => Ok(name),
        _ => Err(Invalid::value(
            "provider",
            "this name is reserved; choose another one",
        )),
    });
    match named {
        Ok(name) => put(&visit, &inside, &form, Target { name, known: None }, true).await,
        Err(invalid) => {
            let filled = Filled::refused(&form, invalid);
            Ok(show_page(&visit, &inside, None, filled))
        }
    }
}

/// `GET providers/{name}`
pub(crate) async fn show(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    let target = find(&visit, &inside, &address.id).await?;
    Ok(show_page(&visit, &inside, Some(target), Filled::default()))
}

/// `POST providers/{name}`
pub(crate) async fn save(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::SetProvider, inside.world())
        .await?;
    let target = find(&visit, &inside, &address.id).await?;
    put(&visit, &inside, &form, target, false).await
}

impl Filled {
    /// A refused form.
    fn refused(form: &Form, invalid: Invalid) -> Self {
        Self {
            input: Some(Input::read(form)),
            base: Some(form.text("base").to_owned()),
            problems: Some(Problems::of("The provider was not saved.", invalid)),
            has_lost_secret: fields::secret(form).is_some(),
            checks: Vec::new(),
        }
    }
}

/// Sets a connection, unless it has changed since the form was filled.
async fn put(visit: &Visit, inside: &Inside, form: &Form, target: Target, is_new: bool) -> Shown {
    let Target { name, known } = target;
    let has_stored_secret = known.as_ref().is_some_and(|known| known.secret.is_some());
    let refused = |invalid: Invalid, known: Option<ListedConnection>| {
        let target = (!is_new).then(|| Target {
            name: name.clone(),
            known,
        });
        show_page(visit, inside, target, Filled::refused(form, invalid))
    };
    let input = Input::read(form);
    let stored = known
        .as_ref()
        .map(|known| known.connection.settings.clone());
    let settings = match input.settings(name.kind(), stored.unwrap_or_default()) {
        Ok(settings) => settings,
        Err(invalid) => return Ok(refused(invalid, known)),
    };
    let new = NewConnection {
        name: name.clone(),
        client_id: input.client_id,
        secret: fields::secret(form),
        settings,
    };
    let has_typed_secret = new.secret.is_some();
    let (by, world) = (inside.by.clone(), inside.world());
    let base = form.text("base").to_owned();
    let saved = visit.once(
        inside.caller.clone(),
        form,
        move |service, run| async move {
            let is_expected = |now: &Option<ListedConnection>| base_of(now.as_ref()) == base;
            service
                .put_provider(&by.in_run(run), world, new, &is_expected)
                .await
        },
    );
    let path = path_of(name.as_str());
    match saved.await {
        Ok(Submitted::First(_)) => Ok(done(visit, Done::ProviderSaved, &inside.path(&path))),
        Ok(Submitted::Repeated) => Ok(done(visit, Done::Repeated, &inside.path(&path))),
        Err(NotSubmitted::Problem(problem)) => Err(page::refused(visit, problem)),
        Err(NotSubmitted::Refused(Refusal::Invalid(invalid))) => {
            let lacks_secret = invalid.param == "client_secret" && !has_typed_secret;
            let invalid = match lacks_secret && has_stored_secret {
                true => Invalid::value(
                    "client_secret",
                    "enter the client secret again: the stored one is not sent for another client id, issuer or endpoint",
                ),
                false => invalid,
            };
            Ok(refused(invalid, known))
        }
        Err(NotSubmitted::Refused(Refusal::PreconditionFailed)) if is_new => {
            let message = "an identity provider with this name exists already";
            Ok(refused(Invalid::value("provider", message), None))
        }
        Err(NotSubmitted::Refused(Refusal::PreconditionFailed)) => {
            let message = "another operator has changed the provider since you opened this page; these are its new values";
            let target = find(visit, inside, name.as_str()).await?;
            let filled = Filled {
                input: None,
                base: None,
                ..Filled::refused(form, Invalid::value("", message))
            };
            Ok(show_page(visit, inside, Some(target), filled))
        }
        Err(NotSubmitted::Refused(refusal)) => Err(inside.refused(visit, refusal, &path).await),
    }
}

/// `POST providers/{name}/check`: the response shows the findings.
pub(crate) async fn check(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (_, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::CheckProvider, inside.world())
        .await?;
    let target = find(&visit, &inside, &address.id).await?;
    let (by, world, name) = (inside.by.clone(), inside.world(), target.name.clone());
    let checked = visit
        .run(|service| async move { service.check_provider_connection(&by, world, &name).await });
    match checked.await {
        Ok(checks) => {
            let filled = Filled {
                checks: checks.into_iter().map(Checked::from).collect(),
                ..Filled::default()
            };
            Ok(show_page(&visit, &inside, Some(target), filled))
        }
        Err(refusal) => {
            let back = path_of(target.name.as_str());
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}

#[derive(Template)]
#[template(path = "provider_remove.html")]
struct RemovalPage {
    frame: Frame,
    name: String,
    title: String,
    by_api: ByApi,
}

/// `GET providers/{name}/remove`
pub(crate) async fn confirm_removal(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::RemoveProvider, inside.world())
        .await?;
    let target = find(&visit, &inside, &address.id).await?;
    if target.known.is_none() {
        return Err(page::unknown(visit).await);
    }
    let name = target.name;
    let world = inside.world();
    let cli = format!(
        "vestry provider remove {} {} {name}",
        world.app_id, world.environment
    );
    let template = RemovalPage {
        frame: inside.frame(&visit, METHODS),
        title: title(&name).to_owned(),
        by_api: ByApi::new("DELETE", &path_in_api(&inside, name.as_str()), "", cli).with_etag(),
        name: name.to_string(),
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

/// `POST providers/{name}/remove`
pub(crate) async fn remove(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (_, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::RemoveProvider, inside.world())
        .await?;
    let Ok(name) = address.id.parse::<ProviderName>() else {
        return Err(page::unknown(visit).await);
    };
    let (by, world) = (inside.by.clone(), inside.world());
    let back = path_of(name.as_str());
    let removed =
        visit.run(|service| async move { service.remove_provider(&by, world, &name).await });
    match removed.await {
        Ok(()) => Ok(done(&visit, Done::ProviderRemoved, &inside.path(METHODS))),
        Err(refusal) => Err(inside.refused(&visit, refusal, &back).await),
    }
}
