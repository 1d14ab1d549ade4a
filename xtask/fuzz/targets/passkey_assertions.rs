//! Passkey sign-ins: `PublicKeyCredential` as JSON, and assertions of four algorithms with altered parts. Only unaltered ones may verify.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use vestry_domain::passkey::{Origins, PasskeyDomain};
use vestry_fuzz::input::{altered, choice};
use vestry_passkeys::Webauthn;
use vestry_ports::passkeys::{Expected, KnownCredential, PasskeyCeremonies, PresentedAssertion};

/// Web Authentication Level 3, section 16, in hexadecimal.
struct Vector {
    public_key: &'static str,
    client_data: &'static str,
    authenticator_data: &'static str,
    signature: &'static str,
}

const VECTORS: [Vector; 4] = [
    // Section 16.2, ES256.
    Vector {
        public_key: "a5010203262001215820afefa16f97ca9b2d23eb86ccb64098d20db90856062eb249c33a9b672f26df61225820930a56b87a2fca66334b03458abf879717c12cc68ed73290af2e2664796b9220",
        client_data: r#"{"type":"webauthn.get","challenge":"OcDnUhQXulTUPo3JUXT0I97pvzzYBP9tZchXyav01Ag","origin":"https://example.org","crossOrigin":false}"#,
        authenticator_data: "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b51900000000",
        signature: "3046022100f50a4e2e4409249c4a853ba361282f09841df4dd4547a13a87780218deffcd380221008480ac0f0b93538174f575bf11a1dd5d78c6e486013f937295ea13653e331e87",
    },
    // Section 16.8, ES384.
    Vector {
        public_key: "a5010203382220022158304866bd8b01da789e9eb806e5eab05ae5a638542296ab057a2f1bbce9b58f8a08b9171390b58a37ac7fffc2c5f45857da2258302a0b024c7f4b72072a1f96bd30a7261aae9571dd39870eb29e55c0941c6b08e89629a1ea1216aa64ce57c2807bf3901a",
        client_data: r#"{"type":"webauthn.get","challenge":"_0HD0l29iWb7YeKO9eRwQeE37SaFIEEtdiAroK0tFFM","origin":"https://example.org","crossOrigin":false}"#,
        authenticator_data: "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b50d00000000",
        signature: "3065023100e4efbb46745ed00e67c4d51ab2bacab2af62ffa8b7c5fecec6d7d9bf2582275034a713a3dd731685eee81adfaf6aa63f0230161655353f07e018a3c2539f8de7c8c4cf88d4c32d2be29fe4e76fa096ecc9458bbfe0895d57129ab324130e6f0692db",
    },
    // Section 16.10, RS256.
    Vector {
        public_key: "a4010303390100205901b403fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000012143010001",
        client_data: r#"{"type":"webauthn.get","challenge":"KV9Z9fqP5ixayp4nYmx4yNo3aubYzS3SmuutYB4bxMU","origin":"https://example.org","crossOrigin":false}"#,
        authenticator_data: "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b51900000000",
        signature: "01063d52d7c39b4d432fc7063c5d93e582bdcb16889cd71f888d67d880ea730a428498d3bc8e1ee11f2b1ecbe6c292b118c55ffaaddefa8cad0a54dd137c51f1eec673f1bb6c4d1789d6826a222b22d0f585fc901fdc933212e579d199b89d672aa44891333e6a1355536025e82b25590256c3538229b55737083b2f6b9377e49e2472f11952f79fdd0da180b5ffd901b4049a8f081bb40711bef76c62aed943571f2d0575304cb549d68d8892f95086a30f93716aee818f8dc06e96c0d5e0ed4cfa9fd8773d90464b68cf140f7986666ff9c9e3302acd0535d60d769f465e2ab57ef8aabc89fccfef7ba32a64154a8b3d26be2298f470b8cc5377dbe3dfd4b0b45f8f01e63bde6cfc76b62771f9b70aa27cf40152cad93aa5acd784fd4b90f676e2ea828d0bf2400aebbaae4153e5838f537f88b6228346782a93a899be66ec77de45b3efcf311da6321c92e6b0cd11bfe653bf3e98cee8e341f02d67dbb6f9c98d9e8178090cfb5b70fbc6d541599ac794ae2f1d4de1286ec8de8c2daf7b1d15c8438e90d924df5c19045220a4c8438c1b979bbe016cf3d0eeec23c3999d4882cc645b776de930756612cdc6dd398160ff02a6",
    },
    // Section 16.11, Ed25519.
    Vector {
        public_key: "a401010327200621582044e06ddd331c36a8dc667bab52bcae63486c916aa5e339e6acebaa84934bf832",
        client_data: r#"{"type":"webauthn.get","challenge":"iVlX4BxjOmmDSKLYoxpUt9sn6MHEOyCA15riGQJnv9I","origin":"https://example.org","crossOrigin":false}"#,
        authenticator_data: "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b50100000000",
        signature: "f5c59c7e46c34f6f8cc197101ddf9934fa2595f68eb1913a637e8419eb9ba4cfdfc48f85393bc0d40b011f0d6fecb097d6607525713223a0dc0d453993dae00b",
    },
];

fn bytes(hex: &str) -> Vec<u8> {
    hex::decode(hex).expect("hex")
}

fn holds(vector: &Vector, public_key: &[u8], presented: &PresentedAssertion) -> bool {
    let client_data: Value = serde_json::from_str(vector.client_data).expect("JSON");
    let origins = Origins {
        domain: PasskeyDomain::parse("example.org").expect("a domain"),
        listed: Vec::new(),
        embedders: Vec::new(),
    };
    let expected = Expected {
        challenge: client_data["challenge"].as_str().expect("a challenge"),
        origins: &origins,
        user_verification: false,
    };
    let known = KnownCredential {
        public_key,
        backup_eligible: bytes(vector.authenticator_data)[32] & 8 != 0,
    };
    Webauthn
        .check_assertion(presented, &expected, known)
        .is_ok()
}

fuzz_target!(|data: &[u8]| {
    let Some((options, rest)) = choice(data) else {
        return;
    };
    let vector = &VECTORS[options & 3];
    let right = PresentedAssertion {
        challenge: String::new(),
        credential_id: vec![1],
        client_data_json: vector.client_data.into(),
        authenticator_data: bytes(vector.authenticator_data),
        signature: bytes(vector.signature),
        user_handle: None,
    };
    let key = bytes(vector.public_key);
    let mut presented = right.clone();
    let mut public_key = key.clone();
    match options >> 2 & 7 {
        0 => {
            let Ok(sent) = serde_json::from_slice(rest) else {
                return;
            };
            let Ok(read) = Webauthn.read_assertion(&sent) else {
                return;
            };
            presented = read;
        }
        1 => presented.client_data_json = altered(&right.client_data_json, rest),
        2 => presented.authenticator_data = altered(&right.authenticator_data, rest),
        3 => presented.signature = altered(&right.signature, rest),
        4 => presented.signature = rest.to_vec(),
        5 => presented.authenticator_data = rest.to_vec(),
        6 => public_key = altered(&key, rest),
        _ => public_key = rest.to_vec(),
    }
    let is_right = public_key == key
        && presented.client_data_json == right.client_data_json
        && presented.authenticator_data == right.authenticator_data
        && presented.signature == right.signature;
    assert_eq!(
        holds(vector, &public_key, &presented),
        is_right,
        "{options}"
    );
});
