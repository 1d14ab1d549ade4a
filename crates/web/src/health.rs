//! Probes for supervisors and load balancers.

pub(crate) mod live;
pub(crate) mod ready;
