//! `vestry check --live`: asks a running service whether it is ready, for containers without curl.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use crate::failure::Failure;
use crate::output::Output;

/// Time limit of the whole question.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum length of the response in bytes.
const MAX_RESPONSE: u64 = 64 * 1024;

/// Asks `url/readyz`.
///
/// # Errors
/// The service is not ready, or does not respond.
pub(super) async fn check(url: &Url) -> Result<Output, Failure> {
    let shown = url.as_str().trim_end_matches('/');
    if url.scheme() != "http" {
        return Err(Failure::usage(
            "--live takes an http URL, such as that of telemetry.listen: http://127.0.0.1:9464",
        ));
    }
    let response = match tokio::time::timeout(PATIENCE, ask(url)).await {
        Ok(response) => response.map_err(|error| cannot_be_reached(shown, &error))?,
        Err(_elapsed) => {
            let late = io::Error::from(ErrorKind::TimedOut);
            return Err(cannot_be_reached(shown, &late));
        }
    };
    let foreign = || Failure::new(format!("{shown} is not a Vestry service"));
    let (head, body) = response.split_once("\r\n\r\n").ok_or_else(foreign)?;
    let status = head.split(' ').nth(1).ok_or_else(foreign)?;
    if status.len() != 3 || !status.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(foreign());
    }
    let body: Value = serde_json::from_str(body).ok().ok_or_else(foreign)?;
    if status == "200" && field(&body, "/database") == Some("ok") {
        return Ok(Output::new(
            json!({ "ok": true }),
            format!("{shown} is ready"),
        ));
    }
    let param = field(&body, "/error/param").ok_or_else(foreign)?;
    if !param.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_')) {
        return Err(foreign());
    }
    Err(Failure::new(format!("{shown} returned {status}: {param}")))
}

fn field<'a>(body: &'a Value, pointer: &str) -> Option<&'a str> {
    body.pointer(pointer)?.as_str()
}

fn cannot_be_reached(url: &str, error: &io::Error) -> Failure {
    let reason = match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        ErrorKind::TimedOut => "no response within 5 s".to_owned(),
        _ => error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string),
    };
    Failure::new(format!("{url} cannot be reached: {reason}"))
}

/// One request by HTTP/1.0, after whose response the server closes the connection.
async fn ask(url: &Url) -> io::Result<String> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(80);
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let mut connection = TcpStream::connect((name, port)).await?;
    let path = format!("{}/readyz", url.path().trim_end_matches('/'));
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    connection
        .take(MAX_RESPONSE)
        .read_to_end(&mut response)
        .await?;
    Ok(String::from_utf8_lossy(&response).into_owned())
}
