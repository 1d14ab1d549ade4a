//! The end user's device, as reported by the caller.

use serde::Deserialize;
use utoipa::ToSchema;
use vestry_domain::Invalid;
use vestry_domain::session::DeviceFingerprint;

/// The end user's device, as seen by the App's backend.
#[derive(Deserialize, ToSchema)]
#[schema(as = DeviceFingerprintInput)]
pub(crate) struct Device {
    /// IP address of the end user, at most 1024 characters.
    #[schema(max_length = 1024, examples("203.0.113.7"))]
    ip: Option<String>,
    /// `User-Agent` header of the end user, at most 1024 characters.
    #[schema(max_length = 1024, examples("Mozilla/5.0"))]
    user_agent: Option<String>,
}

impl Device {
    pub(crate) fn check(self) -> Result<DeviceFingerprint, Invalid> {
        DeviceFingerprint::new(self.ip, self.user_agent)
    }

    /// Checks a device; an absent one has no known properties.
    pub(crate) fn check_or_default(device: Option<Self>) -> Result<DeviceFingerprint, Invalid> {
        device.map_or_else(|| Ok(DeviceFingerprint::default()), Self::check)
    }
}
