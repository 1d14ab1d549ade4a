//! Alarms about altered data in the database.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use vestry_domain::World;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::ids::WalletId;
use vestry_domain::metric::TamperKind;
use vestry_ports::custody::CustodyError;
use vestry_ports::meter::{Counted, Meter, Timed};

/// The alert rule that an alarm fires.
const RULE: &str = "VestryAuditFailing";

/// Counts and logs tampering. It is the only source of [`CustodyError::Tampered`] in this crate, so that no case goes unnoticed.
#[derive(Default)]
pub(crate) struct Alarm {
    raised: AtomicU64,
    /// Counts alarms and measures the key provider, once it is known.
    pub(crate) meter: OnceLock<Arc<dyn Meter>>,
}

impl Alarm {
    pub(crate) fn wallet(&self, id: WalletId, place: &'static str) -> CustodyError {
        tracing::error!(alert = RULE, wallet_id = %id, place, "stored wallet failed authentication: altered or moved in the database");
        self.raised(place)
    }

    pub(crate) fn world(&self, world: &World, place: &'static str) -> CustodyError {
        tracing::error!(alert = RULE, app_id = %world.app_id, environment = %world.environment, place, "stored key material failed authentication: altered or moved in the database");
        self.raised(place)
    }

    /// Records how long the key provider took.
    pub(crate) fn time_vault(&self, purpose: KeyPurpose, took: Duration) {
        if let Some(meter) = self.meter.get() {
            meter.time(Timed::Vault(purpose.root()), took);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.raised.load(Ordering::Relaxed)
    }

    fn raised(&self, place: &'static str) -> CustodyError {
        self.raised.fetch_add(1, Ordering::Relaxed);
        if let Some(meter) = self.meter.get() {
            meter.count(Counted::TamperAlarm(TamperKind::Record));
        }
        CustodyError::Tampered { place }
    }
}
