//! API keys: the list, and creating, restricting, rotating and revoking them.

mod fields;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use serde::Deserialize;
use vestry_app::Refusal;
use vestry_app::platform::NewApiKey;
use vestry_domain::action::Action;
use vestry_domain::api_key::{ApiKey, ApiKeyKind, Preset};
use vestry_domain::ids::ApiKeyId;
use vestry_domain::scope::Scope;
use vestry_domain::{Invalid, Timestamp};

use crate::app::{Address, Inside, enter, received};
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::Done;
use crate::form::Posted;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, page};
use crate::problems::Problems;
use crate::submission::{NotSubmitted, Submitted};
use crate::visit::Visit;
use fields::KeyInput;

const KEYS: &str = "keys";

/// Value, name and meaning of each choice of access.
const PRESETS: &[(&str, &str, &str)] = &[
    (
        "sign-in",
        "Sign-in",
        "Users, codes and sessions; creates and reads wallets. For most backends.",
    ),
    (
        "signer",
        "Signer",
        "Signs within a live session of the wallet’s owner.",
    ),
    ("read-only", "Read-only", "Reads users, wallets and events."),
    (
        "full",
        "Full",
        "Everything except key export and the audit log. Not recommended in live.",
    ),
    ("custom", "Custom", "The scopes below."),
];

/// Value, sign and name of each wallet type.
const WALLET_TYPES: &[(&str, &str, &str)] = &[
    ("ethereum", "ETH", "Ethereum"),
    ("solana", "SOL", "Solana"),
    ("bitcoin", "BTC", "Bitcoin"),
    ("DOT", "DOT", "Polkadot"),
    ("XLM", "XLM", "Stellar"),
];

/// A key in the list.
struct Row {
    key: ApiKey,
    last_used: Option<Timestamp>,
    has_expired: bool,
}

impl Row {
    /// The preset whose scopes it has, if that is all that sets it apart.
    fn access(&self) -> &'static str {
        access(&self.key)
    }

    /// Whether it can do everything that no scope has to name.
    fn is_full(&self) -> bool {
        self.key.kind == ApiKeyKind::Secret && self.key.scopes.is_empty()
    }

    fn tags(&self) -> Vec<String> {
        tags(&self.key)
    }

    fn name(&self) -> &str {
        name_of(&self.key)
    }

    /// The kind of its creator, and the shortened id.
    fn creator(&self) -> String {
        let creator = self.key.created_by.to_string();
        match creator.split_once(' ') {
            Some((kind, id)) => format!("{kind} {}", filters::shortened(id)),
            None => creator,
        }
    }

    fn may_change(&self) -> bool {
        self.key.revoked_at.is_none()
    }
}

/// What a key was when its form was filled, to see whether it has changed since.
fn base_of(key: &ApiKey) -> String {
    let scopes: Vec<_> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    serde_json::json!([key.name, scopes, key.restrictions]).to_string()
}

/// The name of a key, or that it has none.
fn name_of(key: &ApiKey) -> &str {
    match key.name.as_str() {
        "" => "Unnamed key",
        name => name,
    }
}

fn access(key: &ApiKey) -> &'static str {
    if key.kind == ApiKeyKind::Public {
        return "Public";
    }
    let mut presets = Preset::ALL.into_iter();
    let found = presets.find(|preset| {
        let scopes = preset.scopes();
        scopes.len() == key.scopes.len() && scopes.iter().all(|scope| key.scopes.contains(scope))
    });
    match found {
        Some(Preset::SignIn) => "Sign-in",
        Some(Preset::Signer) => "Signer",
        Some(Preset::ReadOnly) => "Read-only",
        Some(Preset::Full) => "Full",
        None => "Custom",
    }
}

