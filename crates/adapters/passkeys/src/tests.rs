mod vectors;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::{any, proptest};
use serde_json::json;
use vestry_domain::passkey::{Origins, PasskeyDomain};
use vestry_ports::passkeys::{
    Asserted, Expected, KnownCredential, NewCredential, PasskeyCeremonies, PresentedAssertion,
    PresentedRegistration, Refused,
};

use super::Webauthn;
use vectors::{ASSERTIONS, Assertion, Registration, SECTION_16_2, SECTION_16_3, SECTION_16_7};

fn bytes(hex: &str) -> Vec<u8> {
    hex::decode(hex).unwrap()
}

fn base64url(hex: &str) -> String {
    URL_SAFE_NO_PAD.encode(bytes(hex))
}

fn origins(embedders: &[&str]) -> Origins {
    Origins {
        domain: PasskeyDomain::parse("example.org").unwrap(),
        listed: Vec::new(),
        embedders: embedders.iter().map(|text| (*text).to_owned()).collect(),
    }
}

impl Registration {
    fn presented(&self) -> PresentedRegistration {
        PresentedRegistration {
            challenge: base64url(self.challenge),
            credential_id: bytes(self.credential_id),
            client_data_json: self.client_data_json.into(),
            attestation_object: bytes(self.attestation_object),
            transports: Vec::new(),
        }
    }

    fn check(&self, presented: &PresentedRegistration) -> Result<NewCredential, Refused> {
        let expected = Expected {
            challenge: &base64url(self.challenge),
            origins: &origins(&[]),
            user_verification: false,
        };
        Webauthn.check_registration(presented, &expected)
    }
}

impl Assertion {
    fn presented(&self) -> PresentedAssertion {
        PresentedAssertion {
            challenge: base64url(self.challenge),
            credential_id: bytes(self.credential_id),
            client_data_json: self.client_data_json.into(),
            authenticator_data: bytes(self.authenticator_data),
            signature: bytes(self.signature),
            user_handle: None,
        }
    }

    fn check(&self, presented: &PresentedAssertion) -> Result<Asserted, Refused> {
        self.check_with(presented, &bytes(self.public_key))
    }

    fn check_with(
        &self,
        presented: &PresentedAssertion,
        public_key: &[u8],
    ) -> Result<Asserted, Refused> {
        let expected = Expected {
            challenge: &base64url(self.challenge),
            origins: &origins(if self.is_framed {
                &["https://example.com"]
            } else {
                &[]
            }),
            user_verification: false,
        };
        let flags = bytes(self.authenticator_data)[32];
        let known = KnownCredential {
            public_key,
            backup_eligible: flags & 8 != 0,
        };
        Webauthn.check_assertion(presented, &expected, known)
    }
}

/// Trying all values of every byte would be 255 times the work for the same result: each bit once, and all of them.
const MASKS: [u8; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 255];

/// Yields all single-byte mutations of a text, with the position.
fn mutations(original: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> + '_ {
    (0..original.len()).flat_map(move |place| {
        MASKS.into_iter().map(move |mask| {
            let mut mutated = original.to_vec();
            mutated[place] ^= mask;
            (place, mutated)
        })
    })
}

/// W-4: sections 16.2 (no attestation) and 16.3 (self attestation).
#[test]
fn w_4_registrations_of_section_16_verify() {
    for vector in [&SECTION_16_2, &SECTION_16_3] {
        let new = vector.check(&vector.presented()).unwrap();
        let assertion = ASSERTIONS
            .iter()
            .find(|assertion| assertion.credential_id == vector.credential_id)
            .unwrap();
        assert_eq!(hex::encode(&new.public_key), assertion.public_key);
        assert_eq!(new.sign_count, 0);
        assert!(new.backup_eligible);
    }
}

/// The options ask for no attestation. A statement sent all the same is ignored, whatever its format and content.
#[test]
fn w_5_attestation_that_was_not_asked_for_is_ignored() {
    let attested = &SECTION_16_7;
    let expected = attested.check(&attested.presented()).unwrap();
    assert_eq!(expected.sign_count, 0);
    let right = bytes(attested.attestation_object);
    let at = |needle: &[u8]| {
        right
            .windows(needle.len())
            .position(|window| window == needle)
            .unwrap()
    };
    let statement = at(b"attStmt") + b"attStmt".len();
    let data = at(b"hauthData");
    let (head, tail) = (&right[..statement], &right[data..]);
    let own_format = b"cfmtfpacked";
    for (format, statement) in [
        (&b"cfmtfpacked"[..], &b"\xa0"[..]),
        (b"cfmtcfoo", b"\xa0"),
        (b"cfmtctpm", b"\xa1cverc2.0"),
        (
            b"cfmtqandroid-safetynet",
            b"\xa2cverb14hresponseC\x01\x02\x03",
        ),
        (b"cfmtkandroid-key", b"\xa1calg\x26"),
        (b"cfmteapple", b"\xa1cx5c\x81A\x30"),
        (b"cfmthfido-u2f", b"\xa1csigA\x00"),
        (b"cfmtdnone", b"\xa1calg\x26"),
        (b"cfmt\x05", b"\x80"),
    ] {
        let head = [&head[..1], format, &head[1 + own_format.len()..]].concat();
        let presented = PresentedRegistration {
            attestation_object: [&head[..], statement, tail].concat(),
            ..attested.presented()
        };
        let new = attested.check(&presented);
        assert_eq!(
            new.as_ref(),
            Ok(&expected),
            "{}",
            String::from_utf8_lossy(format)
        );
    }
}

