//! Registrations of passkeys: `PublicKeyCredential` as JSON, attestation objects, authenticator data and public keys (CBOR).
//!
//! Attestation is ignored. No made-up signature may verify with a registered key.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vestry_domain::passkey::{Origins, PasskeyDomain};
use vestry_fuzz::input::{altered, choice};
use vestry_passkeys::Webauthn;
use vestry_ports::passkeys::{
    Expected, KnownCredential, NewCredential, PasskeyCeremonies, PresentedAssertion,
    PresentedRegistration,
};

// Web Authentication Level 3, section 16.3: ES256, self attestation.
const CHALLENGE: &str = "eGnCt3LUtY66k3jPjynibPk1qnffDaifqZwL3Ap29-U";
const CREDENTIAL_ID: &str = "455ef34e2043a87db3d4afeb39bbcb6cc32df9347c789a865ecdca129cbef58c";
const CLIENT_DATA: &str = r#"{"type":"webauthn.create","challenge":"eGnCt3LUtY66k3jPjynibPk1qnffDaifqZwL3Ap29-U","origin":"https://example.org","crossOrigin":false,"extraData":"clientDataJSON may be extended with additional fields in the future, such as this: U9hTXvKE2URkMnb_0xYHVg"}"#;
const OBJECT: &str = "a363666d74667061636b65646761747453746d74a263616c672663736967584630440220067a20754ab925005dbf378097c92120031581c73228d1fb4f5b881bcd7da98302207fc7b147558c7c0eba3af18bd9d121fa3d3a26d17fe3f220272178f473b6006d68617574684461746158a4bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b55d00000000df850e09db6afbdfab51697791506cfc0020455ef34e2043a87db3d4afeb39bbcb6cc32df9347c789a865ecdca129cbef58ca5010203262001215820eb151c8176b225cc651559fecf07af450fd85802046656b34c18f6cf193843c5225820927b8aa427a2be1b8834d233a2d34f61f13bfd44119c325d5896e183fee484f2";
/// SHA-256 of `example.org`.
const RP_ID_HASH: &str = "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b5";

fn bytes(hex: &str) -> Vec<u8> {
    hex::decode(hex).expect("hex")
}

fn origins() -> Origins {
    Origins {
        domain: PasskeyDomain::parse("example.org").expect("a domain"),
        listed: Vec::new(),
        embedders: Vec::new(),
    }
}

fn check(presented: &PresentedRegistration) -> Option<NewCredential> {
    let expected = Expected {
        challenge: CHALLENGE,
        origins: &origins(),
        user_verification: false,
    };
    Webauthn.check_registration(presented, &expected).ok()
}

fn presented(attestation_object: Vec<u8>) -> PresentedRegistration {
    PresentedRegistration {
        challenge: CHALLENGE.to_owned(),
        credential_id: bytes(CREDENTIAL_ID),
        client_data_json: CLIENT_DATA.into(),
        attestation_object,
        transports: Vec::new(),
    }
}

/// An attestation object without a statement, whose authenticator data end with these bytes: a key, extensions, or garbage.
fn unattested(tail: &[u8], flags: u8) -> Vec<u8> {
    let id = bytes(CREDENTIAL_ID);
    let data = [
        &bytes(RP_ID_HASH)[..],
        &[flags, 0, 0, 0, 0],
        &[0; 16],
        &[0, 32],
        &id,
        tail,
    ]
    .concat();
    let length = u16::try_from(data.len()).unwrap_or(u16::MAX).to_be_bytes();
    let head = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData";
    // Lengths have one shortest encoding.
    let size: &[u8] = match length {
        [0, short] => &[0x58, short],
        _ => &[0x59, length[0], length[1]],
    };
    [head, size, &data].concat()
}

/// No made-up signature verifies with the registered key.
fn nobody_signs(credential: &NewCredential, signature: &[u8]) {
    let client_data_json = CLIENT_DATA
        .replace("webauthn.create", "webauthn.get")
        .into_bytes();
    let presented = PresentedAssertion {
        challenge: CHALLENGE.to_owned(),
        credential_id: bytes(CREDENTIAL_ID),
        client_data_json,
        authenticator_data: [&bytes(RP_ID_HASH)[..], &[1, 0, 0, 0, 0]].concat(),
        signature: signature.to_vec(),
        user_handle: None,
    };
    let expected = Expected {
        challenge: CHALLENGE,
        origins: &origins(),
        user_verification: false,
    };
    let known = KnownCredential {
        public_key: &credential.public_key,
        backup_eligible: false,
    };
    assert!(
        Webauthn
            .check_assertion(&presented, &expected, known)
            .is_err(),
        "a forgery"
    );
}

fuzz_target!(|data: &[u8]| {
    let Some((options, rest)) = choice(data) else {
        return;
    };
    match options % 4 {
        0 => {
            let Ok(sent) = serde_json::from_slice(rest) else {
                return;
            };
            if let Ok(presented) = Webauthn.read_registration(&sent) {
                assert!(!presented.credential_id.is_empty());
                let _ = check(&presented);
            }
        }
        1 => {
            let right = bytes(OBJECT);
            let object = altered(&right, rest);
            let is_right = object == right;
            let registered = check(&presented(object));
            assert!(registered.is_some() || !is_right, "unaltered");
            if let Some(credential) = registered {
                nobody_signs(&credential, rest);
            }
        }
        2 => {
            if let Some(credential) = check(&presented(rest.to_vec())) {
                nobody_signs(&credential, rest);
            }
        }
        _ => {
            let flags = u8::try_from(options >> 2).unwrap_or_default() | 0x41;
            if let Some(credential) = check(&presented(unattested(rest, flags))) {
                nobody_signs(&credential, rest);
            }
        }
    }
});
