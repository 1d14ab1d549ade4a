//! What happened in an environment, as key figures and charts of the overview.

use serde::Deserialize;
use vestry_app::platform::{ActivityOfWorld, ActivityRange};
use vestry_domain::activity::{Latency, Measure, SignInFailure, SignInMethod, WebhookOutcome};
use vestry_domain::wallet::WalletType;
use vestry_domain::{Invalid, Timestamp};

use crate::charts::{self, Chart, Drawing, Series, Shares, Steps, shown, total};
use crate::filters::{chain, date, weekday};

/// The query of the page.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Wanted {
    range: String,
}

/// The time that the charts cover, with its name in the URL and on the page.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) range: ActivityRange,
    name: &'static str,
    pub(crate) text: &'static str,
    /// What a step is.
    unit: &'static str,
}

/// All ranges.
const RANGES: [Range; 4] = [
    Range::new(ActivityRange::Day, "24h", "24 hours", "hour"),
    Range::new(ActivityRange::Week, "7d", "7 days", "day"),
    DEFAULT,
    Range::new(ActivityRange::Year, "12m", "12 months", "month"),
];
const DEFAULT: Range = Range::new(ActivityRange::Month, "30d", "30 days", "day");

impl Range {
    const fn new(
        range: ActivityRange,
        name: &'static str,
        text: &'static str,
        unit: &'static str,
    ) -> Self {
        Self {
            range,
            name,
            text,
            unit,
        }
    }

    /// The name of a step, and a short one.
    fn step(self, at: Timestamp) -> (String, String) {
        let date = date(at);
        let mut parts = date.split([' ', ',']).filter(|part| !part.is_empty());
        let mut part = || parts.next().unwrap_or_default();
        let (day, month, year, time) = (part(), part(), part(), part());
        let time = time.get(..5).unwrap_or_default();
        match self.range {
            ActivityRange::Day => (format!("{day} {month}, {time}"), time.to_owned()),
            ActivityRange::Week | ActivityRange::Month => {
                let day = format!("{day} {month}");
                (format!("{} {day}", weekday(at)), day)
            }
            ActivityRange::Year => (format!("{month} {year}"), month.to_owned()),
        }
    }
}

impl Wanted {
    /// The range, or the default one with the reason.
    pub(crate) fn range(&self) -> (Range, Option<Invalid>) {
        let known = RANGES.into_iter().find(|range| range.name == self.range);
        match known {
            Some(range) => (range, None),
            None if self.range.is_empty() => (DEFAULT, None),
            None => {
                let message = "range must be 24h, 7d, 30d or 12m";
                (DEFAULT, Some(Invalid::unknown("range", message)))
            }
        }
    }
}

/// A key figure.
pub(crate) struct Tile {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) note: String,
}

/// The part of the overview about what happened.
pub(crate) struct Activity {
    pub(crate) range: Range,
    /// Whether nothing was counted.
    pub(crate) is_empty: bool,
    pub(crate) tiles: Vec<Tile>,
    /// Sign-ins.
    pub(crate) first: Chart,
    pub(crate) shares: [Shares; 2],
    pub(crate) further: [Chart; 4],
}

impl Activity {
    pub(crate) fn new(range: Range, found: ActivityOfWorld) -> Self {
        let counts = Counts::new(range, &found);
        let tiles = counts.tiles();
        Self {
            range,
            is_empty: found.counts.is_empty(),
            tiles,
            first: counts.sign_ins(),
            shares: [counts.failures(), counts.wallets()],
            further: [
                counts.users(),
                counts.signatures(),
                counts.webhooks(),
                counts.latency(),
            ],
        }
    }

    /// The name of each range in the URL and on the page, and whether it is the current one.
    pub(crate) fn ranges(&self) -> [(&'static str, &'static str, bool); 4] {
        RANGES.map(|one| (one.name, one.text, one.range == self.range.range))
    }
}

struct Counts<'a> {
    range: Range,
    steps: Steps,
    found: &'a ActivityOfWorld,
}

impl<'a> Counts<'a> {
    fn new(range: Range, found: &'a ActivityOfWorld) -> Self {
        let names = found.steps.iter().map(|at| range.step(*at));
        let (names, short) = names.unzip();
        let unit = range.unit;
        Self {
            range,
            steps: Steps { unit, names, short },
            found,
        }
    }

    fn of(&self, measure: Measure) -> Vec<u64> {
        let none = || vec![0; self.found.steps.len()];
        let known = self.found.counts.get(&measure);
        known.cloned().unwrap_or_else(none)
    }

