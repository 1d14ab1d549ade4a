//! `vestry recover`.

use clap::Args;
use serde_json::{Value, json};
use vestry_app::platform::Recovered;
use vestry_app::{Principal, Service};

use super::installation::Installation;
use crate::failure::Failure;
use crate::output::Output;

/// The steps that a recovery leaves to the operator.
const AFTERWARDS: &str = "\
Restart every replica: test clocks are kept in memory.
JWTs issued before stay valid offline for up to 5 min; revoke signing keys if that matters.";

/// The arguments of `vestry recover`.
#[derive(Debug, Args)]
#[command(after_help = "\
For a database that was set back: by a restore with other tools, to a point in time,
or by a failover that lost commits. `vestry restore` does this itself.

Sessions, codes, links, challenges, sign-ins in progress and undelivered messages of
every App end, and event logs restart, so that their readers look for missing events.
Revoked keys, disabled users and wallets, and removed factors are as they were when
the data was saved: revoke, disable and remove them again (docs/backup.md).")]
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
        let service = installation.service().await?;
        let recovered = recover(&service, self.reason.as_deref()).await?;
        let text = format!("{}\n{AFTERWARDS}", sentence(&recovered));
        Ok(Output::new(document(&recovered), text))
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
    let Some(ended) = recovered.ended else {
        return format!("Kept sessions. Restarted {logs} event logs.");
    };
    format!(
        "Ended {} sessions, {} codes, {} links, {} operator links, {} challenges, {} wallet imports, {} provider sign-ins and {} messages. Restarted {logs} event logs.",
        ended.sessions,
        ended.codes,
        ended.links,
        ended.operator_links,
        ended.challenges,
        ended.imports,
        ended.provider_sign_ins,
        ended.messages,
    )
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
    json!({ "ended": ended, "event_logs": recovered.event_logs })
}
