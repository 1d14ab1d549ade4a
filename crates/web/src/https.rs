//! Plain HTTP is refused, not redirected: a redirect would come after the key was sent in the clear (S-18).

use std::net::IpAddr;

use actix_web::dev::ServiceRequest;
use actix_web::http::header::{HeaderMap, HeaderName};

use crate::WebSettings;
use crate::client::is_trusted;
use crate::problem::{Code, Problem};

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Asked by supervisors on the inside of the machine or cluster, without a key and with nothing to hide in the answer.
const PROBES: [&str; 2] = ["/livez", "/readyz"];

/// What a trusted proxy says about the hop before it.
#[derive(Debug, PartialEq, Eq)]
enum Forwarded {
    Https,
    /// Plain HTTP, or something that cannot be read: a header that makes no sense never disables a rule (S-16).
    NotHttps,
    Silent,
}

/// Refuses a request that travelled in the clear.
///
/// In the clear means: over a listener without TLS that is not on a loopback address, unless a trusted proxy says that
/// its own client came by HTTPS; or over anything, when a trusted proxy says that its client did not.
pub(crate) fn check(request: &ServiceRequest, settings: &WebSettings) -> Result<(), Problem> {
    let listener = request.app_config();
    let private = listener.secure() || is_loopback(listener.local_addr().ip());
    let trusted = request
        .peer_addr()
        .is_some_and(|peer| is_trusted(peer.ip(), &settings.trusted_proxies));
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

/// Every hop that is named must have been HTTPS.
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
