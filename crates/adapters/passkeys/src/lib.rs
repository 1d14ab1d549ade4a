//! The PasskeyCeremonies port: the checks of a WebAuthn relying party (Level 3, sections 7.1 and 7.2).
//!
//! Implemented here because the existing libraries either need OpenSSL or keep their own state. The stored state is a challenge, a
//! `COSE_Key` and a counter. Authenticator output must be a strict subset of CBOR (module `cbor`) and is parsed to the last byte; a public
//! key has exactly the members of its type. Cryptography is from aws-lc.
//!
//! Attestation is not trusted: options ask for `none`, and no vendor roots are stored. Unsolicited attestation statements are ignored.

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

/// The stateless checks.
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
