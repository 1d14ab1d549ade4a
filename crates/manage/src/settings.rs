//! `/v1/manage/apps/{app_id}/settings`

pub(crate) mod get;
pub(crate) mod patch;
pub(crate) mod put;

use std::sync::Arc;

use actix_web::HttpResponse;
use vestry_app::platform::{AppChange, SettingsChange};
use vestry_domain::app::App;
use vestry_domain::ids::AppId;
use vestry_edge::Problem;

use crate::call::Call;
use crate::etag::{self, IfMatch};

async fn change(
    call: Call,
    id: AppId,
    if_match: IfMatch,
    settings: SettingsChange,
) -> Result<HttpResponse, Problem> {
    let change = AppChange {
        settings: Some(settings),
        ..AppChange::default()
    };
    let if_match = if_match.shared();
    let condition = Arc::clone(&if_match);
    let changed = call.attempt(move |service, by| async move {
        let is_expected = |app: &App| condition.holds_for(&app.settings);
        service.change_app(&by, id, change, &is_expected).await
    });
    let changed = changed
        .await?
        .map_err(|refusal| if_match.refused(refusal))?;
    etag::object(&changed.settings)
}
