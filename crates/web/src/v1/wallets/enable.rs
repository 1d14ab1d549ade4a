//! `POST /v1/wallets/{wallet_id}/enable`

use vestry_domain::ids::WalletId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::Wallet;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::WalletReadOnly, Code::Sealed];

/// Enable a wallet
///
/// The wallet can sign again. Enabling a wallet that is not disabled has no effect.
///
/// Needs the scope `wallets:write`.
#[utoipa::path(
    post,
    path = "/v1/wallets/{wallet_id}/enable",
    operation_id = "enableWallet",
    tag = "Wallets",
    params(("wallet_id" = String, Path, description = "Id of the wallet", pattern = "^wallet_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The wallet", body = Wallet))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<WalletId>,
) -> Result<Json<Wallet>, Problem> {
    let wallet = call
        .run(move |service, caller| async move { service.enable_wallet(&caller, id).await })
        .await?;
    Ok(Json(wallet.into()))
}
