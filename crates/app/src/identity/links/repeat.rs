//! Repeated link requests within seconds.
//!
//! A double click causes one mail. A user who requests a link right after an attacker gets the same response, and has the mail (M-5).

use vestry_domain::Timestamp;
use vestry_domain::email::{Email, EmailIdentity};
use vestry_domain::limits::codes::{REPEATED_WITHIN, SENDS_PER_IDENTIFIER_AND_DAY};
use vestry_domain::link::{Link, LinkProgress, LinkPurpose};
use vestry_domain::session::DeviceFingerprint;
use vestry_ports::store::{Repositories, StoreResult};

use crate::Caller;
use crate::identity::quotas::{Kind, Send};

/// The quotas that a link consumes: those of codes, because the recipient does not care what the mail contains (OTP-10, attack 8).
pub(crate) fn link_to<'a>(
    identity: &'a EmailIdentity,
    purpose: LinkPurpose,
    device: Option<&'a DeviceFingerprint>,
) -> Send<'a> {
    Send {
        identifier: identity.as_str(),
        kind: Kind::Link(purpose),
        a_day: SENDS_PER_IDENTIFIER_AND_DAY,
        device,
    }
}

/// Finds the link that this one would only repeat.
///
/// It was sent within seconds for the same user, mailbox, browser and device, leads to the same URL, and is still valid. `landing` returns
/// where this link would lead instead of a given earlier one.
pub(crate) async fn repeated(
    tx: &mut dyn Repositories,
    caller: &Caller,
    again: &Link,
    landing: impl Fn(&Link) -> String,
    now: Timestamp,
) -> StoreResult<Option<Link>> {
    let first = tx
        .links()
        .of_email(&again.world, again.email_id, again.purpose)
        .await?;
    let rule = caller.settings().device_fingerprint_match;
    Ok(first.filter(|first| {
        let devices = (first.fingerprint.as_ref(), again.fingerprint.as_ref());
        first.progress(now) == LinkProgress::Waiting
            && now < first.created_at + REPEATED_WITHIN
            && first.user_id == again.user_id
            && first.challenge == again.challenge
            && Email::is_same_mailbox(first.asked_as.as_ref(), again.asked_as.as_ref())
            && first.landing.as_deref() == Some(&*landing(first))
            && DeviceFingerprint::agree(devices.0, devices.1, rule)
    }))
}
