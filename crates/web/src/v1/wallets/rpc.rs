//! `POST /v1/wallets/{wallet_id}/rpc`

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use vestry_app::wallets::CallMethod;
use vestry_domain::ids::WalletId;
use vestry_domain::signing::Fields;
use vestry_edge::{BodyAndText, Call, Code, Json, PathId, Problem};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidSession,
    Code::UnsupportedMethod,
    Code::MessageIsTransaction,
    Code::NotFound,
    Code::WalletReadOnly,
    Code::WalletDisabled,
    Code::PolicyDenied,
    Code::Sealed,
];

/// A method of the wallet's chain, and its parameters.
#[derive(Deserialize, ToSchema)]
#[schema(as = RpcRequest)]
pub(crate) struct Request {
    /// Name of the method, such as `personal_sign` or `sol_signMessage`. For an unknown name, the error lists those that the chain
    /// supports.
    #[schema(examples("personal_sign"))]
    method: String,
    /// Parameters of the method, by name.
    #[schema(schema_with = params)]
    params: Map<String, Value>,
}

fn params() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("Parameters of the method, by name."))
        .examples([json!({ "message": "hello" })])
        .build()
}

/// The request's original text, for values whose exact digits matter.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    params: WrittenParams<'a>,
}

#[derive(Deserialize)]
struct WrittenParams<'a> {
    #[serde(borrow)]
    typed_data: Option<&'a RawValue>,
}

/// Replaces typed data (EIP-712) sent as an object by its original text, which the chain accepts too.
///
/// Its integers have up to 256 bits, and a [`Value`] rounds those of more than 64.
fn keep_digits(params: &mut Map<String, Value>, body: &[u8]) {
    let Some(typed_data) = params.get_mut("typed_data") else {
        return;
    };
    if let (true, Ok(written)) = (typed_data.is_object(), serde_json::from_slice(body)) {
        let Written { params } = written;
        if let Some(text) = params.typed_data {
            *typed_data = Value::String(text.get().to_owned());
        }
    }
}

/// The result of the method.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RpcResponse)]
pub(crate) struct Response {
    /// Name of the method, as sent.
    method: String,
    /// Result; its fields depend on the method.
    #[schema(value_type = Object)]
    data: Fields,
}

/// Call a method of the wallet's chain
///
/// Supports the signing methods that wallets of the chain offer. Nothing is sent to any network.
///
/// Needs the scope `wallets:sign`.
#[utoipa::path(
    post,
    path = "/v1/wallets/{wallet_id}/rpc",
    operation_id = "callWalletMethod",
    tag = "Wallets",
    params(("wallet_id" = String, Path, description = "Id of the wallet", pattern = "^wallet_[0-9A-Za-z]{27}$")),
    request_body = Request,
    responses((status = 200, description = "The result of the method", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(wallet_id): PathId<WalletId>,
    BodyAndText(mut request, text): BodyAndText<Request>,
) -> Result<Json<Response>, Problem> {
    keep_digits(&mut request.params, &text);
    let method = request.method.clone();
    let command = CallMethod {
        wallet_id,
        method: request.method,
        params: request.params,
    };
    let signed = call.sign(command).await?;
    Ok(Json(Response {
        method,
        data: signed.signed.fields,
    }))
}
