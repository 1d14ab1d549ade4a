//! `vestry vault rotate-apps|retire-apps`.

use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use vestry_app::platform::rotation::{AppRotation, FailedSecret, KeptKey, NOTICED_WITHIN, Why};
use vestry_app::{Principal, Refusal, Service};

use super::failed;
use crate::cli::progress::Progress;
use crate::failure::Failure;
use crate::output::Output;

pub(super) async fn rotate(service: &Service, retire: bool) -> Result<Output, Failure> {
    let bar = Bar::new();
    let progress = |done, of| bar.show(done, of);
    let mut rotation = service.vault_rotate_apps(Principal::cli(), &progress).await;
    if retire && let Ok(rotated) = rotation {
        let retired = service.vault_retire_apps(Principal::cli(), NOTICED_WITHIN, &progress);
        rotation = retired.await.map(|retired| rotated.then(retired));
    }
    Ok(output(&bar.end(rotation)?))
}

pub(super) async fn retire(service: &Service) -> Result<Output, Failure> {
    let bar = Bar::new();
    let progress = |done, of| bar.show(done, of);
    let rotation = service
        .vault_retire_apps(Principal::cli(), NOTICED_WITHIN, &progress)
        .await;
    Ok(output(&bar.end(rotation)?))
}

/// The progress of a rotation, as a bar and in the log.
struct Bar(Mutex<Progress>);

impl Bar {
    fn new() -> Self {
        Self(Mutex::new(Progress::of(1)))
    }

    fn show(&self, done: u64, of: u64) {
        let mut bar = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bar.grow(of);
        bar.show(done, &format!("{done} of {of} wallets and secrets"));
        tracing::info!(done, of, "wallets and secrets re-encrypted");
    }

    fn end(&self, outcome: Result<AppRotation, Refusal>) -> Result<AppRotation, Failure> {
        let bar = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bar.end();
        outcome.map_err(failed)
    }
}

fn output(rotation: &AppRotation) -> Output {
    let document = json!({
        "minted": rotation.minted,
        "rewrapped": rotation.rewrapped,
        "resealed": rotation.resealed,
        "failed_wallets": rotation.failed,
        "failed_secrets": rotation.failed_secrets.iter().map(secret).collect::<Vec<_>>(),
        "retired": rotation.retired,
        "kept": rotation.kept.iter().map(kept).collect::<Vec<_>>(),
    });
    let failed = !(rotation.failed.is_empty() && rotation.failed_secrets.is_empty());
    Output::new(document, text(rotation)).failing(
        failed
            .then_some("some wallets or secrets failed authentication; see `vestry vault verify`"),
    )
}

pub(super) fn secret(failed: &FailedSecret) -> Value {
    json!({
        "app_id": failed.world.app_id,
        "environment": failed.world.environment.as_str(),
        "table": failed.kind.table(),
        "owner": failed.owner,
    })
}

fn kept(key: &KeptKey) -> Value {
    let (why, what) = match &key.why {
        Why::InUse(under) => {
            let under = under
                .iter()
                .map(|rows| (rows.table.to_owned(), json!(rows.rows)));
            let under = Value::Object(under.collect::<Map<_, _>>());
            ("needed_by", under)
        }
        Why::TooSoon(due) => ("not_before", json!(due)),
    };
    json!({
        "app_id": key.world.app_id,
        "environment": key.world.environment.as_str(),
        "purpose": key.purpose.as_str(),
        "version": key.version,
        why: what,
    })
}

fn text(rotation: &AppRotation) -> String {
    let mut text = format!(
        "Created {} App keys. Moved {} wallets and {} secrets to the newest key of their App. Destroyed {} old App keys.",
        rotation.minted, rotation.rewrapped, rotation.resealed, rotation.retired
    );
    for wallet in &rotation.failed {
        text.push_str(&format!("\nFAILED, not changed: {wallet}"));
    }
    for FailedSecret { world, kind, owner } in &rotation.failed_secrets {
        let table = kind.table();
        text.push_str(&format!(
            "\nFAILED, not changed: {owner} in {table} of {world}"
        ));
    }
    for key in &rotation.kept {
        text.push_str(&format!(
            "\nKept: version {} of {} of {}, {}",
            key.version,
            key.purpose,
            key.world,
            why(&key.why)
        ));
    }
    text
}

fn why(why: &Why) -> String {
    match why {
        Why::InUse(under) => {
            let under = under
                .iter()
                .map(|rows| format!("{} {}", rows.rows, rows.table));
            format!(
                "needed by {}; run `vestry vault retire-apps` again once they have expired",
                under.collect::<Vec<_>>().join(", ")
            )
        }
        Why::TooSoon(_) => {
            "replaced less than an hour ago; run `vestry vault retire-apps` again later".to_owned()
        }
    }
}
