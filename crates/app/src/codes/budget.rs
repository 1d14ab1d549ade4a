//! How many codes are sent: the same limits for known and unknown identifiers, because they are counted by what was typed
//! (OTP-10), and brakes on texts that are asked for because they cost money (attack 7).
//!
//! A transaction spends the narrow budgets first, because those refuse most of what is refused, and the wide ones last,
//! because their counters are held until the commit by everybody who sends.

use vestry_domain::app::AppSettings;
use vestry_domain::limits::{self, Limit};
use vestry_domain::phone::{NumberRange, PhoneNumber};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Repositories, StoreError};

use crate::{Refusal, Service};

const UNVERIFIED_PREFIX: &str = "sms_unverified_prefix";
const UNVERIFIED_COUNTRY: &str = "sms_unverified_country";

/// Counts in one world at one moment.
pub(crate) struct Purse<'a> {
    pub(crate) world: &'a World,
    pub(crate) now: Timestamp,
    /// What all Apps of the deployment together may send to one identifier in an hour; 0 for no limit (attack 8).
    pub(crate) everywhere: u32,
}

impl Purse<'_> {
    async fn spend(
        &self,
        tx: &mut dyn Repositories,
        name: &'static str,
        subject: &str,
        limit: Limit,
    ) -> Result<(), Refusal> {
        let budgets = tx.budgets();
        let verdict = budgets
            .spend(self.world, name, subject, limit, self.now)
            .await?;
        if verdict.admitted {
            return Ok(());
        }
        Err(Refusal::TooMany {
            retry_after: verdict.reset - self.now,
        })
    }

    /// The budgets of the identifier, of the device that asks, and of the identifier with all Apps together. Whatever is sent
    /// spends all of them: whoever is written to does not care by which call.
    pub(crate) async fn spend_narrow(
        &self,
        tx: &mut dyn Repositories,
        identifier: &str,
        a_day: Limit,
        device: Option<&DeviceFingerprint>,
    ) -> Result<(), Refusal> {
        let short = limits::codes::SENDS_PER_IDENTIFIER;
        self.spend(tx, "otp_send_identifier", identifier, short)
            .await?;
        self.spend(tx, "otp_send_identifier_day", identifier, a_day)
            .await?;
        if let Some(ip) = device.and_then(DeviceFingerprint::ip_subject) {
            self.spend(tx, "otp_send_ip", &ip, limits::codes::SENDS_PER_IP)
                .await?;
        }
        let everywhere = Purse {
            world: &World::of_all_apps(self.world.environment),
            ..*self
        };
        let limit = Limit::per_hour(self.everywhere);
        everywhere
            .spend(tx, "otp_send_everywhere", identifier, limit)
            .await
    }

    /// The App's budget of mails, split into sixteen counters by address, so that sends to different addresses rarely wait
    /// for one another's commit; the sum is what the limit says.
    pub(crate) async fn spend_mail(
        &self,
        tx: &mut dyn Repositories,
        identity: &str,
    ) -> Result<(), Refusal> {
        const SHARDS: u8 = 16;
        let shard = TokenHash::of(identity)
            .0
            .first()
            .map_or(0, |byte| byte % SHARDS)
            .to_string();
        let per_shard = Limit {
            most: limits::codes::SENDS_PER_APP.most / u32::from(SHARDS),
            ..limits::codes::SENDS_PER_APP
        };
        self.spend(tx, "otp_send_app", &shard, per_shard).await
    }

    /// The budgets of texts: of the number's prefix, of its country and of the App, with the two breakers between them.
    pub(crate) async fn spend_text(
        &self,
        tx: &mut dyn Repositories,
        settings: &AppSettings,
        range: &NumberRange,
    ) -> Result<(), Refusal> {
        let (prefix, country) = (&*range.prefix, &*range.country);
        let per_prefix = Limit::per_hour(settings.sms_prefix_per_hour);
        let per_country = Limit::per_hour(settings.sms_country_per_hour);
        self.spend(tx, "sms_prefix", prefix, per_prefix).await?;
        self.breaker(
            tx,
            UNVERIFIED_PREFIX,
            prefix,
            limits::texts::UNVERIFIED_PER_PREFIX,
        )
        .await?;
        self.spend(tx, "sms_country", country, per_country).await?;
        self.breaker(
            tx,
            UNVERIFIED_COUNTRY,
            country,
            limits::texts::UNVERIFIED_PER_COUNTRY,
        )
        .await?;
        self.spend(tx, "sms_app", "", Limit::per_hour(settings.sms_per_hour))
            .await
    }

    /// Counts a send that nobody has answered yet.
    async fn breaker(
        &self,
        tx: &mut dyn Repositories,
        name: &'static str,
        subject: &str,
        limit: Limit,
    ) -> Result<(), Refusal> {
        let budgets = tx.budgets();
        let verdict = budgets
            .spend(self.world, name, subject, limit, self.now)
            .await?;
        if verdict.admitted && verdict.remaining == 0 {
            // Said once, by the send that opens it. A prefix is not a number, and a person has to know which one it is.
            tracing::warn!(world = %self.world, range = subject, sends = limit.most, "texts to this range are stopped until the hour is over: none of the last was verified");
        }
        if verdict.admitted {
            return Ok(());
        }
        Err(Refusal::TooMany {
            retry_after: verdict.reset - self.now,
        })
    }

    /// The App's budget of users that login-or-create calls make (attack 8).
    pub(crate) async fn spend_new_user(
        &self,
        tx: &mut dyn Repositories,
        settings: &AppSettings,
    ) -> Result<(), Refusal> {
        let limit = Limit::per_hour(settings.new_users_per_hour);
        self.spend(tx, "otp_new_user", "", limit).await
    }
}

impl Service {
    /// What sends of a world spend from at this moment.
    pub(crate) fn purse<'a>(&self, world: &'a World, now: Timestamp) -> Purse<'a> {
        Purse {
            world,
            now,
            everywhere: self.settings.sends_per_identifier,
        }
    }
}

/// A text was answered: it makes up for sends of its prefix and country that were not.
pub(crate) async fn text_was_verified(
    tx: &mut dyn Repositories,
    world: &World,
    number: &PhoneNumber,
) -> Result<(), StoreError> {
    let range = number.range();
    let uses = limits::texts::MADE_UP_FOR;
    for (name, subject) in [
        (UNVERIFIED_PREFIX, &range.prefix),
        (UNVERIFIED_COUNTRY, &range.country),
    ] {
        tx.budgets().give_back(world, name, subject, uses).await?;
    }
    Ok(())
}
