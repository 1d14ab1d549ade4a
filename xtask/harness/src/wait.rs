//! Waiting for something another process does.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use crate::failure::{Context, Failure};

/// Asks every few milliseconds until there is an answer, or says what did not come in time.
#[expect(
    clippy::disallowed_methods,
    reason = "xtask is one thread that has nothing else to do"
)]
pub fn until<T>(
    what: &str,
    limit: Duration,
    mut ask: impl FnMut() -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        if start.elapsed() >= limit {
            return Err(Failure::new(format!(
                "{what} did not happen within {} s",
                limit.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A port of the loopback address that nothing listens on at this moment.
///
/// Another process could take it before the caller's server does; then that server ends and says so.
pub fn free_port() -> Result<u16, Failure> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot bind a loopback port")?;
    Ok(listener
        .local_addr()
        .context("cannot read the bound port")?
        .port())
}
