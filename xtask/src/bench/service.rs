//! `bench --operations`: signatures of every chain, and every call that needs something prepared for it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::baseline::{self, raw};
use super::load::{self, Load};
use super::table::{Row, Table};
use super::{Options, journeys};
use crate::failure::{Context, Failure};
use crate::keeper::Keeper;
use crate::postgres::Cluster;
use crate::site::{self, Kind};
use crate::{temporary, wait};

/// Everything that runs while one store is measured; all of it ends with this value.
pub(super) struct Stage {
    service: Keeper,
    _cluster: Option<Cluster>,
    pub(super) database_url: String,
    pub(super) directory: PathBuf,
    pub(super) base_url: String,
    pub(super) key: String,
    pub(super) app_id: String,
}

/// A chain whose wallets sign.
struct Chain {
    name: &'static str,
    wallet_type: &'static str,
    /// How the program of the baselines calls what it signs with.
    scheme: &'static str,
}

const CHAINS: [Chain; 5] = [
    chain("Ethereum", "ethereum", "secp256k1"),
    chain("Solana", "solana", "ed25519"),
    chain("Bitcoin", "bitcoin", "secp256k1"),
    chain("Polkadot", "DOT", "sr25519"),
    chain("Stellar", "XLM", "ed25519"),
];

const fn chain(name: &'static str, wallet_type: &'static str, scheme: &'static str) -> Chain {
    Chain {
        name,
        wallet_type,
        scheme,
    }
}

/// What a signature over HTTP cannot cost less than, in operations a second.
///
/// Measured on both sides of each row of signatures, for half its time each: the speed of a shared machine changes by a third
/// within minutes, for memory and kernel not as for the processor, and a baseline of another minute says little.
#[derive(Clone, Copy)]
struct Floor {
    /// The raw loop: open the key, sign, verify.
    signing: f64,
    /// The empty handler.
    empty: f64,
}

impl Floor {
    fn measure(
        programs: &Path,
        scheme: &str,
        baseline_url: &str,
        data: &Path,
        load: Load,
    ) -> Result<Self, Failure> {
        let load = Load {
            seconds: load.seconds.div_ceil(2),
            ..load
        };
        Ok(Self {
            signing: raw(programs, &["sign", "--scheme", scheme], load)?,
            empty: load::run(baseline_url, "empty", data, load)?.per_second,
        })
    }

    fn mean(self, other: Self) -> Self {
        Self {
            signing: f64::midpoint(self.signing, other.signing),
            empty: f64::midpoint(self.empty, other.empty),
        }
    }

    /// Both, one after the other, were there nothing else to do.
    fn both(self) -> f64 {
        1.0 / (1.0 / self.signing + 1.0 / self.empty)
    }
}

/// Measures every operation on one store.
pub(super) fn measure(
    kind: Kind,
    options: &Options,
    load: Load,
    calls: u32,
    raw_hashing: f64,
    table: &mut Table,
) -> Result<(), Failure> {
    let stage = Stage::set(kind, options)?;
    let programs = options.programs();
    let data = stage.seed(&programs)?;
    // After the seed: it looks for a row to read.
    let baseline = baseline::start(&programs, &stage.database_url)?;
    let store = kind.name();
    let at = |url: &str, operation: &str| load::run(url, operation, &data, load);
    for chain in &CHAINS {
        let floor = || Floor::measure(&programs, chain.scheme, &baseline.url, &data, load);
        let mut before = floor()?;
        for operation in ["sign_message", "sign_transaction"] {
            let of_type = format!("{operation}.{}", chain.wallet_type);
            let signed = at(&stage.base_url, &of_type)?;
            let after = floor()?;
            let beside = before.mean(after);
            before = after;
            let name = format!("raw signing loop, {}, 2 threads", chain.scheme);
            table.push(Row::raw_on(store, &name, beside.signing));
            let name = "empty handler, before and after the next row";
            table.push(Row::raw_on(store, name, beside.empty));
            let row = Row::measured(store, &format!("{operation}, {}", chain.name), signed);
            table.push(row.against("raw signing + empty handler", beside.both()));
        }
    }
    let services = journeys::Services {
        programs: &programs,
        service: &stage.base_url,
        key: &stage.key,
        baseline: &baseline.url,
    };
    journeys::measure(store, &services, calls, raw_hashing, table)?;
    baseline.keeper.stop()?;
    stage.strike()
}

impl Stage {
    pub(super) fn set(kind: Kind, options: &Options) -> Result<Self, Failure> {
        let directory = temporary::directory("bench")?;
        let cluster = site::cluster(kind, options.install)?;
        let file = || format!("sqlite:{}/vestry.db", directory.display());
        let database_url = cluster
            .as_ref()
            .map_or_else(file, |cluster| cluster.url().to_owned());
        let mut command = Command::new(options.programs().join("vestry"));
        command
            .args(["dev", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&directory)
            .env("VESTRY_DATABASE__URL", &database_url)
            .env("VESTRY_LIMITS__TEST_PER_MINUTE", "0")
            .env("VESTRY_LOG__LEVEL", "info");
        let log = baseline::log_file("bench-service");
        let file = File::create(&log).context("cannot create a log")?;
        let mut service = Keeper::start(&command, "TERM", file, None)?;
        let ready = wait::until("the start of the service", Duration::from_secs(30), || {
            baseline::require(&mut service, &log)?;
            let text = fs::read_to_string(directory.join("dev.json")).unwrap_or_default();
            Ok(serde_json::from_str::<Value>(&text).ok())
        })?;
        Ok(Self {
            service,
            _cluster: cluster,
            database_url,
            directory,
            base_url: text(&ready, "/base_url")?,
            key: text(&ready, "/test/secret_key")?,
            app_id: text(&ready, "/app_id")?,
        })
    }

    /// Makes wallets of every chain; writes what the load script reads, and answers where.
    fn seed(&self, programs: &Path) -> Result<PathBuf, Failure> {
        let mut data = format!("key={}\n", self.key);
        data += &journeys::signers(programs, &self.base_url, &self.key)?;
        let file = self.directory.join("load.txt");
        fs::write(&file, data).context("cannot write the data of the load script")?;
        Ok(file)
    }

    pub(super) fn strike(self) -> Result<(), Failure> {
        self.service.stop()?;
        fs::remove_dir_all(&self.directory).context("cannot remove the data of the bench")
    }
}

pub(super) fn text(value: &Value, pointer: &str) -> Result<String, Failure> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| Failure::new(format!("an answer has no string at {pointer}")))
}
