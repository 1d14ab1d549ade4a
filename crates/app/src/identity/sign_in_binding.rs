//! Binding a sign-in to the client that started it (PKCE).
//!
//! The token belongs to the party that holds the verifier, and the App can have a state of its own returned with it (M-2).

use vestry_domain::Invalid;
use vestry_domain::app::AppSettings;
use vestry_domain::pkce::CodeChallenge;
use vestry_domain::redirect::CallerState;

/// The binding fields of a start call.
#[derive(Debug, Clone, Default)]
pub struct SignInBinding {
    /// The challenge whose verifier the verify call must present.
    pub code_challenge: Option<String>,
    /// `S256`, which is also the default.
    pub code_challenge_method: Option<String>,
    /// The state to return in the landing URL.
    pub state: Option<String>,
}

/// The validated form.
#[derive(Default)]
pub(crate) struct Starter {
    pub(crate) challenge: Option<CodeChallenge>,
    pub(crate) state: Option<CallerState>,
}

impl SignInBinding {
    pub(crate) fn check(&self) -> Result<Starter, Invalid> {
        let method = self.code_challenge_method.as_deref();
        let state = self.state.as_deref().map(CallerState::parse);
        Ok(Starter {
            challenge: CodeChallenge::asked(self.code_challenge.as_deref(), method)?,
            state: state.transpose()?,
        })
    }
}

impl Starter {
    /// Refuses a start without a challenge where the App wants one.
    pub(crate) fn suffices(&self, settings: &AppSettings) -> Result<(), Invalid> {
        if self.challenge.is_some() || !settings.require_code_challenge {
            return Ok(());
        }
        Err(Invalid {
            message: "code_challenge is required by the App's setting require_code_challenge: \
                send the SHA-256 of a code verifier, and the verifier to the verify call"
                .into(),
            ..Invalid::missing("code_challenge")
        })
    }

    /// The first field that was sent, if any.
    pub(crate) const fn first_field(&self) -> Option<&'static str> {
        match (&self.challenge, &self.state) {
            (Some(_), _) => Some("code_challenge"),
            (None, Some(_)) => Some("state"),
            (None, None) => None,
        }
    }
}
