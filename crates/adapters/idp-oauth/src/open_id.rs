//! The identity in an id token (OpenID Connect Core 3.1.3).

use std::sync::Arc;

use serde_json::{Map, Value};
use url::Url;
use vestry_domain::Secret;
use vestry_domain::provider::{Connection, EmailClaims, ProvenIdentity};
use vestry_ports::identity_providers::{Evidence, Grant, ProviderFault};

use crate::cache::Cache;
use crate::claims::{Claims, Expected, names_in};
use crate::endpoints::Endpoints;
use crate::exchange::Issued;
use crate::fetch::{Document, Fetcher};
use crate::issuer::Issuer;
use crate::jws::Token;
use crate::key_set::{KeySet, SigningKey};

const USERINFO: Document = Document {
    refused: "the userinfo endpoint refused the access token",
    malformed: "its userinfo response is malformed",
};

/// Everything needed to verify an id token.
pub(crate) struct Believer<'a> {
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) key_sets: &'a Cache<KeySet>,
    pub(crate) endpoints: &'a Endpoints,
    pub(crate) connection: &'a Connection,
    pub(crate) issuer: Issuer<'a>,
}

impl Believer<'_> {
    /// Returns the identity for the tokens that a code was exchanged for, and its basis.
    pub(crate) async fn identity(
        &self,
        issued: &Issued,
        grant: Grant<'_>,
    ) -> Result<(ProvenIdentity, Evidence), ProviderFault> {
        let id_token = issued.id_token.as_ref();
        let id_token = id_token.ok_or(ProviderFault::Invalid("there is no id token"))?;
        let claims = self.claims(id_token, grant).await?;
        let further = self.further(&claims, &issued.tokens.access_token).await?;
        let email_claims = further.as_ref().unwrap_or(&claims);
        let email = EmailClaims {
            email: email_claims.text("email").map(str::to_owned),
            email_verified: email_claims.value("email_verified"),
            xms_edov: email_claims.value("xms_edov"),
            tenant: claims.text("tid").map(str::to_owned),
        };
        let named = Named::in_form(grant.user);
        let text = |name: &str| {
            let text = claims.text(name).or_else(|| further.as_ref()?.text(name));
            text.map(str::to_owned)
        };
        let evidence = Evidence {
            claims: names_in([&claims].into_iter().chain(&further)),
            email: email.standing(self.connection.kind(), &self.connection.settings),
        };
        let identity = ProvenIdentity {
            issuer: claims.text("iss").unwrap_or_default().to_owned(),
            subject: claims.subject().map_err(ProviderFault::Invalid)?.to_owned(),
            email_verified: evidence.email.is_proof(),
            email: email.email,
            name: text("name"),
            given_name: text("given_name").or(named.first),
            family_name: text("family_name").or(named.last),
        };
        Ok((identity, evidence))
    }

    /// Returns the claims of a token after all checks.
    async fn claims(
        &self,
        id_token: &Secret<String>,
        grant: Grant<'_>,
    ) -> Result<Claims, ProviderFault> {
        let token = Token::parse(id_token.expose()).map_err(ProviderFault::Invalid)?;
        let keys = self.keys_for(&token).await?;
        let signer = keys.signer_of(&token);
        let signer = signer.ok_or(ProviderFault::Invalid(
            "its id token is not signed with a key of the issuer",
        ))?;
        let claims = token.claims();
        let claims = claims.ok_or(ProviderFault::Invalid("its id token has no claims"))?;
        let claims = Claims(claims);
        claims
            .check(&Expected {
                issuer: self.issuer,
                client_id: &self.connection.client_id,
                nonce: grant.nonce.expose(),
                issuer_of_callback: grant.issuer,
                issuer_of_key: SigningKey::issuer(&signer),
                now: grant.now,
            })
            .map_err(ProviderFault::Invalid)?;
        Ok(claims)
    }

    /// Returns the issuer's keys, refetched if none of them signed the token: it may use a new one.
    async fn keys_for(&self, token: &Token<'_>) -> Result<Arc<KeySet>, ProviderFault> {
        let url = self.endpoints.jwks.as_ref();
        let url = url.ok_or(ProviderFault::Misconfigured("the key set is missing"))?;
        let fetch = || KeySet::fetch(self.fetcher, Url::clone(url));
        let keys = self.key_sets.get(url.as_str(), fetch()).await?;
        if keys.signer_of(token).is_some() {
            return Ok(keys);
        }
        self.key_sets.other_than(&keys, url.as_str(), fetch()).await
    }

    /// Fetches the userinfo of a user whose id token has no e-mail address.
    async fn further(
        &self,
        claims: &Claims,
        access_token: &Secret<String>,
    ) -> Result<Option<Claims>, ProviderFault> {
        let Some(url) = self.endpoints.userinfo.as_ref() else {
            return Ok(None);
        };
        if claims.text("email").is_some() {
            return Ok(None);
        }
        let answer = self.fetcher.json(Url::clone(url), Some(access_token)).await;
        let answer: Map<String, Value> = answer.map_err(|failure| failure.fault(&USERINFO))?;
        let claims_there = Claims(answer);
        // Otherwise one user's token could claim another user's address (OpenID Connect Core 5.3.2).
        if claims_there.subject() != claims.subject() {
            return Err(ProviderFault::Invalid(
                "its userinfo response is about another user",
            ));
        }
        Ok(Some(claims_there))
    }
}

/// The name in Apple's form at the first sign-in. The browser posts it, unsigned; nothing else of the form is used.
#[derive(Default)]
struct Named {
    first: Option<String>,
    last: Option<String>,
}

impl Named {
    fn in_form(user: Option<&str>) -> Self {
        let user: Option<Value> = user.and_then(|user| serde_json::from_str(user).ok());
        let part = |name: &str| {
            let part = user.as_ref()?.get("name")?.get(name)?.as_str()?;
            (!part.is_empty()).then(|| part.to_owned())
        };
        Self {
            first: part("firstName"),
            last: part("lastName"),
        }
    }
}
