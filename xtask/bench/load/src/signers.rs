//! Wallets of every chain, each with a transaction to sign, for wrk, whose script cannot create them.

mod transactions;

use std::fmt::Write as _;

use serde_json::json;
use vestry_domain::wallet::WalletType;

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::stopwatch::Stopwatch;

/// The number of wallets of each chain.
const EACH: usize = 64;

/// Creates the wallets, and prints the lines for wrk's script: `wallet.TYPE=ID` and `transaction.TYPE=BODY`, in the same order.
pub(crate) async fn run(api: &Api, connections: usize) -> Result<(), Failure> {
    let stopwatch = Stopwatch {
        calls: EACH,
        connections,
    };
    let mut lines = String::new();
    for wallet_type in WalletType::ALL {
        let name = wallet_type.as_str();
        let create = |number| {
            let email = format!("{}{number}@wallets.example", name.to_lowercase());
            let user = json!({"email": email, "wallet_type": name, "include_user": true});
            Call::post("/v1/auth/users/create", user)
        };
        let created = stopwatch.prepare(api, (0..EACH).map(create).collect());
        for answer in created.await? {
            let id = text(&answer, "/user/wallets/0/id")?;
            let address = text(&answer, "/user/wallets/0/public_address")?;
            let body = transactions::body(wallet_type, &address)?;
            writeln!(lines, "wallet.{name}={id}\ntransaction.{name}={body}")?;
        }
    }
    print!("{lines}");
    Ok(())
}
