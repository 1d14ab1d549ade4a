//! Links between users and identity providers.

use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::provider::ProviderLink;
use vestry_domain::user::UserEmail;

/// A link between a user and an identity provider.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdpProvider {
    /// Id of the link.
    #[schema(pattern = "^idpuser_[0-9A-Za-z]{27}$")]
    id: String,
    /// Name of the provider.
    #[schema(pattern = "^[a-z][a-z0-9-]{0,31}$")]
    provider: String,
    /// Id of the user at the provider.
    #[schema(min_length = 1)]
    provider_subject: String,
    /// Protocol of the provider; always `oauth`.
    #[schema(pattern = "^oauth$")]
    idp_type: &'static str,
    /// Id of the user's e-mail address that the provider verified; `""` if it verified none or the user no longer has it.
    #[schema(pattern = "^(email_[0-9A-Za-z]{27})?$")]
    method_id: String,
    /// `email`, or `""` if `method_id` is `""`.
    #[schema(pattern = "^(email)?$")]
    method_type: &'static str,
    /// When the link was created, in Unix seconds.
    created_at: i64,
    /// When the user last signed in through the provider, in Unix seconds.
    updated_at: i64,
}

impl IdpProvider {
    /// Builds the link of a user with these e-mail addresses.
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
