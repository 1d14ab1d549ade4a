//! Registering a credential (section 7.1).

use aws_lc_rs::digest::{SHA256, digest};
use vestry_domain::passkey::CREDENTIAL_ID_MAX;
use vestry_ports::passkeys::{Expected, NewCredential, PresentedRegistration, Refused};

use crate::authenticator_data::AuthenticatorData;
use crate::cbor::{self, Item};
use crate::client_data::ClientData;
use crate::cose::PublicKey;

/// An attestation object (section 6.5.4): exactly these three.
struct AttestationObject<'a> {
    format: &'a str,
    statement: Vec<(Item<'a>, Item<'a>)>,
    authenticator_data: &'a [u8],
}

impl<'a> AttestationObject<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let object = cbor::whole(bytes)?;
        let members = object.map()?;
        (members.len() == 3).then_some(())?;
        Some(Self {
            format: cbor::named(members, "fmt")?.text()?,
            statement: cbor::named(members, "attStmt")?.map()?.to_vec(),
            authenticator_data: cbor::named(members, "authData")?.bytes()?,
        })
    }
}

/// The steps of section 7.1 that need neither the options nor the other credentials.
pub(crate) fn check(
    presented: &PresentedRegistration,
    expected: &Expected<'_>,
) -> Result<NewCredential, Refused> {
    ClientData::check(&presented.client_data_json, "webauthn.create", expected)?;
    let hash = digest(&SHA256, &presented.client_data_json);
    let object = AttestationObject::parse(&presented.attestation_object)
        .ok_or(Refused("attestationObject cannot be read"))?;
    let data = AuthenticatorData::parse(object.authenticator_data)
        .ok_or(Refused("authenticator data cannot be read"))?;
    data.check(expected)?;
    let credential = data
        .credential
        .as_ref()
        .ok_or(Refused("there is no credential"))?;
    let key = PublicKey::parse(credential.public_key).ok_or(Refused("public key"))?;
    let signed = [object.authenticator_data, hash.as_ref()].concat();
    check_statement(&object, &key, &signed)?;
    let id = credential.credential_id;
    if id.is_empty() || id.len() > CREDENTIAL_ID_MAX || id != presented.credential_id {
        return Err(Refused("credential id"));
    }
    Ok(NewCredential {
        public_key: credential.public_key.to_vec(),
        sign_count: data.sign_count,
        backup_eligible: data.is_backup_eligible(),
        backed_up: data.is_backed_up(),
    })
}

/// Steps 22 and 23. `none` says nothing (section 8.7); `packed` without certificates is the credential's own signature
/// (section 8.2, self attestation).
fn check_statement(
    object: &AttestationObject<'_>,
    key: &PublicKey<'_>,
    signed: &[u8],
) -> Result<(), Refused> {
    let statement = &object.statement;
    match object.format {
        "none" if statement.is_empty() => Ok(()),
        "packed" if statement.len() == 2 => {
            let algorithm = cbor::named(statement, "alg").and_then(Item::number);
            let signature = cbor::named(statement, "sig").and_then(Item::bytes);
            let holds = algorithm == Some(key.algorithm)
                && signature.is_some_and(|signature| key.verifies(signed, signature));
            if holds {
                Ok(())
            } else {
                Err(Refused("attestation statement"))
            }
        }
        _ => Err(Refused("attestation format")),
    }
}
