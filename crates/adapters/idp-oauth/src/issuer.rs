//! Issuers: one, or one for each tenant.

use url::Url;

/// Where the tenant stands in the issuer of a provider that has one for each, as its discovery document writes it.
const TENANT: &str = "{tenantid}";
/// What stands there in the address of the document for all tenants.
const ALL_TENANTS: &str = "common";

/// An issuer as it is configured: compared letter by letter, never as a URL (OpenID Connect Core 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Issuer<'a>(pub(crate) &'a str);

impl Issuer<'_> {
    /// Where its discovery document is (OpenID Connect Discovery 4). None when the issuer is no URL.
    pub(crate) fn document(self) -> Option<Url> {
        let base = self.0.replace(TENANT, ALL_TENANTS);
        let base = base.trim_end_matches('/');
        Url::parse(&format!("{base}/.well-known/openid-configuration")).ok()
    }

    /// Whether a token with this `iss`, and this `tid` if it has one, is one of this issuer.
    pub(crate) fn is(self, iss: &str, tenant: Option<&str>) -> bool {
        if !self.has_tenants() {
            return iss == self.0;
        }
        tenant.is_some_and(|tenant| is_tenant(tenant) && iss == self.0.replace(TENANT, tenant))
    }

    /// Whether a callback may name this `iss`, of which the token is not known yet.
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

/// A tenant's id is a UUID: nothing that could change what the rest of the issuer means.
fn is_tenant(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

#[cfg(test)]
mod tests;
