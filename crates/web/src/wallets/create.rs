//! `POST /v1/wallets/create`

use actix_web::web::Json;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_domain::wallet::{AddressForm, WalletType};

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Wallet, parse_id, wallet_type_input};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Sealed];

/// Whose wallet, and of which chain.
#[derive(Deserialize, ToSchema)]
#[schema(as = CreateWalletRequest)]
pub(crate) struct Request {
    #[schema(schema_with = wallet_type_input)]
    wallet_type: String,
    /// The user who gets it.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Bitcoin only: `p2wpkh` (when absent) or `p2tr`, the form of the address if one has to be made.
    #[schema(pattern = "^(p2wpkh|p2tr)$")]
    address_type: Option<String>,
}

/// Create a wallet
///
/// Makes the user's default wallet of a type, or answers the one that is there: a user never gets a second one, however
/// many calls race. A wallet that the user signed in with counts as one that is there: it is answered with `is_read_only`, and
/// cannot sign here.
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
