//! Registering a credential (section 7.1).

use vestry_domain::passkey::MAX_CREDENTIAL_ID;
use vestry_ports::passkeys::{Expected, NewCredential, PresentedRegistration, Refused};

use crate::authenticator_data::AuthenticatorData;
use crate::cbor;
use crate::client_data::ClientData;
use crate::cose::PublicKey;

/// The members in use of an attestation object (section 6.5.4).
struct AttestationObject<'a> {
    authenticator_data: &'a [u8],
}

impl<'a> AttestationObject<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let object = cbor::whole(bytes)?;
        let members = object.map()?;
        Some(Self {
            authenticator_data: cbor::named(members, "authData")?.bytes()?,
        })
    }
}

/// The steps of section 7.1 that need neither the options nor the other credentials.
///
/// The options ask for no attestation (`none`). Some authenticators and browsers send a statement all the same. It is ignored in any
/// format: no vendor is trusted, so it would prove nothing (steps 21 to 24).
pub(crate) fn check(
    presented: &PresentedRegistration,
    expected: &Expected<'_>,
) -> Result<NewCredential, Refused> {
    ClientData::check(&presented.client_data_json, "webauthn.create", expected)?;
    let object = AttestationObject::parse(&presented.attestation_object)
        .ok_or(Refused("attestationObject cannot be read"))?;
    let data = AuthenticatorData::parse(object.authenticator_data)
        .ok_or(Refused("authenticator data cannot be read"))?;
    data.check(expected)?;
    let credential = data
        .credential
        .as_ref()
        .ok_or(Refused("there is no credential"))?;
    PublicKey::parse(credential.public_key).ok_or(Refused("public key"))?;
    let id = credential.credential_id;
    if id.is_empty() || id.len() > MAX_CREDENTIAL_ID || id != presented.credential_id {
        return Err(Refused("credential id"));
    }
    Ok(NewCredential {
        public_key: credential.public_key.to_vec(),
        sign_count: data.sign_count,
        backup_eligible: data.is_backup_eligible(),
        backed_up: data.is_backed_up(),
    })
}
