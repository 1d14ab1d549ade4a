//! One JSON request over loopback: enough to seed, and no dependency.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::failure::{Context, Failure};

/// Posts a body and returns the parsed answer; anything but 200 is a failure.
pub(super) fn post(base_url: &str, path: &str, key: &str, body: &Value) -> Result<Value, Failure> {
    let address = base_url.trim_start_matches("http://");
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).context("cannot connect to the service")?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream
        .write_all(request.as_bytes())
        .context("cannot send a request")?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .context("cannot read an answer")?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| Failure::new("an answer has no body"))?;
    if !head.starts_with("HTTP/1.1 200") {
        return Err(Failure::new(format!("{path} answered {body}")));
    }
    serde_json::from_str(body).context("an answer is not JSON")
}
