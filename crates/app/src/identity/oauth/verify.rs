//! `oauth/verify`: redeems our token, or a code and state, for a single sign-in.

use vestry_domain::action::Action;
use vestry_domain::ids::UserId;
use vestry_domain::message::CredentialChange;
use vestry_domain::pkce;
use vestry_domain::provider::{
    Pending, ProvenIdentity, ProviderLink, ProviderName, ProviderTokens,
};
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};
use vestry_domain::token::TokenHash;
use vestry_domain::user::UserProfile;
use vestry_domain::{Secret, Timestamp};
use vestry_ports::identity_providers::ProviderFault;

use super::join::{Candidate, probable_user};
use super::{ExchangeError, Person, Returned, UNFINISHED};
use crate::identity::sessions::issue::{SessionRequest, from_start_session_error};
use crate::identity::sessions::{IssuedSession, SessionFields};
use crate::identity::users::notices::CredentialChangeNotice;
use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// Evidence that the person signed in at the provider.
#[derive(Debug)]
pub enum OauthProof {
    /// The token from the redirect of our callback.
    Token {
        /// 64 characters.
        token: Secret<String>,
        /// The state that `begin` returned, as kept by the App; it must belong to this flow.
        state: Option<Secret<String>>,
        /// The PKCE verifier of the challenge passed to `begin`.
        code_verifier: Option<Secret<String>>,
    },
    /// The values that the provider sent to the App's own callback.
    Code {
        /// The authorization code.
        code: Secret<String>,
        /// The state of the flow.
        state: Secret<String>,
        /// `iss` (RFC 9207), when the provider sent one.
        issuer: Option<String>,
    },
}

/// The parameters of the call.
#[derive(Debug)]
pub struct VerifyOauth {
    /// The token, or the code and state.
    pub proof: OauthProof,
    /// How to handle the session.
    pub session_fields: SessionFields,
    /// The end user's device.
    pub device_fingerprint: DeviceFingerprint,
}

/// A successful sign-in.
#[derive(Debug)]
pub struct VerifiedOauth {
    /// The identity as stated by the provider.
    pub identity: ProvenIdentity,
    /// The provider's own tokens, if the App wants them.
    pub tokens: Option<ProviderTokens>,
    /// The link; its user is the one who signed in.
    pub link: ProviderLink,
    /// The user's address that the provider verified, else the user's first one; `""` if there is none.
    pub user_email: String,
    /// The session, if one was requested.
    pub issued: Option<IssuedSession>,
}

/// The reason why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub enum VerifyOauthError {
    /// Unknown, used, expired, of another state, without its verifier, or of a disabled user: indistinguishable to the caller. Also a code
    /// that the provider rejected, or for which its response failed validation.
    #[error("the token or code is invalid")]
    InvalidToken,
    /// No flow of this state waits for the App's own callback: unknown, used or expired.
    #[error("the state is invalid")]
    InvalidState,
    /// The flow of this state waits for our callback, and stays pending.
    #[error("the sign-in uses Vestry's own callback")]
    ForOurCallback,
    /// The provider rejects the connection's configuration.
    #[error("the provider connection is misconfigured")]
    Misconfigured(#[source] ProviderFault),
    /// The connection was removed in the meantime.
    #[error("the provider is not configured")]
    NotConfigured,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(VerifyOauthError);

impl From<ExchangeError> for VerifyOauthError {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::Fault(fault) => fault.into(),
            ExchangeError::Provider(ProviderFault::Refused | ProviderFault::Invalid(_)) => {
                Self::InvalidToken
            }
            ExchangeError::Provider(fault @ ProviderFault::Unavailable(_)) => {
                Fault::Unavailable(Box::new(fault)).into()
            }
            ExchangeError::Provider(fault @ ProviderFault::Misconfigured(_)) => {
                Self::Misconfigured(fault)
            }
        }
    }
}

from_start_session_error!(VerifyOauthError::InvalidToken);

/// Everything known before the transaction.
pub(crate) struct Presented<'a> {
    pub(crate) provider: ProviderName,
    pub(crate) person: Person,
    /// The token that the transaction uses up; a state is used up before its code is exchanged.
    pub(crate) token: Option<TokenHash>,
    /// The client address whose quota is refunded for the started flow.
    pub(crate) begun_from: Option<String>,
    /// Whether the call named the state of the flow.
    pub(crate) is_bound: bool,
    /// Whether the call presented the verifier of the flow's challenge.
    pub(crate) met_challenge: bool,
    pub(crate) session_request: SessionRequest,
    pub(crate) device_fingerprint: &'a DeviceFingerprint,
}

/// The outcome of the transaction.
pub(crate) struct SignedIn {
    link: ProviderLink,
    email: String,
}

