//! The data of `cargo xtask bench`: users with an address and a wallet, created through the API, and a session for each.
//!
//! Creating a session over HTTP takes five transactions. Its row contains nothing that only the service can write, so this program only
//! lists the sessions, and the bench copies one that the service created.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use data_encoding::HEXLOWER;
use serde_json::json;
use vestry_domain::Timestamp;
use vestry_domain::ids::{Id, SessionId};
use vestry_domain::token::TokenHash;

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::people::{Person, people};
use crate::stopwatch::Stopwatch;

/// The number of users whose responses are in memory at a time.
const BATCH: usize = 2_000;

/// Creates the users and writes these files to a directory:
///
/// - `users.txt`, `wallets.txt` and `sessions.txt`: an id or a token in each line, in the same order.
/// - `sessions.tsv`: the values of the rows of the sessions: id, user, address, id of the address, SHA-256 of the token.
/// - `template.tsv`: the session to copy, its address and the id of that.
pub(crate) async fn run(
    api: &Api,
    count: usize,
    connections: usize,
    into: &Path,
) -> Result<(), Failure> {
    let one = Stopwatch {
        calls: 1,
        connections: 1,
    };
    let people = people(api, one, "seed").await?;
    let template = people.first().ok_or("no user was created")?;
    let (session_id, started_at) = session_of(api, template).await?;
    let line = format!(
        "{session_id}\t{}\t{}\n",
        template.address, template.email_id
    );
    fs::write(into.join("template.tsv"), line)?;
    let mut lists = Lists::default();
    let mut made = 0;
    while made < count {
        let stopwatch = Stopwatch {
            calls: BATCH.min(count - made),
            connections,
        };
        let create = (made..made + stopwatch.calls).map(create).collect();
        for user in stopwatch.prepare(api, create).await? {
            let user = Seeded {
                user_id: text(&user, "/user_id")?,
                email_id: text(&user, "/email_id")?,
                wallet_id: text(&user, "/user/wallets/0/id")?,
            };
            lists.add(made, started_at, &user)?;
            made += 1;
        }
        if made.is_multiple_of(BATCH * 10) {
            eprintln!("load: {made} of {count} users, each with an address and a wallet");
        }
    }
    fs::write(into.join("users.txt"), lists.users)?;
    fs::write(into.join("wallets.txt"), lists.wallets)?;
    fs::write(into.join("sessions.txt"), lists.tokens)?;
    Ok(fs::write(into.join("sessions.tsv"), lists.sessions)?)
}

struct Seeded {
    user_id: String,
    email_id: String,
    wallet_id: String,
}

#[derive(Default)]
struct Lists {
    users: String,
    wallets: String,
    tokens: String,
    sessions: String,
}

impl Lists {
    fn add(&mut self, number: usize, at: Timestamp, user: &Seeded) -> Result<(), Failure> {
        let Seeded {
            user_id,
            email_id,
            wallet_id,
        } = user;
        writeln!(self.users, "{user_id}")?;
        writeln!(self.wallets, "{wallet_id}")?;
        // Has the length and alphabet of the service's tokens.
        let token = HEXLOWER.encode(&TokenHash::of(&format!("token {number}")).0);
        writeln!(self.tokens, "{token}")?;
        let random = *TokenHash::of(&format!("id {number}"))
            .0
            .first_chunk()
            .ok_or("a hash is too short for an id")?;
        let session_id = SessionId::new(at, random);
        let (address, hash) = (address(number), HEXLOWER.encode(&TokenHash::of(&token).0));
        writeln!(
            self.sessions,
            "{session_id}\t{user_id}\t{address}\t{email_id}\t{hash}"
        )?;
        Ok(())
    }
}

fn address(number: usize) -> String {
    format!("seed{number}@bench.example")
}

fn create(number: usize) -> Call {
    let email = address(number);
    let body = json!({"email": email, "include_user": true, "wallet_type": "ethereum"});
    Call::post("/v1/auth/users/create", body)
}

/// The user's session: its id and start time.
async fn session_of(api: &Api, person: &Person) -> Result<(SessionId, Timestamp), Failure> {
    let verify = json!({"session_token": person.session_token});
    let answer = api.make(Call::post("/v1/auth/sessions/verify", verify));
    let id = text(&answer.await?, "/session/id")?;
    let id: SessionId = id.parse().map_err(|_odd| "a session has an invalid id")?;
    Ok((id, id.timestamp()))
}
