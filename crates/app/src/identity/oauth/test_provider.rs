//! The identity provider that every test world has: its page lets a developer say who is signing in.
//!
//! It is a provider like any other to the rest of the flow, but for the network: its code is noted in the flow, and there is
//! nothing of it outside of flows that were begun under a test key (S-17).

use std::str::FromStr;

use sha2::{Digest, Sha256};
use url::form_urlencoded::Serializer;
use vestry_domain::email::Email;
use vestry_domain::ids::OauthCallbackId;
use vestry_domain::provider::{
    ConnectionSettings, EmailClaims, Flow, ProvenIdentity, ProviderKind, ProviderTokens, TestGrant,
    browser_token,
};
use vestry_domain::token::TokenHash;
use vestry_domain::{Invalid, Secret};
use vestry_ports::entropy::Bytes;
use vestry_ports::identity_providers::{Evidence, Exchanged, ProviderFault};

use super::{Opened, Returned};
use crate::kernel::fault::retried;
use crate::{Refusal, Service};

/// The issuer of every person that this provider knows.
const ISSUER: &str = "test";
/// The default identity.
const DEFAULT_EMAIL: &str = "ada@example.com";
/// Characters of the hash of an address that make a subject.
const SUBJECT_BYTES: usize = 12;

/// The answer that the provider gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TestAnswer {
    /// The person, whose address is verified.
    Verified,
    /// The person, whose address is not verified.
    Unverified,
    /// The same person, who has another verified address by now: the one given with `new-` before it.
    Changed,
    /// The person says no.
    Denied,
    /// The provider fails.
    Error,
}

impl TestAnswer {
    /// All of them, in the order in which the page shows them.
    pub const ALL: [Self; 5] = [
        Self::Verified,
        Self::Unverified,
        Self::Changed,
        Self::Denied,
        Self::Error,
    ];

    /// As it stands in the query.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Unverified => "unverified",
            Self::Changed => "changed",
            Self::Denied => "denied",
            Self::Error => "error",
        }
    }
}

impl FromStr for TestAnswer {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let known = Self::ALL.into_iter().find(|known| known.as_str() == text);
        known.ok_or_else(|| {
            Invalid::value(
                "identity",
                "identity must be verified, unverified, changed, denied or error",
            )
        })
    }
}

/// An answer, and who.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestChoice {
    answer: TestAnswer,
    email: String,
    subject: String,
}

impl TestChoice {
    /// Checks the submitted form. The default address is Ada's, and the default subject is derived from the address.
    ///
    /// # Errors
    /// The address is invalid, or the subject has more than 255 characters.
    pub fn new(
        answer: TestAnswer,
        email: Option<String>,
        subject: Option<String>,
    ) -> Result<Self, Invalid> {
        let email = email.unwrap_or_else(|| DEFAULT_EMAIL.to_owned());
        let identity = Email::parse(&email)?;
        let subject = match subject {
            Some(subject) if subject.chars().count() > 255 => {
                return Err(Invalid::value(
                    "subject",
                    "subject must have at most 255 characters",
                ));
            }
            Some(subject) => subject,
            None => {
                let digest = Sha256::digest(identity.identity().as_str().as_bytes());
                hex::encode(
                    digest
                        .iter()
                        .take(SUBJECT_BYTES)
                        .copied()
                        .collect::<Vec<u8>>(),
                )
            }
        };
        Ok(Self {
            answer,
            email,
            subject,
        })
    }

    fn identity(&self) -> ProvenIdentity {
        let email = match self.answer {
            TestAnswer::Changed => format!("new-{}", self.email),
            _ => self.email.clone(),
        };
        ProvenIdentity {
            issuer: ISSUER.to_owned(),
            subject: self.subject.clone(),
            email: Some(email),
            email_verified: self.answer != TestAnswer::Unverified,
            name: Some("Ada Lovelace".to_owned()),
            given_name: Some("Ada".to_owned()),
            family_name: Some("Lovelace".to_owned()),
        }
    }
}

impl Service {
    /// The page of the built-in provider for one flow, or, with a choice, the address that answers at once.
    pub(super) fn test_page_url(
        &self,
        opened: &Opened,
        state: &Secret<String>,
        choice: Option<&TestChoice>,
    ) -> String {
        let mut query = Serializer::new(String::new());
        query.append_pair("state", state.expose());
        if let Some(choice) = choice {
            query.append_pair("identity", choice.answer.as_str());
            query.append_pair("email", &choice.email);
            query.append_pair("subject", &choice.subject);
        }
        format!(
            "{}/v1/auth/oauth/test/{}/authorize?{}",
            self.settings.public_url.trim_end_matches('/'),
            opened.connection.callback_id,
            query.finish()
        )
    }

