//! Send quotas for codes and links.
//!
//! Known and unknown identifiers meet the same limits, because sends are counted by the identifier as typed (OTP-10). Circuit breakers
//! limit unverified texts, because texts cost money (attack 7).
//!
//! Anyone who types another person's address uses up that person's quota. Some sends therefore always get through (M-5). Beyond the quota,
//! one message of each kind is sent every quarter of an hour. A request repeated within seconds sends nothing new. A user waiting for the
//! next message gets its response even if the attacker requested it first. A correct answer shows that the owner is present and resets the
//! quota.
//!
//! A transaction consumes the narrow quotas first, because most refusals come from them. It consumes the wide ones last, because every
//! sender holds their counters until commit.

use vestry_domain::app::AppSettings;
use vestry_domain::limits::{self, Limit, LimitVerdict};
use vestry_domain::link::LinkPurpose;
use vestry_domain::phone::{NumberRange, PhoneNumber};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Repositories, StoreError};

use crate::kernel::shards::{SHARDS, shard};
use crate::{Refusal, Service};

const SHORT: &str = "otp_send_identifier";
const DAY: &str = "otp_send_identifier_day";
const EVERYWHERE: &str = "otp_send_everywhere";
const UNVERIFIED_PREFIX: &str = "sms_unverified_prefix";
const UNVERIFIED_COUNTRY: &str = "sms_unverified_country";

/// The send quotas of one world at one moment.
pub(crate) struct SendQuota<'a> {
    pub(crate) world: &'a World,
    pub(crate) now: Timestamp,
    /// Hourly limit per identifier across all Apps of the deployment; 0 for no limit (attack 8).
    pub(crate) everywhere: u32,
}

/// A message to one identifier.
#[derive(Clone, Copy)]
pub(crate) struct Send<'a> {
    /// The identifier as typed, in the form used for comparison.
    pub(crate) identifier: &'a str,
    pub(crate) kind: Kind,
    /// Daily limit for this identifier.
    pub(crate) a_day: Limit,
    pub(crate) device: Option<&'a DeviceFingerprint>,
}

/// The kind of message. Beyond the quota, requests for one kind must not use up the allowance of another.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Code,
    Link(LinkPurpose),
}

impl Kind {
    /// The counter name for sends beyond the quota.
    const fn beyond(self) -> &'static str {
        match self {
            Self::Code => "otp_beyond_code",
            Self::Link(LinkPurpose::Login) => "otp_beyond_login",
            Self::Link(LinkPurpose::Invite) => "otp_beyond_invite",
            Self::Link(LinkPurpose::Create) => "otp_beyond_create",
            Self::Link(LinkPurpose::PasswordReset) => "otp_beyond_reset",
        }
    }

    /// The counter name for sends that are suppressed.
    const fn of_nobody(self) -> &'static str {
        match self {
            Self::Code => "otp_nobody_code",
            Self::Link(_) => "otp_nobody_link",
        }
    }

    /// The kinds that Vestry sends. A link that the App delivers itself is not one of them.
    const SENT: [Self; 4] = [
        Self::Code,
        Self::Link(LinkPurpose::Login),
        Self::Link(LinkPurpose::Invite),
        Self::Link(LinkPurpose::PasswordReset),
    ];
}

/// A send counted against its identifier, whose counter stays locked until the transaction ends.
pub(crate) struct Turn(LimitVerdict);

