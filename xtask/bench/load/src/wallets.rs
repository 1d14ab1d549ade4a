//! Mass creation of wallets: users with one of each type.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use vestry_domain::wallet::WalletType;

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::stopwatch::Stopwatch;

/// The number of users created at a time, whose responses are in memory together.
const BATCH: usize = 1_000;

/// Creates `count` wallets through the service and writes a line for each into the file: id, type and address, separated by tabs.
///
/// Every user has one of each type, so the count is rounded up to whole users.
pub(crate) async fn run(
    api: &Api,
    count: usize,
    connections: usize,
    into: &Path,
) -> Result<(), Failure> {
    let users = count.div_ceil(WalletType::ALL.len());
    let mut lines = String::new();
    let mut made = 0;
    while made < users {
        let batch = BATCH.min(users - made);
        let stopwatch = Stopwatch {
            calls: batch,
            connections,
        };
        for wallet in of_users(api, stopwatch, made).await? {
            let [id, wallet_type, address] =
                ["/id", "/wallet_type", "/public_address"].map(|pointer| text(&wallet, pointer));
            writeln!(lines, "{}\t{}\t{}", id?, wallet_type?, address?)?;
        }
        made += batch;
        eprintln!("load: {made} of {users} users, with a wallet of each type");
    }
    Ok(std::fs::write(into, lines)?)
}

/// Creates users, whose addresses are numbered from `first` on, and returns their wallets.
async fn of_users(api: &Api, stopwatch: Stopwatch, first: usize) -> Result<Vec<Value>, Failure> {
    let [usual, further @ ..] = &WalletType::ALL;
    let create = |number: usize| {
        let email = format!("wallets{number}@load.example");
        let body = json!({"email": email, "include_user": true, "wallet_type": usual.as_str()});
        Call::post("/v1/auth/users/create", body).once(format!("user-{number}"))
    };
    let create = (first..first + stopwatch.calls).map(create).collect();
    let created = stopwatch.prepare(api, create).await?;
    let mut wallets = Vec::new();
    let mut more = Vec::new();
    for user in &created {
        let user_id = text(user, "/user_id")?;
        wallets.push(user.pointer("/user/wallets/0").cloned().unwrap_or_default());
        more.extend(further.iter().map(|wallet_type| {
            let wallet_type = wallet_type.as_str();
            let body = json!({"user_id": user_id, "wallet_type": wallet_type});
            Call::post("/v1/wallets/create", body).once(format!("{wallet_type}-{user_id}"))
        }));
    }
    wallets.extend(stopwatch.prepare(api, more).await?);
    Ok(wallets)
}