impl Service {
    /// Uses up a token, or a code and its state; finds or creates the user; and issues or continues a session.
    ///
    /// # Errors
    /// [`VerifyOauthError`]; [`Refusal::Taken`] when the provider's address belongs to a user and the provider did not verify it: the token
    /// links within a session of that user, with the state. A valid token stays valid unless the call succeeds. A state is used up as soon
    /// as its code is exchanged, because the provider also accepts a code only once.
    pub async fn verify_oauth(
        &self,
        caller: &Caller,
        command: VerifyOauth,
    ) -> Result<VerifiedOauth, VerifyOauthError> {
        caller.authorize(Action::VerifyOauth)?;
        let session_request = self
            .check_session_fields(caller, &command.session_fields)
            .await?;
        let signing_key = self.key_for(&caller.world, &session_request).await?;
        let fingerprint = &command.device_fingerprint;
        let presented = match &command.proof {
            OauthProof::Token {
                token,
                state,
                code_verifier,
            } => {
                let (hash, state) = (TokenHash::of(token.expose()), state.as_ref());
                let pending = self.pending_sign_in(caller, &hash, state).await?;
                let verifier = code_verifier.as_ref();
                retried(|| self.check_verifier(&pending, verifier)).await?;
                let person = self.open_person(caller.world, &hash, &pending.identity);
                Presented {
                    person: person.await?,
                    provider: pending.provider,
                    token: Some(hash),
                    begun_from: pending.begun_from,
                    is_bound: state.is_some(),
                    met_challenge: pending.challenge.is_some(),
                    session_request,
                    device_fingerprint: fingerprint,
                }
            }
            OauthProof::Code {
                code,
                state,
                issuer,
            } => {
                let (provider, person) = self
                    .exchange_own(caller, code, state, issuer.as_deref())
                    .await?;
                Presented {
                    provider,
                    person,
                    token: None,
                    begun_from: None,
                    is_bound: true,
                    met_challenge: false,
                    session_request,
                    device_fingerprint: fingerprint,
                }
            }
        };
        let (signed_in, granted) = retried(|| self.try_oauth(caller, &presented, None)).await?;
        let issued = self.issued(caller, signing_key.as_ref(), granted).await?;
        Ok(VerifiedOauth {
            identity: presented.person.identity,
            tokens: presented.person.tokens,
            link: signed_in.link,
            user_email: signed_in.email,
            issued,
        })
    }

    /// Finds the pending sign-in of the token, if it matches this state.
    async fn pending_sign_in(
        &self,
        caller: &Caller,
        token: &TokenHash,
        state: Option<&Secret<String>>,
    ) -> Result<Pending, VerifyOauthError> {
        let state = state.map(|state| TokenHash::of(state.expose()));
        let now = self.now(&caller.world);
        let mut read = self.ports.store.read().await?;
        let pending = read
            .oauth_flows()
            .find_pending(&caller.world, token)
            .await?;
        pending
            .filter(|pending| now < pending.expires_at)
            .filter(|pending| state.is_none_or(|state| state == pending.state))
            .ok_or(VerifyOauthError::InvalidToken)
    }

    /// Checks that the verifying client started the flow (M-2).
    ///
    /// An attempt is counted before it is compared, and a wrong one stays counted before the outcome is revealed. The last allowed attempt
    /// invalidates the token.
    async fn check_verifier(
        &self,
        pending: &Pending,
        verifier: Option<&Secret<String>>,
    ) -> Result<(), VerifyOauthError> {
        if pending.challenge.is_none() && verifier.is_none() {
            return Ok(());
        }
        let (world, token) = (&pending.world, &pending.token);
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        let tries = tx.oauth_flows().attempt_pending(world, token, now).await?;
        let tries = tries.ok_or(VerifyOauthError::InvalidToken)?;
        if pkce::is_met(pending.challenge.as_ref(), verifier) {
            // Not committed: a valid token stays valid until it is used, however often that fails for other reasons.
            return Ok(());
        }
        if tries >= pkce::MAX_TRIES {
            tx.oauth_flows().consume_pending(world, token, now).await?;
        }
        tx.commit().await?;
        Err(VerifyOauthError::InvalidToken)
    }

