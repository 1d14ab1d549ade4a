//! Signatures at a fixed rate, each of them verified.
//!
//! The rate does not depend on response times: calls overlap, and each time is counted from the moment at which the call was due. A pause
//! of the service therefore shows in the times.

use std::error::Error;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};
use vestry_chains::Chains;
use vestry_domain::Secret;
use vestry_domain::wallet::WalletType;

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::stopwatch::percentile;

/// A factor coprime to wallet counts such as 100,000, so that wallets of all ages sign in turn.
const STRIDE: usize = 7_919;
/// The number of failures reported in full; others are only counted.
const REPORTED: u64 = 10;

/// The services, in turn, sign for wallets from all over the list.
pub(crate) struct Signing {
    services: Vec<Api>,
    wallets: Vec<Wallet>,
    chains: Chains,
}

/// A wallet whose signatures can be verified with its address alone.
struct Wallet {
    id: String,
    wallet_type: WalletType,
    address: String,
}

/// What happened between two lines of standard input.
#[derive(Default)]
struct Phase {
    times: Vec<Duration>,
    failed: u64,
}

impl Signing {
    /// Reads the output of [`crate::wallets::run`]. Chains whose addresses do not contain the key are skipped.
    pub(crate) fn new(services: Vec<Api>, wallets: &str) -> Result<Self, Failure> {
        let wallets = wallets
            .lines()
            .map(Wallet::read)
            .collect::<Result<Vec<_>, _>>()?;
        let verifiable = |wallet: &Wallet| {
            matches!(
                wallet.wallet_type,
                WalletType::Ethereum | WalletType::Solana
            )
        };
        Ok(Self {
            services,
            wallets: wallets.into_iter().filter(verifiable).collect(),
            // Blinding protects secrets, and there are none here.
            chains: Chains::new(&Secret::new([7; 32])),
        })
    }

    /// Signs until standard input ends.
    ///
    /// For each line of it, and for its end, prints the results since the previous one: signatures, failures, and the median, 99th
    /// percentile and maximum of the times in milliseconds.
    pub(crate) async fn run(self, per_second: u32) -> Result<(), Failure> {
        let signing = Arc::new(self);
        let mut asked = lines_of_input();
        let mut due = interval(Duration::from_secs(1) / per_second);
        let mut under_way = JoinSet::new();
        let mut phase = Phase::default();
        let mut number = 0;
        loop {
            tokio::select! {
                line = asked.recv() => {
                    if line.is_none() {
                        break;
                    }
                    std::mem::take(&mut phase).print();
                }
                at = due.tick() => {
                    let signing = Arc::clone(&signing);
                    under_way.spawn(async move { signing.one(number, at).await });
                    number += 1;
                }
                Some(outcome) = under_way.join_next() => phase.count(outcome?),
            }
        }
        while let Some(outcome) = under_way.join_next().await {
            phase.count(outcome?);
        }
        phase.print();
        Ok(())
    }

    /// Signs one message and returns the time since it was due.
    async fn one(&self, number: usize, due: Instant) -> Result<Duration, Failure> {
        let wallet = at(&self.wallets, number.wrapping_mul(STRIDE))?;
        let service = at(&self.services, number)?;
        let message = format!("message {number}");
        let path = format!("/v1/wallets/{}/sign_message", wallet.id);
        let answer = service
            .make(Call::post(path, json!({"message": message})))
            .await?;
        let taken = due.elapsed();
        let signature = text(&answer, "/signature")?;
        let (wallet_type, address) = (wallet.wallet_type, &wallet.address);
        self.chains
            .verify_own(wallet_type, address, message.as_bytes(), &signature)
            .map_err(|error| format!("the response for {}: {error}", wallet.id))?;
        Ok(taken)
    }
}

impl Wallet {
    fn read(line: &str) -> Result<Self, Failure> {
        let mut fields = line.split('\t');
        let mut field = || fields.next().ok_or("a line about a wallet is too short");
        Ok(Self {
            id: field()?.to_owned(),
            wallet_type: field()?.parse()?,
            address: field()?.to_owned(),
        })
    }
}

impl Phase {
    fn count(&mut self, outcome: Result<Duration, Failure>) {
        match outcome {
            Ok(time) => self.times.push(time),
            Err(failure) => {
                self.failed += 1;
                if self.failed <= REPORTED {
                    eprintln!("load: {failure}: {}", reasons(&*failure));
                }
            }
        }
    }

    fn print(mut self) {
        self.times.sort_unstable();
        let at = |percent| percentile(&self.times, percent);
        println!(
            "{}\t{}\t{:.3}\t{:.3}\t{:.3}",
            self.times.len(),
            self.failed,
            at(50),
            at(99),
            at(100)
        );
    }
}

/// The chain of causes of a failure.
fn reasons(failure: &(dyn Error + 'static)) -> String {
    let mut causes = Vec::new();
    let mut next = failure.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes.join(": ")
}

/// An item by number, wrapping around.
fn at<T>(all: &[T], number: usize) -> Result<&T, Failure> {
    let place = number.checked_rem(all.len());
    place
        .and_then(|place| all.get(place))
        .ok_or_else(|| "there is nothing to choose from".into())
}

/// Lines of standard input as they arrive, read on a separate thread that blocks on them.
fn lines_of_input() -> UnboundedReceiver<String> {
    let (send, receive) = unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}
