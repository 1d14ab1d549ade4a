//! Verifying an assertion (section 7.2).

use aws_lc_rs::digest::{SHA256, digest};
use vestry_ports::passkeys::{Asserted, Expected, KnownCredential, PresentedAssertion, Refused};

use crate::authenticator_data::AuthenticatorData;
use crate::client_data::ClientData;
use crate::cose::PublicKey;

/// Steps 10 to 21. The caller checks whom the credential belongs to, and whether the signature counter is valid.
pub(crate) fn check(
    presented: &PresentedAssertion,
    expected: &Expected<'_>,
    known: KnownCredential<'_>,
) -> Result<Asserted, Refused> {
    ClientData::check(&presented.client_data_json, "webauthn.get", expected)?;
    let data = AuthenticatorData::parse(&presented.authenticator_data)
        .ok_or(Refused("authenticator data cannot be read"))?;
    data.check(expected)?;
    if data.is_backup_eligible() != known.backup_eligible {
        return Err(Refused("backup eligibility"));
    }
    let hash = digest(&SHA256, &presented.client_data_json);
    let signed = [presented.authenticator_data.as_slice(), hash.as_ref()].concat();
    let key = PublicKey::parse(known.public_key).ok_or(Refused("stored public key"))?;
    if !key.verifies(&signed, &presented.signature) {
        return Err(Refused("signature"));
    }
    Ok(Asserted {
        sign_count: data.sign_count,
        backed_up: data.is_backed_up(),
    })
}
