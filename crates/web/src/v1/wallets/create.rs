//! `POST /v1/wallets/create`

use serde::Deserialize;
use utoipa::ToSchema;
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Wallet, parse_id, wallet_type_input};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Sealed];

/// Owner and chain of the wallet.
#[derive(Deserialize, ToSchema)]
#[schema(as = CreateWalletRequest)]
pub(crate) struct Request {
    #[schema(schema_with = wallet_type_input)]
    wallet_type: String,
    /// Id of the user that gets the wallet.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Bitcoin only: address type of a newly created wallet, `p2wpkh` (default) or `p2tr`.
    #[schema(pattern = "^(p2wpkh|p2tr)$")]
    address_type: Option<String>,
}

/// Create a wallet
///
/// Creates the user's default wallet of a type, or returns the existing one. Concurrent calls never create a second one.
///
/// A wallet that the user signed in with counts as existing. It is returned with `is_read_only` and cannot sign here.
///
/// Needs the scope `wallets:write`.
#[utoipa::path(
    post,
    path = "/v1/wallets/create",
    operation_id = "createWallet",
    tag = "Wallets",
    request_body = Request,
    responses((status = 200, description = "The user's wallet of this type", body = Wallet))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Wallet>, Problem> {
    let wallet_type: WalletType = request.wallet_type.parse()?;
    let form = AddressForm::named(wallet_type, request.address_type.as_deref())?;
    let user_id = parse_id("user_id", &request.user_id)?;
    let wallet = call
        .run(move |service, caller| async move {
            service
                .create_wallet(&caller, user_id, wallet_type, form)
                .await
        })
        .await?;
    Ok(Json(wallet.into()))
}
