//! What an issuer says about itself (OpenID Connect Discovery 3).

use serde::Deserialize;
use vestry_ports::identity_providers::ProviderFault;

use crate::fetch::{Document, Fetcher};
use crate::issuer::Issuer;

const DOCUMENT: Document = Document {
    refused: "the issuer has no discovery document",
    malformed: "its discovery document cannot be read",
};

/// The members that are used.
#[derive(Debug, Deserialize)]
pub(crate) struct Discovery {
    issuer: String,
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    pub(crate) userinfo_endpoint: Option<String>,
    pub(crate) jwks_uri: String,
    /// RFC 9207: callbacks name the issuer.
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
    /// How clients may prove who they are; by HTTP Basic when nothing is said.
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl Discovery {
    /// Fetches the document of an issuer.
    ///
    /// # Errors
    /// [`ProviderFault::Invalid`] also when it is the document of another issuer (O-7).
    pub(crate) async fn fetch(
        fetcher: &Fetcher,
        issuer: Issuer<'_>,
    ) -> Result<Self, ProviderFault> {
        let url = issuer
            .document()
            .ok_or(ProviderFault::Misconfigured("the issuer is not a URL"))?;
        let found: Self = fetcher
            .object(url)
            .await
            .map_err(|failure| failure.fault(&DOCUMENT))?;
        if found.issuer != issuer.0 {
            return Err(ProviderFault::Invalid(
                "its discovery document is that of another issuer",
            ));
        }
        Ok(found)
    }

    /// Whether the client secret goes into the form and not into the header. The header comes first: it is what a client is
    /// registered with when nothing else was said.
    pub(crate) fn wants_secret_in_form(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_deref();
        methods.is_some_and(|methods| {
            let offers = |wanted: &str| methods.iter().any(|method| method == wanted);
            offers("client_secret_post") && !offers("client_secret_basic")
        })
    }
}
