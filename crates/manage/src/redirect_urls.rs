//! `/v1/manage/apps/{app_id}/{environment}/redirect_urls`

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod update;

use utoipa::ToSchema;

/// A URL that sign-ins may redirect to.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a view")]
pub(crate) struct RedirectUrl {
    #[schema(pattern = "^redirect_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    #[schema(pattern = "^(test|live)$")]
    environment: String,
    /// The kind of redirect.
    kind: String,
    url: String,
    /// Whether calls that name no URL use it.
    default: bool,
    created_at: i64,
}

/// The redirect URLs of an environment.
#[derive(ToSchema)]
#[schema(as = RedirectUrlList)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct RedirectUrls {
    /// Oldest first.
    redirect_urls: Vec<RedirectUrl>,
}
