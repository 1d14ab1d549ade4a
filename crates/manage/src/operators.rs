//! `/v1/manage/operators`

pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod update;

use std::collections::BTreeMap;

use utoipa::ToSchema;

/// An operator of the console.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a view")]
pub(crate) struct Operator {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    email: String,
    /// The roles by App id; `all` is every App. Only of the Apps that the key administers.
    roles: BTreeMap<String, String>,
    /// Whether the operator may not sign in.
    disabled: bool,
    /// The actor that let the operator in.
    created_by: String,
    created_at: i64,
}

/// The operators of a key's Apps.
#[derive(ToSchema)]
#[schema(as = OperatorList)]
#[expect(dead_code, reason = "describes a response")]
pub(crate) struct Operators {
    /// Oldest first.
    operators: Vec<Operator>,
}
