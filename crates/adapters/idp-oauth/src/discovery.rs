//! An issuer's discovery document (OpenID Connect Discovery 3).

use serde_json::{Map, Value};
use vestry_ports::identity_providers::ProviderFault;

use crate::fetch::{Document, Fetcher};
use crate::issuer::Issuer;

pub(crate) const DOCUMENT: Document = Document {
    refused: "the issuer has no discovery document",
    malformed: "its discovery document is malformed",
};

/// The members that are used. A connection can override any discovered endpoint, so none is required here.
#[derive(Debug)]
pub(crate) struct Discovery {
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) userinfo_endpoint: Option<String>,
    pub(crate) jwks_uri: Option<String>,
    /// RFC 9207: callbacks name the issuer.
    pub(crate) authorization_response_iss_parameter_supported: bool,
    /// How clients can authenticate; HTTP Basic if absent.
    token_endpoint_auth_methods_supported: Vec<String>,
}

impl Discovery {
    /// Fetches the discovery document of an issuer.
    ///
    /// # Errors
    /// [`ProviderFault::Invalid`] also if the document belongs to another issuer (O-7).
    pub(crate) async fn fetch(
        fetcher: &Fetcher,
        issuer: Issuer<'_>,
    ) -> Result<Self, ProviderFault> {
        let url = issuer
            .document()
            .ok_or(ProviderFault::Misconfigured("the issuer is not a URL"))?;
        let found: Map<String, Value> = fetcher
            .object(url)
            .await
            .map_err(|failure| failure.fault(&DOCUMENT))?;
        let named = found.get("issuer").and_then(Value::as_str);
        let named = named.ok_or(ProviderFault::Invalid(DOCUMENT.malformed))?;
        if named != issuer.0 {
            return Err(ProviderFault::Invalid(
                "its discovery document belongs to another issuer",
            ));
        }
        Ok(Self::read(&found))
    }

    /// A member of another type counts as absent: the document is unusable only where the endpoint is needed.
    fn read(found: &Map<String, Value>) -> Self {
        let text = |name: &str| found.get(name).and_then(Value::as_str).map(str::to_owned);
        let methods = found.get("token_endpoint_auth_methods_supported");
        let methods = methods.and_then(Value::as_array).into_iter().flatten();
        Self {
            authorization_endpoint: text("authorization_endpoint"),
            token_endpoint: text("token_endpoint"),
            userinfo_endpoint: text("userinfo_endpoint"),
            jwks_uri: text("jwks_uri"),
            authorization_response_iss_parameter_supported: found
                .get("authorization_response_iss_parameter_supported")
                .is_some_and(|supported| supported == true),
            token_endpoint_auth_methods_supported: methods
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Whether the client secret is sent in the form rather than in the header. The header is preferred: clients are registered for it by
    /// default.
    pub(crate) fn wants_secret_in_form(&self) -> bool {
        let methods = &self.token_endpoint_auth_methods_supported;
        let offers = |wanted: &str| methods.iter().any(|method| method == wanted);
        offers("client_secret_post") && !offers("client_secret_basic")
    }
}
