//! `vestry check`: checks everything that `vestry serve` needs.

mod live;
mod machine;

use std::path::Path;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use url::Url;
use vestry_app::platform::last_backup;
use vestry_domain::rfc3339;
use vestry_domain::timestamp::Seconds;
use vestry_ports::clock::Clock;
use vestry_ports::vault::{KeyVault, VaultError};
use vestry_store_sql::{Distribution, Pooler, SchemaState, SqlStore};

use crate::clock::SystemClock;
use crate::compose;
use crate::config::{
    DatabaseSettings, LimitSettings, LimitStore, MailSettings, Settings, VaultSettings,
};
use crate::failure::{Context, Failure};
use crate::logging;
use crate::output::{Output, table};
use crate::serve::refuse_plain_console;
use crate::tls::Certificate;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Ok,
    /// The service runs, but something should be repaired.
    Warning,
    /// The service does not run, or part of it.
    Failed,
}

/// Hours after which a backup is overdue, as in the alert `VestryRecovery`.
const MAX_BACKUP_HOURS: i64 = 26;

/// The result of one check.
#[derive(Serialize)]
struct Finding {
    name: &'static str,
    /// Whether nothing failed; a warning is no failure.
    ok: bool,
    severity: Severity,
    /// The state that was found, or the problem.
    detail: String,
}

impl Finding {
    fn new(name: &'static str, severity: Severity, detail: String) -> Self {
        Self {
            name,
            ok: severity != Severity::Failed,
            severity,
            detail,
        }
    }

    fn of(name: &'static str, outcome: Result<String, Failure>) -> Self {
        match outcome {
            Ok(detail) => Self::new(name, Severity::Ok, detail),
            Err(failure) => Self::new(name, Severity::Failed, failure.to_string()),
        }
    }

    /// A finding with its warnings, if it has not failed.
    fn with_warnings(
        name: &'static str,
        outcome: Result<String, Failure>,
        warnings: Vec<String>,
    ) -> Self {
        match outcome {
            Ok(_) if !warnings.is_empty() => {
                Self::new(name, Severity::Warning, warnings.join("; "))
            }
            outcome => Self::of(name, outcome),
        }
    }
}

/// `vestry check`
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Only ask the service at URL whether it is ready; reads no settings
    #[arg(long, value_name = "URL")]
    live: Option<Url>,
}

impl Check {
    pub(crate) async fn run(&self, file: Option<&Path>) -> Result<Output, Failure> {
        match &self.live {
            Some(url) => live::check(url).await,
            None => check(file).await,
        }
    }
}

async fn check(file: Option<&Path>) -> Result<Output, Failure> {
    let settings = match Settings::load_for_people(file) {
        Ok(settings) => settings,
        // The other checks need the settings.
        Err(failure) => return Ok(output(&[Finding::of("configuration", Err(failure))])),
    };
    logging::start(&settings.log);
    let mut findings = vec![configuration(&settings)];
    let (of_database, skew) = database(&settings.database).await;
    findings.extend(of_database);
    findings.push(machine::check(&settings, skew));
    findings.push(Finding::of("limits", limits(&settings.limits).await));
    findings.extend(vault(&settings.vault).await);
    findings.push(Finding::of("mail", mail(&settings.mail).await));
    findings.push(Finding::of("sms", sms(&settings).await));
    Ok(output(&findings))
}

fn configuration(settings: &Settings) -> Finding {
    let mut warnings = Vec::new();
    let outcome = addresses(settings, &mut warnings);
    Finding::with_warnings("configuration", outcome, warnings)
}

/// Days before its end from which a certificate is reported.
const EXPIRES_SOON: i64 = 14;

fn addresses(settings: &Settings, warnings: &mut Vec<String>) -> Result<String, Failure> {
    let base_url = settings
        .http
        .base_url
        .as_ref()
        .ok_or_else(|| Failure::new("http.base_url is not set, and `vestry serve` needs it"))?;
    refuse_plain_console(&settings.console)?;
    if let Some(files) = settings.http.tls.clone() {
        let certificate = Certificate::load(files)?;
        let host = base_url.host();
        if !certificate.covers(host.trim_start_matches('[').trim_end_matches(']')) {
            let message = format!("certificate does not cover {host} (http.base_url)");
            // Behind a proxy, clients see that of the proxy.
            if settings.http.trusted_proxies.is_empty() {
                return Err(Failure::new(message));
            }
            warnings.push(message);
        }
        let left = certificate.expires_at()? - SystemClock.machine();
        match left.0.div_euclid(86_400) {
            ..0 => {
                return Err(Failure::new(
                    "certificate has expired; renew it and send SIGHUP",
                ));
            }
            days @ 0..EXPIRES_SOON => warnings.push(format!(
                "certificate expires in {days} days; renew it and send SIGHUP"
            )),
            _ => {}
        }
    }
    Ok(format!("{base_url} on {}", settings.http.listen))
}

