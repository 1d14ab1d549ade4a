//! `GET /v1/wallets/{wallet_id}/audit`

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_app::audit::ListAudit;
use vestry_domain::actor;
use vestry_domain::audit::AuditEntry;
use vestry_domain::ids::WalletId;
use vestry_edge::{Call, Code, Json, PathId, Problem, Query};

use crate::v1::shapes::{Actor, optional_id};

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::NotFound, Code::Sealed];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Maximum number of entries on the page, 10 to 100.
    #[param(minimum = 10, maximum = 100, default = 50, nullable = false)]
    limit: Option<i64>,
    /// Id of the last entry of the previous page.
    #[param(pattern = "^aud_[0-9A-Za-z]{27}$", nullable = false)]
    starting_after: Option<String>,
}

/// An operation on a wallet or its key.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AuditEntry)]
pub(crate) struct Entry {
    /// Id of the entry.
    #[schema(pattern = "^aud_[0-9A-Za-z]{27}$")]
    id: String,
    /// Id of the wallet.
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    wallet_id: String,
    #[schema(value_type = AuditActionName)]
    action: &'static str,
    /// The method of an `rpc` call, or the failed check of a `tampered` wallet; otherwise empty.
    detail: String,
    actor: Actor,
    /// Id of the API key that requested the operation; `null` for another actor.
    #[schema(pattern = "^key_[0-9A-Za-z]{27}$", required = true)]
    api_key_id: Option<String>,
    /// SHA-256, in hex, of the signing result that was returned: the fields of the response other than the wallet, or `data` of an `rpc`
    /// call. They are hashed as compact JSON with names in alphabetical order. `null` if nothing was returned.
    #[schema(pattern = "^[0-9a-f]{64}$", required = true)]
    result_sha256: Option<String>,
    /// SHA-256, in hex, of the signed payload; `null` if nothing was signed.
    ///
    /// Ethereum: the input of Keccak-256. Solana: the message, or the transaction's message. Bitcoin: the signed digests, in input order.
    /// Polkadot: the payload before it is hashed down. Stellar: the signature base.
    #[schema(pattern = "^[0-9a-f]{64}$", required = true)]
    payload_sha256: Option<String>,
    /// The `X-Request-Id` of the call; `null` in entries from before it was recorded.
    #[schema(required = true)]
    request_id: Option<String>,
    /// Id of the log's chain that the entry belongs to. Each process of the service writes its own chains.
    #[schema(pattern = "^auditchain_[0-9A-Za-z]{27}$")]
    chain: String,
    /// Position in the chain, starting at 1.
    #[schema(minimum = 1)]
    sequence: i64,
    /// SHA-256, in hex, of the entry and the hash of the previous entry.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    hash: String,
    /// When it happened, in Unix seconds.
    created_at: i64,
}

/// Kind of operation on a wallet.
#[derive(ToSchema)]
#[schema(as = AuditAction, rename_all = "snake_case")]
#[expect(dead_code, reason = "describes names that the domain defines")]
enum AuditActionName {
    Create,
    Import,
    Export,
    SignMessage,
    SignTransaction,
    Rpc,
    Disable,
    Enable,
    Delete,
    Tampered,
}

impl From<AuditEntry> for Entry {
    fn from(entry: AuditEntry) -> Self {
        let event = entry.event;
        Self {
            id: entry.id.to_string(),
            wallet_id: event.wallet_id.to_string(),
            action: event.action.as_str(),
            detail: event.detail,
            api_key_id: match event.actor {
                actor::Actor::ApiKey(id) => Some(id.to_string()),
                _ => None,
            },
            actor: event.actor.into(),
            result_sha256: event.result.map(|hash| hex::encode(hash.0)),
            payload_sha256: event.payload.map(|hash| hex::encode(hash.0)),
            request_id: event.request_id,
            chain: entry.chain.to_string(),
            sequence: entry.sequence,
            hash: hex::encode(entry.hash),
            created_at: event.at.unix(),
        }
    }
}

/// A page of a wallet's audit log.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WalletAuditResponse)]
pub(crate) struct Response {
    /// Entries on this page, newest first.
    #[schema(max_items = 100)]
    entries: Vec<Entry>,
    /// Whether there is a next page.
    has_more: bool,
}

/// List a wallet's audit log entries
///
/// Returns every signature, export and change of the wallet, with the actor that requested it, newest first. For the next page, send the
/// id of the last entry as `starting_after`.
///
/// The result of a key operation is returned only after its entry is on disk. Entries are kept after the wallet is deleted. `vestry audit
/// verify` detects altered or removed entries.
///
/// Needs the scope `wallets:read`.
#[utoipa::path(
    get,
    path = "/v1/wallets/{wallet_id}/audit",
    operation_id = "listWalletAudit",
    tag = "Wallets",
    params(
        ("wallet_id" = String, Path, description = "Id of the wallet", pattern = "^wallet_[0-9A-Za-z]{27}$"),
        Filter,
    ),
    responses((status = 200, description = "A page of entries", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(wallet_id): PathId<WalletId>,
    Query(filter): Query<Filter>,
) -> Result<Json<Response>, Problem> {
    let query = ListAudit {
        wallet_id,
        limit: filter.limit,
        starting_after: optional_id("starting_after", filter.starting_after)?,
    };
    let page = call
        .run(move |service, caller| async move { service.list_audit(&caller, query).await })
        .await?;
    Ok(Json(Response {
        entries: page.entries.into_iter().map(Entry::from).collect(),
        has_more: page.has_more,
    }))
}
