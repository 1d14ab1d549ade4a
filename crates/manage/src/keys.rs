//! `/v1/manage/apps/{app_id}/{environment}/keys`

pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod revoke;
pub(crate) mod rotate;
pub(crate) mod update;

use std::collections::BTreeMap;

use utoipa::ToSchema;

/// A secret key or public token of an App, with its restrictions. A restriction that it does not have is absent.
#[derive(ToSchema)]
#[schema(as = ManagedApiKey)]
#[expect(dead_code, reason = "describes a view")]
pub(crate) struct ApiKey {
    #[schema(pattern = "^key_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    #[schema(pattern = "^(test|live)$")]
    environment: String,
    #[schema(pattern = "^(secret|public)$")]
    kind: String,
    /// The last four characters of the key.
    last_four: String,
    name: String,
    /// Empty means all except `wallets:export` and `audit:read`.
    scopes: Vec<String>,
    /// When it expires, in Unix seconds.
    expires_at: Option<i64>,
    /// The networks from which it is accepted.
    ip_allow: Option<Vec<String>>,
    /// The operations that it may call.
    operations: Option<Vec<String>>,
    /// The users that it is limited to.
    user_ids: Option<Vec<String>>,
    /// The wallets that it is limited to.
    wallet_ids: Option<Vec<String>>,
    /// The types of wallets that it may use.
    wallet_types: Option<Vec<String>>,
    /// Whether signing and exporting need a session of the wallet's owner.
    require_session: Option<bool>,
    /// The kind of the creator, and its id if it has one, separated by a space.
    created_by: String,
    created_at: i64,
    /// When it was revoked, in Unix seconds.
    #[schema(required = true)]
    revoked_at: Option<i64>,
    /// When it was last used, to within a minute.
    #[schema(required = true)]
    last_used_at: Option<i64>,
    /// When each operation was last used, by operationId.
    last_uses: BTreeMap<String, i64>,
}

/// A new API key.
#[derive(ToSchema)]
#[schema(as = NewApiKey)]
#[expect(dead_code, reason = "describes a view")]
pub(crate) struct NewApiKey {
    #[schema(inline)]
    #[serde(flatten)]
    record: ApiKey,
    /// The key itself, shown only here.
    key: String,
}

/// The API keys of an environment.
#[derive(ToSchema)]
#[schema(as = ApiKeyList)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct ApiKeys {
    /// Oldest first.
    keys: Vec<ApiKey>,
}