    /// Uses up the state of a flow with the App's own callback, and exchanges its code.
    async fn exchange_own(
        &self,
        caller: &Caller,
        code: &Secret<String>,
        state: &Secret<String>,
        issuer: Option<&str>,
    ) -> Result<(ProviderName, Person), VerifyOauthError> {
        let world = &caller.world;
        let hash = TokenHash::of(state.expose());
        let mut read = self.ports.store.read().await?;
        let flow = read.oauth_flows().find_flow(world, &hash).await?;
        drop(read);
        let flow = flow.filter(|flow| self.now(world) < flow.expires_at);
        let flow = flow.ok_or(VerifyOauthError::InvalidState)?;
        // A flow to our own callback may be bound to a browser, which only that callback can see, so it is left alone. The holder of its
        // state and of a key of its world started it, and may learn why this call does not complete it.
        if flow.redirect_uri.is_none() {
            return Err(VerifyOauthError::ForOurCallback);
        }
        let opened = self.provider_connection(world, &flow.provider).await?;
        let opened = opened.ok_or(VerifyOauthError::NotConfigured)?;
        if !retried(|| self.use_flow(&flow)).await? {
            return Err(VerifyOauthError::InvalidState);
        }
        let returned = Returned {
            code,
            issuer,
            user: None,
        };
        let exchanged = self.exchange_code(&opened, &flow, returned).await?;
        let person = Person::of(exchanged, &opened.connection);
        Ok((flow.provider, person))
    }

    /// Joins the person to a user and issues or continues a session, in one transaction.
    ///
    /// `only` is the one user whom the person may turn out to be, with a single link to this issuer. [`Fault::LostRace`] otherwise.
    pub(crate) async fn try_oauth(
        &self,
        caller: &Caller,
        presented: &Presented<'_>,
        only: Option<UserId>,
    ) -> Result<(SignedIn, Option<(Session, Secret<String>)>), VerifyOauthError> {
        let world = &caller.world;
        let candidate = Candidate {
            provider: &presented.provider,
            identity: &presented.person.identity,
            in_session: presented.session_request.user(),
            is_bound: presented.is_bound,
            met_challenge: presented.met_challenge,
        };
        let change = self.announced_link(caller, &candidate).await?;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        if let Some(token) = &presented.token
            && !tx.oauth_flows().consume_pending(world, token, now).await?
        {
            return Err(VerifyOauthError::InvalidToken);
        }
        let joined = self.join_person(&mut *tx, caller, &candidate, now).await?;
        let link = joined.link;
        if let Some(only) = only {
            let links = tx.provider_links().of_user(world, only).await?;
            let links = links
                .iter()
                .filter(|other| (&other.provider, &other.issuer) == (&link.provider, &link.issuer));
            if link.user_id != only || links.count() > 1 {
                return Err(Fault::LostRace.into());
            }
        }
        let sign_in = SignIn {
            user_id: link.user_id,
            factor: factor(&link, now),
            device_fingerprint: presented.device_fingerprint.clone(),
        };
        let granted = self
            .start_or_extend(&mut *tx, caller, &presented.session_request, sign_in, now)
            .await?;
        if joined.adds_a_way {
            // The owner may have changed between the read and the lock; the next run notifies the right one.
            let change = change.filter(|(user, _)| *user == link.user_id);
            let (_, change) = change.ok_or(Fault::LostRace)?;
            let kept = granted.as_ref().map(|(session, _)| session.id);
            self.apply_with_notice(&mut *tx, caller, &change, kept, now)
                .await?;
        }
        if let Some(from) = &presented.begun_from {
            tx.quotas().refund(world, UNFINISHED, from, 1).await?;
        }
        let profile = tx.users().profile(world, link.user_id).await?;
        let email = profile.map(|profile| shown_email(&profile, &link));
        caller.commit_last(tx).await?;
        let signed_in = SignedIn {
            email: email.unwrap_or_default(),
            link,
        };
        Ok((signed_in, granted))
    }

    /// Prepares the notices for the user who will probably get a new link.
    async fn announced_link(
        &self,
        caller: &Caller,
        candidate: &Candidate<'_>,
    ) -> Result<Option<(UserId, CredentialChangeNotice)>, Fault> {
        let mut read = self.ports.store.read().await?;
        let user = probable_user(&mut *read, &caller.world, candidate).await?;
        drop(read);
        let Some(user) = user else {
            return Ok(None);
        };
        let change = CredentialChange::ProviderAdded;
        Ok(Some((
            user,
            self.prepare_notice(caller, user, change).await?,
        )))
    }
}

fn shown_email(profile: &UserProfile, link: &ProviderLink) -> String {
    let linked = profile
        .emails
        .iter()
        .find(|email| Some(email.id) == link.email_id);
    let shown = linked.or(profile.emails.first());
    shown
        .map(|email| email.email.address().to_owned())
        .unwrap_or_default()
}

fn factor(link: &ProviderLink, now: Timestamp) -> Factor {
    Factor {
        proof: Proof::Provider {
            link_id: link.id,
            provider: link.provider.to_string(),
            subject: link.subject.clone(),
        },
        last_verified_at: now,
    }
}
