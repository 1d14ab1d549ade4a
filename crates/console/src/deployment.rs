//! The state of the deployment: alarms, root keys, backlog, checkpoint sinks and limits.

use actix_web::http::StatusCode;
use askama::Template;
use vestry_app::audit::SinkStatus;
use vestry_app::operators::{DeploymentStatus, RootKeyStatus};
use vestry_domain::Timestamp;
use vestry_domain::action::Action;

use crate::alarms::{self, AlarmRow};
use crate::by_api::ByApi;
use crate::filters;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{entered, page, refused_action};
use crate::visit::Visit;

const DEPLOYMENT: &str = "deployment";

#[derive(Template)]
#[template(path = "deployment.html")]
struct DeploymentPage {
    frame: Frame,
    alarms: Vec<AlarmRow>,
    status: DeploymentStatus,
    limits: Vec<(&'static str, String)>,
    by_api: ByApi,
}

/// `GET deployment`
pub(crate) async fn show(visit: Visit) -> Shown {
    let entered = entered(&visit).await?;
    entered.ready(&visit, Action::ReadStatus).await?;
    let by = entered.by.clone();
    let status = visit.run(|service| async move { service.deployment_status(&by).await });
    let status = match status.await {
        Ok(status) => status,
        Err(refusal) => {
            return Err(refused_action(&visit, &entered.signed, refusal, &visit.address).await);
        }
    };
    let template = DeploymentPage {
        frame: Frame::new(&visit, &entered.signed, DEPLOYMENT),
        alarms: alarms::rows(&status.alarms, &[]),
        limits: limits(&visit, &status),
        status,
        by_api: ByApi::new("GET", "/v1/manage/status", "", "vestry check".to_owned()),
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

/// The roots that wrap the keys of Apps, with their names.
fn roots(status: &DeploymentStatus) -> [(&'static str, Option<&RootKeyStatus>); 2] {
    [
        ("Wallets", status.wallets_key.as_ref()),
        ("All other secrets", status.secrets_key.as_ref()),
    ]
}

/// The tone and the name of the state of a sink.
fn sink_state(sink: &SinkStatus, is_late: bool) -> (&'static str, &'static str) {
    match (sink.waiting_since, is_late) {
        (None, _) => ("ok", "Current"),
        (Some(_), false) => ("info", "Sending"),
        (Some(_), true) => ("bad", "Failing"),
    }
}

impl DeploymentPage {
    /// The sinks with their states.
    fn sinks(&self) -> Vec<(&SinkStatus, &'static str, &'static str)> {
        let is_late = |name: &str| self.alarms.iter().any(|alarm| alarm.sink == name);
        let sinks = self.status.sinks.iter().map(|sink| {
            let (tone, state) = sink_state(sink, is_late(&sink.name));
            (sink, tone, state)
        });
        sinks.collect()
    }

    fn checkpoint(&self) -> Option<Timestamp> {
        self.status.checkpoint.map(|checkpoint| checkpoint.at)
    }
}

fn limits(visit: &Visit, status: &DeploymentStatus) -> Vec<(&'static str, String)> {
    let limits = &status.limits;
    let per_minute = |limit: u32| match limit {
        0 => "No limit".to_owned(),
        limit => format!("{} per minute", filters::grouped(i64::from(limit))),
    };
    let present = |is_set: bool, missing: &str| match is_set {
        true => "Configured".to_owned(),
        false => missing.to_owned(),
    };
    let anchor = match limits.anchor_minutes {
        None => "Not required".to_owned(),
        Some(minutes) => format!("At most {minutes} minutes old, or wallet keys are blocked"),
    };
    vec![
        ("Requests, test", per_minute(limits.test_per_minute)),
        ("Requests, live", per_minute(limits.live_per_minute)),
        (
            "Webhooks",
            format!("{} requests at once per process", limits.webhooks_in_flight),
        ),
        ("Remote checkpoint", anchor),
        (
            "Mail",
            present(visit.service.has_mailer(), "No transport: live sends none"),
        ),
        (
            "SMS",
            present(visit.service.has_sms(), "No transport: live sends none"),
        ),
        (
            "Breached passwords",
            present(visit.service.has_breached_passwords(), "No list"),
        ),
    ]
}
