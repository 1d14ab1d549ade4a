//! In-memory identity providers, to which a test adds the people who sign in.

use std::collections::HashMap;
use std::sync::Mutex;

use vestry_domain::Secret;
use vestry_domain::provider::{
    Connection, EmailStanding, ProvenIdentity, ProviderTokens, code_challenge,
};
use vestry_ports::identity_providers::{
    AuthorizationRequest, CheckedPart, Evidence, Exchanged, Grant, IdentityProviders,
    ProviderAccess, ProviderFault, ProviderPart,
};
use vestry_ports::port;

use super::lock;

/// In-memory identity providers.
///
/// They enforce the protocol's rules for a code: client, redirect URI, verifier, nonce, and single use.
#[derive(Debug, Default)]
pub struct FakeProviders(Mutex<ProviderState>);

#[derive(Debug, Default)]
struct ProviderState {
    /// Authorization requests by state.
    asked: HashMap<String, Asked>,
    codes: HashMap<String, (Asked, ProvenIdentity)>,
    unavailable: bool,
    issued: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    client_id: String,
    redirect_uri: String,
    nonce: String,
    code_challenge: String,
}

impl FakeProviders {
    /// Signs a person in for the authorization request with this state, and returns the code that the browser brings back.
    ///
    /// # Panics
    /// If no authorization request has this state.
    pub fn sign_in(&self, state: &str, identity: ProvenIdentity) -> String {
        let mut provider = lock(&self.0);
        let Some(asked) = provider.asked.get(state).cloned() else {
            panic!("no authorization request has this state");
        };
        provider.issued += 1;
        let code = format!("code-{}", provider.issued);
        provider.codes.insert(code.clone(), (asked, identity));
        code
    }

    /// Makes every provider unreachable (`true`) or reachable again.
    pub fn set_unavailable(&self, unavailable: bool) {
        lock(&self.0).unavailable = unavailable;
    }

    fn reach(&self) -> Result<(), ProviderFault> {
        if lock(&self.0).unavailable {
            return Err(ProviderFault::Unavailable(
                "made unavailable by the test".into(),
            ));
        }
        Ok(())
    }
}

#[port]
impl IdentityProviders for FakeProviders {
    async fn authorization_url(
        &self,
        access: ProviderAccess<'_>,
        request: AuthorizationRequest<'_>,
    ) -> Result<String, ProviderFault> {
        self.reach()?;
        let asked = Asked {
            client_id: access.connection.client_id.clone(),
            redirect_uri: request.redirect_uri.to_owned(),
            nonce: request.nonce.expose().clone(),
            code_challenge: request.code_challenge.to_owned(),
        };
        let state = request.state.expose();
        let url = format!(
            "https://{}.example/authorize?state={state}",
            access.connection.name
        );
        lock(&self.0).asked.insert(state.clone(), asked);
        Ok(url)
    }

    async fn check(
        &self,
        _connection: &Connection,
        _request: AuthorizationRequest<'_>,
    ) -> Vec<CheckedPart> {
        vec![CheckedPart {
            part: ProviderPart::SignInPage,
            outcome: self.reach(),
        }]
    }

    async fn exchange(
        &self,
        access: ProviderAccess<'_>,
        grant: Grant<'_>,
    ) -> Result<Exchanged, ProviderFault> {
        self.reach()?;
        let known = lock(&self.0).codes.remove(grant.code.expose());
        let (asked, identity) = known.ok_or(ProviderFault::Refused)?;
        let brought = Asked {
            client_id: access.connection.client_id.clone(),
            redirect_uri: grant.redirect_uri.to_owned(),
            nonce: grant.nonce.expose().clone(),
            code_challenge: code_challenge(grant.code_verifier),
        };
        if brought != asked {
            return Err(ProviderFault::Refused);
        }
        if grant.issuer.is_some_and(|issuer| issuer != identity.issuer) {
            return Err(ProviderFault::Invalid("iss"));
        }
        let subject = &identity.subject;
        Ok(Exchanged {
            tokens: ProviderTokens {
                access_token: Secret::new(format!("access-of-{subject}")),
                refresh_token: Some(Secret::new(format!("refresh-of-{subject}"))),
            },
            evidence: Evidence {
                claims: vec!["sub".to_owned()],
                email: match identity.email_verified {
                    true => EmailStanding::Verified,
                    false => EmailStanding::Unverified,
                },
            },
            identity,
        })
    }
}
