//! `vestry vault init|status|rotate-root|rotate-apps|retire-apps|verify`.

mod app_keys;

use std::path::Path;

use serde_json::{Value, json};
use vestry_app::platform::vault::{RootReport, Verification};
use vestry_app::{Principal, Refusal, Service};
use vestry_domain::envelope::KeyPurpose;
use vestry_ports::store::Store;
use vestry_ports::vault::VaultStatus;
use vestry_vault_local::LocalVault;

use crate::cli::{self, Answer};
use crate::config::VaultSettings;
use crate::entropy::SystemEntropy;
use crate::failure::{Context, Failure};
use crate::output::table;
use crate::private_file;

pub(super) async fn run(service: &Service, command: cli::Vault) -> Result<(), Failure> {
    match command {
        cli::Vault::Init { .. } => Err(Failure::new("this command does not use the service")),
        cli::Vault::Status { answer } => {
            let report = service.vault_status().await.map_err(failed)?;
            print_status(report, answer)
        }
        cli::Vault::RotateRoot { retire, answer } => rotate(service, retire, answer).await,
        cli::Vault::RotateApps { retire, answer } => {
            app_keys::rotate(service, retire, answer).await
        }
        cli::Vault::RetireApps { answer } => app_keys::retire(service, answer).await,
        cli::Vault::Verify { answer } => {
            let progress = |looked_at| tracing::info!(looked_at, "wallets");
            let report = service.vault_verify(&progress).await.map_err(failed)?;
            print_verification(&report, answer)
        }
    }
}

/// Creates the root key files of a new installation.
///
/// A database with App keys has had root keys before. New ones could not open those App keys, and would hide that the old ones are missing.
pub(super) async fn init(
    settings: &VaultSettings,
    store: &dyn Store,
    answer: Answer,
) -> Result<(), Failure> {
    let VaultSettings::Local(files) = settings else {
        return Err(Failure::usage(
            "vault.kind is not local, so there are no root key files to create",
        ));
    };
    let (root, sign_in) = (files.root.display(), files.sign_in.display());
    let mut read = store.read().await.context("cannot read the database")?;
    let app_keys = read.app_keys().all().await;
    if !app_keys
        .context("cannot read the database; has `vestry migrate` been run?")?
        .is_empty()
    {
        return Err(Failure::new(format!(
            "this database already has keys under root keys. Restore their files to {root} and {sign_in} (if the second never existed, see docs/operations.md, \"Upgrades\")"
        )));
    }
    let missing = files.missing();
    if missing.is_empty() {
        return Err(Failure::new(format!("{root} and {sign_in} already exist")));
    }
    missing.into_iter().try_for_each(make_root_key)?;
    let document = json!({ "path": root.to_string(), "sign_in_path": sign_in.to_string() });
    answer.format().print(&document, || {
        format!("Created the root key {root} and the sign-in key {sign_in}.\nBack up both, separately from the database. If the root key is lost, no wallet can ever be opened again. If the sign-in key is lost, all passwords and authenticator apps stop working.")
    })
}

/// Creates a root key file and its parent directory.
pub(crate) fn make_root_key(path: &Path) -> Result<(), Failure> {
    private_file::make_directory_of(path)?;
    LocalVault::create(path, &SystemEntropy::new()).context("cannot create the root key")
}

fn failed(error: impl Into<Refusal>) -> Failure {
    Failure::new("vault command failed").because(error.into())
}

/// The report on one root key: its JSON, its table rows, and its problems.
struct Root {
    purpose: KeyPurpose,
    document: Value,
    rows: Vec<Vec<String>>,
    wrong: Vec<String>,
}

impl Root {
    fn of(report: RootReport) -> Self {
        let RootReport {
            purpose,
            provider,
            app_keys,
            wrong,
        } = report;
        match provider {
            Ok(provider) => Self::there(purpose, &provider, &app_keys, &wrong),
            Err(error) => {
                let why = Failure::new("not available").because(error).to_string();
                Self {
                    purpose,
                    document: json!({ "unavailable": &why }),
                    rows: Vec::new(),
                    wrong: vec![format!("UNAVAILABLE: root key of {purpose} is {why}")],
                }
            }
        }
    }

    fn there(
        purpose: KeyPurpose,
        provider: &VaultStatus,
        app_keys: &[(u32, u64)],
        wrong: &[u32],
    ) -> Self {
        let wraps = |version: u32| {
            let found = app_keys.iter().find(|(of, _)| *of == version);
            found.map_or(0, |(_, count)| *count)
        };
        let versions = provider.versions.iter();
        let versions =
            versions.map(|version| json!({ "version": version, "app_keys": wraps(*version) }));
        let lost = app_keys.iter().map(|(version, _)| *version);
        let lost: Vec<u32> = lost
            .filter(|version| !provider.versions.contains(version))
            .collect();
        let row = |version: &u32| {
            let primary = *version == provider.primary_version;
            vec![
                purpose.to_string(),
                version.to_string(),
                if primary { "primary" } else { "decrypt only" }.to_owned(),
                wraps(*version).to_string(),
            ]
        };
        let missing = |version: &u32| {
            let keys = wraps(*version);
            format!("MISSING: root version {version} of {purpose}, which wraps {keys} App keys")
        };
        let another = |version: &u32| {
            format!(
                "WRONG: root version {version} of {purpose} cannot open an App key; it may belong to another purpose or installation. `vestry vault verify` lists the App keys"
            )
        };
        Self {
            purpose,
            document: json!({
                "kind": provider.kind,
                "primary_version": provider.primary_version,
                "versions": versions.collect::<Vec<_>>(),
                "missing_versions": &lost,
                "wrong_versions": wrong,
            }),
            rows: provider.versions.iter().map(row).collect(),
            wrong: lost
                .iter()
                .map(missing)
                .chain(wrong.iter().map(another))
                .collect(),
        }
    }
}

