//! Whom a provider vouches for, and how much of it counts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ConnectionSettings, ProviderKind, ProviderName};
use crate::ids::{EmailId, ProviderLinkId, UserId};
use crate::{Secret, Timestamp, World};

/// What a provider said about an e-mail address, unjudged. `null` where it said nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EmailClaims {
    /// The address, as it was sent.
    pub email: Option<String>,
    /// `email_verified` (OpenID Connect Core 5.1; GitHub's and Discord's `verified`), of whatever type it came.
    pub email_verified: Value,
    /// Microsoft's `xms_edov`: whether the owner of the address's domain was verified.
    pub xms_edov: Value,
    /// Microsoft's `tid`: the tenant that speaks.
    pub tenant: Option<String>,
}

impl EmailClaims {
    /// Whether the address counts as proved to be this person's (O-9b, nOAuth). A claim of the wrong type is no claim, but
    /// for Apple's `"true"`, which is documented, and the `1` and `"1"` in which Microsoft has sent `xms_edov`.
    pub fn are_proof(&self, kind: ProviderKind, settings: &ConnectionSettings) -> bool {
        let says_true = self.email_verified == Value::Bool(true);
        self.email.is_some()
            && match kind {
                ProviderKind::Google | ProviderKind::GitHub | ProviderKind::Discord => says_true,
                ProviderKind::Apple => says_true || self.email_verified == "true",
                ProviderKind::Microsoft => self.is_of_known_domain() || self.is_of_listed(settings),
                ProviderKind::Oidc => settings.trust_email_verified && says_true,
                ProviderKind::Test => says_true,
            }
    }

    fn is_of_known_domain(&self) -> bool {
        self.xms_edov == Value::Bool(true)
            || self.xms_edov == 1
            || self.xms_edov == "1"
            || self.xms_edov == "true"
    }

    fn is_of_listed(&self, settings: &ConnectionSettings) -> bool {
        let tenant = self.tenant.as_ref();
        tenant.is_some_and(|tenant| settings.tenants.contains(tenant))
    }
}

/// Somebody whom a provider vouches for. The account is (provider, issuer, subject), and never the e-mail address (O-8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenIdentity {
    /// The issuer of the id token; the provider's own name where there are none (GitHub, Discord).
    pub issuer: String,
    /// The person's id at the issuer; never empty.
    pub subject: String,
    /// The address, when the provider told one. It has not been checked to be one.
    pub email: Option<String>,
    /// Whether the address is proved to be this person's: what [`EmailClaims::are_proof`] says.
    pub email_verified: bool,
    /// The whole name.
    pub name: Option<String>,
    /// The first name.
    pub given_name: Option<String>,
    /// The last name.
    pub family_name: Option<String>,
}

/// What a provider issued for its own API.
#[derive(Debug, Clone)]
pub struct ProviderTokens {
    /// The access token.
    pub access_token: Secret<String>,
    /// The refresh token, when it issued one.
    pub refresh_token: Option<Secret<String>>,
}

/// A person of a provider who is a user. (provider, issuer, subject) is unique in the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderLink {
    /// The id.
    pub id: ProviderLinkId,
    /// App and environment.
    pub world: World,
    /// Who it is here.
    pub user_id: UserId,
    /// Which provider.
    pub provider: ProviderName,
    /// Which issuer of that provider; see [`ProvenIdentity::issuer`].
    pub issuer: String,
    /// Who it is there.
    pub subject: String,
    /// The user's address that the provider had proved when the link was made.
    pub email_id: Option<EmailId>,
    /// When the link was made.
    pub created_at: Timestamp,
    /// When the provider last vouched for the person.
    pub updated_at: Timestamp,
}
