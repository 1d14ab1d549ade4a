//! How many codes and links are sent: the same limits for known and unknown identifiers, because they are counted by what was
//! typed (OTP-10), and brakes on texts that are asked for because they cost money (attack 7).
//!
//! Whoever types somebody else's address spends that person's budget. So a little always goes on (M-5): beyond the budget, one
//! message of each kind every quarter of an hour; what is asked for again within seconds is not sent again, and whoever waits for
//! the next message is answered even if the attacker asked for it first; and a right answer shows that the owner is here, which
//! opens the budget anew.
//!
//! A transaction spends the narrow budgets first, because those refuse most of what is refused, and the wide ones last,
//! because their counters are held until the commit by everybody who sends.

use vestry_domain::app::AppSettings;
use vestry_domain::limits::{self, Limit, Verdict};
use vestry_domain::link::LinkPurpose;
use vestry_domain::phone::{NumberRange, PhoneNumber};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Repositories, StoreError};

use crate::shards::{SHARDS, shard};
use crate::{Refusal, Service};

const SHORT: &str = "otp_send_identifier";
const DAY: &str = "otp_send_identifier_day";
const EVERYWHERE: &str = "otp_send_everywhere";
const UNVERIFIED_PREFIX: &str = "sms_unverified_prefix";
const UNVERIFIED_COUNTRY: &str = "sms_unverified_country";

/// Counts in one world at one moment.
pub(crate) struct Purse<'a> {
    pub(crate) world: &'a World,
    pub(crate) now: Timestamp,
    /// What all Apps of the deployment together may send to one identifier in an hour; 0 for no limit (attack 8).
    pub(crate) everywhere: u32,
}

/// A message to one identifier.
#[derive(Clone, Copy)]
pub(crate) struct Send<'a> {
    /// What was typed, as it is compared.
    pub(crate) identifier: &'a str,
    pub(crate) kind: Kind,
    /// How many may be sent to it in a day.
    pub(crate) a_day: Limit,
    pub(crate) device: Option<&'a DeviceFingerprint>,
}

/// What a message brings. Whoever asks for one kind of them must not take the place of another kind beyond the budget.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Code,
    Link(LinkPurpose),
}

impl Kind {
    /// As in the name of a counter.
    const fn beyond(self) -> &'static str {
        match self {
            Self::Code => "otp_beyond_code",
            Self::Link(LinkPurpose::Login) => "otp_beyond_login",
            Self::Link(LinkPurpose::Invite) => "otp_beyond_invite",
            Self::Link(LinkPurpose::Create) => "otp_beyond_create",
            Self::Link(LinkPurpose::PasswordReset) => "otp_beyond_reset",
        }
    }

    /// What is asked for and nobody gets, as in the name of a counter.
    const fn of_nobody(self) -> &'static str {
        match self {
            Self::Code => "otp_nobody_code",
            Self::Link(_) => "otp_nobody_link",
        }
    }

    /// Those that are sent. A link that the App brings to its user itself is not.
    const SENT: [Self; 4] = [
        Self::Code,
        Self::Link(LinkPurpose::Login),
        Self::Link(LinkPurpose::Invite),
        Self::Link(LinkPurpose::PasswordReset),
    ];
}

/// A send that was counted first under its identifier, whose counter is held until the transaction ends.
pub(crate) struct Turn(Verdict);

impl Purse<'_> {
    async fn count(
        &self,
        tx: &mut dyn Repositories,
        name: &'static str,
        subject: &str,
        limit: Limit,
    ) -> Result<Verdict, StoreError> {
        let budgets = tx.budgets();
        budgets
            .spend(self.world, name, subject, limit, self.now)
            .await
    }

    async fn spend(
        &self,
        tx: &mut dyn Repositories,
        name: &'static str,
        subject: &str,
        limit: Limit,
    ) -> Result<(), Refusal> {
        let verdict = self.count(tx, name, subject, limit).await?;
        self.admit(verdict)
    }

    fn admit(&self, verdict: Verdict) -> Result<(), Refusal> {
        if verdict.admitted {
            return Ok(());
        }
        Err(Refusal::TooMany {
            retry_after: verdict.reset - self.now,
        })
    }

    /// The first thing that a send does. Sends to one identifier follow one another from here on, so that the second of two at
    /// once finds what the first has sent.
    pub(crate) async fn take_turn(
        &self,
        tx: &mut dyn Repositories,
        identifier: &str,
    ) -> Result<Turn, StoreError> {
        let short = limits::codes::SENDS_PER_IDENTIFIER;
        Ok(Turn(self.count(tx, SHORT, identifier, short).await?))
    }

    /// Whether a send that nobody gets only repeats one to the same mailbox of a few seconds ago. It is not counted then, as it would not be for
    /// somebody: known and unknown identifiers meet the same limits (OTP-10).
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

    /// The budgets of the device that asks, of the identifier, and of the identifier with all Apps together. Whatever is sent
    /// spends all of them: whoever is written to does not care by which call.
    pub(crate) async fn spend_narrow(
        &self,
        tx: &mut dyn Repositories,
        turn: Turn,
        send: Send<'_>,
    ) -> Result<(), Refusal> {
        if let Some(ip) = send.device.and_then(DeviceFingerprint::ip_subject) {
            self.spend(tx, "otp_send_ip", &ip, limits::codes::SENDS_PER_IP)
                .await?;
        }
        let day = self.count(tx, DAY, send.identifier, send.a_day).await?;
        let all_apps = World::of_all_apps(self.world.environment);
        let together = Purse {
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
        // Where all Apps together have sent enough, they share what goes on, or their number would make up for the limit.
        let purse = if everywhere.admitted { self } else { &together };
        let beyond = limits::codes::BEYOND_THE_BUDGET;
        let verdict = purse
            .count(tx, send.kind.beyond(), send.identifier, beyond)
            .await?;
        self.admit(Verdict {
            reset: verdict.reset.min(open_again),
            ..verdict
        })
    }

    /// Opens the budgets of an identifier anew: its owner has answered.
    pub(crate) async fn clear(
        &self,
        tx: &mut dyn Repositories,
        identifier: &str,
    ) -> Result<(), StoreError> {
        let beyond = Kind::SENT.map(Kind::beyond);
        let names: Vec<&'static str> = [SHORT, DAY].into_iter().chain(beyond).collect();
        tx.budgets().forget(self.world, &names, identifier).await?;
        if self.everywhere == 0 {
            return Ok(());
        }
        let all_apps = World::of_all_apps(self.world.environment);
        let names: Vec<&'static str> = [EVERYWHERE].into_iter().chain(beyond).collect();
        tx.budgets().forget(&all_apps, &names, identifier).await
    }

    /// The App's budget of mails, split by address; the sum is what the limit says.
    pub(crate) async fn spend_mail(
        &self,
        tx: &mut dyn Repositories,
        identity: &str,
    ) -> Result<(), Refusal> {
        let per_shard = Limit {
            most: limits::codes::SENDS_PER_APP.most / SHARDS,
            ..limits::codes::SENDS_PER_APP
        };
        self.spend(tx, "otp_send_app", &shard(identity), per_shard)
            .await
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
        let verdict = self.count(tx, name, subject, limit).await?;
        if verdict.admitted && verdict.remaining == 0 {
            // Said once, by the send that opens it. A prefix is not a number, and a person has to know which one it is.
            tracing::warn!(world = %self.world, range = subject, sends = limit.most, "texts to this range are stopped until the hour is over: none of the last was verified");
        }
        self.admit(verdict)
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
