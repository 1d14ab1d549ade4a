//! `vestry webhook …`

use serde_json::{Value, json};
use vestry_app::platform::replays::Wanted;
use vestry_app::platform::webhooks::{
    EndpointChange, ListedEndpoint, NewEndpoint, Replayed, Resume, Trial,
};
use vestry_app::{Principal, Service};
use vestry_domain::webhook::{Attempt, Delivery, Replay, SealedSecret};
use vestry_domain::{Secret, Timestamp, World};
use vestry_ports::store::DeliveryFilter;

use super::failed;
use crate::cli::{self, WhichWebhook};
use crate::failure::Failure;
use crate::output::{date, table};

pub(super) async fn run(service: &Service, command: cli::Webhook) -> Result<(), Failure> {
    match command {
        cli::Webhook::Create {
            app,
            environment,
            url,
            types,
            name,
            disabled,
            answer,
        } => {
            let new = NewEndpoint {
                url,
                name,
                types,
                enabled: !disabled,
            };
            let added = service
                .add_webhook(Principal::cli(), World::new(app, environment), new)
                .await;
            let (listed, secret) = added.map_err(failed)?;
            print_with_secret(&listed, &secret, answer)
        }
        cli::Webhook::List { app, answer } => {
            let listed = service
                .list_webhooks(Principal::cli(), app)
                .await
                .map_err(failed)?;
            let documents: Vec<_> = listed.iter().map(document).collect();
            let document = json!({ "webhook_endpoints": documents });
            answer.format().print(&document, || list(&listed))
        }
        cli::Webhook::Show { which, answer } => {
            let shown = service
                .show_webhook(Principal::cli(), which.app, which.id)
                .await;
            print(&shown.map_err(failed)?, answer)
        }
        cli::Webhook::Set {
            which,
            url,
            types,
            name,
            answer,
        } => {
            let change = EndpointChange {
                url,
                types,
                name: name.map(|name| Some(name).filter(|name| !name.is_empty())),
            };
            let changed = service
                .change_webhook(Principal::cli(), which.app, which.id, change)
                .await;
            print(&changed.map_err(failed)?, answer)
        }
        cli::Webhook::RotateSecret {
            which,
            overlap,
            answer,
        } => {
            let rotated =
                service.rotate_webhook_secret(Principal::cli(), which.app, which.id, overlap);
            let secret = rotated.await.map_err(failed)?;
            let shown = service
                .show_webhook(Principal::cli(), which.app, which.id)
                .await;
            print_with_secret(&shown.map_err(failed)?, &secret, answer)
        }
        cli::Webhook::Enable {
            which,
            drop_held,
            answer,
        } => {
            let resume = if drop_held {
                Resume::Nothing
            } else {
                Resume::All
            };
            let enabled = service
                .enable_webhook(Principal::cli(), which.app, which.id, resume)
                .await;
            print(&enabled.map_err(failed)?, answer)
        }
        cli::Webhook::Disable { which, answer } => {
            let disabled = service
                .disable_webhook(Principal::cli(), which.app, which.id)
                .await;
            print(&disabled.map_err(failed)?, answer)
        }
        cli::Webhook::Test {
            which,
            kind,
            answer,
        } => {
            let tried = service
                .try_webhook(Principal::cli(), which.app, which.id, kind)
                .await;
            tried_out(&tried.map_err(failed)?, answer)
        }
        cli::Webhook::Replay {
            which,
            event,
            delivery,
            failed_since,
            after,
            until,
            answer,
        } => {
            let since = failed_since.map(Timestamp::from_unix);
            let missed = since.map(Wanted::FailedSince);
            let range = after.map(|after| Wanted::Range { after, until });
            match (event, delivery, missed.or(range)) {
                (Some(event), _, _) => {
                    let what = Replayed::Event(event);
                    replay_one(service, which, what, answer).await
                }
                (_, Some(delivery), _) => {
                    let what = Replayed::Delivery(delivery);
                    replay_one(service, which, what, answer).await
                }
                (_, _, Some(wanted)) => {
                    let replayed =
                        service.replay_missed(Principal::cli(), which.app, which.id, wanted);
                    let replay = replayed.await.map_err(failed)?;
                    answer.format().print(&replay_document(&replay), || {
                        format!(
                            "Replay {} started: {} events. Follow progress with: vestry webhook replays {} {}",
                            replay.id, replay.count, which.app, which.id
                        )
                    })
                }
                (None, None, None) => Err(Failure::usage(
                    "specify --event, --delivery, --failed-since or --after",
                )),
            }
        }
        cli::Webhook::Replays { which, answer } => {
            let found = service
                .list_replays(Principal::cli(), which.app, which.id)
                .await;
            print_replays(&found.map_err(failed)?, answer)
        }
        cli::Webhook::Deliveries {
            which,
            delivery: Some(id),
            answer,
            ..
        } => {
            let shown = service
                .show_delivery(Principal::cli(), which.app, which.id, id)
                .await;
            let (delivery, attempts) = shown.map_err(failed)?;
            print_delivery(&delivery, &attempts, answer)
        }
        cli::Webhook::Deliveries {
            which,
            delivery: None,
            state,
            event,
            limit,
            answer,
        } => {
            let filter = DeliveryFilter {
                state,
                event_id: event,
                ..DeliveryFilter::default()
            };
            let found =
                service.list_deliveries(Principal::cli(), which.app, which.id, filter, limit);
            print_deliveries(&found.await.map_err(failed)?, answer)
        }
        cli::Webhook::Delete { which, answer } => {
            let WhichWebhook { app, id } = which;
            service
                .remove_webhook(Principal::cli(), app, id)
                .await
                .map_err(failed)?;
            let document = json!({ "id": id, "removed": true });
            answer
                .format()
                .print(&document, || format!("Removed {id}."))
        }
    }
}

