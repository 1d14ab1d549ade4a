//! `POST /v1/wallets/{wallet_id}/sign_transaction`

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};
use vestry_app::wallets::SignTransaction;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::WalletType;
use vestry_edge::{Body, Call, Code, Json, PathId, Problem};

use crate::v1::shapes::Wallet;
use crate::v1::wallets::UNSIGNED;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidSession,
    Code::NotFound,
    Code::WalletReadOnly,
    Code::WalletDisabled,
    Code::PolicyDenied,
    Code::Sealed,
];

/// The transaction to sign: exactly one field, matching the wallet's type. Unknown fields inside it are rejected.
#[derive(Deserialize, ToSchema)]
#[schema(as = SignTransactionRequest)]
pub(crate) struct Request {
    #[schema(schema_with = eth_transaction)]
    eth_transaction: Option<Value>,
    /// Solana: `{transaction, encoding}`, with the complete transaction or only its message, in base64 or base58.
    #[schema(value_type = Option<Object>)]
    sol_transaction: Option<Value>,
    /// Bitcoin: `{psbt, encoding, sign_inputs, finalize}`, with a PSBT of BIP-174 or BIP-370.
    #[schema(value_type = Option<Object>)]
    btc_transaction: Option<Value>,
    /// Polkadot: `SignerPayloadJSON` of polkadot.js, or `{address, data, type: "payload"}`.
    #[schema(value_type = Option<Object>)]
    dot_transaction: Option<Value>,
    /// Stellar: `{xdr, network_passphrase}`, with an envelope in base64.
    #[schema(value_type = Option<Object>)]
    xlm_transaction: Option<Value>,
}

fn eth_transaction() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Object, Type::Null]))
        .description(Some(
            "Ethereum: the parameter object of `eth_sendTransaction`. Quantities are `0x` hex strings; `chainId`, `nonce` and \
             `gas` must be given. `to` is required unless `data` creates a contract.",
        ))
        .examples([json!({
            "to": "0xe9534c9faf3cdbc636c25e1981a80efae03f187a",
            "value": "0x38d7ea4c68000",
            "nonce": "0x8",
            "maxPriorityFeePerGas": "0x77359400",
            "maxFeePerGas": "0xdf8475800",
            "gas": "0x5208",
            "chainId": "0x5"
        })])
        .build()
}

impl Request {
    /// The transactions that were sent, by chain. `null` counts as absent.
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

/// A signed transaction. The signature is verified before it is returned.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SignTransactionResponse)]
pub(crate) struct Response {
    /// Id of the wallet.
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    wallet_id: String,
    wallet: Wallet,
    /// Signature of the wallet. Ethereum: `0x` and 65 bytes in hex (r, s, and v of 27 or 28). Bitcoin: the first signature.
    #[schema(min_length = 1)]
    signature: String,
    /// The signed transaction, ready for the network or the next signer. Ethereum: `0x` and the EIP-2718 bytes in hex. `null` for
    /// Polkadot's raw form, from which no transaction can be built.
    #[schema(required = true)]
    signed_transaction: Option<String>,
    /// Solana and Bitcoin: encoding of `signed_transaction`: `base58`, `base64` or `hex`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    encoding: Option<String>,
    /// Solana: whether the transaction has all required signatures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    fully_signed: Option<bool>,
    /// Bitcoin: whether `signed_transaction` is a final transaction rather than a PSBT.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    finalized: Option<bool>,
    /// Bitcoin: signatures of all inputs that the wallet signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    signatures: Option<Vec<InputSignature>>,
    /// Stellar: hash of the transaction, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hash: Option<String>,
}

/// Signature of an input.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputSignature {
    /// Index of the input, starting at 0.
    index: u32,
    /// The signature, in hex.
    #[schema(min_length = 1)]
    signature: String,
}

/// Sign a transaction
///
/// Parses a transaction of the wallet's chain, signs it and returns it. Nothing is sent to any network. Ambiguous transactions are refused.
///
/// Needs the scope `wallets:sign`.
#[utoipa::path(
    post,
    path = "/v1/wallets/{wallet_id}/sign_transaction",
    operation_id = "signTransaction",
    tag = "Wallets",
    params(("wallet_id" = String, Path, description = "Id of the wallet", pattern = "^wallet_[0-9A-Za-z]{27}$")),
    request_body = Request,
    responses((status = 200, description = "The signed transaction", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(wallet_id): PathId<WalletId>,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = SignTransaction {
        wallet_id,
        transactions: request.transactions(),
    };
    let signed = call.sign(command).await?;
    let text = |name: &str| signed.signed.text(name).map(str::to_owned);
    let field = |name: &str| signed.signed.fields.get(name);
    let signatures = field("signatures").map(Vec::deserialize).transpose();
    Ok(Json(Response {
        wallet_id: wallet_id.to_string(),
        signature: text("signature").ok_or_else(|| Problem::internal(UNSIGNED))?,
        signed_transaction: text("signed_transaction"),
        encoding: text("encoding"),
        fully_signed: field("fully_signed").and_then(Value::as_bool),
        finalized: field("finalized").and_then(Value::as_bool),
        signatures: signatures.map_err(Problem::internal)?,
        hash: text("hash"),
        wallet: signed.wallet.into(),
    }))
}
