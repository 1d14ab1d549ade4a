//! CN-P1: random keys and calls against a model of the restrictions.

use serde_json::json;
use vestry_contract::rng::{self, Rng};
use vestry_domain::api_key::{self, KeyFields, Scope};
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::operation::Operation;
use vestry_domain::wallet::WalletType;

use crate::flows::signed_in;
use crate::harness::{Api, Client, Response, on_both};

on_both! {
    cn_p1_random_keys_do_what_the_model_says
}

/// Keys, and calls with each: ten thousand calls on the two stores together.
const KEYS: usize = 250;
const CALLS: usize = 20;

/// A user with an Ethereum and a Solana wallet, a live session and one that has ended.
struct Person {
    id: UserId,
    wallets: [(WalletId, WalletType); 2],
    live: String,
    ended: String,
}

/// A call. Users and wallets are numbers in the list of people.
#[derive(Debug, Clone, Copy)]
enum Call {
    GetUser(usize),
    ListSessions(usize),
    VerifySession(usize),
    ListWallets(usize),
    CreateWallet(usize, usize),
    GetWallet(usize, usize),
    ListAudit(usize, usize),
    /// With the live session of this person, with an ended one, or without any.
    Sign(usize, usize, Presented),
    SearchUsers,
    ReadHead,
}

#[derive(Debug, Clone, Copy)]
enum Presented {
    Nothing,
    Live(usize),
    Ended(usize),
}

/// The expected outcome: the status, and for a refusal its code and `param`.
type Outcome = (u16, &'static str, Option<&'static str>);

const OK: Outcome = (200, "", None);

fn forbidden(param: &'static str) -> Outcome {
    (403, "key_not_allowed", Some(param))
}

async fn person(api: &Api, name: &str) -> Person {
    let email = format!("{name}@example.com");
    let ended = signed_in(api, &email).await;
    let live = signed_in(api, &email).await;
    let token = json!({"session_token": ended.text_at("/session_token")});
    let path = "/v1/auth/sessions/delete";
    api.test().delete(path, Some(token)).await.ok();
    let id = live.text_at("/user_id");
    let mut wallets = Vec::new();
    for wallet_type in [WalletType::Ethereum, WalletType::Solana] {
        let request = json!({"user_id": id, "wallet_type": wallet_type.as_str()});
        let made = api.test().post("/v1/wallets/create", request).await.ok();
        wallets.push((made.text_at("/id").parse().unwrap(), wallet_type));
    }
    Person {
        id: id.parse().unwrap(),
        wallets: wallets.try_into().unwrap(),
        live: live.text_at("/session_token"),
        ended: ended.text_at("/session_token"),
    }
}

/// Some of the values, or no restriction.
fn some<T: Clone>(rng: &mut Rng, one_in: usize, values: &[T]) -> Option<Vec<T>> {
    if rng.below(one_in) > 0 {
        return None;
    }
    let mut chosen: Vec<T> = values
        .iter()
        .filter(|_| rng.below(2) == 0)
        .cloned()
        .collect();
    if chosen.is_empty() {
        chosen.push(values[rng.below(values.len())].clone());
    }
    Some(chosen)
}

const OPERATIONS: [Operation; 10] = [
    Operation::GetUser,
    Operation::ListSessions,
    Operation::VerifySession,
    Operation::ListWallets,
    Operation::CreateWallet,
    Operation::GetWallet,
    Operation::ListWalletAudit,
    Operation::SignMessage,
    Operation::SearchUsers,
    Operation::GetEventsHead,
];

fn random_key(rng: &mut Rng, people: &[Person]) -> KeyFields {
    let users: Vec<UserId> = people.iter().map(|person| person.id).collect();
    let wallets: Vec<WalletId> = (people.iter())
        .flat_map(|person| person.wallets.map(|(id, _)| id))
        .collect();
    let networks = ["127.0.0.0/8", "203.0.113.0/24", "2001:db8::/32"];
    let networks = networks.map(|network| api_key::network(network).unwrap());
    KeyFields {
        scopes: some(rng, 2, &Scope::ALL),
        ip_allow: some(rng, 6, &networks),
        operations: some(rng, 4, &OPERATIONS),
        user_ids: some(rng, 2, &users),
        wallet_ids: some(rng, 3, &wallets),
        wallet_types: some(rng, 3, &[WalletType::Ethereum, WalletType::Solana]),
        require_session: Some(rng.below(2) == 0),
        ..KeyFields::default()
    }
}

