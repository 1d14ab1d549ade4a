//! The text that `vestry dev` prints when it is ready.

use std::time::Duration;

use super::record::Record;

/// The banner, ending with the ready line. The request in it works when pasted.
///
/// `suffix` makes its email address unique to this start, because an address can belong to one user only.
pub(super) fn text(record: &Record, data_dir: &str, suffix: &str, took: Duration) -> String {
    let Record {
        base_url,
        https_url,
        console_url,
        test,
        ..
    } = record;
    let https = if https_url.is_empty() {
        String::new()
    } else {
        format!("\n                 {https_url} (self-signed certificate)")
    };
    let version = env!("CARGO_PKG_VERSION");
    let email = &record.operator.email;
    let console = match console_url.is_empty() {
        true => String::new(),
        false => format!(
            "  Console        {console_url}\n                 (signs you in once, within 30 minutes; later: {email}, password in dev.json)\n"
        ),
    };
    let (secret_key, public_token) = (&test.secret_key, &test.public_token);
    let body = format!("{{\"email\":\"ada-{suffix}@example.com\",\"include_user\":true}}");
    format!(
        "
  Vestry {version} development service; data and keys are in {data_dir}

  API            {base_url}{https}
  Reference      {base_url}/docs
{console}  Test key       {secret_key}
  Public token   {public_token}
  Mail           captured: GET /v1/test/messages

  Create a user with an Ethereum wallet:

curl -s {base_url}/v1/auth/users/create -H 'Authorization: Bearer {secret_key}' -H 'Content-Type: application/json' -d '{body}'

Ready at {base_url} after {:.2} s. Press Ctrl-C to stop.",
        took.as_secs_f64()
    )
}
