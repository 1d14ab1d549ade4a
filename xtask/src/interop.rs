//! `cargo xtask interop`: checks by independent implementations.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::arguments::Arguments;
use crate::dev_server::{self, Built, DevServer};
use crate::failure::Failure;
use crate::node::{self, Node};
use crate::process;
use crate::python::{self, Python};

pub(crate) const ABOUT: &str = "\
Check the service against reference implementations from PyPI and npm.

Starts `vestry dev` on a free port with an empty data directory and runs the scripts of xtask/interop against it:
  ethereum      eth-account and ethers recover the signers of messages, transactions of types 0 to 4, typed data and authorizations
  ethers_suite  the keys, transactions and typed data of ethers' own test suite give the same results
  solana        solders and @solana/kit verify and decode messages and legacy, v0 and v1 transactions
  bitcoin       embit and bitcoinjs-lib verify BIP-322 and BIP-137 messages and PSBTs of both versions, and finalize them identically
  polkadot      py-sr25519-bindings, scalecodec and polkadot.js verify messages and payloads, and decode the extrinsics
  stellar       stellar-sdk for Python and for JavaScript verifies messages, all kinds of envelopes and authorizations
  key_transfer  pyhpke and @hpke/core seal keys and phrases of five chains, and open exported keys
  identity_providers  users sign in at oidc-provider, with its pages and cookies, and at Apple's endpoints in JavaScript
  streambird    the `streambird` client manages users, passcodes, magic links, sessions and authenticator apps; starts sign-ins like the Node client
  session_jwt   PyJWT verifies the session of a passcode sign-in against the App's JWK Set
  totp          PyOTP acts as the authenticator app
  wallet_sign_in  eth-account and cryptography act as the wallets that sign in
  webhooks      standardwebhooks from PyPI and npm verifies our requests, and the code in docs/webhooks.md those it signs
  checkpoints   the code in docs/audit.md, using cryptography, and PyNaCl verify checkpoints of the audit log
Each prints its cases, mismatches, seed and library versions; any mismatch fails. `cargo xtask ci` runs the same scripts with
a tenth of the random cases of each chain, and of the suite of ethers.
--no-install   do not install Python or Node with apt-get if missing";

/// The scripts in the order in which they start: slowest first.
const SCRIPTS: &[&str] = &[
    "ethereum.py",
    "ethers_suite.py",
    "solana.py",
    "bitcoin.py",
    "polkadot.py",
    "stellar.py",
    "key_transfer.py",
    "identity_providers.py",
    "session_jwt.py",
    "totp.py",
    "wallet_sign_in.py",
    "webhooks.py",
    "checkpoints.py",
    "streambird_client.py",
];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("interop", arguments);
    let install = arguments.install();
    arguments.end()?;
    let Some(python) = Python::prepare(install)? else {
        return python::MISSING.announce();
    };
    let Some(node) = Node::prepare(&node::INTEROP, install)? else {
        return node::MISSING.announce();
    };
    check(&python, &node, &dev_server::build(Built::Alone)?, ALL)
}

/// The fraction of the random cases of each chain: all of them, or those of each change.
const ALL: &str = "1";
pub(crate) const A_TENTH: &str = "0.1";

/// The number of scripts that run in parallel: half of a script's time is the service's, half its own.
const AT_ONCE: usize = 2;

/// Runs every script against one server, even after one of them failed.
pub(crate) fn check(
    python: &Python,
    node: &Node,
    binary: &Path,
    share: &str,
) -> Result<(), Failure> {
    let server = DevServer::start(binary, "interop")?;
    let (ready, home) = (server.ready_file(), node.home());
    let run = |script: &str| {
        let mut command = python.script(script);
        command
            .env("VESTRY_DEV_JSON", &ready)
            .env("VESTRY_INTEROP_NODE", home)
            .env("VESTRY_INTEROP_SHARE", share)
            .env("VESTRY_BINARY", binary);
        process::run_beside_others(&mut command)
    };
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(script) = SCRIPTS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(Failure::Failed(cause) | Failure::Usage(cause)) = run(script) {
                        eprintln!("xtask: {cause}");
                        // Nothing panics while holding the lock.
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.push(*script);
                    }
                }
            });
        }
    });
    server.stop()?;
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!(
            "interop mismatches in: {}",
            failed.join(", ")
        )))
    }
}
