//! What a caller says about the device of its end user.

use serde::Deserialize;
use utoipa::ToSchema;
use vestry_domain::Invalid;
use vestry_domain::session::DeviceFingerprint;

/// The end user's device, as the App's backend sees it.
#[derive(Deserialize, ToSchema)]
#[schema(as = DeviceFingerprintInput)]
pub(crate) struct Device {
    /// Address of the end user.
    #[schema(max_length = 1024, examples("203.0.113.7"))]
    ip: Option<String>,
    /// `User-Agent` of the end user.
    #[schema(max_length = 1024, examples("Mozilla/5.0"))]
    user_agent: Option<String>,
}

impl Device {
    pub(crate) fn check(self) -> Result<DeviceFingerprint, Invalid> {
        DeviceFingerprint::new(self.ip, self.user_agent)
    }

    /// An absent device is one that nothing is known of.
    pub(crate) fn check_or_default(device: Option<Self>) -> Result<DeviceFingerprint, Invalid> {
        device.map_or_else(|| Ok(DeviceFingerprint::default()), Self::check)
    }
}
