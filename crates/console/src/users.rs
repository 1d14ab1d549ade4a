//! Users: search, one user, and what support does for them.

mod actions;
mod edit;

pub(crate) use actions::{act, confirm};
pub(crate) use edit::{edit, save};

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded;
use vestry_app::Refusal;
use vestry_app::identity::sessions::ListSessions;
use vestry_app::identity::users::{FoundUsers, FullUser, SearchUsers, SearchUsersError};
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::ids::UserId;
use vestry_domain::search::{RawCondition, UserFilter};
use vestry_domain::session::Session;
use vestry_domain::user::ShownStatus;

use crate::app::{Address, Inside, enter};
use crate::by_api::ByApi;
use crate::device::device;
use crate::filters;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, page};
use crate::visit::Visit;
use crate::wallets::{chain, origin, state};

const USERS: &str = "users";

/// The query of the list. It is in the URL, so that a search can be sent to a colleague.
#[derive(Deserialize, Default)]
pub(crate) struct Wanted {
    #[serde(default)]
    q: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    idp_provider: String,
    #[serde(default)]
    starting_after: String,
}

/// An active filter, with the search without it.
struct Chip {
    text: String,
    without: String,
}

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage {
    frame: Frame,
    q: String,
    status: String,
    idp_provider: String,
    chips: Vec<Chip>,
    users: Vec<FullUser>,
    total: i64,
    older: Option<String>,
    problem: Option<String>,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "user.html")]
struct UserPage {
    frame: Frame,
    user: FullUser,
    metadata: String,
    sessions: Vec<Session>,
    /// Whether the user has more sessions than are shown.
    has_more_sessions: bool,
    may_support: bool,
    may_delete: bool,
    may_read_audit: bool,
    by_api: ByApi,
}

impl Wanted {
    /// The filter in the words of the API.
    fn filter(&self) -> Result<Option<UserFilter>, Invalid> {
        let mut conditions = Vec::new();
        let q = self.q.trim();
        if !q.is_empty() {
            conditions.push(condition(q));
        }
        for (field, value) in [
            ("status", &self.status),
            ("idp_provider", &self.idp_provider),
        ] {
            if !value.is_empty() {
                conditions.push(raw(field, value));
            }
        }
        match conditions.is_empty() {
            true => Ok(None),
            false => UserFilter::parse("AND", &conditions).map(Some),
        }
    }

