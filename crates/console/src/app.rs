//! Pages of an App and environment: which operators may open them.

use actix_web::HttpResponse;
use serde::Deserialize;
use vestry_app::{Caller, Principal, Refusal};
use vestry_domain::action::Action;
use vestry_domain::app::App;
use vestry_domain::extent::Extent;
use vestry_domain::ids::AppId;
use vestry_domain::{Environment, World};

use crate::form::{Form, Posted};
use crate::frame::{self, Frame, Place};
use crate::page::{self, Entered};
use crate::visit::{Signed, Visit};

/// The Apps that the switcher lists.
const SWITCHER: usize = 20;

/// The parts of the path of such a page. They are not trusted.
#[derive(Deserialize)]
pub(crate) struct Address {
    app: String,
    environment: String,
    /// The object that the page is about, on pages that have one.
    #[serde(default)]
    pub(crate) id: String,
}

/// An operator in an environment of an App.
pub(crate) struct Inside {
    pub(crate) signed: Signed,
    /// The operator, as the caller of use cases.
    pub(crate) caller: Caller,
    pub(crate) by: Principal,
    others: Vec<App>,
}

impl Inside {
    pub(crate) fn world(&self) -> World {
        self.caller.world
    }

    /// Whether pages show an action.
    pub(crate) fn may(&self, action: Action) -> bool {
        self.by.may(action, self.world())
    }

    /// The path of a page of this environment.
    pub(crate) fn path(&self, page: &str) -> String {
        let base = frame::path(self.world().app_id, self.world().environment);
        format!("{base}/{page}")
    }

    /// What surrounds a page of this environment.
    pub(crate) fn frame(&self, visit: &Visit, current: &'static str) -> Frame {
        let place = Place {
            app: App::clone(&self.caller.app),
            environment: self.world().environment,
            others: self.others.clone(),
        };
        Frame::new(visit, &self.signed, current).in_place(&self.by, place)
    }

    /// Checks an action before its form is shown, and again before the fields of the form are.
    ///
    /// # Errors
    /// The second factor, which leads back here, or the page for a role that lacks the right.
    pub(crate) async fn ready(
        &self,
        visit: &Visit,
        action: Action,
        extent: impl Into<Extent>,
    ) -> Result<(), HttpResponse> {
        match self.by.is_ready_for(action, extent) {
            Ok(()) => Ok(()),
            Err(refusal) => {
                let back = &visit.address;
                Err(page::refused_action(visit, &self.signed, refusal, back).await)
            }
        }
    }

    /// Checks that a page which only test environments have may be opened, before any right in live is looked at.
    ///
    /// # Errors
    /// The page for an unknown path, or that for a role that lacks the right.
    pub(crate) async fn only_in_test(&self, visit: &Visit) -> Result<(), HttpResponse> {
        if !self.caller.is_test() {
            return Err(page::refused(visit, Refusal::NotFound("page").into()));
        }
        self.ready(visit, Action::ControlTestEnvironment, self.world())
            .await
    }

    /// The response to an action that was refused; `back` is the page to return to.
    pub(crate) async fn refused(
        &self,
        visit: &Visit,
        refusal: Refusal,
        back: &str,
    ) -> HttpResponse {
        page::refused_action(visit, &self.signed, refusal, &self.path(back)).await
    }
}

/// The name of an App; its id if the reader does not see it.
pub(crate) fn name_of(apps: &[App], id: AppId) -> String {
    let app = apps.iter().find(|app| app.id == id);
    app.map_or_else(|| id.to_string(), |app| app.name.clone())
}

/// The operator who opens a page of an App.
///
/// # Errors
/// The sign-in page, or that for an unknown path if the App is not one of the operator's (CON-6).
pub(crate) async fn enter(visit: &Visit, address: &Address) -> Result<Inside, HttpResponse> {
    inside(visit, page::entered(visit).await?, address).await
}

async fn inside(
    visit: &Visit,
    entered: Entered,
    address: &Address,
) -> Result<Inside, HttpResponse> {
    let not_found = |refusal: Refusal| page::refused(visit, refusal.into());
    let unknown = || not_found(Refusal::NotFound("app"));
    let app = address
        .app
        .parse::<AppId>()
        .map_err(|_malformed| unknown())?;
    let environment = address.environment.parse::<Environment>();
    let environment = environment.map_err(|_malformed| unknown())?;
    let apps = entered.apps(visit).await?;
    let Entered { signed, by } = entered;
    let own = apps.iter().find(|own| own.id == app).cloned();
    let caller = Caller::in_app(&by, own.ok_or_else(unknown)?, environment);
    Ok(Inside {
        caller: caller.map_err(not_found)?,
        others: apps.into_iter().take(SWITCHER).collect(),
        signed,
        by,
    })
}

/// The fields of a form of such a page, and the operator who sent it.
///
/// # Errors
/// As [`enter`], or the page for a form that is not read.
pub(crate) async fn received(
    visit: &Visit,
    posted: Posted,
    address: &Address,
) -> Result<(Form, Inside), HttpResponse> {
    let (fields, entered) = page::received_inside(visit, posted).await?;
    Ok((fields, inside(visit, entered, address).await?))
}
