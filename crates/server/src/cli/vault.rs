//! `vestry vault`

mod app_keys;

use clap::Subcommand;
use serde_json::{Value, json};
use vestry_app::platform::vault::{RootReport, Verification};
use vestry_app::{Principal, Refusal, Service};
use vestry_domain::envelope::KeyPurpose;
use vestry_ports::store::Store;
use vestry_ports::vault::VaultStatus;

use super::installation::Installation;
use crate::compose;
use crate::config::VaultSettings;
use crate::failure::{Context, Failure};
use crate::output::{Output, table};

/// The subcommands of `vestry vault`.
#[derive(Debug, Subcommand)]
pub(crate) enum Vault {
    /// Create the root key files of a new installation
    ///
    /// Keep copies of them separately from copies of the database.
    Init,
    /// Show root key versions and the App keys they wrap
    Status,
    /// Create new root keys and rewrap all App keys
    #[command(after_help = "\
The service can keep running. Wallets are not touched: root keys wrap App keys, and
App keys wrap everything else. The next run completes an interrupted rotation.
Without --retire, old versions remain available, because backups need them.")]
    RotateRoot {
        /// Destroy unused old versions; older backups can then no longer be decrypted
        #[arg(long)]
        retire: bool,
    },
    /// Create new App keys and re-encrypt everything under them
    #[command(after_help = "\
The service can keep running. Each App has two keys per environment, one for wallets
and one for secrets such as passwords. Both are replaced. Wallet private keys are
not decrypted: only the keys that encrypt them are rewrapped. The next run completes
an interrupted rotation without creating new keys; run it once more to create them.
Old App keys are kept until --retire, or `vestry vault retire-apps`.")]
    RotateApps {
        /// Then retire old App keys, like `vestry vault retire-apps`
        #[arg(long)]
        retire: bool,
    },
    /// Destroy old App keys that are no longer in use
    #[command(after_help = "\
Older backups can then no longer be decrypted. The command creates no keys. It waits
until every process uses the newest ones (15 s; 30 s if an old key was still in
use). An old key for secrets is destroyed only an hour after its successor was
created, and once the codes, messages and stored responses under it have expired.
Run the command again a day or two after a rotation. Keys that are still needed are
listed with the reason. A wallet or secret that fails authentication keeps only its
own key alive.")]
    RetireApps,
    /// Check that every key and secret can be decrypted
    ///
    /// Opens every App key, wallet key and stored secret, and compares wallet keys with their records.
    Verify,
}

impl Vault {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        match self {
            Self::Init => init(installation).await,
            Self::Status => Ok(status(
                installation
                    .service()
                    .await?
                    .vault_status()
                    .await
                    .map_err(failed)?,
            )),
            Self::RotateRoot { retire } => rotate(&*installation.service().await?, retire).await,
            Self::RotateApps { retire } => {
                app_keys::rotate(&*installation.service().await?, retire).await
            }
            Self::RetireApps => app_keys::retire(&*installation.service().await?).await,
            Self::Verify => {
                let progress = |looked_at| tracing::info!(looked_at, "wallets");
                let report = installation.service().await?.vault_verify(&progress).await;
                Ok(verified(&report.map_err(failed)?))
            }
        }
    }
}

/// Creates the root key files of a new installation.
///
/// A database with App keys has had root keys before. New ones could not open those App keys, and would hide that the old ones are missing.
async fn init(installation: &Installation) -> Result<Output, Failure> {
    let store = installation.store().await?;
    let VaultSettings::Local(files) = &installation.settings.vault else {
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
            "this database already has keys under root keys. Restore their files to {root} and {sign_in}"
        )));
    }
    let missing = files.missing();
    if missing.is_empty() {
        return Err(Failure::new(format!("{root} and {sign_in} already exist")));
    }
    missing.into_iter().try_for_each(compose::make_root_key)?;
    Ok(Output::new(
        json!({ "path": root.to_string(), "sign_in_path": sign_in.to_string() }),
        format!(
            "Created the root key {root} and the sign-in key {sign_in}.\nBack up both, separately from the database. If the root key is lost, no wallet can ever be opened again. If the sign-in key is lost, all passwords and authenticator apps stop working."
        ),
    ))
}

fn failed(error: impl Into<Refusal>) -> Failure {
    Failure::new("vault command failed").because(error.into())
}

/// The report on one root key: its JSON, its table rows, and its problems.
struct Root {
    purpose: KeyPurpose,
    document: Value,
    rows: Vec<[String; 4]>,
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
            [
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

fn status(reports: Vec<RootReport>) -> Output {
    let roots: Vec<Root> = reports.into_iter().map(Root::of).collect();
    let documents = roots
        .iter()
        .map(|root| (root.purpose.to_string(), root.document.clone()));
    let document = Value::Object(documents.collect());
    let rows = roots.iter().flat_map(|root| root.rows.clone());
    let head = ["PURPOSE", "ROOT VERSION", "USE", "APP KEYS"];
    let mut text = table(head, rows, "No root keys.");
    let wrong: Vec<_> = roots.iter().flat_map(|root| &root.wrong).collect();
    for wrong in &wrong {
        text.push_str(&format!("\n{wrong}"));
    }
    Output::new(document, text).failing(
        (!wrong.is_empty()).then_some("a root key is missing or does not match this database"),
    )
}

/// Services notice a new version in the root key files themselves, but not in a copy.
const RESTART: &str = "restart services that read root keys from systemd credentials; otherwise they return 503 sealed";

async fn rotate(service: &Service, retire: bool) -> Result<Output, Failure> {
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
    let failure = match remaining {
        _ if !rotation.failed.is_empty() => Some("some App keys cannot be opened"),
        Some(left) if left > 0 => Some("old versions are still in use"),
        _ => None,
    };
    let text = format!("{text}\n{retired}\n{RESTART}");
    Ok(Output::new(document, text).failing(failure))
}

fn verified(report: &Verification) -> Output {
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
    Output::new(document, text).failing((!ok).then_some("some keys cannot be opened"))
}
