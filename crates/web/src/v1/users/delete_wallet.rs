//! `DELETE /v1/auth/users/wallets/{wallet_id}/delete`

use vestry_domain::ids::WalletId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::Deleted;

pub(crate) const ERRORS: &[Code] = &[
    Code::NotFound,
    Code::PolicyDenied,
    Code::LastSignInMethod,
    Code::Sealed,
];

/// Remove a read-only wallet
///
/// Only wallets that were imported as read-only can be removed; others return 403 `policy_denied`.
///
/// A wallet that the user signs in with is a sign-in method: the last one cannot be removed, and removing one ends sessions like removing
/// an address does.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    delete,
    path = "/v1/auth/users/wallets/{wallet_id}/delete",
    operation_id = "deleteUserWallet",
    tag = "Users",
    params(("wallet_id" = String, Path, description = "Id of the wallet", pattern = "^wallet_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The wallet was removed", body = Deleted))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<WalletId>,
) -> Result<Json<Deleted>, Problem> {
    let user = call
        .run(move |service, caller| async move { service.delete_wallet(&caller, id).await })
        .await?;
    Ok(Json(Deleted::of(user, "Successfully deleted user wallet")))
}