/// The restrictions of a key, a few words each.
fn tags(key: &ApiKey) -> Vec<String> {
    let of = &key.restrictions;
    let mut tags = Vec::new();
    if of.require_session {
        tags.push("require_session".to_owned());
    }
    if let Some(networks) = &of.ip_allow {
        tags.extend(networks.values().iter().take(3).map(ToString::to_string));
        let more = networks.values().len().saturating_sub(3);
        if more > 0 {
            tags.push(format!("{more} more networks"));
        }
    }
    if let Some(types) = &of.wallet_types {
        tags.extend(types.values().iter().map(|own| own.as_str().to_owned()));
    }
    for (count, one, many) in [
        (
            of.user_ids.as_ref().map(|list| list.values().len()),
            "user",
            "users",
        ),
        (
            of.wallet_ids.as_ref().map(|list| list.values().len()),
            "wallet",
            "wallets",
        ),
        (
            of.operations.as_ref().map(|list| list.values().len()),
            "operation",
            "operations",
        ),
    ] {
        match count {
            None => {}
            Some(1) => tags.push(format!("1 {one}")),
            Some(count) => tags.push(format!("{count} {many}")),
        }
    }
    tags
}

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    secret: Vec<Row>,
    public: Vec<Row>,
    shows_revoked: bool,
    full_access: usize,
    may_issue: bool,
    may_revoke: bool,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "key_form.html")]
struct KeyFormPage<'a> {
    frame: Frame,
    /// The key to change; `None` for a new one.
    key: Option<&'a ApiKey>,
    is_public: bool,
    input: KeyInput,
    scopes: Vec<Scope>,
    problems: Problems,
    submission: String,
    /// The key as the form was filled with it.
    base: String,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "key_created.html")]
struct KeyCreatedPage<'a> {
    frame: Frame,
    record: &'a ApiKey,
    key: &'a str,
    replaces: Option<ApiKeyId>,
    tags: Vec<String>,
}

#[derive(Template)]
#[template(path = "key_confirm.html")]
struct KeyConfirmPage<'a> {
    frame: Frame,
    key: &'a ApiKey,
    is_rotation: bool,
    last_used: Option<Timestamp>,
    submission: String,
    by_api: ByApi,
}

/// The query of the list.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    revoked: Option<String>,
}

/// The query of the form for a new key.
#[derive(Deserialize)]
pub(crate) struct NewKind {
    #[serde(default)]
    kind: Option<String>,
}

fn path_of_keys(inside: &Inside) -> String {
    let world = inside.world();
    format!(
        "/v1/manage/apps/{}/{}/keys",
        world.app_id, world.environment
    )
}

fn command(inside: &Inside, verb: &str, rest: &str) -> String {
    format!("vestry key {verb} {}{rest}", inside.world().app_id)
}

/// The keys of the environment with their last uses.
async fn rows(visit: &Visit, inside: &Inside) -> Result<Vec<Row>, HttpResponse> {
    let (by, world) = (inside.by.clone(), inside.world());
    let read = visit.run(|service| async move {
        let keys = service.list_api_keys(&by, world.into()).await?;
        let uses = service.list_key_uses(&by, world.into()).await?;
        Ok::<_, Refusal>((keys, uses))
    });
    let (keys, uses) = match read.await {
        Ok(read) => read,
        Err(refusal) => return Err(inside.refused(visit, refusal, "").await),
    };
    let now = visit.service.machine_time();
    let rows = keys.into_iter().rev().map(|key| {
        let own = uses.iter().filter(|used| used.key == key.id);
        Row {
            last_used: own.map(|used| used.at).max(),
            has_expired: key.restrictions.has_expired(now),
            key,
        }
    });
    Ok(rows.collect())
}

/// One active key.
async fn find(visit: &Visit, inside: &Inside, id: &str) -> Result<Row, HttpResponse> {
    let id = id.parse::<ApiKeyId>().ok();
    let mut rows = rows(visit, inside).await?.into_iter();
    let found = rows.find(|row| Some(row.key.id) == id && row.may_change());
    found.ok_or_else(|| page::refused(visit, Refusal::NotFound("active key").into()))
}

/// `GET keys`
pub(crate) async fn list(
    visit: Visit,
    address: Path<Address>,
    Query(wanted): Query<Wanted>,
) -> Shown {
    let inside = enter(&visit, &address).await?;
    let shows_revoked = wanted.revoked.is_some();
    let rows = rows(&visit, &inside).await?.into_iter();
    let rows = rows.filter(|row| row.key.revoked_at.is_none() || shows_revoked);
    let (secret, public): (Vec<_>, Vec<_>) =
        rows.partition(|row| row.key.kind == ApiKeyKind::Secret);
    let is_powerful = |row: &&Row| row.is_full() && row.may_change() && !row.has_expired;
    let template = KeysPage {
        full_access: secret.iter().filter(is_powerful).count(),
        may_issue: inside.may(Action::CreateApiKey),
        may_revoke: inside.may(Action::RevokeApiKey),
        by_api: ByApi::new(
            "GET",
            &path_of_keys(&inside),
            "",
            command(&inside, "list", ""),
        ),
        frame: inside.frame(&visit, KEYS),
        secret,
        public,
        shows_revoked,
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

/// `GET keys/new`
pub(crate) async fn new(
    visit: Visit,
    address: Path<Address>,
    Query(wanted): Query<NewKind>,
) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::CreateApiKey, inside.world())
        .await?;
    let input = KeyInput::proposed(wanted.kind.as_deref() == Some("public"));
    Ok(create_form(&visit, &inside, input, Problems::none()))
}

