//! HTTP calls, to the service and to the receiver.

use std::error::Error;
use std::time::Duration;

use ipnet::{Ipv4Net, Ipv6Net};
use vestry_outbound::{Limits, Outbound, OutboundError, Reach};

use crate::failure::{Context, Failure};

const CONNECT: Duration = Duration::from_secs(5);

/// An HTTP client without restrictions: a URL from the command line may have any address and use plain HTTP.
pub(super) fn outbound(whole: Duration, body: usize) -> Result<Outbound, Failure> {
    let everywhere = [Ipv4Net::default().into(), Ipv6Net::default().into()];
    let limits = Limits {
        connect: CONNECT,
        whole,
        body,
    };
    Outbound::new(Reach::only(everywhere), limits).context("cannot set up the HTTP client")
}

/// The error and its root cause, without the layers in between.
pub(super) fn reason(error: &OutboundError) -> String {
    let mut bottom: Option<&dyn Error> = None;
    let mut next = error.source();
    while let Some(cause) = next {
        bottom = Some(cause);
        next = cause.source();
    }
    bottom.map_or_else(|| error.to_string(), |bottom| format!("{error}: {bottom}"))
}
