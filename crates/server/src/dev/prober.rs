//! Asks the service whether it answers, the way a client would.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::failure::{Context, Failure};

/// Much longer than any start takes.
const AT_MOST: Duration = Duration::from_secs(20);

/// Waits until `/readyz` says yes.
pub(super) async fn until_answered(address: SocketAddr) -> Result<(), Failure> {
    let answer = tokio::time::timeout(AT_MOST, ask(address))
        .await
        .context("the service does not answer")?
        .context("the service cannot be reached")?;
    match answer.lines().next() {
        Some(status) if status.contains(" 200 ") => Ok(()),
        other => Err(Failure::new(format!(
            "the service started and is not ready ({})",
            other.unwrap_or("it said nothing")
        ))),
    }
}

/// One request; the connection waits in the queue of the listener until somebody takes it.
async fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
