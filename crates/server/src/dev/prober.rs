//! Probes the readiness of the service over HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::failure::{Context, Failure};

/// Much longer than any start takes.
const AT_MOST: Duration = Duration::from_secs(20);

/// Waits until `/readyz` returns 200.
pub(super) async fn until_answered(address: SocketAddr) -> Result<(), Failure> {
    let answer = tokio::time::timeout(AT_MOST, ask(address))
        .await
        .context("the service does not respond")?
        .context("the service is unreachable")?;
    match answer.lines().next() {
        Some(status) if status.contains(" 200 ") => Ok(()),
        other => Err(Failure::new(format!(
            "the service started but is not ready ({})",
            other.unwrap_or("empty response")
        ))),
    }
}

/// Sends one request. The connection waits in the listener's queue until it is accepted.
async fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