fn create_form(
    visit: &Visit,
    inside: &Inside,
    input: KeyInput,
    problems: Problems,
) -> HttpResponse {
    let body = r#"{"name": "Shop backend", "preset": "sign-in", "expires_at": 1830000000}"#;
    let environment = inside.world().environment;
    let rest = format!(" {environment} --name \"Shop backend\" --preset sign-in --expires-in 90d");
    let template = KeyFormPage {
        key: None,
        is_public: input.is_public,
        scopes: Scope::ALL.to_vec(),
        submission: visit.new_submission(),
        base: String::new(),
        by_api: ByApi::new(
            "POST",
            &path_of_keys(inside),
            body,
            command(inside, "create", &rest),
        ),
        frame: inside.frame(visit, KEYS),
        input,
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `POST keys/new`: the response shows the key, once (CON-7).
pub(crate) async fn create(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::CreateApiKey, inside.world())
        .await?;
    let input = KeyInput::read(&form);
    let kind = match input.is_public {
        true => ApiKeyKind::Public,
        false => ApiKeyKind::Secret,
    };
    let fields = match input.parsed(visit.service.machine_time()) {
        Ok(fields) => fields,
        Err(invalid) => {
            let problems = Problems::of("The key was not created.", invalid);
            return Ok(create_form(&visit, &inside, input, problems));
        }
    };
    let (by, world) = (inside.by.clone(), inside.world());
    let created = visit.once(
        inside.caller.clone(),
        &form,
        move |service, run| async move {
            service
                .create_api_key(&by.in_run(run), world, kind, fields)
                .await
        },
    );
    match created.await {
        Ok(Submitted::First(new)) => Ok(created_page(&visit, &inside, &new, None)),
        Ok(Submitted::Repeated) => Ok(done(&visit, Done::Repeated, &inside.path(KEYS))),
        Err(NotSubmitted::Problem(problem)) => Err(page::refused(&visit, problem)),
        Err(NotSubmitted::Refused(Refusal::Invalid(invalid))) => {
            let problems = Problems::of("The key was not created.", invalid);
            Ok(create_form(&visit, &inside, input, problems))
        }
        Err(NotSubmitted::Refused(refusal)) => {
            Err(inside.refused(&visit, refusal, "keys/new").await)
        }
    }
}

fn created_page(
    visit: &Visit,
    inside: &Inside,
    new: &NewApiKey,
    replaces: Option<ApiKeyId>,
) -> HttpResponse {
    let template = KeyCreatedPage {
        frame: inside.frame(visit, KEYS),
        tags: tags(&new.record),
        record: &new.record,
        key: new.key.expose(),
        replaces,
    };
    page(visit, StatusCode::OK, &template)
}

/// `GET keys/{id}/edit`
pub(crate) async fn edit(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::UpdateApiKey, inside.world())
        .await?;
    let row = find(&visit, &inside, &address.id).await?;
    let input = KeyInput::of(&row.key);
    Ok(edit_form(
        &visit,
        &inside,
        &row.key,
        input,
        Problems::none(),
    ))
}

