//! "Try it": an operator runs the flow of a provider as a user would. It ends with a judgement, before a sign-in would begin to write (CON-18).

use sha2::{Digest, Sha256};
use vestry_domain::action::Action;
use vestry_domain::ids::{SessionId, UserId};
use vestry_domain::provider::{EmailStanding, ProviderName, SignInFailure};
use vestry_ports::identity_providers::{Evidence, Exchanged, ProviderFault};
use vestry_ports::store::Repositories;

use super::begin::{BeginOauthError, NewFlow};
use super::callback::{Callback, NotExchanged, failure};
use super::join::{Candidate, Judgement, judge};
use crate::kernel::caller::enabled;
use crate::kernel::fault::{causes, retried};
use crate::{Caller, Fault, Refusal, Service};

/// A trial that was begun, or not.
#[derive(Debug)]
pub enum BegunTrial {
    /// The browser goes to this URL at the provider.
    At(String),
    /// A sign-in would not begin either.
    Failed(TrialFailure),
}

/// The end of a trial.
#[derive(Debug)]
pub enum ProviderTrial {
    /// The provider vouched for a person.
    Proved(TriedPerson),
    /// It did not.
    Failed(TrialFailure),
}

/// The person for whom the provider vouched.
#[derive(Debug)]
pub struct TriedPerson {
    /// The issuer.
    pub issuer: String,
    /// SHA-256 of the subject, in hex.
    pub subject_hash: String,
    /// The names of the claims about the person.
    pub claims: Vec<String>,
    /// The address as sent.
    pub email: Option<String>,
    /// Why it counts as verified, or does not.
    pub email_standing: EmailStanding,
    /// The full name, or its parts.
    pub name: Option<String>,
    /// The outcome of a sign-in.
    pub outcome: TrialOutcome,
}

/// What a sign-in would have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialOutcome {
    /// Created a user.
    NewUser,
    /// Signed this user in, who is linked to the person.
    Linked(UserId),
    /// Linked the person to this user, who has the address.
    Joined(UserId),
    /// Nothing.
    Refused(TrialRefusal),
}

/// Why a sign-in would have been refused although the provider vouched for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialRefusal {
    /// A user has the address, and it does not count as verified.
    EmailTaken,
    /// This user is disabled.
    UserDisabled(UserId),
}

/// The part of a flow that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialStep {
    /// The configuration, before the browser leaves.
    Configuration,
    /// The provider's page, from which the browser came back without a code.
    SignInPage,
    /// The exchange of the code, and the checks of the response.
    Exchange,
}

/// Why the provider named no person.
#[derive(Debug)]
pub struct TrialFailure {
    /// The part that failed.
    pub step: TrialStep,
    /// The cause. It contains nothing that the provider sent.
    pub cause: String,
    /// The setting to change, or what else to do.
    pub advice: &'static str,
    /// The value of `error=` that the App gets; `None` if the browser does not leave.
    pub reported: Option<SignInFailure>,
}

impl TrialFailure {
    fn before(cause: &str, advice: &'static str) -> Self {
        Self {
            step: TrialStep::Configuration,
            cause: cause.to_owned(),
            advice,
            reported: None,
        }
    }

    /// A fault before the browser leaves.
    fn beginning(fault: &ProviderFault) -> Self {
        Self::before(&causes(fault), advice(fault))
    }

    fn exchanging(fault: &ProviderFault) -> Self {
        Self {
            step: TrialStep::Exchange,
            cause: causes(fault),
            advice: advice(fault),
            reported: Some(failure(fault)),
        }
    }

    /// The provider sent no code.
    fn returning(failure: SignInFailure) -> Self {
        let (cause, advice) = match failure {
            SignInFailure::AccessDenied => (
                "the person or the provider denied access",
                "Approve the sign-in, or use an account that the client admits.",
            ),
            SignInFailure::ProviderUnavailable => (
                "the provider reported a failure of its own",
                "Try again later. No setting of this page causes it.",
            ),
            _ => (
                "the provider refused the request",
                "Check the additional scopes, and the type of the client in the provider’s console.",
            ),
        };
        Self {
            step: TrialStep::SignInPage,
            cause: cause.to_owned(),
            advice,
            reported: Some(failure),
        }
    }
}

/// The setting that a fault of the provider speaks against.
fn advice(fault: &ProviderFault) -> &'static str {
    match fault {
        ProviderFault::Refused => {
            "Try again: a code is valid once. If it happens again, check the client secret and the callback URL."
        }
        ProviderFault::Invalid("aud" | "azp") => "Check the client id.",
        ProviderFault::Invalid("iss" | "iss of the callback" | "issuer of the key") => {
            "Check the issuer: it must be exactly the one in the discovery document."
        }
        ProviderFault::Invalid("exp" | "iat" | "nbf") => {
            "Check the clock of this server and of the provider."
        }
        ProviderFault::Unavailable(_) => {
            "Check the issuer and the endpoints, and whether this server reaches them."
        }
        ProviderFault::Misconfigured("the provider rejected the client id or secret") => {
            "Enter the client id and the client secret again."
        }
        ProviderFault::Misconfigured("the callback URL is not registered with the provider") => {
            "Register the callback URL in the provider’s console."
        }
        ProviderFault::Misconfigured("the team and the id of the key are missing") => {
            "Enter the team id and the key id."
        }
        ProviderFault::Invalid(_) | ProviderFault::Misconfigured(_) => {
            "Check the issuer and the endpoints."
        }
    }
}