    /// The search with other values, as a query.
    fn query(&self, changed: &[(&str, &str)]) -> String {
        let own = [
            ("q", self.q.as_str()),
            ("status", &self.status),
            ("idp_provider", &self.idp_provider),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in own {
            let value = changed
                .iter()
                .find(|(own, _)| *own == name)
                .map_or(value, |(_, new)| new);
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if let Some((name, value)) = changed.iter().find(|(name, _)| *name == "starting_after") {
            query.append_pair(name, value);
        }
        format!("?{}", query.finish())
    }

    fn chips(&self) -> Vec<Chip> {
        let own = [
            ("q", "search", &self.q),
            ("status", "status", &self.status),
            ("idp_provider", "identity provider", &self.idp_provider),
        ];
        let own = own.into_iter().filter(|(.., value)| !value.is_empty());
        own.map(|(field, name, value)| Chip {
            text: format!("{name}: {value}"),
            without: self.query(&[(field, "")]),
        })
        .collect()
    }
}

fn raw(field: &str, value: &str) -> RawCondition {
    RawCondition {
        field: field.to_owned(),
        operator: "eq".to_owned(),
        value: Some(Value::from(value)),
        values: None,
        second_value: None,
    }
}

/// What a search means: an id, an address, a number, a wallet, metadata, or part of a name.
fn condition(q: &str) -> RawCondition {
    let is_long_word = q.len() >= 26 && q.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if let Some((key, value)) = q
        .strip_prefix("metadata.")
        .and_then(|rest| rest.split_once('='))
    {
        return raw(&format!("metadata.{key}"), value);
    }
    let field = match q.split_once('_') {
        Some(("user", _)) => "user_id",
        Some(("wallet", _)) => "wallet_id",
        Some(("email", _)) => "email_id",
        Some(("pn", _)) => "phone_number_id",
        _ if q.starts_with("0x") || is_long_word => "wallet_public_address",
        _ if q.contains('@') && !q.starts_with('@') && !q.ends_with('@') => "email",
        _ if q.contains('@') => "email_match",
        _ if q.starts_with('+') => "phone_number_match",
        _ => "full_name_match",
    };
    raw(field, q)
}

/// The name of a user for people: the names, or else the first thing that sets the user apart.
fn title(user: &FullUser) -> String {
    let own = &user.profile.user;
    let names = [&own.first_name, &own.middle_name, &own.last_name].into_iter();
    let names: Vec<_> = names
        .filter(|name| !name.is_empty())
        .map(String::as_str)
        .collect();
    if !names.is_empty() {
        return names.join(" ");
    }
    let email = user
        .profile
        .emails
        .first()
        .map(|own| own.email.address().to_owned());
    let phone = || {
        user.profile
            .phones
            .first()
            .map(|own| own.number.as_str().to_owned())
    };
    let wallet = || {
        user.wallets
            .first()
            .map(|wallet| wallet.public_address.clone())
    };
    email
        .or_else(phone)
        .or_else(wallet)
        .unwrap_or_else(|| "No name".to_owned())
}

/// The line below the name: an address, if the name is none.
fn subtitle(user: &FullUser) -> String {
    let email = user
        .profile
        .emails
        .first()
        .map(|own| own.email.address().to_owned());
    email
        .filter(|email| *email != title(user))
        .unwrap_or_default()
}

/// The tone and the name of a status.
fn status(user: &FullUser) -> (&'static str, &'static str) {
    match user.profile.user.shown_status() {
        ShownStatus::Active => ("ok", "Active"),
        ShownStatus::Pending => ("info", "Pending"),
        ShownStatus::Disabled => ("bad", "Disabled"),
    }
}

/// The ways in which a user can sign in, in words.
fn methods(user: &FullUser) -> String {
    let mut methods = Vec::new();
    if !user.passkeys.is_empty() {
        methods.push("passkey".to_owned());
    }
    methods.extend(
        user.provider_links
            .iter()
            .map(|link| link.provider.to_string()),
    );
    if user.profile.emails.iter().any(|own| own.verified) {
        methods.push("email".to_owned());
    }
    if user.profile.phones.iter().any(|own| own.verified) {
        methods.push("SMS".to_owned());
    }
    if user.totps.iter().any(|totp| totp.verified) {
        methods.push("authenticator app".to_owned());
    }
    let mut text = methods.join(", ");
    if let Some(first) = text.get(..1) {
        let first = first.to_uppercase();
        text.replace_range(..1, &first);
    }
    text
}

/// `GET users`
pub(crate) async fn list(
    visit: Visit,
    address: Path<Address>,
    Query(wanted): Query<Wanted>,
) -> Shown {
    let inside = enter(&visit, &address).await?;
    let after = match wanted.starting_after.as_str() {
        "" => Ok(None),
        id => id.parse::<UserId>().map(Some),
    };
    let (filter, after) = match (wanted.filter(), after) {
        (Ok(filter), Ok(after)) => (filter, after),
        (Err(invalid), _) | (_, Err(invalid)) => {
            let problem = Some(invalid.message.into_owned());
            return Ok(results(&visit, &inside, wanted, None, problem));
        }
    };
    let query = SearchUsers {
        limit: None,
        starting_after: after,
        filter,
    };
    let caller = inside.caller.clone();
    let found = visit.run(|service| async move { service.search_users(&caller, query).await });
    match found.await {
        Ok(found) => Ok(results(&visit, &inside, wanted, Some(found), None)),
        Err(SearchUsersError::Common(Refusal::Invalid(invalid))) => {
            let problem = Some(invalid.message.into_owned());
            Ok(results(&visit, &inside, wanted, None, problem))
        }
        Err(SearchUsersError::TooLong(_)) => {
            let problem =
                "The search took too long. Search for more of the name, or for a whole address.";
            Ok(results(
                &visit,
                &inside,
                wanted,
                None,
                Some(problem.to_owned()),
            ))
        }
        Err(SearchUsersError::Common(refusal)) => Err(inside.refused(&visit, refusal, "").await),
    }
}

fn results(
    visit: &Visit,
    inside: &Inside,
    wanted: Wanted,
    found: Option<FoundUsers>,
    problem: Option<String>,
) -> HttpResponse {
    let chips = wanted.chips();
    let (users, total, has_more) = match found {
        Some(found) => (found.users, found.total_count, found.has_more),
        None => (Vec::new(), 0, false),
    };
    let last = users.last().filter(|_| has_more);
    let older = last.map(|last| {
        let id = last.profile.user.id.to_string();
        wanted.query(&[("starting_after", &id)])
    });
    let world = inside.world();
    let status = match problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    let template = UsersPage {
        frame: inside.frame(visit, USERS),
        chips,
        users,
        total,
        older,
        problem,
        by_api: ByApi::of_app(
            "POST",
            "/v1/auth/users/search",
            r#"{"limit": 50, "filters": {"operator": "AND", "fields": [{"field": "email", "operator": "eq", "value": "ada@example.com"}]}}"#,
            format!(
                "vestry users export {} {} --to users.jsonl",
                world.app_id, world.environment
            ),
        ),
        q: wanted.q,
        status: wanted.status,
        idp_provider: wanted.idp_provider,
    };
    page(visit, status, &template)
}

/// A user of this environment.
async fn find(visit: &Visit, inside: &Inside, id: &str) -> Result<FullUser, HttpResponse> {
    let unknown = || page::refused(visit, Refusal::NotFound("user").into());
    let id = id.parse::<UserId>().map_err(|_malformed| unknown())?;
    let caller = inside.caller.clone();
    let found = visit.run(|service| async move { service.get_user(&caller, id).await });
    match found.await {
        Ok(user) => Ok(user),
        Err(refusal) => Err(inside.refused(visit, refusal, USERS).await),
    }
}

/// `GET users/{id}`
pub(crate) async fn show(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    let user = find(&visit, &inside, &address.id).await?;
    let (caller, id) = (inside.caller.clone(), user.profile.user.id);
    let sessions = visit
        .run(|service| async move { service.list_sessions(&caller, ListSessions::of(id)).await });
    let sessions = match sessions.await {
        Ok(listed) => listed,
        Err(refusal) => return Err(inside.refused(&visit, refusal, USERS).await),
    };
    let metadata = serde_json::to_string_pretty(user.profile.user.metadata.as_object());
    let world = inside.world();
    let cli = format!(
        "vestry users unlock {} {} {id}",
        world.app_id, world.environment
    );
    let template = UserPage {
        frame: inside.frame(&visit, USERS),
        metadata: metadata.unwrap_or_default(),
        has_more_sessions: sessions.has_more,
        sessions: sessions.sessions,
        may_support: inside.may(Action::SwitchUser),
        may_delete: inside.may(Action::DeleteUser),
        may_read_audit: inside.may(Action::ReadAuditLog),
        by_api: ByApi::of_app("GET", &format!("/v1/auth/users/{id}"), "", cli),
        user,
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_read_as_what_it_looks_like() {
        for (q, field) in [
            ("user_3Fno4DCcJNUgxEXYswBqUg5tzib", "user_id"),
            ("wallet_3Fno4DCcJNUgxEXYswBqUg5tzib", "wallet_id"),
            ("ada@example.com", "email"),
            ("@example.com", "email_match"),
            ("+4915123", "phone_number_match"),
            (
                "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf",
                "wallet_public_address",
            ),
            (
                "dyc1JUkWg9BeyoC6TLBQ2ZUfgSn4huzzFfNyQ3AxHjss",
                "wallet_public_address",
            ),
            ("Ada Lovelace", "full_name_match"),
            ("O_Brien", "full_name_match"),
            ("metadata.plan=pro", "metadata.plan"),
        ] {
            assert_eq!(condition(q).field, field, "{q}");
        }
    }

    #[test]
    fn a_query_keeps_the_other_filters() {
        let wanted = Wanted {
            q: "a&b".to_owned(),
            status: "active".to_owned(),
            ..Wanted::default()
        };
        assert_eq!(wanted.query(&[("status", "")]), "?q=a%26b");
        assert_eq!(
            wanted.query(&[("starting_after", "user_1")]),
            "?q=a%26b&status=active&starting_after=user_1"
        );
    }
}
