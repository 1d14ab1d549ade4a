//! `POST /v1/wallets/{wallet_id}/sign_transaction`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use vestry_app::wallets::SignTransaction;
use vestry_domain::ids::WalletId;
use vestry_domain::signing::Fields;
use vestry_domain::wallet::WalletType;

use crate::body::Body;
use crate::call::Call;
use crate::path::PathId;
use crate::problem::{Code, Problem};
use crate::shapes::Wallet;

pub(crate) const ERRORS: &[Code] = &[
    Code::NotFound,
    Code::WalletReadOnly,
    Code::PolicyDenied,
    Code::Sealed,
];

/// What to sign: exactly one of the five, that of the wallet's type.
#[derive(Deserialize, ToSchema)]
#[schema(as = SignTransactionRequest)]
pub(crate) struct Request {
    /// Ethereum: the object that `eth_sendTransaction` takes. Quantities are `0x` hex strings; `chainId`, `nonce` and `gas` are
    /// never guessed.
    #[schema(value_type = Option<Object>)]
    eth_transaction: Option<Value>,
    /// Solana: `{transaction, encoding}`, the whole transaction or its message alone, in base64 or base58.
    #[schema(value_type = Option<Object>)]
    sol_transaction: Option<Value>,
    /// Bitcoin: `{psbt, encoding, sign_inputs, finalize}`, of BIP-174 or BIP-370.
    #[schema(value_type = Option<Object>)]
    btc_transaction: Option<Value>,
    /// Polkadot: polkadot.js' `SignerPayloadJSON`, or `{address, data, type: "payload"}`.
    #[schema(value_type = Option<Object>)]
    dot_transaction: Option<Value>,
    /// Stellar: `{xdr, network_passphrase}`, an envelope in base64.
    #[schema(value_type = Option<Object>)]
    xlm_transaction: Option<Value>,
}

impl Request {
    /// What was sent, with whose it is. `null` is as good as absent.
    fn transactions(self) -> Vec<(WalletType, Value)> {
        let fields = [
            (WalletType::Ethereum, self.eth_transaction),
            (WalletType::Solana, self.sol_transaction),
            (WalletType::Bitcoin, self.btc_transaction),
            (WalletType::Polkadot, self.dot_transaction),
            (WalletType::Stellar, self.xlm_transaction),
        ];
        fields
            .into_iter()
            .filter_map(|(of, value)| Some((of, value?)))
            .collect()
    }
}

/// A transaction with a signature that was verified before it left.
#[derive(Serialize, ToSchema)]
#[schema(as = SignTransactionResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    wallet_id: String,
    wallet: Wallet,
    /// `signature` and `signed_transaction`, in the forms that are customary on the chain, and on some chains more
    /// (`encoding`, `signatures`, `fully_signed`, `hash`).
    #[serde(flatten)]
    #[schema(value_type = SignedTransaction)]
    signed: Fields,
}

/// What every chain answers for a transaction.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes fields that the chains give")]
pub(crate) struct SignedTransaction {
    /// The wallet's signature. Ethereum: `0x` and 65 bytes in hex (r, s, v with v 27 or 28).
    #[schema(min_length = 1)]
    signature: String,
    /// Ready for the network, or for the next signer. Ethereum: `0x` and the bytes of EIP-2718.
    #[schema(nullable = false)]
    signed_transaction: Option<String>,
}

/// Sign a transaction
///
/// Reads a transaction of the wallet's chain, signs it and answers it; nothing is sent to any network. Whatever could be
/// meant in two ways is refused.
///
/// Needs the scope `wallets:sign`.
#[utoipa::path(
    post,
    path = "/v1/wallets/{wallet_id}/sign_transaction",
    operation_id = "signTransaction",
    tag = "Wallets",
    params(("wallet_id" = String, Path, description = "Id of the wallet", pattern = "^wallet_[0-9A-Za-z]{27}$")),
    request_body = Request,
    responses((status = 200, description = "The signed transaction", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(wallet_id): PathId<WalletId>,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = SignTransaction {
        wallet_id,
        transactions: request.transactions(),
    };
    let signed = call
        .run(|service, caller| async move { service.sign_transaction(&caller, command).await })
        .await?;
    Ok(Json(Answer {
        wallet_id: wallet_id.to_string(),
        wallet: signed.wallet.into(),
        signed: signed.signed.0,
    }))
}