/// Checks the connection, the schema and the durability settings. Also returns the difference to the clock of the database server, if it has one.
async fn database(settings: &DatabaseSettings) -> (Vec<Finding>, Option<Seconds>) {
    let store = match compose::store(settings).await {
        Ok(store) => store,
        Err(failure) => return (vec![Finding::of("database", Err(failure))], None),
    };
    let clock = store.clock().await.ok().flatten();
    let skew = clock.map(|clock| SystemClock.machine() - clock);
    let mut findings = vec![schema(&store).await, durability(&store, settings).await];
    match store.pooler().await {
        Ok(None) => {}
        Ok(Some(found)) => findings.push(Finding::of("pooler", pooler(found))),
        Err(error) => findings.push(Finding::of(
            "pooler",
            Err(error).context("connection pooler is unreachable"),
        )),
    }
    findings.extend(backups(&store).await);
    match store.distribution().await {
        Ok(None) => {}
        Ok(Some(distribution)) => findings.push(Finding::of("cluster", cluster(&distribution))),
        Err(error) => {
            let away = Err(error).context("some cluster nodes are unreachable");
            findings.push(Finding::of("cluster", away));
        }
    }
    (findings, skew)
}

/// Whether there is a recent backup; `None` if the log cannot be read.
async fn backups(store: &SqlStore) -> Option<Finding> {
    let Some(at) = last_backup(store).await.ok()? else {
        let missing = "no backup is recorded; schedule vestry backup".to_owned();
        return Some(Finding::new("recovery", Severity::Warning, missing));
    };
    let hours = (SystemClock.machine() - at).0 / 3_600;
    Some(match hours > MAX_BACKUP_HOURS {
        true => Finding::new(
            "recovery",
            Severity::Warning,
            format!("last recorded backup is {hours} hours old; check vestry-backup.timer"),
        ),
        false => Finding::new(
            "recovery",
            Severity::Ok,
            format!("last recorded backup: {}", rfc3339::format(at)),
        ),
    })
}

async fn schema(store: &SqlStore) -> Finding {
    let state = store.schema_state().await;
    match state.context("database is not ready; has `vestry migrate` been run?") {
        Ok(SchemaState::UpToDate) => {
            let foreign = store.has_foreign_statistics().await;
            let warnings = foreign.map(|is_foreign| match is_foreign {
                true => vec![
                    "planner statistics were replaced by ANALYZE; run vestry migrate and restart"
                        .to_owned(),
                ],
                false => Vec::new(),
            });
            match warnings.context("planner statistics cannot be read") {
                Ok(warnings) => Finding::with_warnings(
                    "database",
                    Ok("connected; schema is up to date".to_owned()),
                    warnings,
                ),
                Err(failure) => Finding::of("database", Err(failure)),
            }
        }
        Ok(SchemaState::Behind(count)) => {
            let migrations = if count == 1 {
                "migration"
            } else {
                "migrations"
            };
            Finding::new(
                "database",
                Severity::Failed,
                format!("database is {count} {migrations} behind; run vestry migrate"),
            )
        }
        Ok(SchemaState::Newer) => Finding::new(
            "database",
            Severity::Warning,
            "database was migrated by a newer release; upgrade this process".to_owned(),
        ),
        Err(failure) => Finding::of("database", Err(failure)),
    }
}

/// Whether prepared statements work through the connection pooler.
fn pooler(found: Pooler) -> Result<String, Failure> {
    match found {
        Pooler::OfSessions => Ok("connection pooler in session mode".to_owned()),
        Pooler::KeepsStatements => {
            Ok("connection pooler with prepared statement support".to_owned())
        }
        Pooler::LosesStatements => Err(Failure::new(
            "connection pooler drops prepared statements, so requests fail intermittently; use PgBouncer 1.21 or newer and set \
             max_prepared_statements (for example 200)",
        )),
    }
}

