//! `vestry recover`.

use std::collections::BTreeSet;
use std::fmt::Display;

use clap::Args;
use serde_json::{Value, json};
use vestry_app::recovery::Recovered;
use vestry_app::{Principal, Service};

use super::installation::Installation;
use crate::failure::Failure;
use crate::output::Output;

/// The steps that a recovery leaves to the operator.
const AFTERWARDS: &str = "\
Restart every replica: test clocks are kept in memory.
JWTs issued before stay valid offline for up to 5 min; revoke signing keys if that matters.";

/// Ids of one kind in the text of the result.
const SHOWN: usize = 10;

/// The arguments of `vestry recover`.
#[derive(Debug, Args)]
#[command(after_help = "\
For a database that was set back: by a restore with other tools, to a point in time,
or by a failover that lost commits. `vestry restore` does this itself.

With epoch.store, wallets that the journal has and the database lacks are inserted,
its revocations and removals are repeated, and the database is accepted again.

Sessions, codes, links, challenges, sign-ins in progress and undelivered messages of
every App end, and event logs restart, so that their readers look for missing events.
Without epoch.store, revoked keys, disabled users and wallets, and removed factors are
as they were when the data was saved: revoke, disable and remove them again
(docs/backup.md).")]
pub(crate) struct Recover {
    /// Restart event logs only, and keep sessions: for a failover that lost seconds
    #[arg(long, requires = "reason")]
    keep_sessions: bool,
    /// Why sessions are kept, for the audit log; up to 200 bytes
    #[arg(long, value_name = "TEXT", requires = "keep_sessions")]
    reason: Option<String>,
}

impl Recover {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let has_sinks = !installation.settings.audit.sinks.is_empty();
        if has_sinks {
            installation.require_base_url(|| {
                Failure::new("http.base_url is not set; it names this deployment in checkpoints")
            })?;
        }
        installation.require_epoch_store().await?;
        let service = installation.service_for_recovery().await?;
        let recovered = recover(&service, self.reason.as_deref()).await?;
        let mut text = format!("{}\n{AFTERWARDS}", sentence(&recovered));
        for refused in &recovered.journal.refused {
            text.push_str(&format!("\nFINDING: {refused}"));
        }
        let is_whole = recovered.journal.refused.is_empty();
        let failure = (!is_whole).then_some("not all of the journal could be recovered");
        Ok(Output::new(document(&recovered), text).failing(failure))
    }
}

/// Ends what must not live on.
pub(super) async fn recover(service: &Service, reason: Option<&str>) -> Result<Recovered, Failure> {
    let recovered = service.recover(Principal::cli(), reason).await;
    recovered
        .map_err(|refusal| Failure::of(refusal, "recovery is incomplete; run vestry recover again"))
}

/// What a recovery did, for people.
pub(super) fn sentence(recovered: &Recovered) -> String {
    let logs = recovered.event_logs;
    let mut sentence = match recovered.ended {
        None => format!("Kept sessions. Restarted {logs} event logs."),
        Some(ended) => format!(
            "Ended {} sessions, {} codes, {} links, {} operator links, {} challenges, {} wallet imports, {} provider sign-ins and {} messages. Restarted {logs} event logs.",
            ended.sessions,
            ended.codes,
            ended.links,
            ended.operator_links,
            ended.challenges,
            ended.imports,
            ended.provider_sign_ins,
            ended.messages,
        ),
    };
    let journal = &recovered.journal;
    if !journal.wallets.is_empty() || !journal.apps.is_empty() {
        let (wallets, users, apps) = (&journal.wallets, &journal.users, &journal.apps);
        sentence.push_str(&format!(
            "\nInserted from the journal: {} wallets, {} users, {} Apps.",
            wallets.len(),
            users.len(),
            apps.len()
        ));
        sentence.push_str(&listed("wallets", wallets));
        sentence.push_str(&listed("users", users));
        sentence.push_str(&listed("Apps", apps));
    }
    if journal.changes > 0 {
        let changes = journal.changes;
        sentence.push_str(&format!("\nRepeated {changes} changes of the journal."));
    }
    if let Some(epoch) = recovered.epoch {
        sentence.push_str(&format!("\nEpoch {epoch} has begun."));
    }
    sentence
}

/// The first objects of a kind. `--json` lists all.
fn listed<T: Display>(kind: &str, objects: &BTreeSet<T>) -> String {
    if objects.is_empty() {
        return String::new();
    }
    let mut ids: Vec<_> = objects.iter().take(SHOWN).map(T::to_string).collect();
    let more = objects.len().saturating_sub(SHOWN);
    if more > 0 {
        ids.push(format!("and {more} more"));
    }
    format!("\n  {kind}: {}", ids.join(", "))
}

/// What a recovery did, as JSON.
pub(super) fn document(recovered: &Recovered) -> Value {
    let ended = recovered.ended.map(|ended| {
        json!({
            "sessions": ended.sessions,
            "codes": ended.codes,
            "links": ended.links,
            "operator_links": ended.operator_links,
            "challenges": ended.challenges,
            "imports": ended.imports,
            "provider_sign_ins": ended.provider_sign_ins,
            "messages": ended.messages,
        })
    });
    let journal = &recovered.journal;
    json!({
        "ended": ended,
        "event_logs": recovered.event_logs,
        "epoch": recovered.epoch,
        "journal": {
            "apps": texts(&journal.apps),
            "users": texts(&journal.users),
            "wallets": texts(&journal.wallets),
            "changes": journal.changes,
            "refused": journal.refused,
        },
    })
}

fn texts<T: Display>(objects: &BTreeSet<T>) -> Vec<String> {
    objects.iter().map(T::to_string).collect()
}
