//! Settings of an App: the form, the review of the changes, and saving them unless the settings have changed since (CON-17).

mod table;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use serde_json::{Map, Value};
use vestry_app::Refusal;
use vestry_app::platform::{AppChange, SettingsChange};
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::app::{App, AppSettings};

use crate::app::{Address, Inside, enter, received};
use crate::by_api::{ByApi, quoted};
use crate::filters;
use crate::flash::{Done, Flash};
use crate::form::{Form, Posted};
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, page};
use crate::problems::Problems;
use crate::visit::Visit;
use table::{GROUPS, Setting};

const PAGE: &str = "settings";

/// Settings by name.
type Values = Map<String, Value>;

/// A setting on the page.
struct Row {
    setting: &'static Setting,
    /// What the field shows.
    text: String,
    is_on: bool,
    default: String,
    is_default: bool,
    /// Whether changing it needs a second factor first.
    is_guarded: bool,
}

impl Row {
    /// The value, where it cannot be changed.
    fn value(&self) -> &str {
        match (self.setting.is_switch(), self.is_on) {
            (true, true) => "On",
            (true, false) => "Off",
            (false, _) if self.text.is_empty() => "None",
            (false, _) => &self.text,
        }
    }

    /// The id of its description.
    fn hint(&self) -> String {
        format!("{}-hint", self.setting.name)
    }
}

struct Section {
    id: &'static str,
    name: &'static str,
    rows: Vec<Row>,
}

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    frame: Frame,
    sections: Vec<Section>,
    may_change: bool,
    may_read_audit: bool,
    /// The settings as the form was filled with them, in JSON.
    base: String,
    problems: Problems,
    by_api: ByApi,
}

/// A difference to look at.
struct Difference {
    name: String,
    /// What it was when the form was filled, if it has changed since.
    before: Option<String>,
    current: String,
    new: String,
}

#[derive(Template)]
#[template(path = "settings_review.html")]
struct ReviewPage {
    frame: Frame,
    /// Whether the settings have changed since the form was filled.
    is_conflict: bool,
    both: Vec<Difference>,
    yours: Vec<Difference>,
    theirs: Vec<Difference>,
    count: usize,
    base: String,
    changes: String,
    by_api: ByApi,
}

fn values(settings: &AppSettings) -> Values {
    match serde_json::to_value(settings) {
        Ok(Value::Object(values)) => values,
        _ => Values::new(),
    }
}

fn json(values: &Values) -> String {
    serde_json::to_string(values).unwrap_or_default()
}

/// A value in a sentence.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// A value in a field.
fn typed(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => String::new(),
        Value::Array(list) => list.iter().map(typed).collect::<Vec<_>>().join(", "),
        other => shown(other),
    }
}

/// `GET settings`
pub(crate) async fn list(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    let app = read(&visit, &inside).await?;
    let base = values(&app.settings);
    Ok(form(&visit, &inside, &base, &base, Problems::none()))
}

async fn read(visit: &Visit, inside: &Inside) -> Result<App, HttpResponse> {
    let (by, id) = (inside.by.clone(), inside.world().app_id);
    let read = visit.run(|service| async move { service.show_settings(&by, id).await });
    match read.await {
        Ok(app) => Ok(app),
        Err(refusal) => Err(inside.refused(visit, refusal, "").await),
    }
}

