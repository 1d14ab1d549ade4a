//! `vestry drill`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use vestry_app::wallets::{ListWallets, SignError, SignMessage};
use vestry_app::{Caller, Principal, Service};
use vestry_domain::ids::WalletId;
use vestry_domain::signing::MessageRequest;
use vestry_domain::timestamp::Seconds;
use vestry_domain::wallet::WalletType;
use vestry_domain::{Environment, World};
use vestry_ports::clock::Clock as _;
use vestry_store_sql::Scratch;

use super::backup_file::Counted;
use super::installation::Installation;
use super::restore::{Restored, Verified};
use crate::clock::SystemClock;
use crate::compose;
use crate::failure::{Context, Failure};
use crate::output::Output;
use crate::signals::StopSignals;

/// Wallets of each chain that sign.
const SIGNERS: u64 = 100;
/// Tables that are empty after a recovery.
const ENDED: [&str; 9] = [
    "sessions",
    "codes",
    "magic_links",
    "operator_links",
    "wallet_challenges",
    "passkey_challenges",
    "wallet_imports",
    "oauth_flows",
    "oauth_tokens",
];

/// The arguments of `vestry drill`.
#[derive(Debug, Args)]
#[command(after_help = "\
Rehearses a restore: loads the backup into a scratch database, ends what must not
live on, opens every key, verifies the audit log, and signs with up to 100 wallets of
each chain. Then it removes the scratch database. The service can keep running, and
its database is not touched. Nothing is sent, neither messages nor checkpoints.

For SQLite the scratch file is in the directory for temporary files (TMPDIR). For
Postgres it is a database beside that of database.url, which needs CREATEDB.

The recovery point is how old the data is. The recovery time is how long it took.")]
pub(crate) struct Drill {
    /// Backup file from `vestry backup`
    file: PathBuf,
}

impl Drill {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let mut signals = StopSignals::listen()?;
        let settings = compose::store_settings(&installation.settings.database);
        let scratch = Scratch::create(&settings).await;
        let scratch = scratch
            .map_err(|error| Failure::new("cannot create a scratch database").because(error))?;
        let rehearsal = installation.for_drill(scratch.database());
        let outcome = tokio::select! {
            outcome = self.rehearse(&rehearsal) => outcome,
            signal = signals.next() => Err(Failure::new(format!("stopped by {signal}"))),
        };
        let removed = scratch.remove().await;
        let output = outcome?;
        removed.context("cannot remove the scratch database")?;
        Ok(output)
    }

    async fn rehearse(&self, rehearsal: &Installation) -> Result<Output, Failure> {
        let (now, begun) = (SystemClock.machine(), Instant::now());
        let verified = Verified::read(&self.file).await?;
        let restored = verified.restore_into(rehearsal).await?;
        let took = begun.elapsed();
        let mut findings = restored.findings().await?;
        let store = compose::store_settings(&rehearsal.settings.database);
        let contents = vestry_store_sql::contents(&store).await;
        let contents = contents.context("cannot read the scratch database")?;
        let contents = Counted::from(contents);
        for table in ENDED {
            let left = contents.rows_of(table);
            if left > 0 {
                findings.push(format!("{left} rows of {table} live on"));
            }
        }
        let signatures = match restored.missing_root_keys() {
            None => sign(&restored, &mut findings).await?,
            Some(_) => BTreeMap::new(),
        };
        let taken_at = vestry_domain::Timestamp::from_unix(verified.header.taken_at);
        let age = (now - taken_at).max(Seconds(0)).0;
        let seconds = took.as_secs_f64();
        let signed: Vec<_> = signatures
            .iter()
            .map(|(wallet_type, count)| format!("{count} {wallet_type}"))
            .collect();
        let mut text = format!(
            "Recovery point: {age} s. Recovery time: {seconds:.1} s.\nSigned with {} wallets.",
            if signed.is_empty() {
                "no".to_owned()
            } else {
                signed.join(", ")
            }
        );
        for finding in &findings {
            text.push_str(&format!("\nFINDING: {finding}"));
        }
        let document = json!({
            "ok": findings.is_empty(),
            "recovery_point_seconds": age,
            "recovery_time_seconds": seconds,
            "signed": signatures.iter().map(|(of, count)| (of.to_string(), *count)).collect::<BTreeMap<_, _>>(),
            "findings": findings,
        });
        let failure = (!findings.is_empty()).then_some("the backup cannot replace the database");
        Ok(Output::new(document, text).failing(failure))
    }
}

/// Signs with wallets of every chain, in every App, and returns how many signed. A signature is verified before it is returned.
async fn sign(
    restored: &Restored,
    findings: &mut Vec<String>,
) -> Result<BTreeMap<WalletType, u64>, Failure> {
    let service = &*restored.service;
    let mut signed = BTreeMap::new();
    for app in service.list_apps(Principal::cli()).await? {
        for environment in Environment::ALL {
            let world = World::new(app.id, environment);
            let caller = service.caller(Principal::cli(), world).await?;
            sign_in_world(service, &caller, &mut signed, findings).await?;
        }
    }
    Ok(signed)
}

async fn sign_in_world(
    service: &Service,
    caller: &Caller,
    signed: &mut BTreeMap<WalletType, u64>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut after: Option<WalletId> = None;
    loop {
        let page = ListWallets {
            user_id: None,
            starting_after: after,
            limit: Some(100),
        };
        let page = service.list_wallets(caller, page).await?;
        let Some(last) = page.wallets.last() else {
            return Ok(());
        };
        after = Some(last.id);
        for wallet in page.wallets {
            let count = signed.entry(wallet.wallet_type).or_insert(0);
            if *count >= SIGNERS || wallet.is_read_only {
                continue;
            }
            let command = SignMessage {
                wallet_id: wallet.id,
                request: MessageRequest {
                    message: "drill".to_owned(),
                    ..MessageRequest::default()
                },
            };
            match service.sign(caller, command).await {
                Ok(_) => *count += 1,
                // It is disabled.
                Err(SignError::Unusable(_)) => {}
                Err(error) => findings.push(format!("{} cannot sign: {error}", wallet.id)),
            }
        }
    }
}
