//! Plain HTTP is rejected, not redirected: by the time of a redirect the key has already been sent in the clear (S-18).

use std::net::IpAddr;

use actix_web::dev::ServiceRequest;
use actix_web::http::header::{HeaderMap, HeaderName};

use crate::client::is_trusted;
use crate::problem::{Code, Problem};
use crate::settings::WebSettings;

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Paths read by supervisors inside the machine or cluster, without a key and with nothing secret in the response. Metrics are on their own
/// listener only.
const PROBES: [&str; 3] = ["/livez", "/readyz", METRICS];

/// The path of the metrics.
pub const METRICS: &str = "/metrics";

/// Whether requests of this route are made by supervisors.
pub(crate) fn is_probe(route: &str) -> bool {
    PROBES.contains(&route)
}

/// What a trusted proxy reports about the hop before it.
#[derive(Debug, PartialEq, Eq)]
enum Forwarded {
    Https,
    /// Plain HTTP, or an unreadable value: a malformed header never disables a rule (S-16).
    NotHttps,
    Silent,
}

/// Rejects a request that travelled in the clear.
///
/// That is a request over a listener without TLS on a non-loopback address, unless a trusted proxy reports that its client used HTTPS. It
/// is also any request whose trusted proxy reports that its client did not.
pub(crate) fn check(request: &ServiceRequest, settings: &WebSettings) -> Result<(), Problem> {
    let listener = request.app_config();
    let private = listener.secure() || is_loopback(listener.local_addr().ip());
    let trusted = request
        .peer_addr()
        .is_some_and(|peer| is_trusted(peer.ip(), &settings.trusted_proxies.current()));
    let forwarded = if trusted {
        forwarded(request.headers())
    } else {
        Forwarded::Silent
    };
    let passes = match forwarded {
        Forwarded::Https => true,
        Forwarded::NotHttps => false,
        Forwarded::Silent => private,
    };
    if passes || PROBES.contains(&request.path()) {
        Ok(())
    } else {
        Err(Problem::new(Code::HttpsRequired))
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Every reported hop must have used HTTPS.
fn forwarded(headers: &HeaderMap) -> Forwarded {
    let mut said = Forwarded::Silent;
    for value in headers.get_all(FORWARDED_PROTO) {
        let all_https = value.to_str().is_ok_and(|value| {
            value
                .split(',')
                .all(|hop| hop.trim().eq_ignore_ascii_case("https"))
        });
        if !all_https {
            return Forwarded::NotHttps;
        }
        said = Forwarded::Https;
    }
    said
}

#[cfg(test)]
mod tests;
