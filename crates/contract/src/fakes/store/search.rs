//! Matching of users against a filter.

use vestry_domain::Timestamp;
use vestry_domain::search::{Combined, Condition, MetadataDigest, UserFilter};
use vestry_domain::totp::Totp;
use vestry_domain::user::UserProfile;
use vestry_domain::wallet::Wallet;

use super::state::State;

impl State {
    pub(super) fn fits(&self, profile: &UserProfile, filter: &UserFilter, now: Timestamp) -> bool {
        let mut conditions = filter.conditions.iter();
        match filter.combined {
            Combined::All => conditions.all(|condition| self.holds(profile, condition, now)),
            Combined::Any => conditions.any(|condition| self.holds(profile, condition, now)),
        }
    }

    fn holds(&self, profile: &UserProfile, condition: &Condition, now: Timestamp) -> bool {
        let UserProfile {
            user,
            emails,
            phones,
        } = profile;
        match condition {
            Condition::NoUser => false,
            Condition::UserId(ids) => ids.contains(&user.id),
            Condition::ExternalKey(keys) => self
                .imported_users
                .iter()
                .any(|(of, key, id)| (*of, *id) == (user.world, user.id) && keys.contains(key)),
            Condition::Status(statuses) => statuses.contains(&user.shown_status()),
            Condition::FullNameMatch(part) => user.folded_name().contains(part),
            Condition::PhoneNumber(numbers) => {
                phones.iter().any(|phone| numbers.contains(&phone.number))
            }
            Condition::PhoneNumberId(ids) => phones.iter().any(|phone| ids.contains(&phone.id)),
            Condition::PhoneNumberMatch(digits) => phones
                .iter()
                .any(|phone| phone.number.as_str().contains(digits)),
            Condition::PhoneNumberVerified(wanted) => {
                phones.iter().any(|phone| phone.verified == *wanted)
            }
            Condition::Email(identities) => emails
                .iter()
                .any(|email| identities.contains(email.email.identity())),
            Condition::EmailId(ids) => emails.iter().any(|email| ids.contains(&email.id)),
            Condition::EmailMatch(part) => emails
                .iter()
                .any(|email| email.email.folded().contains(part)),
            Condition::EmailVerified(wanted) => {
                emails.iter().any(|email| email.verified == *wanted)
            }
            Condition::WalletPublicAddress(addresses) => {
                self.has_wallet(profile, |wallet| addresses.contains(&wallet.public_address))
            }
            Condition::WalletId(ids) => self.has_wallet(profile, |wallet| ids.contains(&wallet.id)),
            Condition::TotpId(ids) => self.has_totp(profile, now, |totp| ids.contains(&totp.id)),
            Condition::TotpVerified(wanted) => {
                self.has_totp(profile, now, |totp| totp.verified == *wanted)
            }
            Condition::IdpProvider(names) => self.provider_links.iter().any(|link| {
                (link.world, link.user_id) == (user.world, user.id)
                    && names.iter().any(|name| name == link.provider.as_str())
            }),
            Condition::CreatedAt(period) => (period.from..=period.to).contains(&user.created_at),
            Condition::Metadata(digests) => {
                let mut own = user.metadata.as_object().iter();
                own.any(|(key, value)| {
                    MetadataDigest::of(key, value).is_some_and(|own| digests.contains(&own))
                })
            }
        }
    }

    fn has_totp(
        &self,
        profile: &UserProfile,
        now: Timestamp,
        fits: impl Fn(&Totp) -> bool,
    ) -> bool {
        let user = &profile.user;
        let totps = self.totps.iter().map(|row| &row.totp);
        let mut own = totps.filter(|totp| totp.world == user.world && totp.user_id == user.id);
        own.any(|totp| totp.is_alive(now) && fits(totp))
    }

    fn has_wallet(&self, profile: &UserProfile, fits: impl Fn(&Wallet) -> bool) -> bool {
        let user = &profile.user;
        self.wallets.iter().any(|(stored, _)| {
            let wallet = &stored.wallet;
            wallet.world == user.world && wallet.user_id == user.id && fits(wallet)
        })
    }
}