    /// Whether a sign-in waits for an answer of the built-in provider.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when none does.
    pub async fn show_test_sign_in(
        &self,
        id: OauthCallbackId,
        state: &Secret<String>,
    ) -> Result<(), Refusal> {
        self.waiting_test_sign_in(id, state).await.map(drop)
    }

    /// Answers a sign-in: the address at which the browser goes on, with a code or with an error.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when no sign-in waits for it.
    pub async fn answer_test_sign_in(
        &self,
        id: OauthCallbackId,
        state: &Secret<String>,
        choice: &TestChoice,
    ) -> Result<String, Refusal> {
        let (opened, flow) = self.waiting_test_sign_in(id, state).await?;
        let (name, value) = match choice.answer {
            TestAnswer::Denied => ("error", "access_denied".to_owned()),
            TestAnswer::Error => ("error", "server_error".to_owned()),
            TestAnswer::Verified | TestAnswer::Unverified | TestAnswer::Changed => {
                let code = browser_token(&mut Bytes(&*self.ports.entropy));
                let grant = TestGrant {
                    code: TokenHash::of(code.expose()),
                    identity: choice.identity(),
                };
                retried(|| self.store_grant(&flow, &grant)).await?;
                ("code", code.expose().clone())
            }
        };
        let query = Serializer::new(String::new())
            .append_pair(name, &value)
            .append_pair("state", state.expose())
            .append_pair("iss", ISSUER)
            .finish();
        let redirect_uri = self.redirect_uri(&opened, &flow);
        let separator = if redirect_uri.contains('?') { '&' } else { '?' };
        Ok(format!("{redirect_uri}{separator}{query}"))
    }

    async fn waiting_test_sign_in(
        &self,
        id: OauthCallbackId,
        state: &Secret<String>,
    ) -> Result<(Opened, Flow), Refusal> {
        let opened = self.connection_of_callback(id).await?;
        let opened = opened.filter(|opened| opened.connection.name.is_test());
        let opened = opened.ok_or(Refusal::NotFound("sign_in"))?;
        let world = opened.connection.world;
        let state = TokenHash::of(state.expose());
        let mut read = self.ports.store.read().await?;
        let flow = read.oauth_flows().find_flow(&world, &state).await?;
        let flow = flow.filter(|flow| {
            flow.provider.is_test()
                && flow.test_grant.is_none()
                && self.now(&world) < flow.expires_at
        });
        Ok((opened, flow.ok_or(Refusal::NotFound("sign_in"))?))
    }

    async fn store_grant(&self, flow: &Flow, grant: &TestGrant) -> Result<(), Refusal> {
        let now = self.now(&flow.world);
        let mut tx = self.ports.store.begin().await?;
        let granted = tx
            .oauth_flows()
            .grant_test(&flow.world, &flow.state, grant, now)
            .await?;
        if !granted {
            return Err(Refusal::NotFound("sign_in"));
        }
        Ok(tx.commit().await?)
    }
}

/// What the provider's token endpoint would do.
pub(super) fn exchange(flow: &Flow, returned: &Returned<'_>) -> Result<Exchanged, ProviderFault> {
    if returned.issuer.is_some_and(|issuer| issuer != ISSUER) {
        return Err(ProviderFault::Invalid("iss"));
    }
    let code = TokenHash::of(returned.code.expose());
    let granted = flow.test_grant.as_ref().filter(|grant| grant.code == code);
    let granted = granted.ok_or(ProviderFault::Refused)?;
    let identity = &granted.identity;
    let email = EmailClaims {
        email: identity.email.clone(),
        email_verified: identity.email_verified.into(),
        ..EmailClaims::default()
    };
    let claims = [
        "sub",
        "email",
        "email_verified",
        "name",
        "given_name",
        "family_name",
    ];
    Ok(Exchanged {
        evidence: Evidence {
            claims: claims.map(str::to_owned).to_vec(),
            email: email.standing(ProviderKind::Test, &ConnectionSettings::default()),
        },
        identity: identity.clone(),
        tokens: ProviderTokens {
            access_token: Secret::new(format!("test-access-{}", granted.identity.subject)),
            refresh_token: Some(Secret::new(format!(
                "test-refresh-{}",
                granted.identity.subject
            ))),
        },
    })
}
