//! State shared by all workers of the HTTP edge.

use std::sync::Arc;

use vestry_app::Service;

use crate::auth_throttle::AuthThrottle;
use crate::request_id::RequestIds;
use crate::settings::WebSettings;

/// The shared state; one per process.
pub struct State {
    /// The use cases.
    pub service: Arc<Service>,
    /// The settings of the edge.
    pub settings: WebSettings,
    pub(crate) request_ids: RequestIds,
    pub(crate) auth_throttle: AuthThrottle,
}

impl State {
    pub(crate) fn new(service: Arc<Service>, settings: WebSettings) -> Self {
        Self {
            service,
            auth_throttle: AuthThrottle::new(settings.failed_auth_per_minute),
            settings,
            request_ids: RequestIds::default(),
        }
    }
}
