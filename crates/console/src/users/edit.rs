//! Names and metadata of a user.

use actix_web::HttpResponse;
use actix_web::web::Path;
use askama::Template;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vestry_app::Refusal;
use vestry_app::identity::users::{FullUser, UpdateUser};
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail};

use super::{USERS, find, title};
use crate::app::{Address, Inside, enter, received};
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::Done;
use crate::form::{Form, Posted};
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{done, page};
use crate::problems::Problems;
use crate::visit::Visit;

/// The fields as text.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Input {
    first_name: String,
    middle_name: String,
    last_name: String,
    metadata: String,
}

impl Input {
    fn of(user: &FullUser) -> Self {
        let own = &user.profile.user;
        let metadata = serde_json::to_string_pretty(own.metadata.as_object());
        Self {
            first_name: own.first_name.clone(),
            middle_name: own.middle_name.clone(),
            last_name: own.last_name.clone(),
            metadata: metadata.unwrap_or_default(),
        }
    }

    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            first_name: text("first_name"),
            middle_name: text("middle_name"),
            last_name: text("last_name"),
            metadata: text("metadata"),
        }
    }

    /// The change: only what differs from what the form was filled with. Changes that others have made since stay.
    fn change(&self, own: &Self) -> Result<UpdateUser, Invalid> {
        let changed = |new: &String, old: &String| (new != old).then(|| new.clone());
        let metadata = object(&self.metadata)?;
        // Compared as values: browsers send other line ends than they were given.
        let is_same = object(&own.metadata).is_ok_and(|before| before == metadata);
        Ok(UpdateUser {
            first_name: changed(&self.first_name, &own.first_name),
            middle_name: changed(&self.middle_name, &own.middle_name),
            last_name: changed(&self.last_name, &own.last_name),
            emails: Vec::new(),
            phone_numbers: Vec::new(),
            metadata: (!is_same).then_some(metadata),
            replace_metadata: true,
        })
    }
}

/// Reads metadata; none is an empty object.
fn object(text: &str) -> Result<Map<String, Value>, Invalid> {
    match text.trim() {
        "" => Ok(Map::new()),
        text => serde_json::from_str(text).map_err(|error| {
            let message = format!("metadata must be a JSON object: {error}");
            Invalid::value("metadata", message)
        }),
    }
}

#[derive(Template)]
#[template(path = "user_edit.html")]
struct EditPage {
    frame: Frame,
    user: FullUser,
    name: String,
    input: Input,
    /// What the form was filled with, in JSON.
    filled: String,
    problems: Problems,
    by_api: ByApi,
}

fn form(
    visit: &Visit,
    inside: &Inside,
    user: FullUser,
    input: Input,
    base: &Input,
    problems: Problems,
) -> HttpResponse {
    let id = user.profile.user.id;
    let path = format!("/v1/auth/users/{id}");
    let body = r#"{"first_name": "Ada", "metadata": {"plan": "pro"}}"#;
    let template = EditPage {
        frame: inside.frame(visit, USERS),
        name: title(&user),
        user,
        input,
        filled: serde_json::to_string(base).unwrap_or_default(),
        by_api: ByApi::of_app("POST", &path, body, String::new()),
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `GET users/{id}/edit`
pub(crate) async fn edit(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::UpdateUser, inside.world())
        .await?;
    let user = find(&visit, &inside, &address.id).await?;
    let input = Input::of(&user);
    let base = input.clone();
    Ok(form(&visit, &inside, user, input, &base, Problems::none()))
}

/// `POST users/{id}/edit`
pub(crate) async fn save(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (fields, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::UpdateUser, inside.world())
        .await?;
    let user = find(&visit, &inside, &address.id).await?;
    let id = user.profile.user.id;
    let input = Input::read(&fields);
    let base = serde_json::from_str(fields.text("base")).unwrap_or_else(|_| Input::of(&user));
    let change = match input.change(&base) {
        Ok(change) => change,
        Err(invalid) => {
            let problems = Problems::of("The user was not saved.", invalid);
            return Ok(form(&visit, &inside, user, input, &base, problems));
        }
    };
    let caller = inside.caller.clone();
    let detail = Detail::default().with("change", "edit");
    let saved = visit.run(|service| async move {
        let action = ControlAction::UserUpdate;
        let caller = service.recorded(&caller, action, id, &detail).await?;
        service.update_user(&caller, id, change).await
    });
    match saved.await {
        Ok(_) => Ok(done(
            &visit,
            Done::UserSaved,
            &inside.path(&format!("{USERS}/{id}")),
        )),
        Err(Refusal::Invalid(invalid)) => {
            let problems = Problems::of("The user was not saved.", invalid);
            Ok(form(&visit, &inside, user, input, &base, problems))
        }
        Err(refusal) => Err(inside
            .refused(&visit, refusal, &format!("{USERS}/{id}/edit"))
            .await),
    }
}
