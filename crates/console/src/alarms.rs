//! Alarms in words: the state, its impact and what to do.

use vestry_app::operators::Alarm;
use vestry_domain::Timestamp;
use vestry_domain::app::App;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{DisabledReason, Endpoint};

use crate::app::name_of;
use crate::frame;

/// An alarm in a list.
pub(crate) struct AlarmRow {
    pub(crate) tone: &'static str,
    pub(crate) level: &'static str,
    pub(crate) state: String,
    /// Its impact and what to do.
    pub(crate) text: String,
    pub(crate) since: Option<Timestamp>,
    /// The page about it, and the text of the link.
    pub(crate) page: String,
    pub(crate) link: &'static str,
    /// The sink that it is about; empty if it is about something else.
    pub(crate) sink: String,
}

/// Alarms as rows; `apps` name the Apps of endpoints.
pub(crate) fn rows(alarms: &[Alarm], apps: &[App]) -> Vec<AlarmRow> {
    alarms.iter().map(|alarm| row(alarm, apps)).collect()
}

fn row(alarm: &Alarm, apps: &[App]) -> AlarmRow {
    let deployment = |state: String, text: String| AlarmRow {
        tone: if alarm.is_critical() { "bad" } else { "warn" },
        level: if alarm.is_critical() {
            "Critical"
        } else {
            "Warning"
        },
        state,
        text,
        since: None,
        page: "/console/deployment".to_owned(),
        link: "View deployment",
        sink: String::new(),
    };
    match alarm {
        Alarm::VaultUnavailable(purpose) => {
            let (state, impact) = unavailable(*purpose);
            deployment(
                state.to_owned(),
                format!("{impact} Check the vault and the log."),
            )
        }
        Alarm::SequencingStalled(Seconds(seconds)) => deployment(
            format!("Event sequencing is stalled for {} minutes", seconds / 60),
            "Events and webhooks are delayed. Check the database and the log.".to_owned(),
        ),
        Alarm::CheckpointsStopped { since } => AlarmRow {
            since: Some(*since),
            ..deployment(
                "No audit checkpoints are made".to_owned(),
                "Deleted audit entries may go undetected. Check the log of the processes that serve requests.".to_owned(),
            )
        },
        Alarm::SinkBehind {
            sink,
            since,
            blocks_after,
        } => {
            let impact = match blocks_after {
                Some(minutes) => format!(
                    "Without a remote checkpoint for {minutes} minutes, wallet keys are blocked."
                ),
                None => "Deleted audit entries may go undetected.".to_owned(),
            };
            AlarmRow {
                since: Some(*since),
                sink: sink.name.clone(),
                page: "/console/deployment#checkpoints".to_owned(),
                link: "View sinks",
                ..deployment(
                    format!("Checkpoint sink {} is behind", sink.name),
                    format!("{impact} Restore the sink, or remove it from the settings."),
                )
            }
        }
        Alarm::EndpointFailing(endpoint) => of_endpoint(endpoint, apps),
    }
}

const fn unavailable(purpose: KeyPurpose) -> (&'static str, &'static str) {
    match purpose {
        KeyPurpose::Wallets => (
            "The root key of wallets is unavailable",
            "Wallets do not sign, and none can be created.",
        ),
        _ => (
            "The root key of secrets is unavailable",
            "Users cannot sign in, and messages are not sent.",
        ),
    }
}

fn of_endpoint(endpoint: &Endpoint, apps: &[App]) -> AlarmRow {
    let world = endpoint.world;
    let name = match &endpoint.name {
        Some(name) if !name.is_empty() => name.clone(),
        _ => endpoint.url.as_str().to_owned(),
    };
    let app = name_of(apps, world.app_id);
    let (state, text) = match endpoint.disabled {
        None => (
            format!("{app}: a webhook endpoint is failing"),
            "Deliveries are retried. If it keeps failing, it will be disabled.",
        ),
        Some(DisabledReason::Failing | DisabledReason::Gone) => (
            format!("{app}: a webhook endpoint was disabled because it failed"),
            "Events are held for it. Repair it, then enable it.",
        ),
        Some(DisabledReason::Operator) => (
            format!("{app}: a webhook endpoint was disabled while it failed"),
            "Enable it when it is repaired, or remove it.",
        ),
    };
    AlarmRow {
        tone: "warn",
        level: "Warning",
        state,
        text: format!("{name}, live. {text}"),
        since: endpoint.failing_since,
        page: format!(
            "{}/webhooks/{}",
            frame::path(world.app_id, world.environment),
            endpoint.id
        ),
        link: "View endpoint",
        sink: String::new(),
    }
}