impl SendQuota<'_> {
    async fn count(
        &self,
        tx: &mut dyn Repositories,
        name: &'static str,
        subject: &str,
        limit: Limit,
    ) -> Result<LimitVerdict, StoreError> {
        let quotas = tx.quotas();
        quotas
            .consume(self.world, name, subject, limit, self.now)
            .await
    }

    async fn consume(
        &self,
        tx: &mut dyn Repositories,
        name: &'static str,
        subject: &str,
        limit: Limit,
    ) -> Result<(), Refusal> {
        let verdict = self.count(tx, name, subject, limit).await?;
        self.admit(verdict)
    }

    fn admit(&self, verdict: LimitVerdict) -> Result<(), Refusal> {
        if verdict.admitted {
            return Ok(());
        }
        Err(Refusal::TooMany {
            retry_after: verdict.reset - self.now,
        })
    }

    /// Serialises sends to one identifier; the first step of every send.
    ///
    /// The second of two concurrent sends then sees what the first one sent.
    pub(crate) async fn take_turn(
        &self,
        tx: &mut dyn Repositories,
        identifier: &str,
    ) -> Result<Turn, StoreError> {
        let short = limits::codes::SENDS_PER_IDENTIFIER;
        Ok(Turn(self.count(tx, SHORT, identifier, short).await?))
    }

    /// Whether a suppressed send only repeats one to the same mailbox from seconds ago.
    ///
    /// It is then not counted, exactly as for a known identifier: known and unknown identifiers meet the same limits (OTP-10).
    pub(crate) async fn repeats_for_nobody(
        &self,
        tx: &mut dyn Repositories,
        kind: Kind,
        mailbox: &str,
    ) -> Result<bool, StoreError> {
        let once = Limit {
            most: 1,
            window: limits::codes::REPEATED_WITHIN,
        };
        let name = kind.of_nobody();
        Ok(!self.count(tx, name, mailbox, once).await?.admitted)
    }

    /// Consumes the quotas of the requesting device, of the identifier, and of the identifier across all Apps.
    ///
    /// Every send consumes all of them: the recipient does not care which call caused the message.
    pub(crate) async fn spend_narrow(
        &self,
        tx: &mut dyn Repositories,
        turn: Turn,
        send: Send<'_>,
    ) -> Result<(), Refusal> {
        if let Some(ip) = send.device.and_then(DeviceFingerprint::ip_subject) {
            self.consume(tx, "otp_send_ip", &ip, limits::codes::SENDS_PER_IP)
                .await?;
        }
        let day = self.count(tx, DAY, send.identifier, send.a_day).await?;
        let all_apps = World::of_all_apps(self.world.environment);
        let together = SendQuota {
            world: &all_apps,
            ..*self
        };
        let limit = Limit::per_hour(self.everywhere);
        let everywhere = together
            .count(tx, EVERYWHERE, send.identifier, limit)
            .await?;
        let spent = [turn.0, day, everywhere].into_iter();
        let spent = spent.filter(|verdict| !verdict.admitted);
        let Some(open_again) = spent.map(|verdict| verdict.reset).max() else {
            return Ok(());
        };
        // Once the limit across all Apps is reached, they share the remaining trickle. Otherwise their number would defeat the limit.
        let quota = if everywhere.admitted { self } else { &together };
        let beyond = limits::codes::BEYOND_THE_QUOTA;
        let verdict = quota
            .count(tx, send.kind.beyond(), send.identifier, beyond)
            .await?;
        self.admit(LimitVerdict {
            reset: verdict.reset.min(open_again),
            ..verdict
        })
    }

    /// Resets the quotas of an identifier after its owner answered.
    pub(crate) async fn clear(
        &self,
        tx: &mut dyn Repositories,
        identifier: &str,
    ) -> Result<(), StoreError> {
        let beyond = Kind::SENT.map(Kind::beyond);
        let names: Vec<&'static str> = [SHORT, DAY].into_iter().chain(beyond).collect();
        tx.quotas().forget(self.world, &names, identifier).await?;
        if self.everywhere == 0 {
            return Ok(());
        }
        let all_apps = World::of_all_apps(self.world.environment);
        let names: Vec<&'static str> = [EVERYWHERE].into_iter().chain(beyond).collect();
        tx.quotas().forget(&all_apps, &names, identifier).await
    }

    /// Consumes the App's mail quota, which is sharded by address; the shards add up to the limit.
    pub(crate) async fn spend_mail(
        &self,
        tx: &mut dyn Repositories,
        identity: &str,
    ) -> Result<(), Refusal> {
        let per_shard = Limit {
            most: limits::codes::SENDS_PER_APP.most / SHARDS,
            ..limits::codes::SENDS_PER_APP
        };
        self.consume(tx, "otp_send_app", &shard(identity), per_shard)
            .await
    }

    /// Consumes the text quotas of the number's prefix, of its country and of the App, and checks the two circuit breakers between them.
    pub(crate) async fn spend_text(
        &self,
        tx: &mut dyn Repositories,
        settings: &AppSettings,
        range: &NumberRange,
    ) -> Result<(), Refusal> {
        let (prefix, country) = (&*range.prefix, &*range.country);
        let per_prefix = Limit::per_hour(settings.sms_prefix_per_hour);
        let per_country = Limit::per_hour(settings.sms_country_per_hour);
        self.consume(tx, "sms_prefix", prefix, per_prefix).await?;
        self.breaker(
            tx,
            UNVERIFIED_PREFIX,
            prefix,
            limits::texts::UNVERIFIED_PER_PREFIX,
        )
        .await?;
        self.consume(tx, "sms_country", country, per_country)
            .await?;
        self.breaker(
            tx,
            UNVERIFIED_COUNTRY,
            country,
            limits::texts::UNVERIFIED_PER_COUNTRY,
        )
        .await?;
        self.consume(tx, "sms_app", "", Limit::per_hour(settings.sms_per_hour))
            .await
    }

    /// Counts a send that has not been verified yet.
    async fn breaker(
        &self,
        tx: &mut dyn Repositories,
        name: &'static str,
        subject: &str,
        limit: Limit,
    ) -> Result<(), Refusal> {
        let verdict = self.count(tx, name, subject, limit).await?;
        if verdict.admitted && verdict.remaining == 0 {
            // Logged once, by the send that opens the breaker. A prefix is not personal data, and an operator needs to know which one it
            // is.
            tracing::warn!(world = %self.world, range = subject, sends = limit.most, "SMS to this prefix suspended for the hour: no recent code was verified (possible toll fraud)");
        }
        self.admit(verdict)
    }

    /// Consumes the App's quota of users created by login-or-create calls (attack 8).
    pub(crate) async fn spend_new_user(
        &self,
        tx: &mut dyn Repositories,
        settings: &AppSettings,
    ) -> Result<(), Refusal> {
        let limit = Limit::per_hour(settings.new_users_per_hour);
        self.consume(tx, "otp_new_user", "", limit).await
    }
}

impl Service {
    /// Returns the send quotas of a world at this moment.
    pub(crate) fn send_quota<'a>(&self, world: &'a World, now: Timestamp) -> SendQuota<'a> {
        SendQuota {
            world,
            now,
            everywhere: self.settings.sends_per_identifier,
        }
    }
}

/// Records that a text was verified, which offsets unverified sends to its prefix and country.
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
        tx.quotas().refund(world, name, subject, uses).await?;
    }
    Ok(())
}
