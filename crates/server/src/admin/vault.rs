//! `vestry vault init|status|rotate-root|rotate-apps|verify`.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use vestry_app::vault::{Rotation, VaultReport, Verification};
use vestry_app::{Fault, Service};
use vestry_ports::store::Store;
use vestry_vault_local::LocalVault;

use super::progress::Progress;
use crate::cli::{self, Answer};
use crate::config::VaultSettings;
use crate::entropy::SystemEntropy;
use crate::failure::{Context, Failure};
use crate::output::table;
use crate::private_file;

pub(super) async fn run(service: &Service, command: cli::Vault) -> Result<(), Failure> {
    match command {
        cli::Vault::Init { .. } => Err(Failure::new("this command works on no service")),
        cli::Vault::Status { answer } => {
            let report = service.vault_status().await.map_err(failed)?;
            print_status(&report, answer)
        }
        cli::Vault::RotateRoot { retire, answer } => rotate(service, retire, answer).await,
        cli::Vault::RotateApps { retire, answer } => rotate_apps(service, retire, answer).await,
        cli::Vault::Verify { answer } => {
            let progress = |looked_at| tracing::info!(looked_at, "wallets");
            let report = service.vault_verify(&progress).await.map_err(failed)?;
            print_verification(&report, answer)
        }
    }
}

/// Makes the root key file of a new installation.
///
/// A database that already has App keys has had a root key: a new one would not open them, and would hide that the old
/// one is missing.
pub(super) async fn init(
    settings: &VaultSettings,
    store: &dyn Store,
    answer: Answer,
) -> Result<(), Failure> {
    let VaultSettings::Local(path) = settings else {
        return Err(Failure::usage(
            "vault.kind is not local; there is no root key file to make",
        ));
    };
    let mut read = store.read().await.context("the database cannot be read")?;
    let app_keys = read.app_keys().all().await;
    if !app_keys
        .context("the database cannot be read; is it migrated?")?
        .is_empty()
    {
        return Err(Failure::new(format!(
            "this database already has keys under a root key; put its file back to {}",
            path.display()
        )));
    }
    make_root_key(path)?;
    let shown = path.display().to_string();
    answer.format().print(&json!({ "path": shown }), || {
        format!("Made the root key {shown}.\nKeep a copy of it, apart from copies of the database: without it no wallet can ever be opened.")
    })
}

/// Makes a root key file and the directory it is in.
pub(crate) fn make_root_key(path: &Path) -> Result<(), Failure> {
    private_file::make_directory_of(path)?;
    LocalVault::create(path, &SystemEntropy::new()).context("the root key was not made")
}

fn failed(fault: Fault) -> Failure {
    Failure::new("the vault command failed").because(fault)
}

fn print_status(report: &VaultReport, answer: Answer) -> Result<(), Failure> {
    let provider = &report.provider;
    let wraps = |version: u32| {
        let found = report.app_keys.iter().find(|(of, _)| *of == version);
        found.map_or(0, |(_, count)| *count)
    };
    let versions: Vec<_> = provider
        .versions
        .iter()
        .map(|version| json!({ "version": version, "app_keys": wraps(*version) }))
        .collect();
    let lost: Vec<u32> = report
        .app_keys
        .iter()
        .map(|(version, _)| *version)
        .filter(|version| !provider.versions.contains(version))
        .collect();
    let document = json!({
        "kind": provider.kind,
        "primary_version": provider.primary_version,
        "versions": versions,
        "missing_versions": lost,
    });
    answer.format().print(&document, || {
        let row = |version: &u32| {
            let primary = *version == provider.primary_version;
            vec![
                version.to_string(),
                if primary { "primary" } else { "opens only" }.to_owned(),
                wraps(*version).to_string(),
            ]
        };
        let rows: Vec<_> = provider.versions.iter().map(row).collect();
        let mut text = table(
            &["ROOT VERSION", "USE", "APP KEYS"],
            &rows,
            "There is no root key.",
        );
        for version in &lost {
            text.push_str(&format!(
                "\nMISSING: root version {version}, which wraps {} App keys",
                wraps(*version)
            ));
        }
        text
    })?;
    if lost.is_empty() {
        Ok(())
    } else {
        Err(Failure::answered(
            "App keys stand under a root version that is missing",
        ))
    }
}

async fn rotate(service: &Service, retire: bool, answer: Answer) -> Result<(), Failure> {
    let progress = |done, of| tracing::info!(done, of, "App keys wrapped anew");
    let Rotation { version, rewrapped } =
        service.vault_rotate_root(&progress).await.map_err(failed)?;
    let remaining = if retire {
        Some(service.vault_retire().await.map_err(failed)?)
    } else {
        None
    };
    let document = json!({
        "version": version,
        "rewrapped": rewrapped,
        "retired": remaining == Some(0),
    });
    answer.format().print(&document, || {
        let retired = match remaining {
            None => "Older versions still open keys; --retire destroys them.",
            Some(0) => "Older versions are destroyed.",
            Some(_) => "Another rotation is under way; older versions were kept.",
        };
        format!("Root version {version} wraps everything now ({rewrapped} App keys wrapped anew).\n{retired}")
    })?;
    match remaining {
        Some(left) if left > 0 => Err(Failure::answered("older versions are still in use")),
        _ => Ok(()),
    }
}

async fn rotate_apps(service: &Service, retire: bool, answer: Answer) -> Result<(), Failure> {
    let bar = Mutex::new(Progress::of(1));
    let progress = |done, total| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        bar.grow(total);
        bar.show(done, &format!("{done} of {total} wallets"));
        tracing::info!(done, of = total, "wallets under new App keys");
    };
    let rotation = service.vault_rotate_apps(retire, &progress).await;
    let finished = bar.lock().unwrap_or_else(PoisonError::into_inner);
    finished.end();
    let rotation = rotation.map_err(failed)?;
    let document = json!({
        "minted": rotation.minted,
        "rewrapped": rotation.rewrapped,
        "failed_wallets": rotation.failed,
        "retired": rotation.retired,
    });
    answer.format().print(&document, || {
        let mut text = format!(
            "{} new App keys; {} wallets are under the newest key of their App now; {} old App keys destroyed.",
            rotation.minted, rotation.rewrapped, rotation.retired
        );
        for wallet in &rotation.failed {
            text.push_str(&format!("\nFAILED, and left as it is: {wallet}"));
        }
        text
    })?;
    if rotation.failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::answered(
            "some wallets failed their authentication; see `vestry vault verify`",
        ))
    }
}

fn print_verification(report: &Verification, answer: Answer) -> Result<(), Failure> {
    let ok = report.failed.is_empty() && report.failed_app_keys.is_empty();
    let document = json!({
        "ok": ok,
        "app_keys": report.app_keys,
        "wallets": report.wallets,
        "read_only_wallets": report.read_only,
        "failed_app_keys": report.failed_app_keys,
        "failed_wallets": report.failed,
    });
    answer.format().print(&document, || {
        let mut text = format!(
            "{} App keys and {} wallet keys open; {} wallets never had a key and are as they were.",
            report.app_keys, report.wallets, report.read_only
        );
        for key in &report.failed_app_keys {
            text.push_str(&format!("\nFAILED: App key {key}"));
        }
        for wallet in &report.failed {
            text.push_str(&format!("\nFAILED: {wallet}"));
        }
        text
    })?;
    if ok {
        Ok(())
    } else {
        Err(Failure::answered("some keys do not open"))
    }
}
