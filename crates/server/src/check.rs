//! `vestry check`: checks everything that `vestry serve` needs.

use std::path::Path;

use serde::Serialize;
use serde_json::json;
use vestry_ports::store::Store;
use vestry_ports::vault::{KeyVault, VaultError};
use vestry_store_sql::{Distribution, Pooler};

use crate::compose;
use crate::config::{
    DatabaseSettings, LimitSettings, LimitStore, MailSettings, Settings, VaultSettings,
};
use crate::failure::{Context, Failure};
use crate::output::{Output, table};
use crate::tls::Certificate;
use crate::{logging, with_runtime};

/// The result of one check.
#[derive(Serialize)]
struct Finding {
    name: &'static str,
    ok: bool,
    /// The state that was found, or the problem.
    detail: String,
}

impl Finding {
    fn of(name: &'static str, outcome: Result<String, Failure>) -> Self {
        match outcome {
            Ok(detail) => Self {
                name,
                ok: true,
                detail,
            },
            Err(failure) => Self {
                name,
                ok: false,
                detail: failure.to_string(),
            },
        }
    }
}

pub(crate) fn run(file: Option<&Path>) -> Result<Output, Failure> {
    let settings = match Settings::load_for_people(file) {
        Ok(settings) => settings,
        // The other checks need the settings.
        Err(failure) => return Ok(output(&[Finding::of("configuration", Err(failure))])),
    };
    logging::start(&settings.log);
    with_runtime(async |_runtime| {
        let mut findings = vec![Finding::of("configuration", configuration(&settings))];
        findings.extend(database(&settings.database).await);
        findings.push(Finding::of("limits", limits(&settings.limits).await));
        findings.extend(vault(&settings.vault).await);
        findings.push(Finding::of("mail", mail(&settings.mail).await));
        findings.push(Finding::of("sms", sms(&settings).await));
        Ok(output(&findings))
    })
}

fn configuration(settings: &Settings) -> Result<String, Failure> {
    let base_url = settings
        .http
        .base_url
        .as_ref()
        .ok_or_else(|| Failure::new("http.base_url is not set, and `vestry serve` needs it"))?;
    if let Some(files) = settings.http.tls.clone() {
        Certificate::load(files)?;
    }
    Ok(format!("{base_url} on {}", settings.http.listen))
}

/// Checks the connection, the schema and the durability settings.
async fn database(settings: &DatabaseSettings) -> Vec<Finding> {
    let store = match compose::store(settings).await {
        Ok(store) => store,
        Err(failure) => return vec![Finding::of("database", Err(failure))],
    };
    let ready = store.ready().await;
    let ready = ready
        .map(|()| "connected; schema is up to date".to_owned())
        .context("database is not ready; has `vestry migrate` been run?");
    let durability = durability(store.durability_findings(), settings);
    let mut findings = vec![
        Finding::of("database", ready),
        Finding::of("durability", durability),
    ];
    match store.pooler().await {
        Ok(None) => {}
        Ok(Some(found)) => findings.push(Finding::of("pooler", pooler(found))),
        Err(error) => findings.push(Finding::of(
            "pooler",
            Err(error).context("connection pooler is unreachable"),
        )),
    }
    match store.distribution().await {
        Ok(None) => {}
        Ok(Some(distribution)) => findings.push(Finding::of("cluster", cluster(&distribution))),
        Err(error) => {
            let away = Err(error).context("some cluster nodes are unreachable");
            findings.push(Finding::of("cluster", away));
        }
    }
    findings
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
            let limiter = compose::redis(url).await?;
            let probed = limiter.probe().await;
            probed.context("Redis is unreachable; each process counts on its own")?;
            "in Redis"
        }
    };
    Ok(format!("rate limits are counted {counted}"))
}

fn durability(findings: &[String], settings: &DatabaseSettings) -> Result<String, Failure> {
    match (findings.is_empty(), settings.allow_unsafe_durability) {
        (true, _) => Ok("acknowledged writes are on disk".to_owned()),
        (false, true) => Ok(format!(
            "unsafe, but allowed by database.allow_unsafe_durability: {}",
            findings.join("; ")
        )),
        (false, false) => Err(Failure::new(findings.join("; "))),
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
        let verdict = if finding.ok { "ok" } else { "FAILED" };
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