fn random_call(rng: &mut Rng, people: usize) -> Call {
    let (user, wallet) = (rng.below(people), rng.below(2));
    let presented = match rng.below(4) {
        0 => Presented::Nothing,
        1 => Presented::Ended(user),
        2 => Presented::Live(rng.below(people)),
        _ => Presented::Live(user),
    };
    match rng.below(12) {
        0 => Call::GetUser(user),
        1 => Call::ListSessions(user),
        2 => Call::VerifySession(user),
        3 => Call::ListWallets(user),
        4 => Call::CreateWallet(user, wallet),
        5 => Call::GetWallet(user, wallet),
        6 => Call::ListAudit(user, wallet),
        7 => Call::SearchUsers,
        8 => Call::ReadHead,
        _ => Call::Sign(user, wallet, presented),
    }
}

/// The model, written from the table of the contract: the first restriction that is not met decides.
fn expected(key: &KeyFields, people: &[Person], call: Call) -> Outcome {
    let (operation, scope) = match call {
        Call::GetUser(_) => (Operation::GetUser, Scope::UsersRead),
        Call::ListSessions(_) => (Operation::ListSessions, Scope::SessionsWrite),
        Call::VerifySession(_) => (Operation::VerifySession, Scope::SessionsWrite),
        Call::ListWallets(_) => (Operation::ListWallets, Scope::WalletsRead),
        Call::CreateWallet(..) => (Operation::CreateWallet, Scope::WalletsWrite),
        Call::GetWallet(..) => (Operation::GetWallet, Scope::WalletsRead),
        Call::ListAudit(..) => (Operation::ListWalletAudit, Scope::WalletsRead),
        Call::Sign(..) => (Operation::SignMessage, Scope::WalletsSign),
        Call::SearchUsers => (Operation::SearchUsers, Scope::UsersRead),
        Call::ReadHead => (Operation::GetEventsHead, Scope::EventsRead),
    };
    let from_here = |networks: &Vec<ipnet::IpNet>| {
        networks
            .iter()
            .any(|network| network.to_string().starts_with("127."))
    };
    if key
        .ip_allow
        .as_ref()
        .is_some_and(|networks| !from_here(networks))
    {
        return forbidden("ip");
    }
    if key
        .operations
        .as_ref()
        .is_some_and(|listed| !listed.contains(&operation))
    {
        return forbidden("operation");
    }
    if key
        .scopes
        .as_ref()
        .is_some_and(|listed| !listed.contains(&scope))
    {
        return forbidden("scope");
    }
    let names_wallet = matches!(
        call,
        Call::GetWallet(..) | Call::ListAudit(..) | Call::Sign(..)
    );
    if matches!(call, Call::SearchUsers | Call::ReadHead) && key.user_ids.is_some() {
        return forbidden("user_ids");
    }
    if !names_wallet && key.wallet_ids.is_some() {
        return forbidden("wallet_ids");
    }
    let (Some(user), wallet) = owner_and_wallet(people, call) else {
        return OK;
    };
    let is_listed = |user: &UserId| {
        key.user_ids
            .as_ref()
            .is_none_or(|users| users.contains(user))
    };
    let has_wallet = wallet.is_none_or(|(id, _)| {
        key.wallet_ids
            .as_ref()
            .is_none_or(|wallets| wallets.contains(&id))
            || !names_wallet
    });
    if !is_listed(&user) || !has_wallet {
        return match call {
            // An unknown user has no wallets, and an unknown session is not valid.
            Call::ListWallets(_) => OK,
            Call::VerifySession(_) => (401, "invalid_session", None),
            _ if names_wallet => (404, "not_found", Some("wallet")),
            _ => (404, "not_found", Some("user")),
        };
    }
    let type_fits = |(_, wallet_type): (WalletId, WalletType)| {
        key.wallet_types
            .as_ref()
            .is_none_or(|types| types.contains(&wallet_type))
    };
    if !wallet.is_none_or(type_fits) {
        return forbidden("wallet_type");
    }
    match call {
        Call::Sign(owner, _, presented) if key.require_session == Some(true) => match presented {
            Presented::Live(person) if person == owner => OK,
            _ => (401, "invalid_session", None),
        },
        _ => OK,
    }
}

