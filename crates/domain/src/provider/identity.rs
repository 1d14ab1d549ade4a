//! Identities that providers vouch for, and how far their claims are trusted.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ConnectionSettings, ProviderKind, ProviderName};
use crate::ids::{EmailId, ProviderLinkId, UserId};
use crate::{Secret, Timestamp, World};

/// A provider's claims about an e-mail address, not yet evaluated. `null` if it made none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EmailClaims {
    /// The address as sent.
    pub email: Option<String>,
    /// `email_verified` (OpenID Connect Core 5.1; GitHub's and Discord's `verified`), whatever its JSON type.
    pub email_verified: Value,
    /// Microsoft's `xms_edov`: whether the owner of the address's domain was verified.
    pub xms_edov: Value,
    /// Microsoft's `tid`: the tenant that makes the claims.
    pub tenant: Option<String>,
}

impl EmailClaims {
    /// Whether the address counts as verified to be this person's, see [`EmailClaims::standing`].
    pub fn are_proof(&self, kind: ProviderKind, settings: &ConnectionSettings) -> bool {
        self.standing(kind, settings).is_proof()
    }

    /// Decides whether the address counts as verified to be this person's (O-9b, nOAuth). Claims of the wrong JSON type are ignored.
    /// Exceptions are Apple's documented `"true"`, and the `1` and `"1"` that Microsoft has sent for `xms_edov`.
    pub fn standing(&self, kind: ProviderKind, settings: &ConnectionSettings) -> EmailStanding {
        if self.email.is_none() {
            return EmailStanding::Missing;
        }
        let said = |is_verified: bool| match is_verified {
            true => EmailStanding::Verified,
            false => EmailStanding::Unverified,
        };
        let says_true = self.email_verified == Value::Bool(true);
        match kind {
            ProviderKind::Google
            | ProviderKind::GitHub
            | ProviderKind::Discord
            | ProviderKind::Test => said(says_true),
            ProviderKind::Apple => said(says_true || self.email_verified == "true"),
            ProviderKind::Microsoft if self.is_of_known_domain() => EmailStanding::VerifiedDomain,
            ProviderKind::Microsoft if self.is_of_listed(settings) => EmailStanding::TrustedTenant,
            ProviderKind::Microsoft => EmailStanding::UntrustedTenant,
            ProviderKind::Oidc if says_true && !settings.trust_email_verified => {
                EmailStanding::UntrustedIssuer
            }
            ProviderKind::Oidc => said(says_true),
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

/// Why an address counts as verified to be a person's, or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailStanding {
    /// The provider says that it has verified the address.
    Verified,
    /// Microsoft has verified who owns the domain of the address.
    VerifiedDomain,
    /// The connection trusts the Microsoft tenant that assigned the address.
    TrustedTenant,
    /// The provider sent no address.
    Missing,
    /// The provider does not say that it has verified the address.
    Unverified,
    /// It says so, but the connection does not trust this claim of the issuer.
    UntrustedIssuer,
    /// Microsoft has not verified who owns the domain, and the connection does not trust the tenant.
    UntrustedTenant,
}

impl EmailStanding {
    /// Whether the address counts as verified.
    pub const fn is_proof(self) -> bool {
        match self {
            Self::Verified | Self::VerifiedDomain | Self::TrustedTenant => true,
            Self::Missing | Self::Unverified | Self::UntrustedIssuer | Self::UntrustedTenant => {
                false
            }
        }
    }
}

/// An identity that a provider vouches for. The account is identified by (provider, issuer, subject), never by the e-mail address (O-8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenIdentity {
    /// The issuer of the id token; the provider's own name if it issues none (GitHub, Discord).
    pub issuer: String,
    /// The person's id at the issuer; never empty.
    pub subject: String,
    /// The address, if the provider sent one. Its form has not been checked.
    pub email: Option<String>,
    /// Whether the address is verified to be this person's: the result of [`EmailClaims::are_proof`].
    pub email_verified: bool,
    /// The full name.
    pub name: Option<String>,
    /// The first name.
    pub given_name: Option<String>,
    /// The last name.
    pub family_name: Option<String>,
}

/// The tokens that a provider issued for its own API.
#[derive(Debug, Clone)]
pub struct ProviderTokens {
    /// The access token.
    pub access_token: Secret<String>,
    /// The refresh token, if it issued one.
    pub refresh_token: Option<Secret<String>>,
}

/// A user's link to an identity at a provider. (provider, issuer, subject) is unique in the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderLink {
    /// The id.
    pub id: ProviderLinkId,
    /// App and environment.
    pub world: World,
    /// The linked user.
    pub user_id: UserId,
    /// The provider.
    pub provider: ProviderName,
    /// The issuer; see [`ProvenIdentity::issuer`].
    pub issuer: String,
    /// The person's id at the issuer.
    pub subject: String,
    /// The user's address that the provider had verified when the link was created.
    pub email_id: Option<EmailId>,
    /// When the link was created.
    pub created_at: Timestamp,
    /// When the provider last vouched for this identity.
    pub updated_at: Timestamp,
}
