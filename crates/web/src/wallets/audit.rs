//! `GET /v1/wallets/{wallet_id}/audit`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_app::audit::ListAudit;
use vestry_domain::audit::AuditEntry;
use vestry_domain::ids::WalletId;

use crate::call::Call;
use crate::path::PathId;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::NotFound, Code::Sealed];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Most entries on the page.
    #[param(minimum = 10, maximum = 100, default = 50, nullable = false)]
    limit: Option<i64>,
    /// The last entry of the page before.
    #[param(pattern = "^aud_[0-9A-Za-z]{27}$", nullable = false)]
    starting_after: Option<String>,
}

/// What was done with a wallet or its key.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AuditEntry)]
pub(crate) struct Entry {
    #[schema(pattern = "^aud_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    wallet_id: String,
    #[schema(value_type = AuditActionName)]
    action: &'static str,
    /// The method of an `rpc` call; what failed of a `tampered` wallet; else empty.
    detail: String,
    /// The API key that asked for it.
    #[schema(pattern = "^key_[0-9A-Za-z]{27}$")]
    api_key_id: String,
    /// SHA-256, in hex, of what was handed out of a signature: of the fields of the answer besides the wallet, or of `data` of
    /// an `rpc` call, as compact JSON with the names in alphabetical order. `null` where nothing was handed out.
    #[schema(pattern = "^[0-9a-f]{64}$", required = true)]
    result_sha256: Option<String>,
    /// SHA-256, in hex, of what went under a signature. Ethereum: the bytes that Keccak-256 is taken of; Solana: the message, or that of
    /// the transaction; Bitcoin: the digests that were signed, in the order of the inputs; Polkadot: the payload before it is
    /// shortened; Stellar: the signature base. `null` where nothing was signed.
    #[schema(pattern = "^[0-9a-f]{64}$", required = true)]
    payload_sha256: Option<String>,
    /// The `X-Request-Id` of the call; `null` in entries from before it was recorded.
    #[schema(required = true)]
    request_id: Option<String>,
    /// Which chain of the log it stands in; every process of the service writes chains of its own.
    #[schema(pattern = "^auditchain_[0-9A-Za-z]{27}$")]
    chain: String,
    /// Its place in the chain, from 1.
    #[schema(minimum = 1)]
    sequence: i64,
    /// SHA-256, in hex, over the entry and the hash of the one before it.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    hash: String,
    /// Unix seconds.
    created_at: i64,
}

/// What can be done with a wallet.
#[derive(ToSchema)]
#[schema(as = AuditAction, rename_all = "snake_case")]
#[expect(dead_code, reason = "describes names that the domain gives")]
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
            api_key_id: event.api_key_id.to_string(),
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

/// A page of the audit log.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WalletAuditResponse)]
pub(crate) struct Answer {
    /// Newest first.
    #[schema(max_items = 100)]
    entries: Vec<Entry>,
    /// Whether there is a next page.
    has_more: bool,
}

/// List what was done with a wallet
///
/// Every signature, export and change of the wallet, and with which API key it was asked for, newest first. An answer that
/// comes of a key is given after its entry is on disk. The entries outlive the wallet. `vestry audit verify` checks that nothing was
/// altered or taken out.
/// For the next page, send the id of the last entry as `starting_after`.
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
    responses((status = 200, description = "A page of entries", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(wallet_id): PathId<WalletId>,
    Query(filter): Query<Filter>,
) -> Result<Json<Answer>, Problem> {
    let starting_after = filter
        .starting_after
        .map(|id| parse_id("starting_after", &id));
    let query = ListAudit {
        wallet_id,
        limit: filter.limit,
        starting_after: starting_after.transpose()?,
    };
    let page = call
        .run(move |service, caller| async move { service.list_audit(&caller, query).await })
        .await?;
    Ok(Json(Answer {
        entries: page.entries.into_iter().map(Entry::from).collect(),
        has_more: page.has_more,
    }))
}
