//! What `vestry dev` shows when it is ready.

use std::time::Duration;

use super::record::Record;

/// A few lines that end with the ready line. The call in it works when it is pasted.
///
/// `suffix` makes the address in it one that no earlier start has used: an address belongs to one user only.
pub(super) fn text(record: &Record, data_dir: &str, suffix: &str, took: Duration) -> String {
    let Record {
        base_url,
        https_url,
        test,
        ..
    } = record;
    let https = if https_url.is_empty() {
        String::new()
    } else {
        format!("\n                 {https_url} (self-signed certificate)")
    };
    let version = env!("CARGO_PKG_VERSION");
    let (secret_key, public_token) = (&test.secret_key, &test.public_token);
    let body = format!("{{\"email\":\"ada-{suffix}@example.com\",\"include_user\":true}}");
    format!(
        "
  Vestry {version} for development; data and keys are in {data_dir}

  API            {base_url}{https}
  Reference      {base_url}/docs
  Test key       {secret_key}
  Public token   {public_token}
  Mail           is captured: GET /v1/test/messages

  A user with an Ethereum wallet:

curl -s {base_url}/v1/auth/users/create -H 'Authorization: Bearer {secret_key}' -H 'Content-Type: application/json' -d '{body}'

Ready at {base_url} after {:.2} s. Ctrl-C stops the service.",
        took.as_secs_f64()
    )
}
