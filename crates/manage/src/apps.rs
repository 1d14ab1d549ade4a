//! `/v1/manage/apps`

pub(crate) mod create;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod update;

use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::app;

/// An App.
#[derive(Serialize, ToSchema)]
pub(crate) struct App {
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    id: String,
    /// Its name. It appears in the subjects of e-mails.
    name: String,
    /// Whether it is disabled.
    disabled: bool,
    /// When it was created, in Unix seconds.
    created_at: i64,
    /// When its name, settings or `disabled` last changed, in Unix seconds.
    updated_at: i64,
}

impl From<&app::App> for App {
    fn from(app: &app::App) -> Self {
        Self {
            id: app.id.to_string(),
            name: app.name.clone(),
            disabled: app.disabled_at.is_some(),
            created_at: app.created_at.unix(),
            updated_at: app.updated_at.unix(),
        }
    }
}

/// The Apps that a key administers.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct Apps {
    /// Oldest first.
    apps: Vec<App>,
}