fn print_status(reports: Vec<RootReport>, answer: Answer) -> Result<(), Failure> {
    let roots: Vec<Root> = reports.into_iter().map(Root::of).collect();
    let documents = roots
        .iter()
        .map(|root| (root.purpose.to_string(), root.document.clone()));
    let document = Value::Object(documents.collect());
    answer.format().print(&document, || {
        let rows: Vec<_> = roots.iter().flat_map(|root| root.rows.clone()).collect();
        let head = ["PURPOSE", "ROOT VERSION", "USE", "APP KEYS"];
        let mut text = table(&head, &rows, "No root keys.");
        for wrong in roots.iter().flat_map(|root| &root.wrong) {
            text.push_str(&format!("\n{wrong}"));
        }
        text
    })?;
    if roots.iter().all(|root| root.wrong.is_empty()) {
        Ok(())
    } else {
        Err(Failure::answered(
            "a root key is missing or does not match this database",
        ))
    }
}

async fn rotate(service: &Service, retire: bool, answer: Answer) -> Result<(), Failure> {
    let progress = |done, of| tracing::info!(done, of, "App keys rewrapped");
    let rotation = service
        .vault_rotate_root(Principal::cli(), &progress)
        .await
        .map_err(failed)?;
    let rewrapped = rotation.rewrapped;
    let versions = rotation
        .versions
        .iter()
        .map(|(purpose, version)| (purpose.to_string(), json!(version)));
    let remaining = if retire {
        Some(
            service
                .vault_retire(Principal::cli())
                .await
                .map_err(failed)?,
        )
    } else {
        None
    };
    let document = json!({
        "versions": Value::Object(versions.collect()),
        "rewrapped": rewrapped,
        "failed": rotation.failed,
        "retired": remaining == Some(0),
    });
    answer.format().print(&document, || {
        let retired = match remaining {
            None => "Old versions remain available for decryption; --retire destroys them.",
            Some(0) => "Old versions were destroyed.",
            Some(_) if !rotation.failed.is_empty() => "Old versions were kept.",
            Some(_) => "Another rotation is running; old versions were kept.",
        };
        let mut text = format!("Rewrapped {rewrapped} App keys.");
        for (purpose, version) in &rotation.versions {
            text.push_str(&format!(
                "\nRoot version {version} now wraps all App keys of {purpose}."
            ));
        }
        for key in &rotation.failed {
            text.push_str(&format!(
                "\nFAILED: App key {key} cannot be opened and was not changed."
            ));
        }
        format!("{text}\n{retired}")
    })?;
    if !rotation.failed.is_empty() {
        return Err(Failure::answered("some App keys cannot be opened"));
    }
    match remaining {
        Some(left) if left > 0 => Err(Failure::answered("old versions are still in use")),
        _ => Ok(()),
    }
}

fn print_verification(report: &Verification, answer: Answer) -> Result<(), Failure> {
    let ok = report.failed.is_empty()
        && report.failed_app_keys.is_empty()
        && report.failed_secrets.is_empty();
    let document = json!({
        "ok": ok,
        "app_keys": report.app_keys,
        "wallets": report.wallets,
        "read_only_wallets": report.read_only,
        "secrets": report.secrets,
        "failed_app_keys": report.failed_app_keys,
        "failed_wallets": report.failed,
        "failed_secrets": report.failed_secrets.iter().map(app_keys::secret).collect::<Vec<_>>(),
    });
    answer.format().print(&document, || {
        let mut text = format!(
            "Verified {} App keys, {} wallet keys and {} secrets. {} read-only wallets have no key.",
            report.app_keys, report.wallets, report.secrets, report.read_only
        );
        for key in &report.failed_app_keys {
            text.push_str(&format!("\nFAILED: App key {key}"));
        }
        for wallet in &report.failed {
            text.push_str(&format!("\nFAILED: {wallet}"));
        }
        for failed in &report.failed_secrets {
            let (owner, table) = (&failed.owner, failed.kind.table());
            text.push_str(&format!("\nFAILED: {owner} in {table} of {}", failed.world));
        }
        text
    })?;
    if ok {
        Ok(())
    } else {
        Err(Failure::answered("some keys cannot be opened"))
    }
}
