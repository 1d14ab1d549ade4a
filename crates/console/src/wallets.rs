//! Wallets: the list, one wallet with its audit entries, and whether it may sign. No page signs with a wallet or shows its key.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded;
use vestry_app::audit::ListAudit;
use vestry_app::identity::users::{SearchUsers, SearchUsersError};
use vestry_app::wallets::{ListWallets, ListedWallets, SwitchWalletError, VersionedWallet};
use vestry_app::{Caller, Refusal, Service};
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::audit::AuditEntry;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::Actor;
use vestry_domain::ids::{AuditEntryId, UserId, WalletId};
use vestry_domain::search::{RawCondition, UserFilter};
use vestry_domain::wallet::{Disabled, DisabledReason, Wallet};

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

const WALLETS: &str = "wallets";

/// The query of the list.
#[derive(Deserialize, Default)]
pub(crate) struct Wanted {
    #[serde(default)]
    q: String,
    #[serde(default)]
    starting_after: String,
}

/// What a search names.
enum Search {
    All,
    Wallet(WalletId),
    Owner(UserId),
    Address(String),
}

#[derive(Template)]
#[template(path = "wallets.html")]
struct WalletsPage {
    frame: Frame,
    q: String,
    wallets: Vec<Wallet>,
    total: i64,
    older: Option<String>,
    problem: Option<String>,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "wallet.html")]
struct WalletPage {
    frame: Frame,
    wallet: Wallet,
    key_version: Option<u32>,
    name: &'static str,
    /// Newest first.
    entries: Vec<AuditEntry>,
    older: Option<String>,
    is_latest: bool,
    problem: Option<String>,
    may_switch: bool,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "wallet_action.html")]
struct ActionPage {
    frame: Frame,
    wallet: Wallet,
    name: &'static str,
    is_enabling: bool,
    problems: Problems,
    by_api: ByApi,
}

impl Search {
    fn parse(q: &str) -> Result<Self, Invalid> {
        let q = q.trim();
        Ok(match q.split_once('_') {
            _ if q.is_empty() => Self::All,
            Some(("wallet", _)) => Self::Wallet(q.parse()?),
            Some(("user", _)) => Self::Owner(q.parse()?),
            _ => Self::Address(q.to_owned()),
        })
    }

    async fn find(
        self,
        service: &Service,
        caller: &Caller,
        starting_after: Option<WalletId>,
    ) -> Result<ListedWallets, Refusal> {
        let user_id = match self {
            Self::All => None,
            Self::Owner(user) => Some(user),
            Self::Wallet(id) => {
                return match service.get_wallet(caller, id).await {
                    Ok(wallet) => Ok(listed(vec![wallet])),
                    Err(Refusal::NotFound(_)) => Ok(listed(Vec::new())),
                    Err(refusal) => Err(refusal),
                };
            }
            Self::Address(address) => {
                return Ok(listed(with_address(service, caller, &address).await?));
            }
        };
        let query = ListWallets {
            user_id,
            limit: None,
            starting_after,
        };
        service.list_wallets(caller, query).await
    }
}

/// Wallets that are not a page of the list.
fn listed(wallets: Vec<Wallet>) -> ListedWallets {
    ListedWallets {
        total_count: i64::try_from(wallets.len()).unwrap_or(i64::MAX),
        has_more: false,
        wallets,
    }
}

/// The wallets with an address, which the search of users finds.
async fn with_address(
    service: &Service,
    caller: &Caller,
    address: &str,
) -> Result<Vec<Wallet>, Refusal> {
    let condition = RawCondition {
        field: "wallet_public_address".to_owned(),
        operator: "eq".to_owned(),
        value: Some(Value::from(address)),
        values: None,
        second_value: None,
    };
    let query = SearchUsers {
        limit: None,
        starting_after: None,
        filter: Some(UserFilter::parse("AND", &[condition])?),
    };
    let found = service.search_users(caller, query).await;
    let found = found.map_err(|error| match error {
        SearchUsersError::Common(refusal) => refusal,
        SearchUsersError::TooLong(_) => {
            Refusal::Invalid(Invalid::value("q", "the search took too long"))
        }
    })?;
    let wallets = found.users.into_iter().flat_map(|user| user.wallets);
    Ok(wallets
        .filter(|wallet| wallet.public_address.eq_ignore_ascii_case(address))
        .collect())
}

/// The sign and the name of a chain.
pub(crate) fn chain(wallet: &Wallet) -> (&'static str, &'static str) {
    filters::chain(wallet.wallet_type)
}

/// The tone, if it has one, and the name of a wallet's state.
pub(crate) fn state(wallet: &Wallet) -> (&'static str, &'static str) {
    if wallet.disabled.is_some() {
        ("", "Disabled")
    } else if !wallet.verified {
        ("warn", "Unverified")
    } else if wallet.is_read_only {
        ("", "Read-only")
    } else {
        ("ok", "Active")
    }
}

/// Where the key of a wallet came from.
pub(crate) fn origin(wallet: &Wallet) -> &'static str {
    if wallet.is_read_only {
        "Linked"
    } else if wallet.is_imported {
        "Imported"
    } else {
        "Created"
    }
}