/// W-4: sections 16.2, 16.3, 16.4 (in a frame), 16.7, 16.8 (ES384), 16.9 (ES512), 16.10 (RS256) and 16.11 (Ed25519).
#[test]
fn w_4_assertions_of_section_16_verify() {
    for vector in &ASSERTIONS {
        let asserted = vector.check(&vector.presented());
        let flags = bytes(vector.authenticator_data)[32];
        let expected = Asserted {
            sign_count: 0,
            backed_up: flags & 16 != 0,
        };
        assert_eq!(asserted, Ok(expected), "{}", vector.section);
    }
}

/// W-4: every single-byte mutation of any part of a sign-in fails.
#[test]
fn w_4_every_mutated_assertion_fails() {
    for vector in &ASSERTIONS {
        let original = vector.presented();
        let mut tried = 0;
        for (place, mutated) in mutations(&original.client_data_json) {
            let presented = PresentedAssertion {
                client_data_json: mutated,
                ..original.clone()
            };
            assert!(
                vector.check(&presented).is_err(),
                "{} clientDataJSON {place}",
                vector.section
            );
            tried += 1;
        }
        for (place, mutated) in mutations(&original.authenticator_data) {
            let presented = PresentedAssertion {
                authenticator_data: mutated,
                ..original.clone()
            };
            assert!(
                vector.check(&presented).is_err(),
                "{} authenticatorData {place}",
                vector.section
            );
            tried += 1;
        }
        for (place, mutated) in mutations(&original.signature) {
            let presented = PresentedAssertion {
                signature: mutated,
                ..original.clone()
            };
            assert!(
                vector.check(&presented).is_err(),
                "{} signature {place}",
                vector.section
            );
            tried += 1;
        }
        for (place, mutated) in mutations(&bytes(vector.public_key)) {
            let checked = vector.check_with(&original, &mutated);
            assert!(checked.is_err(), "{} public key {place}", vector.section);
            tried += 1;
        }
        println!("section {}: {tried} mutations refused", vector.section);
    }
}

/// W-4: a registration without attestation (16.2) is unsigned. Each mutation fails, or changes only unverified data. These are the text of
/// an ignored member, the attestation, the authenticator's model, the initial counter, the bits about user verification and backup.
#[test]
fn w_4_mutations_of_an_unsigned_registration_fail_or_change_only_unverified_data() {
    let original = SECTION_16_2.presented();
    let text = SECTION_16_2.client_data_json;
    let passed_over = text.find(",\"extraData\"").unwrap();
    for (place, mutated) in mutations(&original.client_data_json) {
        let presented = PresentedRegistration {
            client_data_json: mutated,
            ..original.clone()
        };
        let outside = text.find("\"crossOrigin\"").unwrap();
        assert!(
            SECTION_16_2.check(&presented).is_err()
                || place > passed_over
                // A misspelt `crossOrigin` is just another ignored member.
                || (outside..passed_over).contains(&place),
            "clientDataJSON {place}"
        );
    }
    let object = &original.attestation_object;
    let hash = bytes(ASSERTIONS[0].authenticator_data)[..32].to_vec();
    let data = object
        .windows(32)
        .position(|window| window == hash)
        .unwrap();
    let member = b"hauthData";
    let attestation_end = object
        .windows(member.len())
        .position(|window| window == member)
        .unwrap();
    let (flags, count, model, id) = (data + 32, data + 33, data + 37, data + 53);
    for (place, mutated) in mutations(object) {
        let presented = PresentedRegistration {
            attestation_object: mutated.clone(),
            ..original.clone()
        };
        let is_attestation = place < attestation_end;
        let unvouched =
            is_attestation || (count..model).contains(&place) || (model..id).contains(&place);
        let harmless_flag = place == flags && (mutated[place] & 0b1100_0001) == 0b0100_0001;
        assert!(
            SECTION_16_2.check(&presented).is_err() || unvouched || harmless_flag,
            "attestationObject {place}"
        );
    }
}

