//! Name resolution without forbidden addresses.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::failure::LeadsInwards;
use crate::reach::Reach;

/// The resolver that connections use: addresses that it omits cannot be connected to.
pub(crate) struct Guarded(pub(crate) Reach);

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0.clone();
        Box::pin(async move {
            // The connector fills in the port.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let admitted: Vec<_> = found.filter(|found| reach.admits(found.ip())).collect();
            if admitted.is_empty() {
                return Err(LeadsInwards.into());
            }
            let addresses: Addrs = Box::new(admitted.into_iter());
            Ok(addresses)
        })
    }
}