fn edit_form(
    visit: &Visit,
    inside: &Inside,
    key: &ApiKey,
    input: KeyInput,
    problems: Problems,
) -> HttpResponse {
    let path = format!("{}/{}", path_of_keys(inside), key.id);
    let rest = format!(" {} --ip-allow 203.0.113.16/28", key.id);
    let body = r#"{"ip_allow": ["203.0.113.16/28"]}"#;
    let template = KeyFormPage {
        is_public: key.kind == ApiKeyKind::Public,
        scopes: Scope::ALL
            .into_iter()
            .filter(|scope| key.allows(*scope))
            .collect(),
        submission: String::new(),
        base: base_of(key),
        by_api: ByApi::new("PATCH", &path, body, command(inside, "update", &rest)),
        frame: inside.frame(visit, KEYS),
        key: Some(key),
        input,
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `POST keys/{id}/edit`
pub(crate) async fn update(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::UpdateApiKey, inside.world())
        .await?;
    let row = find(&visit, &inside, &address.id).await?;
    let input = KeyInput::read(&form);
    if form.text("base") != base_of(&row.key) {
        let message = "another operator has changed the key since you opened this page; these are its new values";
        let problems = Problems::of("The key was not saved.", Invalid::value("", message));
        let current = KeyInput::of(&row.key);
        return Ok(edit_form(&visit, &inside, &row.key, current, problems));
    }
    let change = match input.change(&row.key, visit.service.machine_time()) {
        Ok(change) => change,
        Err(invalid) => {
            let problems = Problems::of("The key was not saved.", invalid);
            return Ok(edit_form(&visit, &inside, &row.key, input, problems));
        }
    };
    let (by, world, id) = (inside.by.clone(), inside.world(), row.key.id);
    let updated = visit.run(|service| async move {
        let fields::Change { clear, set } = change;
        service
            .update_api_key(&by, world.into(), id, &clear, set)
            .await
    });
    match updated.await {
        Ok(_) => Ok(done(&visit, Done::KeySaved, &inside.path(KEYS))),
        Err(Refusal::Invalid(invalid)) => {
            let problems = Problems::of("The key was not saved.", invalid);
            Ok(edit_form(&visit, &inside, &row.key, input, problems))
        }
        Err(refusal) => {
            let back = format!("keys/{}/edit", row.key.id);
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}

/// `GET keys/{id}/rotate`
pub(crate) async fn confirm_rotation(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::RotateApiKey, inside.world())
        .await?;
    let row = find(&visit, &inside, &address.id).await?;
    Ok(confirmation(&visit, &inside, &row, true))
}

/// `GET keys/{id}/revoke`
pub(crate) async fn confirm_revocation(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::RevokeApiKey, inside.world())
        .await?;
    let row = find(&visit, &inside, &address.id).await?;
    Ok(confirmation(&visit, &inside, &row, false))
}

fn confirmation(visit: &Visit, inside: &Inside, row: &Row, is_rotation: bool) -> HttpResponse {
    let id = row.key.id;
    let path = format!("{}/{id}", path_of_keys(inside));
    let rest = format!(" {id}");
    let by_api = match is_rotation {
        true => {
            let path = format!("{path}/rotate");
            ByApi::new("POST", &path, "", command(inside, "rotate", &rest))
        }
        false => ByApi::new("DELETE", &path, "", command(inside, "revoke", &rest)),
    };
    let template = KeyConfirmPage {
        frame: inside.frame(visit, KEYS),
        key: &row.key,
        is_rotation,
        last_used: row.last_used,
        submission: visit.new_submission(),
        by_api,
    };
    page(visit, StatusCode::OK, &template)
}

/// `POST keys/{id}/rotate`: the response shows the new key, once (CON-7).
pub(crate) async fn rotate(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    let row = find(&visit, &inside, &address.id).await?;
    let (by, world, id) = (inside.by.clone(), inside.world(), row.key.id);
    let rotated = visit.once(
        inside.caller.clone(),
        &form,
        move |service, run| async move {
            service
                .rotate_api_key(&by.in_run(run), world.into(), id)
                .await
        },
    );
    match rotated.await {
        Ok(Submitted::First(new)) => Ok(created_page(&visit, &inside, &new, Some(id))),
        Ok(Submitted::Repeated) => Ok(done(&visit, Done::Repeated, &inside.path(KEYS))),
        Err(NotSubmitted::Problem(problem)) => Err(page::refused(&visit, problem)),
        Err(NotSubmitted::Refused(refusal)) => {
            let back = format!("keys/{id}/rotate");
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}

/// `POST keys/{id}/revoke`
pub(crate) async fn revoke(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (_, inside) = received(&visit, posted, &address).await?;
    let Ok(id) = address.id.parse::<ApiKeyId>() else {
        return Err(page::unknown(visit).await);
    };
    let (by, world) = (inside.by.clone(), inside.world());
    let revoked =
        visit.run(|service| async move { service.revoke_api_key(&by, world.into(), id).await });
    match revoked.await {
        Ok(()) => Ok(done(&visit, Done::KeyRevoked, &inside.path(KEYS))),
        Err(refusal) => Err(inside.refused(&visit, refusal, KEYS).await),
    }
}
