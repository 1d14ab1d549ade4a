//! The two requests of OAuth 2.0 (RFC 6749 4.1): the authorization URL, and the exchange of a code.

use std::fmt;

use oauth2::basic::{
    BasicErrorResponse, BasicErrorResponseType, BasicRevocationErrorResponse,
    BasicTokenIntrospectionResponse, BasicTokenType,
};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, Client, ClientId, ClientSecret, CsrfToken,
    EndpointNotSet, EndpointSet, ExtraTokenFields, PkceCodeVerifier, RedirectUrl,
    RequestTokenError, Scope, StandardRevocableToken, StandardTokenResponse, TokenResponse,
    TokenUrl,
};
use serde::{Deserialize, Serialize};
use url::Url;
use vestry_domain::Secret;
use vestry_domain::provider::{ConnectionSettings, ProviderTokens};
use vestry_ports::identity_providers::{AuthorizationRequest, Grant, ProviderFault};

use crate::endpoints::Endpoints;
use crate::fetch::{Document, Fetcher, NoAnswer};
use crate::known::{Known, Protocol, Refresh};

const DOCUMENT: Document = Document {
    refused: "the token endpoint was not found at its URL",
    malformed: MALFORMED,
};
const MALFORMED: &str = "its token response is malformed";

/// The library's client with the two endpoints in use, and an id token in the response.
type TwoEndpoints = Client<
    BasicErrorResponse,
    StandardTokenResponse<IdToken, BasicTokenType>,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointSet,
>;

/// The OpenID Connect member of the token response.
#[derive(Serialize, Deserialize)]
struct IdToken {
    id_token: Option<String>,
}

/// Does not print the token.
impl fmt::Debug for IdToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdToken")
    }
}

impl ExtraTokenFields for IdToken {}

/// The tokens that a code was exchanged for.
pub(crate) struct Issued {
    pub(crate) tokens: ProviderTokens,
    /// Unchecked.
    pub(crate) id_token: Option<Secret<String>>,
}

/// Returns the provider's URL to which a browser is sent.
pub(crate) fn address(
    known: &Known,
    endpoints: &Endpoints,
    client_id: &str,
    settings: &ConnectionSettings,
    request: AuthorizationRequest<'_>,
) -> Result<Url, ProviderFault> {
    let client = client(endpoints, client_id, request.redirect_uri)?;
    let mut address = client
        .authorize_url(|| CsrfToken::new(request.state.expose().clone()))
        .add_scopes(scopes(known, settings))
        .add_extra_param("code_challenge", request.code_challenge)
        .add_extra_param("code_challenge_method", "S256");
    if matches!(known.protocol, Protocol::OpenId { .. }) {
        address = address.add_extra_param("nonce", request.nonce.expose());
    }
    for (name, value) in known.parameters {
        address = address.add_extra_param(*name, *value);
    }
    if let Refresh::Parameter(name, value) = known.refresh
        && settings.store_tokens
    {
        address = address.add_extra_param(name, value);
    }
    Ok(address.url().0)
}

/// Returns the scopes that the sign-in needs, then those that the App adds, without duplicates.
fn scopes(known: &Known, settings: &ConnectionSettings) -> Vec<Scope> {
    let refresh = match known.refresh {
        Refresh::Scope(scope) if settings.store_tokens => Some(scope),
        Refresh::Scope(_) | Refresh::Parameter(..) | Refresh::Unasked => None,
    };
    let wanted = settings.scopes.iter().map(String::as_str);
    let mut all: Vec<&str> = Vec::new();
    for scope in known.scopes.iter().copied().chain(refresh).chain(wanted) {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    all.into_iter()
        .map(|scope| Scope::new(scope.to_owned()))
        .collect()
}

/// Exchanges a code, with the PKCE verifier.
pub(crate) async fn exchange(
    fetcher: &Fetcher,
    endpoints: &Endpoints,
    client_id: &str,
    client_secret: &Secret<String>,
    grant: Grant<'_>,
) -> Result<Issued, ProviderFault> {
    let mut client = client(endpoints, client_id, grant.redirect_uri)?;
    if !client_secret.expose().is_empty() {
        client = client.set_client_secret(ClientSecret::new(client_secret.expose().clone()));
    }
    let answer = client
        .exchange_code(AuthorizationCode::new(grant.code.expose().clone()))
        .set_pkce_verifier(PkceCodeVerifier::new(grant.code_verifier.expose().clone()))
        .request_async(fetcher)
        .await
        .map_err(refusal)?;
    if *answer.token_type() != BasicTokenType::Bearer {
        return Err(ProviderFault::Invalid(
            "its access token is not a bearer token",
        ));
    }
    let id_token = answer.extra_fields().id_token.clone();
    Ok(Issued {
        tokens: ProviderTokens {
            access_token: Secret::new(answer.access_token().secret().clone()),
            refresh_token: answer
                .refresh_token()
                .map(|token| Secret::new(token.secret().clone())),
        },
        id_token: id_token.map(Secret::new),
    })
}

fn client(
    endpoints: &Endpoints,
    client_id: &str,
    redirect_uri: &str,
) -> Result<TwoEndpoints, ProviderFault> {
    let redirect_uri = RedirectUrl::new(redirect_uri.to_owned())
        .map_err(|_no_url| ProviderFault::Misconfigured("the redirect URL is not a URL"))?;
    let auth_type = if endpoints.secret_in_form {
        AuthType::RequestBody
    } else {
        AuthType::BasicAuth
    };
    Ok(Client::new(ClientId::new(client_id.to_owned()))
        .set_auth_uri(AuthUrl::from_url(endpoints.authorization.clone()))
        .set_token_uri(TokenUrl::from_url(endpoints.token.clone()))
        .set_redirect_uri(redirect_uri)
        .set_auth_type(auth_type))
}

/// Maps the library's errors. One variant contains the whole response, and nothing of it is passed on.
fn refusal(error: RequestTokenError<NoAnswer, BasicErrorResponse>) -> ProviderFault {
    match error {
        RequestTokenError::ServerResponse(error) => of_code(error.error().as_ref()),
        RequestTokenError::Request(failure) => failure.fault(&DOCUMENT),
        // GitHub returns 200 for every outcome.
        RequestTokenError::Parse(_, body) => {
            error_in(&body).map_or(ProviderFault::Invalid(MALFORMED), |code| of_code(&code))
        }
        RequestTokenError::Other(_) => ProviderFault::Invalid(MALFORMED),
    }
}

fn error_in(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Refused {
        error: String,
    }
    serde_json::from_slice::<Refused>(body)
        .ok()
        .map(|refused| refused.error)
}

/// Maps an error code: those of RFC 6749 5.2, and GitHub's own two.
fn of_code(code: &str) -> ProviderFault {
    use BasicErrorResponseType as Standard;
    let standard = [
        Standard::InvalidClient,
        Standard::UnauthorizedClient,
        Standard::UnsupportedGrantType,
        Standard::InvalidScope,
    ];
    if standard.iter().any(|known| known.as_ref() == code) {
        return ProviderFault::Misconfigured("the provider rejected the client id or secret");
    }
    match code {
        // Discord returns `invalid_request` for an unknown code.
        "invalid_grant" | "invalid_request" | "bad_verification_code" => ProviderFault::Refused,
        "incorrect_client_credentials" => {
            ProviderFault::Misconfigured("the provider rejected the client id or secret")
        }
        "redirect_uri_mismatch" => {
            ProviderFault::Misconfigured("the callback URL is not registered with the provider")
        }
        _ => ProviderFault::Invalid("it refused the code with an unknown error"),
    }
}