/// W-2: each check on its own, with everything else right.
#[test]
fn w_2_each_check_refuses_on_its_own() {
    let vector = &ASSERTIONS[0];
    let (presented, key) = (vector.presented(), bytes(vector.public_key));
    let check =
        |domain: &str, embedders: &[&str], user_verification, backup_eligible, challenge: &str| {
            let origins = Origins {
                domain: PasskeyDomain::parse(domain).unwrap(),
                ..origins(embedders)
            };
            let expected = Expected {
                challenge,
                origins: &origins,
                user_verification,
            };
            let known = KnownCredential {
                public_key: &key,
                backup_eligible,
            };
            Webauthn
                .check_assertion(&presented, &expected, known)
                .map(drop)
        };
    let challenge = base64url(vector.challenge);
    assert_eq!(check("example.org", &[], false, true, &challenge), Ok(()));
    assert_eq!(
        check("example.org", &[], false, true, "AAAA"),
        Err(Refused("challenge"))
    );
    assert_eq!(
        check("example.com", &[], false, true, &challenge),
        Err(Refused("origin"))
    );
    assert_eq!(
        check("example.org", &[], true, true, &challenge),
        Err(Refused("user verification"))
    );
    assert_eq!(
        check("example.org", &[], false, false, &challenge),
        Err(Refused("backup eligibility"))
    );
    // In a frame although frames are not allowed (16.4).
    let framed = &ASSERTIONS[2];
    let expected = Expected {
        challenge: &base64url(framed.challenge),
        origins: &origins(&[]),
        user_verification: false,
    };
    let known = KnownCredential {
        public_key: &bytes(framed.public_key),
        backup_eligible: false,
    };
    let refused = Webauthn.check_assertion(&framed.presented(), &expected, known);
    assert_eq!(refused, Err(Refused("crossOrigin")));
    // A registration is not accepted as a sign-in, nor vice versa.
    let crossed = PresentedAssertion {
        client_data_json: SECTION_16_2.client_data_json.into(),
        ..presented.clone()
    };
    assert_eq!(vector.check(&crossed), Err(Refused("type")));
}

/// Browser output, as an object and as text, with padding and without.
#[test]
fn a_credential_is_parsed() {
    let vector = &ASSERTIONS[0];
    let id = base64url(vector.credential_id);
    let mut sent = json!({
        "id": id, "rawId": id, "type": "public-key", "authenticatorAttachment": "platform",
        "clientExtensionResults": {},
        "response": {
            "clientDataJSON": URL_SAFE_NO_PAD.encode(vector.client_data_json),
            "authenticatorData": base64url(vector.authenticator_data),
            "signature": base64url(vector.signature),
            "userHandle": null,
        },
    });
    let read = Webauthn.read_assertion(&sent).unwrap();
    assert_eq!(read.challenge, base64url(vector.challenge));
    assert_eq!(hex::encode(&read.credential_id), vector.credential_id);
    assert!(vector.check(&read).is_ok());
    let text = sent.to_string();
    assert!(Webauthn.read_assertion(&text.into()).is_ok());
    sent["id"] = format!("{id}=").into();
    assert!(Webauthn.read_assertion(&sent).is_ok());
    for (name, value) in [
        ("id", "AAAA"),
        ("id", ""),
        ("id", "+/+/"),
        ("rawId", "AAAA"),
        ("type", "password"),
    ] {
        let mut wrong = sent.clone();
        wrong[name] = value.into();
        let refused = Webauthn.read_assertion(&wrong).unwrap_err();
        assert!(
            refused.param.starts_with("public_key_credential"),
            "{name} {value}"
        );
    }
    let mut long = sent.clone();
    long["response"]["signature"] = "A".repeat(50_000).into();
    let refused = Webauthn.read_assertion(&long).unwrap_err();
    assert_eq!(refused.param, "public_key_credential.response.signature");
}

proptest! {
    /// Attack 26: any input from an authenticator is accepted or refused, without panics.
    #[test]
    fn attack_26_any_attestation_is_handled_without_panics(bytes in any::<Vec<u8>>()) {
        let presented = PresentedRegistration {
            attestation_object: bytes,
            ..SECTION_16_2.presented()
        };
        assert!(SECTION_16_2.check(&presented).is_err());
    }

    #[test]
    fn attack_26_any_client_data_is_handled_without_panics(bytes in any::<Vec<u8>>()) {
        let vector = &ASSERTIONS[0];
        let presented = PresentedAssertion {
            client_data_json: bytes.clone(),
            authenticator_data: bytes,
            ..vector.presented()
        };
        assert!(vector.check(&presented).is_err());
    }
}