    /// How often something happened, whatever its label.
    fn all(&self, is_wanted: fn(&Measure) -> bool) -> Vec<u64> {
        let counts = self.found.counts.iter();
        let wanted = counts.filter(|(measure, _)| is_wanted(measure));
        let wanted = wanted.map(|(_, counts)| counts.clone());
        wanted
            .reduce(charts::sum)
            .unwrap_or_else(|| vec![0; self.found.steps.len()])
    }

    fn chart(
        &self,
        id: &'static str,
        heading: &'static str,
        what: &str,
        empty: &'static str,
        series: Vec<Series>,
    ) -> Chart {
        let Range { text, unit, .. } = self.range;
        Chart {
            id,
            heading,
            title: format!("{what} per {unit}, last {text}"),
            empty,
            drawing: Drawing::Stacked,
            is_low: true,
            unit: "",
            steps: self.steps.clone(),
            series,
        }
    }

    fn tiles(&self) -> Vec<Tile> {
        let attempts = total(&self.all(|one| matches!(one, Measure::Webhook(_))));
        let delivered = total(&self.of(Measure::Webhook(WebhookOutcome::Delivered)));
        let (delivery, refused) = match attempts {
            0 => ("–".to_owned(), "no attempts".to_owned()),
            _ => (
                format!("{} %", charts::percent(delivered, attempts)),
                format!("about {} not accepted", shown(attempts - delivered)),
            ),
        };
        let tile = |name, is_wanted: fn(&Measure) -> bool| Tile {
            name,
            value: shown(total(&self.all(is_wanted))),
            note: format!("about, last {}", self.range.text),
        };
        vec![
            tile("Sign-ins", |one| matches!(one, Measure::SignIn(_))),
            tile("New users", |one| matches!(one, Measure::UserCreated(_))),
            tile("Signatures", |one| matches!(one, Measure::Signature(_))),
            Tile {
                name: "Webhook attempts accepted",
                value: delivery,
                note: refused,
            },
        ]
    }

    fn sign_ins(&self) -> Chart {
        let methods = SignInMethod::ALL.iter().map(|method| {
            let counts = self.of(Measure::SignIn(*method));
            (method_name(*method).to_owned(), counts)
        });
        Chart {
            is_low: false,
            ..self.chart(
                "sign-ins",
                "Sign-ins by method",
                "Sign-ins by method",
                "No sign-ins in this time.",
                charts::ranked(methods),
            )
        }
    }

    fn failures(&self) -> Shares {
        let reasons = SignInFailure::ALL.iter().map(|reason| {
            let counts = self.of(Measure::SignInFailed(*reason));
            (None, reason_name(*reason), total(&counts))
        });
        Shares {
            id: "failures",
            heading: "Failed sign-ins by reason",
            empty: "No failed sign-ins of known users in this time.",
            class: "cbad",
            rows: Shares::ranked(reasons),
        }
    }

    fn wallets(&self) -> Shares {
        let types = WalletType::ALL.into_iter().map(|wallet_type| {
            let (sign, name) = chain(wallet_type);
            let counts = self.of(Measure::WalletCreated(wallet_type));
            (Some(sign), name, total(&counts))
        });
        Shares {
            id: "new-wallets",
            heading: "New wallets by type",
            empty: "No wallets were created or imported in this time.",
            class: "c1",
            rows: Shares::ranked(types),
        }
    }

    fn users(&self) -> Chart {
        let all = self.all(|one| matches!(one, Measure::UserCreated(_)));
        self.chart(
            "new-users",
            "New users",
            "New users",
            "No users were created in this time.",
            charts::fixed([("New users", "c1", all)]),
        )
    }

    fn signatures(&self) -> Chart {
        let types = WalletType::ALL.into_iter().map(|wallet_type| {
            let (_, name) = chain(wallet_type);
            (name.to_owned(), self.of(Measure::Signature(wallet_type)))
        });
        self.chart(
            "signatures",
            "Signatures",
            "Signatures by wallet type",
            "No wallet signed in this time.",
            charts::ranked(types),
        )
    }

    fn webhooks(&self) -> Chart {
        let of = |outcome| self.of(Measure::Webhook(outcome));
        self.chart(
            "webhook-outcomes",
            "Webhook attempts",
            "Webhook attempts by outcome",
            "No webhooks were sent in this time.",
            charts::fixed([
                ("Accepted", "c1", of(WebhookOutcome::Delivered)),
                ("Not accepted", "cbad", of(WebhookOutcome::Failed)),
                ("Endpoint gone (410)", "c5", of(WebhookOutcome::Gone)),
            ]),
        )
    }