fn form(
    visit: &Visit,
    inside: &Inside,
    base: &Values,
    filled: &Values,
    problems: Problems,
) -> HttpResponse {
    let app = inside.world().app_id;
    let may_weaken = inside.by.is_ready_for(Action::WeakenSettings, app).is_ok();
    let defaults = values(&AppSettings::default());
    let row = |setting: &'static Setting| {
        let value = filled.get(setting.name).unwrap_or(&Value::Null);
        let default = defaults.get(setting.name).unwrap_or(&Value::Null);
        Row {
            text: typed(value),
            is_on: value == &Value::Bool(true),
            default: shown(default),
            is_default: value == default,
            is_guarded: !may_weaken
                && setting
                    .guarded_at
                    .is_some_and(|on| base.get(setting.name) == Some(&Value::Bool(on))),
            setting,
        }
    };
    let sections = GROUPS.iter().map(|group| Section {
        id: group.id,
        name: group.name,
        rows: group.settings.iter().map(row).collect(),
    });
    let path = format!("/v1/manage/apps/{app}/settings");
    let template = SettingsPage {
        sections: sections.collect(),
        may_change: inside.by.may(Action::UpdateSettings, app),
        may_read_audit: inside.may(Action::ReadAuditLog),
        base: json(base),
        by_api: ByApi::new("GET", &path, "", format!("vestry app show {app}")),
        frame: inside.frame(visit, PAGE),
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// What a form with settings says.
struct Typed {
    /// Every setting, to fill the form again.
    filled: Values,
    changed: Values,
    /// The first field that cannot be read.
    wrong: Option<Invalid>,
}

impl Typed {
    /// Reads the settings whose fields the form had, by their kind.
    fn read(form: &Form, base: &Values) -> Self {
        let mut typed = Self {
            filled: base.clone(),
            changed: Values::new(),
            wrong: None,
        };
        let shown = form.all("shown");
        let settings = GROUPS.iter().flat_map(|group| group.settings);
        for setting in settings.filter(|setting| shown.iter().any(|name| name == setting.name)) {
            let (name, text) = (setting.name.to_owned(), form.text(setting.name));
            match setting.read(text) {
                Ok(value) => {
                    if base.get(setting.name) != Some(&value) {
                        typed.changed.insert(name.clone(), value.clone());
                    }
                    typed.filled.insert(name, value);
                }
                Err(invalid) => {
                    typed.filled.insert(name, Value::from(text));
                    typed.wrong.get_or_insert(invalid);
                }
            }
        }
        typed
    }
}

fn parsed(text: &str) -> Option<Values> {
    serde_json::from_str(text).ok()
}

/// `POST settings/review`
pub(crate) async fn review(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (fields, inside) = received(&visit, posted, &address).await?;
    let app = inside.world().app_id;
    inside.ready(&visit, Action::UpdateSettings, app).await?;
    let app = read(&visit, &inside).await?;
    let current = values(&app.settings);
    let base = parsed(fields.text("base")).unwrap_or_else(|| current.clone());
    let refused = |filled: &Values, invalid: Invalid| {
        let problems = Problems::of("Nothing was saved.", invalid);
        form(&visit, &inside, &base, filled, problems)
    };
    let Typed {
        filled,
        changed,
        wrong,
    } = Typed::read(&fields, &base);
    if let Some(invalid) = wrong {
        return Ok(refused(&filled, invalid));
    }
    let (by, id, wanted) = (inside.by.clone(), inside.world().app_id, changed.clone());
    let preview = visit.run(|service| async move {
        service
            .preview_settings(&by, id, SettingsChange::Some(wanted))
            .await
    });
    match preview.await {
        Ok(_) => Ok(reviewed(&visit, &inside, &base, &current, &changed)),
        Err(Refusal::Invalid(invalid)) => Ok(refused(&filled, invalid)),
        Err(refusal) => Err(inside.refused(&visit, refusal, PAGE).await),
    }
}

/// The page that shows what saving would change.
fn reviewed(
    visit: &Visit,
    inside: &Inside,
    base: &Values,
    current: &Values,
    changed: &Values,
) -> HttpResponse {
    let (mut both, mut yours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for (name, now) in current {
        let before = base.get(name).filter(|before| *before != now).map(shown);
        let new = changed.get(name).filter(|new| *new != now);
        let difference = Difference {
            name: name.clone(),
            current: shown(now),
            new: new.map_or_else(|| shown(now), shown),
            before,
        };
        match (&difference.before, new) {
            (Some(_), Some(_)) => both.push(difference),
            (None, Some(_)) => yours.push(difference),
            (Some(_), None) => theirs.push(difference),
            (None, None) => {}
        }
    }
    let app = inside.world().app_id;
    let path = format!("/v1/manage/apps/{app}/settings");
    let pairs = changed.iter().map(|(name, value)| match value {
        Value::String(text) => format!(" {}", quoted(&format!("{name}={text}"))),
        other => format!(" {}", quoted(&format!("{name}={other}"))),
    });
    let cli = format!("vestry app set {app}{}", pairs.collect::<String>());
    let is_conflict = !both.is_empty() || !theirs.is_empty();
    let template = ReviewPage {
        is_conflict,
        count: both.len() + yours.len(),
        base: json(current),
        changes: json(changed),
        by_api: ByApi::new("PATCH", &path, &json(changed), cli).with_etag(),
        frame: inside.frame(visit, PAGE),
        both,
        yours,
        theirs,
    };
    let status = match is_conflict {
        true => StatusCode::PRECONDITION_FAILED,
        false => StatusCode::OK,
    };
    page(visit, status, &template)
}

/// `POST settings`: saves the reviewed changes, unless the settings have changed since.
pub(crate) async fn save(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (fields, inside) = received(&visit, posted, &address).await?;
    let app = inside.world().app_id;
    inside.ready(&visit, Action::UpdateSettings, app).await?;
    let (Some(base), Some(changed)) = (parsed(fields.text("base")), parsed(fields.text("changes")))
    else {
        let invalid = Invalid::value("changes", "changes must be a JSON object");
        return Err(page::refused(&visit, invalid.into()));
    };
    let (by, id) = (inside.by.clone(), inside.world().app_id);
    let (reviewed_base, wanted) = (base.clone(), changed.clone());
    let saved = visit.run(|service| async move {
        let change = AppChange {
            settings: Some(SettingsChange::Some(wanted)),
            ..AppChange::default()
        };
        let is_reviewed = |app: &App| values(&app.settings) == reviewed_base;
        service.change_app(&by, id, change, &is_reviewed).await
    });
    match saved.await {
        Ok(_) => {
            let count = u32::try_from(changed.len()).unwrap_or(u32::MAX);
            Ok(done(
                &visit,
                Flash::settings_saved(count),
                &inside.path(PAGE),
            ))
        }
        Err(Refusal::PreconditionFailed) => {
            let app = read(&visit, &inside).await?;
            let current = values(&app.settings);
            // A double click: the first one has saved them.
            let is_saved = changed
                .iter()
                .all(|(name, value)| current.get(name) == Some(value));
            match is_saved {
                true => Ok(done(&visit, Done::Repeated, &inside.path(PAGE))),
                false => Ok(reviewed(&visit, &inside, &base, &current, &changed)),
            }
        }
        Err(Refusal::Invalid(invalid)) => {
            let app = read(&visit, &inside).await?;
            let current = values(&app.settings);
            let mut filled = current.clone();
            filled.extend(changed);
            let problems = Problems::of("Nothing was saved.", invalid);
            Ok(form(&visit, &inside, &current, &filled, problems))
        }
        Err(refusal) => Err(inside.refused(&visit, refusal, PAGE).await),
    }
}