async fn replay_one(
    service: &Service,
    which: WhichWebhook,
    what: Replayed,
    answer: cli::Answer,
) -> Result<(), Failure> {
    let replayed = service
        .replay_webhook(Principal::cli(), which.app, which.id, what)
        .await;
    let delivery = replayed.map_err(failed)?;
    answer.format().print(&delivery_document(&delivery), || {
        format!(
            "Queued {} for redelivery as {}.",
            delivery.event_id, delivery.id
        )
    })
}

fn print(listed: &ListedEndpoint, answer: cli::Answer) -> Result<(), Failure> {
    answer
        .format()
        .print(&document(listed), || describe(listed))
}

fn print_with_secret(
    listed: &ListedEndpoint,
    secret: &Secret<String>,
    answer: cli::Answer,
) -> Result<(), Failure> {
    let mut document = document(listed);
    if let Some(fields) = document.as_object_mut() {
        fields.insert("secret".to_owned(), secret.expose().as_str().into());
    }
    answer.format().print(&document, || {
        format!(
            "{}\n\nSigning secret (shown once):\n  {}\n\nNext: vestry webhook test {} {}",
            describe(listed),
            secret.expose(),
            listed.endpoint.world.app_id,
            listed.endpoint.id
        )
    })
}

fn document(listed: &ListedEndpoint) -> Value {
    let endpoint = &listed.endpoint;
    json!({
        "id": endpoint.id,
        "app_id": endpoint.world.app_id,
        "environment": endpoint.world.environment,
        "url": endpoint.url.as_str(),
        "name": endpoint.name,
        "types": endpoint.types.names(),
        "state": endpoint.state().to_string(),
        "disabled_reason": endpoint.disabled.map(|reason| reason.as_str()),
        "failing_since": endpoint.failing_since,
        "last_success_at": endpoint.last_success_at,
        "secrets": listed.secrets.iter().map(secret_document).collect::<Vec<_>>(),
        "created_at": endpoint.created_at,
        "updated_at": endpoint.updated_at,
    })
}

fn secret_document(secret: &SealedSecret) -> Value {
    json!({
        "last_four": secret.last_four,
        "created_at": secret.created_at,
        "expires_at": secret.expires_at,
    })
}

fn state(listed: &ListedEndpoint) -> String {
    let endpoint = &listed.endpoint;
    match endpoint.disabled {
        Some(reason) => format!("disabled ({})", reason.as_str()),
        None => endpoint.state().to_string(),
    }
}

fn describe(listed: &ListedEndpoint) -> String {
    let endpoint = &listed.endpoint;
    let mut lines = vec![
        format!("{} {}", endpoint.id, state(listed)),
        format!("  url      {}", endpoint.url.as_str()),
        format!("    App      {}", endpoint.world),
        format!("  types    {}", endpoint.types.names().join(", ")),
    ];
    lines.extend(
        endpoint
            .name
            .iter()
            .map(|name| format!("  name     {name}")),
    );
    if let Some(since) = endpoint.failing_since {
        lines.push(format!("    failing since {}", date(since)));
    }
    if let Some(at) = endpoint.last_success_at {
        lines.push(format!("    last successful delivery {}", date(at)));
    }
    for secret in &listed.secrets {
        let until = secret
            .expires_at
            .map_or_else(String::new, |until| format!(", until {}", date(until)));
        let from = date(secret.created_at);
        lines.push(format!(
            "  secret   …{} from {from}{until}",
            secret.last_four
        ));
    }
    lines.join("\n")
}

fn list(listed: &[ListedEndpoint]) -> String {
    let row = |listed: &ListedEndpoint| {
        let endpoint = &listed.endpoint;
        vec![
            endpoint.id.to_string(),
            endpoint.world.environment.to_string(),
            state(listed),
            endpoint.types.names().join(","),
            endpoint.url.as_str().to_owned(),
        ]
    };
    table(
        &["ID", "ENVIRONMENT", "STATE", "TYPES", "URL"],
        &listed.iter().map(row).collect::<Vec<_>>(),
        "No webhook endpoints. Create one: vestry webhook create APP test URL",
    )
}