    fn latency(&self) -> Chart {
        let buckets = Latency::ALL.iter();
        let buckets: Vec<_> = buckets
            .map(|bucket| (*bucket, self.of(Measure::WebhookMs(*bucket))))
            .collect();
        let wholes: Vec<_> = buckets
            .iter()
            .map(|(bucket, counts)| (*bucket, total(counts)))
            .collect();
        let lines = [("p50", "c1", 50), ("p95", "c4", 95)];
        let lines = lines.into_iter().filter_map(|(name, class, share)| {
            let whole = percentile(&wholes, share)?;
            let values = (0..self.found.steps.len()).map(|step| {
                let of_step = buckets.iter().map(|(bucket, counts)| {
                    (*bucket, counts.get(step).copied().unwrap_or_default())
                });
                percentile(&of_step.collect::<Vec<_>>(), share)
            });
            Some(Series {
                name: name.to_owned(),
                class,
                whole: format!("{} ms", shown(whole)),
                values: values.collect(),
            })
        });
        Chart {
            drawing: Drawing::Lines,
            unit: " ms",
            ..self.chart(
                "webhook-latency",
                "Webhook latency",
                "Duration of webhook attempts in milliseconds",
                "No webhooks were sent in this time.",
                lines.collect(),
            )
        }
    }
}

/// A percentile of durations, estimated from the counts of their buckets; `None` without any. Beyond the last bound, that bound.
fn percentile(buckets: &[(Latency, u64)], share: u64) -> Option<u64> {
    let counts: Vec<_> = buckets.iter().map(|(_, count)| *count).collect();
    let whole = u128::from(total(&counts));
    let rank = (whole * u128::from(share)).div_ceil(100);
    if rank == 0 {
        return None;
    }
    let (mut before, mut from) = (0_u128, 0_u64);
    for (bucket, count) in buckets {
        let (count, until) = (u128::from(*count), bucket.limit().map_or(from, u64::from));
        if before + count >= rank {
            let within = u128::from(until - from) * (rank - before) / count.max(1);
            return Some(from + u64::try_from(within).unwrap_or_default());
        }
        (before, from) = (before + count, until);
    }
    Some(from)
}

const fn method_name(method: SignInMethod) -> &'static str {
    match method {
        SignInMethod::EmailCode => "Email code",
        SignInMethod::SmsCode => "SMS code",
        SignInMethod::EmailLink => "Email link",
        SignInMethod::Password => "Password",
        SignInMethod::Passkey => "Passkey",
        SignInMethod::Provider => "Identity provider",
        SignInMethod::Wallet => "Wallet",
        SignInMethod::Totp => "Authenticator app",
        SignInMethod::RecoveryCode => "Recovery code",
    }
}

const fn reason_name(reason: SignInFailure) -> &'static str {
    match reason {
        SignInFailure::Code => "Wrong code",
        SignInFailure::Link => "Link not accepted",
        SignInFailure::Password => "Wrong password",
        SignInFailure::Totp => "Wrong authenticator or recovery code",
        SignInFailure::Passkey => "Passkey not accepted",
        SignInFailure::Wallet => "Wallet not accepted",
        SignInFailure::UserDisabled => "User disabled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_named_in_utc() {
        let at = Timestamp::from_unix(1_800_000_000);
        let names = RANGES.map(|range| range.step(at));
        let expected = [
            ("15 Jan, 08:00", "08:00"),
            ("Fri 15 Jan", "15 Jan"),
            ("Fri 15 Jan", "15 Jan"),
            ("Jan 2027", "Jan"),
        ];
        assert_eq!(
            names,
            expected.map(|(name, short)| (name.to_owned(), short.to_owned()))
        );
    }

    #[test]
    fn percentiles_are_estimated_within_buckets() {
        let none = |bucket: &Latency| (*bucket, 0);
        let mut buckets: Vec<_> = Latency::ALL.iter().map(none).collect();
        assert_eq!(percentile(&buckets, 50), None);
        // A hundred between 50 and 100 ms.
        buckets[1].1 = 100;
        assert_eq!(percentile(&buckets, 50), Some(75));
        assert_eq!(percentile(&buckets, 95), Some(97));
        // As many beyond the last bound.
        buckets[8].1 = 100;
        assert_eq!(percentile(&buckets, 50), Some(100));
        assert_eq!(percentile(&buckets, 95), Some(10_000));
        buckets[0].1 = u64::MAX;
        assert_eq!(percentile(&buckets, 50), Some(25));
    }
}
