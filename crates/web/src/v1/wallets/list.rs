//! `GET /v1/wallets/list`

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_app::wallets::ListWallets;
use vestry_edge::{Call, Code, Json, Problem, Query};

use crate::v1::shapes::{Wallet, optional_id};

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::Sealed];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Limits the list to the wallets of this user.
    #[param(pattern = "^user_[0-9A-Za-z]{27}$", nullable = false)]
    user_id: Option<String>,
    /// Maximum number of wallets on the page, 10 to 100.
    #[param(minimum = 10, maximum = 100, default = 50, nullable = false)]
    limit: Option<i64>,
    /// Id of the last wallet of the previous page.
    #[param(pattern = "^wallet_[0-9A-Za-z]{27}$", nullable = false)]
    starting_after: Option<String>,
}

/// A page of wallets.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WalletListResponse)]
pub(crate) struct Response {
    /// Wallets on this page, newest first.
    #[schema(max_items = 100)]
    wallets: Vec<Wallet>,
    /// Total number of wallets that match the filter.
    #[schema(minimum = 0)]
    total_count: i64,
    /// Whether there is a next page.
    has_more: bool,
}

/// List wallets
///
/// Returns the wallets of the App and environment, or of one user, newest first. For the next page, send the id of the last wallet as
/// `starting_after`.
///
/// Needs the scope `wallets:read`.
#[utoipa::path(
    get,
    path = "/v1/wallets/list",
    operation_id = "listWallets",
    tag = "Wallets",
    params(Filter),
    responses((status = 200, description = "A page of wallets", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
) -> Result<Json<Response>, Problem> {
    let query = ListWallets {
        user_id: optional_id("user_id", filter.user_id)?,
        limit: filter.limit,
        starting_after: optional_id("starting_after", filter.starting_after)?,
    };
    let page = call
        .run(move |service, caller| async move { service.list_wallets(&caller, query).await })
        .await?;
    Ok(Json(Response {
        wallets: page.wallets.into_iter().map(Wallet::from).collect(),
        total_count: page.total_count,
        has_more: page.has_more,
    }))
}
