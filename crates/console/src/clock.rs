//! The clock of the test environment: set, move and reset it.

use actix_web::HttpResponse;
use actix_web::web::Path;
use askama::Template;
use vestry_app::Refusal;
use vestry_app::delivery::test_messages::TestEnvError;
use vestry_app::platform::test_clock::ClockReading;
use vestry_domain::test_clock::ClockChange;
use vestry_domain::{Invalid, Timestamp, rfc3339};

use crate::app::{Address, Inside, enter, received};
use crate::by_api::ByApi;
use crate::filters::{self, relative};
use crate::flash::Done;
use crate::form::{Form, Posted};
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, page};
use crate::problems::Problems;
use crate::visit::Visit;

const CLOCK: &str = "clock";
/// The forms of the page.
const FORMS: [&str; 4] = ["advance", "set", "unfreeze", "reset"];
/// Steps that a button offers, in seconds.
const STEPS: [(i64, &str); 4] = [
    (600, "10 minutes"),
    (3_600, "1 hour"),
    (86_400, "1 day"),
    (2_592_000, "30 days"),
];

#[derive(Template)]
#[template(path = "clock.html")]
struct ClockPage {
    frame: Frame,
    reading: ClockReading,
    /// How far the clock is from the machine's.
    drift: String,
    /// The revision that the forms change.
    base: i64,
    /// When it was set, by the machine's clock.
    set_at: Timestamp,
    advance_seconds: String,
    now: String,
    frozen: bool,
    problems: Problems,
    by_api: ByApi,
}

/// A time of day, and the date with the Unix seconds, both in UTC.
fn parts(at: &Timestamp) -> (String, String) {
    let text = rfc3339::format(*at);
    let (date, time) = text.split_once('T').unwrap_or_default();
    let time = time.trim_end_matches('Z').to_owned();
    (time, format!("{date} UTC · {}", at.unix()))
}

/// The distance of a clock from the machine's.
fn drift(now: Timestamp, machine: Timestamp) -> String {
    let text = relative(now, machine);
    match (text.strip_prefix("in "), text.strip_suffix(" ago")) {
        (Some(ahead), _) => format!("{ahead} ahead"),
        (_, Some(behind)) => format!("{behind} behind"),
        (None, None) => "Machine time".to_owned(),
    }
}

/// The change that a form asks for.
fn wanted(form_name: &str, form: &Form) -> Result<ClockChange, Invalid> {
    let mut change = ClockChange::default();
    match form_name {
        "advance" => {
            let seconds = form.text("advance_seconds").trim().parse::<i64>();
            let message = "advance_seconds must be a whole number";
            let seconds = seconds.map_err(|_malformed| Invalid::value("advance_seconds", message));
            change.advance_seconds = Some(seconds?);
        }
        "set" => {
            let typed = form.text("now").trim();
            // A browser leaves out seconds that are 0.
            let zone = if typed.len() > "2027-01-15T08:00".len() {
                "Z"
            } else {
                ":00Z"
            };
            let message = "now must be a date and time, such as 2027-01-15T08:00:00";
            let at = rfc3339::parse(&format!("{typed}{zone}"));
            let at = at.ok_or_else(|| Invalid::value("now", message))?;
            change.now = Some(at.unix());
            change.frozen = Some(form.text("frozen") == "on");
        }
        _ => change.frozen = Some(false),
    }
    Ok(change)
}

fn common(error: TestEnvError) -> Refusal {
    match error {
        TestEnvError::NotFound => Refusal::NotFound("page"),
        TestEnvError::Common(refusal) => refusal,
    }
}

/// `GET clock`, also at the paths of its forms
pub(crate) async fn show(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside.only_in_test(&visit).await?;
    if !address.id.is_empty() && !FORMS.contains(&address.id.as_str()) {
        return Err(page::unknown(visit).await);
    }
    shown(&visit, &inside, None, Problems::none()).await
}

async fn shown(
    visit: &Visit,
    inside: &Inside,
    form: Option<&Form>,
    problems: Problems,
) -> Result<HttpResponse, HttpResponse> {
    let caller = inside.caller.clone();
    let read = visit.run(|service| async move { service.read_test_clock(&caller).await });
    let reading = match read.await {
        Ok(reading) => reading,
        Err(error) => return Err(inside.refused(visit, common(error), "").await),
    };
    let frame = inside.frame(visit, CLOCK);
    let stored = inside.caller.app.test_clock;
    let typed = |name: &str| form.map(|form| form.text(name).to_owned());
    let present = rfc3339::format(reading.now);
    let template = ClockPage {
        drift: drift(reading.now, frame.now),
        base: stored.revision,
        set_at: stored.set_at,
        advance_seconds: typed("advance_seconds").unwrap_or_default(),
        now: typed("now")
            .filter(|now| !now.is_empty())
            .unwrap_or_else(|| present.trim_end_matches('Z').to_owned()),
        // Only the form that sets the clock has the switch.
        frozen: match form {
            Some(form) if !form.text("now").is_empty() => form.text("frozen") == "on",
            _ => reading.frozen,
        },
        by_api: ByApi::of_app(
            "POST",
            "/v1/test/clock",
            r#"{"advance_seconds": 604801}"#,
            String::new(),
        ),
        frame,
        reading,
        problems,
    };
    Ok(page(visit, template.problems.status(), &template))
}

/// `POST clock/{form}`
pub(crate) async fn change(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside.only_in_test(&visit).await?;
    if !FORMS.contains(&address.id.as_str()) {
        return Err(page::unknown(visit).await);
    }
    let to = inside.path(CLOCK);
    let caller = inside.caller.clone();
    if address.id == "reset" {
        let reset = visit.run(|service| async move { service.reset_test_clock(&caller).await });
        return match reset.await {
            Ok(_) => Ok(done(&visit, Done::ClockReset, &to)),
            Err(error) => Err(inside.refused(&visit, common(error), CLOCK).await),
        };
    }
    let title = "The clock was not changed.";
    let change = match wanted(&address.id, &form) {
        Ok(change) => change,
        Err(invalid) => {
            let problems = Problems::of(title, invalid);
            return shown(&visit, &inside, Some(&form), problems).await;
        }
    };
    // A form without its revision is stale.
    let base = form.text("base").parse().unwrap_or(-1);
    let set = visit
        .run(|service| async move { service.set_test_clock_from(&caller, base, change).await });
    match set.await {
        Ok(Some(_)) => Ok(done(&visit, Done::ClockChanged, &to)),
        Ok(None) => Ok(done(&visit, Done::ClockStale, &to)),
        Err(TestEnvError::Common(Refusal::Invalid(invalid))) => {
            let problems = Problems::of(title, invalid);
            shown(&visit, &inside, Some(&form), problems).await
        }
        Err(error) => Err(inside.refused(&visit, common(error), CLOCK).await),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_ahead_or_behind() {
        let at = Timestamp::from_unix;
        for (now, expected) in [
            (1_800_000_000, "Machine time"),
            (1_800_604_800, "7 days ahead"),
            (1_799_996_400, "1 h behind"),
        ] {
            assert_eq!(drift(at(now), at(1_800_000_000)), expected);
        }
        let (time, date) = parts(&at(1_800_000_000));
        assert_eq!(
            (time.as_str(), date.as_str()),
            ("08:00:00", "2027-01-15 UTC · 1800000000")
        );
    }
}
