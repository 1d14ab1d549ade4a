//! `vestry dev`: a complete service on one machine, with no setup.

mod banner;
mod certificate;
mod data_dir;
mod demo;
mod operator;
mod prober;
mod record;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use vestry_app::Service;
use vestry_domain::random::alphanumeric;
use vestry_ports::entropy::Bytes;
use vestry_ports::store::Store;
use vestry_store_sql::Database;
use vestry_telemetry::Telemetry;

use crate::background::Duties;
use crate::compose::Destinations;
use crate::config::{BaseUrl, Settings, VaultSettings};
use crate::entropy::SystemEntropy;
use crate::failure::{Context, Failure};
use crate::http::{Console, Edge, Listener, Times};
use crate::serve::web_settings;
use crate::tls::Certificate;
use crate::{compose, end, logging, migrate, output, runtime, telemetry};
use data_dir::DataDir;
use demo::Demo;
use operator::DevOperator;
use record::Record;

const HTTP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
const HTTPS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8443);
/// Time for running requests to end after Ctrl-C. There is no load balancer in front, so no drain delay is needed.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// The arguments of `vestry dev`.
#[derive(Debug, Args)]
#[command(after_help = "\
The first start creates the directory, the database, root keys, a certificate for
localhost, and an App named Demo with test and live keys. Later starts reuse
them. DIR/dev.json contains the addresses and keys for programs.

Settings come only from VESTRY_ variables and --config. A vestry.toml in the
current directory is ignored.

Examples:
  vestry dev
  vestry dev --listen 127.0.0.1:0         use a free port, without HTTPS
  vestry dev --fresh                      delete all data and start over")]
pub(crate) struct Dev {
    /// Directory for the database, keys and dev.json
    #[arg(long, value_name = "DIR", default_value = ".vestry")]
    data_dir: PathBuf,
    /// HTTP address; port 0 picks a free one, without HTTPS [default: 127.0.0.1:8080, with HTTPS on 127.0.0.1:8443]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Delete the data of earlier starts in DIR first
    #[arg(long)]
    fresh: bool,
}

pub(crate) fn run(arguments: &Dev, file: Option<&Path>, started: Instant) -> Result<(), Failure> {
    let address = arguments.listen.unwrap_or(HTTP);
    if !address.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "{address} is not a loopback address, where the service refuses plain HTTP; use `vestry serve` with http.tls"
        )));
    }
    let listener = Listener::bind(address, "choose another address with --listen")?;
    let data = DataDir::take(&arguments.data_dir)?;
    let settings = settings(file, &data, &listener)?;
    logging::start(&settings.log);
    if arguments.fresh {
        empty(&data, &settings)?;
    }
    let tls = match arguments.listen {
        Some(_) => None,
        None => Some(https(&data)?),
    };
    let scrapes = telemetry::bind(&settings.telemetry)?;
    let measured = telemetry::meter();
    let runtime = runtime()?;
    let (service, demo, operator) = runtime.block_on(async {
        let service = open(&settings, measured.clone(), runtime.handle().clone());
        let service = service.await?;
        let earlier = Record::read(&data.record());
        let demo = demo::prepare(&service, earlier.as_ref()).await?;
        let operator = match owns_database(&data, &settings) {
            true => operator::prepare(&service, earlier.as_ref()).await?,
            false => DevOperator::default(),
        };
        Ok::<_, Failure>((service, demo, operator))
    })?;
    let console = Console::of(&settings.console)?;
    let record = record(&settings, &listener, tls.as_ref(), demo, operator);
    let address = listener.address;
    let web = web_settings(&settings);
    if let Some(listener) = scrapes {
        telemetry::serve(listener, Arc::clone(&service), measured, &web)?;
    }
    let edge = Edge {
        service,
        web,
        plain: Some(listener),
        tls,
        console,
        times: Times {
            drain: Duration::ZERO,
            shutdown: SHUTDOWN,
            ..Times::of(&settings.http)
        },
        workers: settings.http.workers,
        duties: Duties {
            // A terminal is not retained, and a checkpoint each minute would clutter it.
            checkpoints: !settings.audit.sinks.is_empty(),
            ..Duties::of(&settings)
        },
        reload: None,
    };
    let served = edge.serve(runtime.handle(), async || {
        prober::until_answered(address).await?;
        record.write(&data.record())?;
        let suffix = alphanumeric(&mut Bytes(&SystemEntropy::new()), 6);
        let suffix = suffix.expose().to_lowercase();
        let directory = data.path().display().to_string();
        output::print_line(&banner::text(
            &record,
            &directory,
            &suffix,
            started.elapsed(),
        ))
    });
    end(runtime);
    served
}

/// The configured public URL, or else the last base URL of the `vestry dev` that owns this database.
pub(crate) fn public_url(settings: &Settings) -> Option<BaseUrl> {
    let set = settings.http.base_url.clone();
    set.or_else(|| match &settings.database.database {
        Database::Sqlite(file) => {
            let record = Record::read(&file.with_file_name(data_dir::RECORD))?;
            record.base_url.parse().ok()
        }
        Database::Postgres(_) => None,
    })
}