fn tried_out(trial: &Trial, answer: cli::Answer) -> Result<(), Failure> {
    let milliseconds = trial.duration.as_millis();
    let document = json!({
        "status": trial.status,
        "duration_ms": u64::try_from(milliseconds).unwrap_or(u64::MAX),
        "error": trial.error,
        "response_excerpt": trial.response_excerpt,
    });
    let outcome = outcome(trial.status, trial.error.as_deref());
    answer.format().print(&document, || {
        let excerpt = trial.response_excerpt.as_deref().unwrap_or_default();
        format!("{outcome} in {milliseconds} ms\n{excerpt}")
    })?;
    match trial.status {
        Some(200..=299) => Ok(()),
        _ => Err(Failure::answered("test delivery failed")),
    }
}

fn outcome(status: Option<u16>, error: Option<&str>) -> String {
    match (status, error) {
        (Some(status), _) => status.to_string(),
        (None, error) => error.unwrap_or("no response").to_owned(),
    }
}

fn delivery_document(delivery: &Delivery) -> Value {
    json!({
        "id": delivery.id,
        "event_id": delivery.event_id,
        "position": delivery.position,
        "type": delivery.kind.as_str(),
        "state": delivery.state.as_str(),
        "attempts": delivery.attempts,
        "next_attempt_at": delivery.next_attempt_at(),
        "created_at": delivery.created_at,
    })
}

fn attempt_document(attempt: &Attempt) -> Value {
    json!({
        "number": attempt.number,
        "at": attempt.at,
        "duration_ms": attempt.duration_ms,
        "status": attempt.status,
        "error": attempt.error,
        "response_excerpt": attempt.response_excerpt,
    })
}

fn print_deliveries(deliveries: &[Delivery], answer: cli::Answer) -> Result<(), Failure> {
    let documents: Vec<_> = deliveries.iter().map(delivery_document).collect();
    let row = |delivery: &Delivery| {
        vec![
            delivery.id.to_string(),
            delivery.kind.as_str().to_owned(),
            delivery.state.as_str().to_owned(),
            delivery.attempts.to_string(),
            delivery.next_attempt_at().map(date).unwrap_or_default(),
            delivery.event_id.to_string(),
        ]
    };
    answer
        .format()
        .print(&json!({ "deliveries": documents }), || {
            table(
                &["ID", "TYPE", "STATE", "ATTEMPTS", "NEXT", "EVENT"],
                &deliveries.iter().map(row).collect::<Vec<_>>(),
                "No deliveries.",
            )
        })
}

fn replay_document(replay: &Replay) -> Value {
    json!({
        "replay_id": replay.id,
        "state": if replay.ended_at.is_some() { "done" } else { "running" },
        "count": replay.count,
        "done": replay.done,
        "created_at": replay.created_at,
        "ended_at": replay.ended_at,
    })
}

fn print_replays(replays: &[Replay], answer: cli::Answer) -> Result<(), Failure> {
    let documents: Vec<_> = replays.iter().map(replay_document).collect();
    let row = |replay: &Replay| {
        vec![
            replay.id.to_string(),
            date(replay.created_at),
            format!("{} of {}", replay.done, replay.count),
            replay.ended_at.map_or_else(|| "running".to_owned(), date),
        ]
    };
    answer.format().print(&json!({ "replays": documents }), || {
        table(
            &["ID", "STARTED", "SENT", "ENDED"],
            &replays.iter().map(row).collect::<Vec<_>>(),
            "No bulk replays.",
        )
    })
}

fn print_delivery(
    delivery: &Delivery,
    attempts: &[Attempt],
    answer: cli::Answer,
) -> Result<(), Failure> {
    let mut document = delivery_document(delivery);
    let tried: Vec<_> = attempts.iter().map(attempt_document).collect();
    if let Some(fields) = document.as_object_mut() {
        fields.insert("attempts".to_owned(), tried.into());
    }
    let row = |attempt: &Attempt| {
        vec![
            attempt.number.to_string(),
            date(attempt.at),
            outcome(attempt.status, attempt.error.as_deref()),
            format!("{} ms", attempt.duration_ms),
        ]
    };
    answer.format().print(&document, || {
        let attempts = table(
            &["ATTEMPT", "AT", "RESPONSE", "DURATION"],
            &attempts.iter().map(row).collect::<Vec<_>>(),
            "No attempts yet.",
        );
        format!(
            "{} {} of {}: {}\n{attempts}",
            delivery.id,
            delivery.kind,
            delivery.event_id,
            delivery.state.as_str()
        )
    })
}