/// Why a wallet is disabled.
fn reason(disabled: &Disabled) -> &'static str {
    match disabled.reason {
        DisabledReason::Requested => "on request",
        DisabledReason::UnprovenOrigin => {
            "because the account was taken over by its verified owner, and an earlier holder may know the key"
        }
    }
}

/// The kind of an entry's actor, and its id if it has one.
fn actor(entry: &AuditEntry) -> (&'static str, Option<String>) {
    let actor = &entry.event.actor;
    let kind = match actor {
        Actor::ApiKey(_) => "API key",
        Actor::PublicToken(_) => "Public token",
        Actor::EndUser(_) => "User",
        Actor::ManagementKey(_) => "Management key",
        Actor::Operator(_) => "Operator",
        Actor::Cli => "Command line",
        Actor::System => "Vestry",
    };
    (kind, actor.id())
}

/// The SHA-256 of the signed payload, in hex.
fn payload(entry: &AuditEntry) -> Option<String> {
    let payload = entry.event.payload?;
    Some(payload.0.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// `GET wallets`
pub(crate) async fn list(
    visit: Visit,
    address: Path<Address>,
    Query(wanted): Query<Wanted>,
) -> Shown {
    let inside = enter(&visit, &address).await?;
    let after = match wanted.starting_after.as_str() {
        "" => Ok(None),
        id => id.parse::<WalletId>().map(Some),
    };
    let (search, after) = match (Search::parse(&wanted.q), after) {
        (Ok(search), Ok(after)) => (search, after),
        (Err(invalid), _) | (_, Err(invalid)) => {
            // The right comes first.
            inside
                .ready(&visit, Action::ListWallets, inside.world())
                .await?;
            let problem = Some(invalid.message.into_owned());
            return Ok(results(
                &visit,
                &inside,
                wanted,
                listed(Vec::new()),
                problem,
            ));
        }
    };
    let caller = inside.caller.clone();
    let found = visit.run(|service| async move { search.find(&service, &caller, after).await });
    match found.await {
        Ok(found) => Ok(results(&visit, &inside, wanted, found, None)),
        Err(Refusal::Invalid(invalid)) => {
            let problem = Some(invalid.message.into_owned());
            Ok(results(
                &visit,
                &inside,
                wanted,
                listed(Vec::new()),
                problem,
            ))
        }
        Err(refusal) => Err(inside.refused(&visit, refusal, "").await),
    }
}

fn results(
    visit: &Visit,
    inside: &Inside,
    wanted: Wanted,
    found: ListedWallets,
    problem: Option<String>,
) -> HttpResponse {
    let last = found.wallets.last().filter(|_| found.has_more);
    let older = last.map(|last| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !wanted.q.is_empty() {
            query.append_pair("q", &wanted.q);
        }
        query.append_pair("starting_after", &last.id.to_string());
        format!("?{}", query.finish())
    });
    let template = WalletsPage {
        frame: inside.frame(visit, WALLETS),
        q: wanted.q,
        total: found.total_count,
        wallets: found.wallets,
        older,
        by_api: ByApi::of_app("GET", "/v1/wallets/list?limit=50", "", String::new()),
        problem,
    };
    let status = match template.problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    page(visit, status, &template)
}

/// A wallet of this environment.
async fn find(visit: &Visit, inside: &Inside, id: &str) -> Result<VersionedWallet, HttpResponse> {
    let unknown = || page::refused(visit, Refusal::NotFound("wallet").into());
    let id = id.parse::<WalletId>().map_err(|_malformed| unknown())?;
    let caller = inside.caller.clone();
    let found = visit.run(|service| async move { service.get_versioned_wallet(&caller, id).await });
    match found.await {
        Ok(found) => Ok(found),
        Err(refusal) => Err(inside.refused(visit, refusal, WALLETS).await),
    }
}

/// The cursor of the entries.
#[derive(Deserialize)]
pub(crate) struct Cursor {
    #[serde(default)]
    starting_after: String,
}

/// `GET wallets/{id}`
pub(crate) async fn show(
    visit: Visit,
    address: Path<Address>,
    Query(cursor): Query<Cursor>,
) -> Shown {
    let inside = enter(&visit, &address).await?;
    let VersionedWallet {
        wallet,
        key_version,
    } = find(&visit, &inside, &address.id).await?;
    let after = match cursor.starting_after.as_str() {
        "" => Ok(None),
        id => id.parse::<AuditEntryId>().map(Some),
    };
    let (entries, has_more, problem) = match after {
        Err(invalid) => (Vec::new(), false, Some(invalid.message.into_owned())),
        Ok(starting_after) => {
            let caller = inside.caller.clone();
            let query = ListAudit {
                wallet_id: wallet.id,
                limit: None,
                starting_after,
            };
            let listed =
                visit.run(|service| async move { service.list_audit(&caller, query).await });
            match listed.await {
                Ok(listed) => (listed.entries, listed.has_more, None),
                Err(refusal) => return Err(inside.refused(&visit, refusal, WALLETS).await),
            }
        }
    };
    let last = entries.last().filter(|_| has_more);
    let (_, name) = chain(&wallet);
    let template = WalletPage {
        frame: inside.frame(&visit, WALLETS),
        older: last.map(|last| format!("?starting_after={}", last.id)),
        is_latest: cursor.starting_after.is_empty(),
        may_switch: inside.may(Action::SwitchWallet) && !wallet.is_read_only,
        by_api: ByApi::of_app(
            "GET",
            &format!("/v1/wallets/{}/audit", wallet.id),
            "",
            String::new(),
        ),
        wallet,
        key_version,
        name,
        entries,
        problem,
    };
    let status = match template.problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    Ok(page(&visit, status, &template))
}

/// The parts of the path of an action.
#[derive(Deserialize)]
pub(crate) struct ActionAddress {
    #[serde(flatten)]
    inside: Address,
    action: String,
}

impl ActionAddress {
    /// Whether the action enables; `None` for one that does not exist.
    fn is_enabling(&self) -> Option<bool> {
        match self.action.as_str() {
            "enable" => Some(true),
            "disable" => Some(false),
            _ => None,
        }
    }
}

fn shown(
    visit: &Visit,
    inside: &Inside,
    wallet: Wallet,
    is_enabling: bool,
    problems: Problems,
) -> HttpResponse {
    let action = if is_enabling { "enable" } else { "disable" };
    let path = format!("/v1/wallets/{}/{action}", wallet.id);
    let (_, name) = chain(&wallet);
    let template = ActionPage {
        frame: inside.frame(visit, WALLETS),
        by_api: ByApi::of_app("POST", &path, "", String::new()),
        wallet,
        name,
        is_enabling,
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `GET wallets/{id}/{action}`
pub(crate) async fn confirm(visit: Visit, address: Path<ActionAddress>) -> Shown {
    let inside = enter(&visit, &address.inside).await?;
    let Some(is_enabling) = address.is_enabling() else {
        return Err(page::unknown(visit).await);
    };
    inside
        .ready(&visit, Action::SwitchWallet, inside.world())
        .await?;
    let found = find(&visit, &inside, &address.inside.id).await?;
    let problems = Problems::none();
    Ok(shown(&visit, &inside, found.wallet, is_enabling, problems))
}

/// `POST wallets/{id}/{action}`
pub(crate) async fn act(visit: Visit, posted: Posted, address: Path<ActionAddress>) -> Shown {
    let (_, inside) = received(&visit, posted, &address.inside).await?;
    let Some(is_enabling) = address.is_enabling() else {
        return Err(page::unknown(visit).await);
    };
    inside
        .ready(&visit, Action::SwitchWallet, inside.world())
        .await?;
    let wallet = find(&visit, &inside, &address.inside.id).await?.wallet;
    let (caller, id, owner) = (inside.caller.clone(), wallet.id, wallet.user_id);
    let switched =
        visit.run(|service| async move { switch(&service, &caller, id, owner, is_enabling).await });
    match switched.await {
        Ok(()) => {
            let result = match is_enabling {
                true => Done::WalletEnabled,
                false => Done::WalletDisabled,
            };
            let to = inside.path(&format!("{WALLETS}/{id}"));
            Ok(done(&visit, result, &to))
        }
        Err(SwitchWalletError::ReadOnly) => {
            let message = "this wallet is read-only: its key is not in Vestry";
            let problems = Problems::of("Nothing was changed.", Invalid::value("", message));
            Ok(shown(&visit, &inside, wallet, is_enabling, problems))
        }
        Err(SwitchWalletError::Common(refusal)) => {
            let back = format!("{WALLETS}/{id}/{}", address.action);
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}

/// Disables or enables a wallet, with an audit entry about its owner (OPR-7): entries about wallets have no client address.
async fn switch(
    service: &Service,
    caller: &Caller,
    id: WalletId,
    owner: UserId,
    is_enabling: bool,
) -> Result<(), SwitchWalletError> {
    let change = match is_enabling {
        true => "enable-wallet",
        false => "disable-wallet",
    };
    let detail = Detail::default()
        .with("change", change)
        .with("of", id.to_string());
    let action = ControlAction::UserUpdate;
    let caller = service.recorded(caller, action, owner, &detail).await?;
    match is_enabling {
        true => service.enable_wallet(&caller, id).await.map(drop),
        false => service.disable_wallet(&caller, id).await.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_read_as_what_it_looks_like() {
        for (q, expected) in [
            (" ", "all"),
            ("wallet_3Fno4DCcJNUgxEXYswBqUg5tzib", "wallet"),
            ("user_3Fno4DCcJNUgxEXYswBqUg5tzib ", "owner"),
            ("0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf", "address"),
            ("user_1", "refused"),
        ] {
            let found = match Search::parse(q) {
                Ok(Search::All) => "all",
                Ok(Search::Wallet(_)) => "wallet",
                Ok(Search::Owner(_)) => "owner",
                Ok(Search::Address(_)) => "address",
                Err(_) => "refused",
            };
            assert_eq!(found, expected, "{q}");
        }
    }
}