/// The configured URL of the console, or else the last one of the `vestry dev` that owns this database.
pub(crate) fn console_url(settings: &Settings) -> Option<BaseUrl> {
    let set = settings.console.base_url.clone();
    set.or_else(|| match &settings.database.database {
        Database::Sqlite(file) => {
            let record = Record::read(&file.with_file_name(data_dir::RECORD))?;
            let (origin, _) = record.console_url.split_once("/console/")?;
            origin.parse().ok()
        }
        Database::Postgres(_) => None,
    })
}

/// The settings from the environment and `--config`. Everything else is inside the data directory.
fn settings(file: Option<&Path>, data: &DataDir, listener: &Listener) -> Result<Settings, Failure> {
    let mut settings = Settings::load_for_dev(
        file,
        &[
            (
                "database.url",
                format!("sqlite:{}", data.database().display()),
            ),
            ("vault.local.path", data.root_key().display().to_string()),
            ("http.base_url", format!("http://{}", listener.address)),
            ("console.enabled", "true".to_owned()),
            // Browsers allow passkeys on this name, but on no address.
            (
                "console.base_url",
                format!("http://localhost:{}", listener.address.port()),
            ),
            ("log.format", "pretty".to_owned()),
            ("telemetry.listen", "off".to_owned()),
        ],
    )?;
    if let Some(address) = settings.console.listen
        && !address.ip().is_loopback()
    {
        return Err(Failure::usage(format!(
            "console.listen is {address}, which is not a loopback address; use `vestry serve` to reach the console from elsewhere"
        )));
    }
    // The operators of another database are real ones.
    settings.console.needs_second_factor = !owns_database(data, &settings);
    Ok(settings)
}

/// Whether the database is the one in the data directory.
fn owns_database(data: &DataDir, settings: &Settings) -> bool {
    let inside = match &settings.database.database {
        Database::Sqlite(path) => path.parent().and_then(|path| path.canonicalize().ok()),
        Database::Postgres(_) => None,
    };
    inside.is_some() && inside == data.path().canonicalize().ok()
}

/// Deletes the data of earlier starts. This is possible only if all of it is in the data directory.
fn empty(data: &DataDir, settings: &Settings) -> Result<(), Failure> {
    if !owns_database(data, settings) {
        return Err(Failure::usage(
            "--fresh deletes only the database in the data directory, but database.url names another one",
        ));
    }
    data.empty()
}

fn https(data: &DataDir) -> Result<(Listener, Arc<Certificate>), Failure> {
    let listener = Listener::bind(HTTPS, &format!("disable HTTPS with --listen {HTTP}"))?;
    Ok((listener, certificate::load_or_make(data)?))
}

async fn open(
    settings: &Settings,
    measured: Arc<Telemetry>,
    runtime: tokio::runtime::Handle,
) -> Result<Arc<Service>, Failure> {
    migrate::apply(&settings.database).await?;
    let store = compose::store(&settings.database).await?;
    store.measured_by(measured.clone());
    make_root_keys_once(&settings.vault, &*store).await?;
    let limiter = compose::limiter(&settings.limits, &store).await?;
    let base_url = settings.http.base_url.as_ref();
    compose::service(
        settings,
        store,
        limiter,
        Destinations {
            sinks: compose::sinks(settings)?,
            transports: compose::transports(settings)?,
        },
        measured,
        base_url,
        runtime,
    )
}

/// Creates the root keys, on the first start only. A key that is missing later is an error, because a new one could not open anything.
async fn make_root_keys_once(vault: &VaultSettings, store: &dyn Store) -> Result<(), Failure> {
    let VaultSettings::Local(files) = vault else {
        return Ok(());
    };
    let missing = files.missing();
    let Some(file) = missing.first() else {
        return Ok(());
    };
    let mut read = store.read().await.context("cannot read the database")?;
    let app_keys = read
        .app_keys()
        .all()
        .await
        .context("cannot read the database")?;
    if app_keys.is_empty() {
        return missing.into_iter().try_for_each(compose::make_root_key);
    }
    Err(Failure::new(format!(
        "root key {} is missing, but the database has keys under it; restore the file, or start over with --fresh",
        file.display()
    )))
}

fn record(
    settings: &Settings,
    listener: &Listener,
    tls: Option<&(Listener, Arc<Certificate>)>,
    demo: Demo,
    operator: DevOperator,
) -> Record {
    let base_url = settings.http.base_url.as_ref().map_or_else(
        || format!("http://{}", listener.address),
        ToString::to_string,
    );
    Record {
        base_url,
        https_url: tls.map_or_else(String::new, |(listener, _)| {
            format!("https://{}", listener.address)
        }),
        console_url: operator.console_url,
        app_id: demo.app_id,
        test: demo.test,
        live: demo.live,
        operator: operator.login,
        pid: std::process::id(),
    }
}