fn owner_and_wallet(
    people: &[Person],
    call: Call,
) -> (Option<UserId>, Option<(WalletId, WalletType)>) {
    match call {
        Call::SearchUsers | Call::ReadHead => (None, None),
        Call::GetUser(user)
        | Call::ListSessions(user)
        | Call::VerifySession(user)
        | Call::ListWallets(user) => (Some(people[user].id), None),
        Call::CreateWallet(user, wallet)
        | Call::GetWallet(user, wallet)
        | Call::ListAudit(user, wallet)
        | Call::Sign(user, wallet, _) => {
            (Some(people[user].id), Some(people[user].wallets[wallet]))
        }
    }
}

async fn make(client: &Client<'_>, people: &[Person], call: Call) -> Response {
    let wallet =
        |user: usize, wallet: usize| format!("/v1/wallets/{}", people[user].wallets[wallet].0);
    match call {
        Call::GetUser(user) => {
            client
                .get(&format!("/v1/auth/users/{}", people[user].id))
                .await
        }
        Call::ListSessions(user) => {
            let path = format!("/v1/auth/sessions/list?user_id={}", people[user].id);
            client.get(&path).await
        }
        Call::VerifySession(user) => {
            let body = json!({"session_token": people[user].live});
            client.post("/v1/auth/sessions/verify", body).await
        }
        Call::ListWallets(user) => {
            let path = format!("/v1/wallets/list?user_id={}", people[user].id);
            client.get(&path).await
        }
        Call::CreateWallet(user, wallet) => {
            let (_, wallet_type) = people[user].wallets[wallet];
            let body = json!({"user_id": people[user].id, "wallet_type": wallet_type.as_str()});
            client.post("/v1/wallets/create", body).await
        }
        Call::GetWallet(user, number) => client.get(&wallet(user, number)).await,
        Call::ListAudit(user, number) => {
            client.get(&format!("{}/audit", wallet(user, number))).await
        }
        Call::Sign(user, number, presented) => {
            let token = match presented {
                Presented::Nothing => None,
                Presented::Live(person) => Some(&people[person].live),
                Presented::Ended(person) => Some(&people[person].ended),
            };
            let client = match token {
                Some(token) => client.clone().header("Vestry-Session", token),
                None => client.clone(),
            };
            let path = format!("{}/sign_message", wallet(user, number));
            client.post(&path, json!({"message": "x"})).await
        }
        Call::SearchUsers => client.post("/v1/auth/users/search", json!({})).await,
        Call::ReadHead => client.get("/v1/events/head").await,
    }
}

async fn cn_p1_random_keys_do_what_the_model_says(api: &Api) {
    let seed = rng::seed();
    let mut rng = Rng::from_seed(seed);
    let mut people = Vec::new();
    for name in ["ada", "bob", "eve"] {
        people.push(person(api, name).await);
    }
    let mut allowed = 0;
    let keys = rng::rounds(KEYS);
    for _ in 0..keys {
        let key = random_key(&mut rng, &people);
        let client = api.restricted(key.clone()).await;
        for _ in 0..CALLS {
            let call = random_call(&mut rng, people.len());
            let response = make(&client, &people, call).await;
            let found = (response.status, response.code(), response.param());
            assert_eq!(
                found,
                expected(&key, &people, call),
                "{call:?} with {key:?}: {}",
                response.text
            );
            if let (Call::ListWallets(user), true) = (call, response.status == 200) {
                let is_listed = key
                    .user_ids
                    .as_ref()
                    .is_none_or(|users| users.contains(&people[user].id));
                let shown = response.body["wallets"].as_array().unwrap().len();
                assert_eq!(shown, if is_listed { 2 } else { 0 }, "{key:?}");
            }
            allowed += usize::from(response.status == 200);
        }
    }
    println!(
        "CN-P1: {} calls, {allowed} of them allowed, seed {seed}",
        keys * CALLS
    );
    assert!(
        allowed > keys,
        "the keys allow too little to compare: {allowed}"
    );
}
