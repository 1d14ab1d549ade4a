//! `bench --operations`: signatures of every chain, and every call that needs preparation.

use std::fs;
use std::path::Path;

use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::{Installation, StoreKind, cluster};
use xtask_harness::postgres::Cluster;
use xtask_harness::process;

use crate::Options;
use crate::baseline::{self, raw};
use crate::flows::{self, Flows};
use crate::load::{self, Load};
use crate::paired_stats::in_sequence;
use crate::table::{Row, Table};

/// Chains by name, wallet type, and scheme of the signing baseline.
const CHAINS: [(&str, &str, &str); 5] = [
    ("Ethereum", "ethereum", "secp256k1"),
    ("Solana", "solana", "ed25519"),
    ("Bitcoin", "bitcoin", "secp256k1"),
    ("Polkadot", "DOT", "sr25519"),
    ("Stellar", "XLM", "ed25519"),
];

/// Measures the stores and prints one table.
pub(crate) fn run(options: &Options, calls: u32) -> Result<(), Failure> {
    let load = options.load(10);
    let mut table = Table::new();
    let hashing = raw(&options.programs(), &["hash"], load)?;
    table.push(Row::raw("raw Argon2id loop, 2 threads", hashing));
    for kind in &options.stores {
        measure(*kind, options, load, calls, hashing, &mut table)?;
    }
    println!("{table}");
    Ok(())
}

/// The lower bound of a signature over HTTP, in operations per second.
///
/// It is measured before and after each row of signatures, for half of the row's time each. The speed of a shared machine changes by a
/// third within minutes, differently for CPU, memory and kernel, so a baseline of another minute means little.
#[derive(Clone, Copy)]
struct Floor {
    /// The raw loop: decrypt the key, sign, verify.
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
        let load = load.half();
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
}

/// Measures every operation on one store.
fn measure(
    kind: StoreKind,
    options: &Options,
    load: Load,
    calls: u32,
    hashing: f64,
    table: &mut Table,
) -> Result<(), Failure> {
    let programs = options.programs();
    let cluster = cluster(kind, options.install)?;
    let mut installation = Installation::new(&programs, cluster.as_ref().map(Cluster::url))?;
    installation.log_requests();
    let key = flows::prepare_app(&installation, &installation.set_up()?.id)?;
    let server = installation.serve(0)?;
    let mut signers = options.load_program("signers");
    signers
        .args(["--service", &server.base_url, "--key", &key])
        .args(["--connections", flows::CONNECTIONS]);
    let data = installation.file("load.txt");
    let wallets = process::output(&mut signers)?;
    fs::write(&data, format!("key={key}\n{wallets}")).context("cannot write the wallets")?;
    // It needs a row to read, so it starts after the wallets were created.
    let baseline = baseline::start(&programs, &installation.database_url)?;
    let store = kind.name();
    for (chain, wallet_type, scheme) in CHAINS {
        let floor = || Floor::measure(&programs, scheme, &baseline.url, &data, load);
        let mut before = floor()?;
        for operation in ["sign_message", "sign_transaction"] {
            let of_type = format!("{operation}.{wallet_type}");
            let signed = load::run(&server.base_url, &of_type, &data, load)?;
            let after = floor()?;
            let Floor { signing, empty } = before.mean(after);
            before = after;
            let name = format!("raw signing loop, {scheme}, 2 threads");
            table.push(Row::raw_on(store, &name, signing));
            let name = "empty handler, before and after the next row";
            table.push(Row::raw_on(store, name, empty));
            let row = Row::measured(store, &format!("{operation}, {chain}"), signed);
            table.push(row.against("raw signing + empty handler", in_sequence(signing, empty)));
        }
    }
    let flows = Flows {
        service: &server.base_url,
        key: &key,
        baseline: &baseline.url,
        calls: &calls.to_string(),
        connections: flows::CONNECTIONS,
    };
    flows.measure(store, options, hashing, table)?;
    baseline.guard.stop()?;
    server.stop()
}
