//! Links of users to identity providers.

use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::provider::ProviderLink;
use vestry_domain::user::UserEmail;

/// A link of a user to an identity provider.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdpProvider {
    #[schema(pattern = "^idpuser_[0-9A-Za-z]{27}$")]
    id: String,
    /// Name of the provider.
    #[schema(pattern = "^[a-z][a-z0-9-]{0,31}$")]
    provider: String,
    /// The user's id there.
    #[schema(min_length = 1)]
    provider_subject: String,
    #[schema(pattern = "^oauth$")]
    idp_type: &'static str,
    /// Id of the user's address that the provider has proved; `""` when it proved none, or the user does not have it any more.
    #[schema(pattern = "^(email_[0-9A-Za-z]{27})?$")]
    method_id: String,
    /// `email`, or `""` where `method_id` is.
    #[schema(pattern = "^(email)?$")]
    method_type: &'static str,
    /// Unix seconds.
    created_at: i64,
    /// When the user last came through the provider, in Unix seconds.
    updated_at: i64,
}

impl IdpProvider {
    /// A link of the user who has these addresses.
    pub(crate) fn of(link: ProviderLink, emails: &[UserEmail]) -> Self {
        let has = |id| emails.iter().any(|email| email.id == id);
        let email_id = link.email_id.filter(|id| has(*id));
        Self {
            id: link.id.to_string(),
            provider: link.provider.to_string(),
            provider_subject: link.subject,
            idp_type: "oauth",
            method_type: email_id.map_or("", |_| "email"),
            method_id: email_id.map(|id| id.to_string()).unwrap_or_default(),
            created_at: link.created_at.unix(),
            updated_at: link.updated_at.unix(),
        }
    }
}