impl Service {
    /// Begins a trial, which ends within ten minutes in the same session of the operator.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::NotFound`] for the built-in provider outside of a test world.
    pub async fn begin_provider_trial(
        &self,
        caller: &Caller,
        session: SessionId,
        name: &ProviderName,
    ) -> Result<BegunTrial, Refusal> {
        caller.authorize(Action::TryProvider)?;
        if name.is_test() && !caller.is_test() {
            return Err(Refusal::NotFound("provider"));
        }
        // Without it, there is no way back.
        self.console_origin()?;
        if enabled(&caller.app).is_err() {
            let failure = TrialFailure::before("the App is disabled", "Enable the App.");
            return Ok(BegunTrial::Failed(failure));
        }
        let Some(opened) = self.provider_connection(&caller.world, name).await? else {
            return Ok(BegunTrial::Failed(self.lacking(caller, name).await?));
        };
        let new = NewFlow {
            trial: Some(session),
            ..NewFlow::default()
        };
        match self.start_flow(caller, &opened, new).await {
            Ok((url, _state)) => Ok(BegunTrial::At(url)),
            Err(BeginOauthError::Misconfigured(fault)) => {
                Ok(BegunTrial::Failed(TrialFailure::beginning(&fault)))
            }
            Err(BeginOauthError::Common(Refusal::Fault(Fault::Unavailable(source)))) => {
                match source.downcast::<ProviderFault>() {
                    Ok(fault) => Ok(BegunTrial::Failed(TrialFailure::beginning(&fault))),
                    Err(source) => Err(Fault::Unavailable(source).into()),
                }
            }
            Err(BeginOauthError::Common(refusal)) => Err(refusal),
            Err(other) => Err(Fault::Internal(Box::new(other)).into()),
        }
    }

    /// What a provider lacks that cannot be used.
    async fn lacking(&self, caller: &Caller, name: &ProviderName) -> Result<TrialFailure, Fault> {
        let mut read = self.ports.store.read().await?;
        let stored = read.provider_connections().find(&caller.world, name);
        Ok(match stored.await? {
            Some(_) => {
                TrialFailure::before("the client secret is missing", "Enter the client secret.")
            }
            None => TrialFailure::before(
                "the provider is not configured",
                "Enter the client id and the client secret.",
            ),
        })
    }

    /// Ends a trial: uses its state up, exchanges the code, and says what a sign-in would have done. `None` if this session began no trial
    /// with this state, or has ended it.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn finish_provider_trial(
        &self,
        caller: &Caller,
        session: SessionId,
        name: &ProviderName,
        callback: Callback,
    ) -> Result<Option<ProviderTrial>, Refusal> {
        caller.authorize(Action::TryProvider)?;
        let Some(opened) = self.provider_connection(&caller.world, name).await? else {
            return Ok(None);
        };
        let flow = self.own_flow(&opened, &callback, None).await?;
        let Some(flow) = flow.filter(|flow| flow.trial == Some(session)) else {
            return Ok(None);
        };
        match self.exchanged(&opened, &flow, &callback).await {
            Ok(exchanged) => {
                let tried = retried(|| self.tried(caller, name, &exchanged));
                Ok(Some(ProviderTrial::Proved(tried.await?)))
            }
            Err(NotExchanged::Used) => Ok(None),
            Err(NotExchanged::Error(failure)) => Ok(Some(ProviderTrial::Failed(
                TrialFailure::returning(failure),
            ))),
            Err(NotExchanged::Provider(fault)) => Ok(Some(ProviderTrial::Failed(
                TrialFailure::exchanging(&fault),
            ))),
            Err(NotExchanged::Fault(fault)) => Err(fault.into()),
        }
    }

    async fn tried(
        &self,
        caller: &Caller,
        provider: &ProviderName,
        exchanged: &Exchanged,
    ) -> Result<TriedPerson, Refusal> {
        let Exchanged {
            identity,
            evidence: Evidence { claims, email },
            ..
        } = exchanged;
        let candidate = Candidate {
            provider,
            identity,
            in_session: None,
            is_bound: false,
            met_challenge: false,
        };
        let mut read = self.ports.store.read().await?;
        let outcome = self.outcome(&mut *read, caller, &candidate).await?;
        let parts = [&identity.given_name, &identity.family_name];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        let name = identity.name.clone().unwrap_or_else(|| parts.join(" "));
        Ok(TriedPerson {
            issuer: identity.issuer.clone(),
            subject_hash: hex::encode(Sha256::digest(identity.subject.as_bytes())),
            claims: claims.clone(),
            email: identity.email.clone(),
            email_standing: *email,
            name: Some(name).filter(|name| !name.is_empty()),
            outcome,
        })
    }

    async fn outcome(
        &self,
        read: &mut dyn Repositories,
        caller: &Caller,
        candidate: &Candidate<'_>,
    ) -> Result<TrialOutcome, Refusal> {
        let world = &caller.world;
        let (outcome, user) = match judge(read, caller, candidate).await {
            Ok(Judgement::Linked(link)) => {
                let profile = read.users().profile(world, link.user_id).await?;
                let user = profile.ok_or(Fault::LostRace)?.user;
                (TrialOutcome::Linked(user.id), user)
            }
            Ok(Judgement::Proved(owned, _)) => {
                let now = self.now(world);
                let receiver = self.probable_receiver(read, world, candidate, &owned, now);
                let (user, is_new) = receiver.await?;
                if is_new {
                    return Ok(TrialOutcome::NewUser);
                }
                (TrialOutcome::Joined(user.id), user)
            }
            // A trial has no session of a user.
            Ok(Judgement::New | Judgement::InSession(_)) => return Ok(TrialOutcome::NewUser),
            Err(Refusal::Taken(_)) => {
                return Ok(TrialOutcome::Refused(TrialRefusal::EmailTaken));
            }
            Err(refusal) => return Err(refusal),
        };
        Ok(match user.disabled {
            Some(_) => TrialOutcome::Refused(TrialRefusal::UserDisabled(user.id)),
            None => outcome,
        })
    }
}
