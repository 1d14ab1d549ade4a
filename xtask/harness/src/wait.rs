//! Waiting for other processes.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use crate::failure::{Context, Failure};

/// Polls every few milliseconds until there is a result. Fails after the limit, naming the event.
#[expect(
    clippy::disallowed_methods,
    reason = "the commands have nothing else to do while they wait"
)]
pub fn until<T>(
    event: &str,
    limit: Duration,
    mut poll: impl FnMut() -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    let start = Instant::now();
    loop {
        if let Some(result) = poll()? {
            return Ok(result);
        }
        if start.elapsed() >= limit {
            return Err(Failure::new(format!(
                "{event} did not happen within {} s",
                limit.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A free port of the loopback address.
///
/// Another process can bind it before the caller's server does. That server then exits with an error.
pub fn free_port() -> Result<u16, Failure> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot bind a loopback port")?;
    Ok(listener
        .local_addr()
        .context("cannot read the bound port")?
        .port())
}
