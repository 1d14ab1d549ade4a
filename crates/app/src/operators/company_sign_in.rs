//! Company sign-in: an operator signs in with the company's OpenID Connect provider, as the first factor.
//!
//! It is a sign-in like that of a user (`identity::oauth`), with two differences. It admits operators who have joined, and creates no user.
//! An operator has a single account of the provider: the address counts only until an account is linked, so a company can give it to
//! another person later.

use vestry_domain::Secret;
use vestry_domain::audit::control::Subject;
use vestry_domain::email::Email;
use vestry_domain::ids::UserId;
use vestry_domain::provider::{ProvenIdentity, ProviderLink};
use vestry_domain::session::Session;

use super::WORLD;
use super::company_connection::company;
use super::sessions::ConsoleRequest;
use super::sign_in::{NewSession, SignInError, new_session};
use crate::identity::oauth::begin::NewFlow;
use crate::identity::oauth::callback::Gone;
use crate::identity::oauth::verify::Presented;
use crate::identity::oauth::{BeginOauthError, Callback, Opened, VerifyOauthError};
use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// The reason why a person who came back from the provider is not signed in.
enum Rejected {
    /// Recorded, and never shown (OPR-8). Names the operator, if it is one.
    Denied(Option<UserId>, &'static str),
    Common(Refusal),
}

has_common!(Rejected);

impl Service {
    /// Begins a sign-in for a browser that can show this value again. Returns the URL at the provider.
    ///
    /// `after` is the page on which the sign-in ends.
    ///
    /// # Errors
    /// [`BeginOauthError`]; [`Refusal::NotFound`] if no provider is set.
    pub async fn begin_company_sign_in(
        &self,
        request: &ConsoleRequest,
        browser: Secret<String>,
        after: &str,
    ) -> Result<String, BeginOauthError> {
        let opened = self.company_provider().await?;
        let new = NewFlow {
            redirect_uri: Some(self.company_callback_url()?),
            browser: Some(browser),
            login_url: Some(after.to_owned()),
            begun_from: request.device().ip_subject(),
            ..NewFlow::default()
        };
        let caller = self.console_caller(request);
        let (url, _state) = self.start_flow(&caller, &opened, new).await?;
        Ok(url)
    }

    /// Signs in the operator who came back from the provider. Returns the session and the page on which the sign-in ends.
    ///
    /// # Errors
    /// [`SignInError::Wrong`], whatever is wrong about the sign-in or the person.
    pub async fn finish_company_sign_in(
        &self,
        request: &ConsoleRequest,
        callback: Callback,
    ) -> Result<(NewSession, String), SignInError> {
        let opened = self.company_provider().await?;
        let url = self.company_callback_url()?;
        let flow = self.own_flow(&opened, &callback, Some(&url)).await?;
        let flow = flow.ok_or(SignInError::Wrong)?;
        let person = match self.person_of_callback(&opened, &flow, &callback).await {
            Ok(person) => person,
            Err(Gone::Failed(_failure)) => return Err(SignInError::Wrong),
            Err(Gone::Fault(fault)) => return Err(fault.into()),
        };
        self.prepare_built_in_app().await?;
        let caller = self.signing_in(request).await?;
        let session_request = self.check_session_fields(&caller, &new_session()).await?;
        let signing_key = self.key_for(&WORLD, &session_request).await?;
        let presented = Presented {
            provider: flow.provider,
            person,
            // The state is used up.
            token: None,
            begun_from: flow.begun_from,
            is_bound: true,
            met_challenge: false,
            session_request,
            device_fingerprint: &request.device(),
        };
        let (user, granted) = match retried(|| self.let_operator_in(&caller, &presented)).await {
            Ok(admitted) => admitted,
            Err(Rejected::Common(refusal)) => return Err(refusal.into()),
            Err(Rejected::Denied(user, reason)) => {
                let subject = user.map_or(Subject::provider(&presented.provider), Subject::from);
                self.note_refused_sign_in(request, subject, reason).await;
                return Err(SignInError::Wrong);
            }
        };
        let issued = self.issued(&caller, signing_key.as_ref(), granted).await?;
        let session = self.signed_in(request, user, issued).await?;
        Ok((session, flow.login_url.unwrap_or_default()))
    }

    async fn company_provider(&self) -> Result<Opened, Refusal> {
        let opened = self.provider_connection(&WORLD, &company()?).await?;
        opened.ok_or(Refusal::NotFound("company sign-in"))
    }

    async fn let_operator_in(
        &self,
        caller: &Caller,
        presented: &Presented<'_>,
    ) -> Result<(UserId, Option<(Session, Secret<String>)>), Rejected> {
        let user = self.operator_behind(&presented.person.identity).await?;
        // If the operator changes in the meantime, the race is lost and this runs again.
        match self.try_oauth(caller, presented, Some(user)).await {
            Ok((_, granted)) => Ok((user, granted)),
            Err(VerifyOauthError::InvalidToken) => {
                Err(Rejected::Denied(Some(user), "user_disabled"))
            }
            Err(VerifyOauthError::Common(refusal)) => Err(refusal.into()),
            Err(other) => Err(Fault::Internal(Box::new(other)).into()),
        }
    }

    /// Finds the operator to whom the person is linked, or who has the person's verified address and no link to this issuer yet.
    async fn operator_behind(&self, person: &ProvenIdentity) -> Result<UserId, Rejected> {
        let name = company()?;
        let mut read = self.ports.store.read().await?;
        let links = read.provider_links();
        let link = links.find_by_subject(&WORLD, &name, &person.issuer, &person.subject);
        let user = match link.await? {
            Some(link) => link.user_id,
            None => {
                let email = person.email.as_deref().map(Email::parse);
                let Some(Ok(email)) = email.filter(|_| person.email_verified) else {
                    return Err(Rejected::Denied(None, "email_unverified"));
                };
                let identity = email.identity();
                let found = read.identifiers().email_by_identity(&WORLD, identity);
                let Some((_, user)) = found.await? else {
                    return Err(Rejected::Denied(None, "not_an_operator"));
                };
                let links = read.provider_links().of_user(&WORLD, user.id).await?;
                let is_of_issuer =
                    |link: &ProviderLink| (&link.provider, &link.issuer) == (&name, &person.issuer);
                if links.iter().any(is_of_issuer) {
                    return Err(Rejected::Denied(Some(user.id), "other_account"));
                }
                user.id
            }
        };
        match read.operators().find(user).await? {
            Some(_) => Ok(user),
            None => Err(Rejected::Denied(None, "not_an_operator")),
        }
    }
}
