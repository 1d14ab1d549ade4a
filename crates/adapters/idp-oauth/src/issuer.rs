//! Issuers, either single or one per tenant.

use url::Url;

/// The placeholder for the tenant in a multi-tenant issuer, as in the provider's discovery document.
const TENANT: &str = "{tenantid}";
/// Its replacement in the address of the document for all tenants.
const ALL_TENANTS: &str = "common";

/// A configured issuer: compared character by character, never as a URL (OpenID Connect Core 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Issuer<'a>(pub(crate) &'a str);

impl Issuer<'_> {
    /// Returns the URL of its discovery document (OpenID Connect Discovery 4); `None` if the issuer is not a URL.
    pub(crate) fn document(self) -> Option<Url> {
        let base = self.0.replace(TENANT, ALL_TENANTS);
        let base = base.trim_end_matches('/');
        Url::parse(&format!("{base}/.well-known/openid-configuration")).ok()
    }

    /// Whether a token with this `iss`, and this `tid` if present, is from this issuer.
    pub(crate) fn is(self, iss: &str, tenant: Option<&str>) -> bool {
        if !self.has_tenants() {
            return iss == self.0;
        }
        tenant.is_some_and(|tenant| is_tenant(tenant) && iss == self.0.replace(TENANT, tenant))
    }

    /// Whether a callback may name this `iss`, before its token is known.
    pub(crate) fn may_be(self, iss: &str) -> bool {
        let Some((before, after)) = self.0.split_once(TENANT) else {
            return iss == self.0;
        };
        iss.strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(is_tenant)
    }

    fn has_tenants(self) -> bool {
        self.0.contains(TENANT)
    }
}

/// A tenant id is a UUID, so it cannot change the meaning of the rest of the issuer.
fn is_tenant(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

#[cfg(test)]
mod tests;
