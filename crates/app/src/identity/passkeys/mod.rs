//! Passkeys: made and used in two calls each, with a challenge between them.

pub mod authenticate;
pub mod delete;
pub mod register;
pub mod verify;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use vestry_domain::ids::UserId;
use vestry_domain::passkey::{
    AuthenticatorType, CHALLENGE_BYTES, CHALLENGE_LIFETIME, Ceremony, Origins, Passkey,
    PasskeyChallenge, PasskeyDomain, UserVerification,
};
use vestry_domain::token::TokenHash;
use vestry_domain::{Invalid, Timestamp};

use crate::{Caller, Service};

pub use authenticate::{AuthenticationOptions, BeginAuthentication};
pub use delete::DeletedPasskey;
pub use register::{BeginRegistration, CreatePasskey, CreatedPasskey, RegistrationOptions};
pub use verify::{VerifiedPasskey, VerifyPasskey};

/// The domain of a call: on the App's list, or `localhost` in the test environment.
fn allowed_domain(caller: &Caller, text: &str) -> Result<PasskeyDomain, Invalid> {
    let domain = PasskeyDomain::parse(text)?;
    let listed = caller
        .settings()
        .webauthn_domains
        .iter()
        .any(|listed| PasskeyDomain::parse(listed).is_ok_and(|listed| listed == domain));
    if listed || (domain.is_localhost() && caller.is_test()) {
        return Ok(domain);
    }
    Err(Invalid::value(
        "domain",
        "domain is not in the App's setting webauthn_domains; add it there or send one that is",
    ))
}

/// Where the answer to a ceremony for this domain may come from.
fn origins(caller: &Caller, domain: PasskeyDomain) -> Origins {
    let settings = caller.settings();
    Origins {
        domain,
        listed: settings.webauthn_origins.clone(),
        embedders: settings.webauthn_top_origins.clone(),
    }
}

/// Whether an answer without user verification is refused.
fn must_verify_user(caller: &Caller) -> bool {
    caller.settings().webauthn_user_verification == UserVerification::Required
}

/// Those of the passkeys that a browser can find on this domain.
fn on_domain(passkeys: Vec<Passkey>, domain: &PasskeyDomain) -> Vec<Passkey> {
    let mut passkeys = passkeys;
    passkeys.retain(|passkey| passkey.domain == *domain);
    passkeys
}

impl Service {
    /// Returns a fresh challenge (W-1) for the browser, and its stored form.
    fn new_ceremony(
        &self,
        caller: &Caller,
        ceremony: Ceremony,
        user_id: Option<UserId>,
        domain: &PasskeyDomain,
        authenticator_type: AuthenticatorType,
        now: Timestamp,
    ) -> (String, PasskeyChallenge) {
        let mut bytes = [0_u8; CHALLENGE_BYTES];
        self.ports.entropy.fill(&mut bytes);
        let text = URL_SAFE_NO_PAD.encode(bytes);
        let kept = PasskeyChallenge {
            world: caller.world,
            hash: TokenHash::of(&text),
            ceremony,
            user_id,
            domain: domain.clone(),
            authenticator_type,
            created_at: now,
            expires_at: now + CHALLENGE_LIFETIME,
        };
        (text, kept)
    }
}