/// Describes the distribution of Apps over the cluster.
fn cluster(distribution: &Distribution) -> Result<String, Failure> {
    if !distribution.elsewhere.is_empty() {
        return Err(Failure::new(format!(
            "tables not co-located with users: {}. Queries that join them fail or are slow. Run undistribute_table on them, then \
             `vestry migrate --distribute`",
            distribution.elsewhere.join(", ")
        )));
    }
    let largest = match &distribution.largest {
        Some((app, users, whole)) => {
            format!("; largest App: {app} with {users} of {whole} users")
        }
        None => String::new(),
    };
    Ok(format!(
        "Apps are distributed over {} nodes in {} shards{largest}",
        distribution.servers, distribution.shards
    ))
}

async fn limits(settings: &LimitSettings) -> Result<String, Failure> {
    let counted = match &settings.store {
        LimitStore::Memory => "in each process",
        LimitStore::Database => "in the database",
        LimitStore::Redis(url) => {
            let limiter = compose::redis(url, settings.replicas).await?;
            let probed = limiter.probe().await;
            probed.context("Redis is unreachable; each process counts on its own")?;
            "in Redis"
        }
    };
    Ok(format!("rate limits are counted {counted}"))
}

async fn durability(store: &SqlStore, settings: &DatabaseSettings) -> Finding {
    let outcome = acknowledged(store.durability_findings(), settings);
    let warnings = match store.has_only_asynchronous_standbys().await {
        Ok(true) => {
            vec!["no standby is synchronous; a failover can lose the last commits".to_owned()]
        }
        // Without the right to see standbys, there is nothing to report.
        Ok(false) | Err(_) => Vec::new(),
    };
    Finding::with_warnings("durability", outcome, warnings)
}

fn acknowledged(findings: &[String], settings: &DatabaseSettings) -> Result<String, Failure> {
    match (findings.is_empty(), settings.allow_unsafe_durability) {
        (true, _) => Ok("acknowledged writes are on disk".to_owned()),
        (false, true) => Ok(format!(
            "unsafe, but allowed by database.allow_unsafe_durability: {}",
            findings.join("; ")
        )),
        (false, false) => Err(Failure::new(format!(
            "{}; fix this, or set database.allow_unsafe_durability to accept the risk",
            findings.join("; ")
        ))),
    }
}

/// Checks the root key and the sign-in key.
async fn vault(settings: &VaultSettings) -> Vec<Finding> {
    let vaults = match compose::vaults(settings) {
        Ok(vaults) => vaults,
        Err(failure) => return vec![Finding::of("vault", Err(failure))],
    };
    let sealed = [
        "vault is sealed: calls that need a wallet key would return 503",
        "sign-in key is unavailable: sign-in and calls that use a wallet key would return 503",
    ];
    let [root, sign_in] = [&vaults.wallets, &vaults.secrets];
    vec![
        Finding::of("vault", root_key(&**root).await.context(sealed[0])),
        Finding::of("sign_in_key", root_key(&**sign_in).await.context(sealed[1])),
    ]
}

async fn root_key(vault: &dyn KeyVault) -> Result<String, VaultError> {
    let status = vault.status().await?;
    Ok(format!(
        "{}, root version {}",
        status.kind, status.primary_version
    ))
}

async fn mail(settings: &MailSettings) -> Result<String, Failure> {
    match compose::mailer(settings)? {
        None => Ok("not configured: live calls that send mail return 503".to_owned()),
        Some(mailer) => {
            mailer.probe().await.context("mail server check failed")?;
            Ok("login to the mail server succeeded".to_owned())
        }
    }
}

async fn sms(settings: &Settings) -> Result<String, Failure> {
    match compose::sms(&settings.sms, &settings.outbound)? {
        None => Ok("not configured: live calls that send SMS return 503".to_owned()),
        Some(sms) => {
            sms.probe().await.context("SMS provider check failed")?;
            Ok("login to the SMS provider succeeded".to_owned())
        }
    }
}

fn output(findings: &[Finding]) -> Output {
    let ok = findings.iter().all(|finding| finding.ok);
    let row = |finding: &Finding| {
        let verdict = match finding.severity {
            Severity::Ok => "ok",
            Severity::Warning => "warning",
            Severity::Failed => "FAILED",
        };
        [
            verdict.to_owned(),
            finding.name.to_owned(),
            finding.detail.clone(),
        ]
    };
    let text = table(["", "CHECK", "DETAIL"], findings.iter().map(row), "");
    Output::new(json!({ "ok": ok, "checks": findings }), text)
        .failing((!ok).then_some("some checks failed"))
}
