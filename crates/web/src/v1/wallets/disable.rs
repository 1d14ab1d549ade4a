//! `POST /v1/wallets/{wallet_id}/disable`

use vestry_domain::ids::WalletId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::Wallet;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::WalletReadOnly, Code::Sealed];

/// Disable a wallet
///
/// From now on, calls that sign with the wallet or export it return 403 `wallet_disabled`. It is still listed and remains the default
/// wallet of its type. Disabling a disabled wallet has no effect.
///
/// Needs the scope `wallets:write`.
#[utoipa::path(
    post,
    path = "/v1/wallets/{wallet_id}/disable",
    operation_id = "disableWallet",
    tag = "Wallets",
    params(("wallet_id" = String, Path, description = "Id of the wallet", pattern = "^wallet_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The wallet", body = Wallet))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<WalletId>,
) -> Result<Json<Wallet>, Problem> {
    let wallet = call
        .run(move |service, caller| async move { service.disable_wallet(&caller, id).await })
        .await?;
    Ok(Json(wallet.into()))
}
