//! The PasskeyCeremonies port: the checks of a WebAuthn relying party (Level 3, sections 7.1 and 7.2).
//!
//! Written out here because the libraries that do it either need OpenSSL or keep a state of their own; what is stored is
//! a challenge, a `COSE_Key` and a count. Everything an authenticator says is CBOR of a strict kind (module `cbor`) and is read
//! to its last byte; a public key has exactly the members of its kind. Cryptography is aws-lc's.
//!
//! Attestation is not trusted: options ask for `none`, and no roots of makers are kept. Statements of the formats `none`
//! and `packed` by the credential's own key are verified; another format is refused, since browsers do not pass it on when
//! `none` was asked for.

mod assertion;
mod authenticator_data;
mod cbor;
mod client_data;
mod cose;
mod credential;
mod registration;

use serde_json::Value;
use vestry_domain::Invalid;
use vestry_ports::passkeys::{
    Asserted, Expected, KnownCredential, NewCredential, PasskeyCeremonies, PresentedAssertion,
    PresentedRegistration, Refused,
};

/// The checks; they keep nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Webauthn;

impl PasskeyCeremonies for Webauthn {
    fn algorithms(&self) -> &'static [i64] {
        &cose::ALGORITHMS
    }

    fn read_registration(&self, sent: &Value) -> Result<PresentedRegistration, Invalid> {
        credential::read_registration(sent)
    }

    fn read_assertion(&self, sent: &Value) -> Result<PresentedAssertion, Invalid> {
        credential::read_assertion(sent)
    }

    fn check_registration(
        &self,
        presented: &PresentedRegistration,
        expected: &Expected<'_>,
    ) -> Result<NewCredential, Refused> {
        registration::check(presented, expected)
    }

    fn check_assertion(
        &self,
        presented: &PresentedAssertion,
        expected: &Expected<'_>,
        known: KnownCredential<'_>,
    ) -> Result<Asserted, Refused> {
        assertion::check(presented, expected, known)
    }
}

#[cfg(test)]
mod tests;
