//! Identifiers that are verified because an API key or an operator vouches for them (CL-6), and their entry in the control log.

use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail};
use vestry_domain::ids::{EmailId, PhoneNumberId, UserId};
use vestry_domain::user::UserProfile;

use crate::Service;
use crate::kernel::source::Source;

/// The identifiers of a user that were vouched for.
pub(super) struct AppAsserted {
    user: UserId,
    emails: Vec<EmailId>,
    phones: Vec<PhoneNumberId>,
}

impl AppAsserted {
    /// Everything that is verified in a new user; `None` if nothing is.
    pub(super) fn of(new: &UserProfile) -> Option<Self> {
        Self::some(new, |_| true, |_| true)
    }

    /// Everything that is verified now and was not before; `None` if nothing is.
    pub(super) fn since(before: &UserProfile, after: &UserProfile) -> Option<Self> {
        let email = |id| !before.emails.iter().any(|row| row.id == id && row.verified);
        let phone = |id| !before.phones.iter().any(|row| row.id == id && row.verified);
        Self::some(after, email, phone)
    }

    fn some(
        profile: &UserProfile,
        email: impl Fn(EmailId) -> bool,
        phone: impl Fn(PhoneNumberId) -> bool,
    ) -> Option<Self> {
        let emails = profile.emails.iter().filter(|row| row.verified);
        let phones = profile.phones.iter().filter(|row| row.verified);
        let vouched = Self {
            user: profile.user.id,
            emails: emails.map(|row| row.id).filter(|id| email(*id)).collect(),
            phones: phones.map(|row| row.id).filter(|id| phone(*id)).collect(),
        };
        (!vouched.emails.is_empty() || !vouched.phones.is_empty()).then_some(vouched)
    }
}

fn texts(ids: &[impl ToString]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

impl Service {
    /// The entry of identifiers that were vouched for.
    pub(super) fn vouched(&self, by: &Source<'_>, vouched: AppAsserted) -> ControlEvent {
        let mut detail = Detail::default();
        if !vouched.emails.is_empty() {
            detail = detail.with("emails", texts(&vouched.emails));
        }
        if !vouched.phones.is_empty() {
            detail = detail.with("phone_numbers", texts(&vouched.phones));
        }
        self.done(by, ControlAction::UserVouch, vouched.user, &detail)
    }
}
