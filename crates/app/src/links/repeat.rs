//! Links that are asked for again within seconds: a double click gets one mail, and whoever asks right after an attacker is
//! answered as he was, and has the mail (M-5).

use vestry_domain::Timestamp;
use vestry_domain::email::{Email, EmailIdentity};
use vestry_domain::limits::codes::{REPEATED_WITHIN, SENDS_PER_IDENTIFIER_AND_DAY};
use vestry_domain::link::{Link, LinkProgress, LinkPurpose};
use vestry_domain::session::DeviceFingerprint;
use vestry_ports::store::{Repositories, StoreResult};

use crate::Caller;
use crate::budget::{Kind, Send};

/// What a link costs. It is paid out of the budgets of codes: whoever is written to does not care what the mail holds (OTP-10,
/// attack 8).
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

/// The link that this one would only repeat: sent within seconds, for the same user, mailbox, browser and device, leading to where this one
/// would, and still good. `landing` says where this one would lead instead of a given first one.
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
