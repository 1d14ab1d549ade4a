//! `/v1/manage/operators/invitations`

pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod withdraw;

use std::collections::BTreeMap;

use utoipa::ToSchema;

/// An invitation that was not accepted yet.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a view")]
pub(crate) struct Invitation {
    #[schema(pattern = "^inv_[0-9A-Za-z]{27}$")]
    id: String,
    email: String,
    /// The roles by App id; `all` is every App. Only of the Apps that the key administers.
    roles: BTreeMap<String, String>,
    /// The actor that created it.
    created_by: String,
    created_at: i64,
    /// When it expires, in Unix seconds.
    expires_at: i64,
}

/// The open invitations to a key's Apps.
#[derive(ToSchema)]
#[schema(as = InvitationList)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct Invitations {
    /// Oldest first.
    invitations: Vec<Invitation>,
}
