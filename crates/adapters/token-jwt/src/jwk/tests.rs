//! Example signatures of the standards, made by other implementations.

use serde_json::json;
use vestry_contract::samples::Samples;
use vestry_domain::Environment;
use vestry_domain::World;
use vestry_domain::envelope::Sealed;

use super::*;
use crate::low_s;

const PAYLOAD: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

pub(super) fn key(algorithm: Algorithm, public_jwk: Value) -> SigningKey {
    let mut samples = Samples::fresh();
    let now = samples.tick();
    SigningKey {
        id: samples.id(now),
        world: World::new(samples.id(now), Environment::Test),
        algorithm,
        public_jwk,
        private: Sealed {
            key_version: 1,
            bytes: Vec::new(),
        },
        created_at: now,
        active_from: now,
    }
}

fn es256() -> SigningKey {
    key(
        Algorithm::ES256,
        json!({
            "kty": "EC", "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        }),
    )
}

fn rs256() -> SigningKey {
    key(
        Algorithm::RS256,
        json!({
            "kty": "RSA", "e": "AQAB",
            "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
        }),
    )
}

fn eddsa() -> SigningKey {
    key(
        Algorithm::EdDSA,
        json!({
            "kty": "OKP", "crv": "Ed25519",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        }),
    )
}

fn fits(key: &SigningKey, message: &str, signature: &str) -> bool {
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    verifies(key, message.as_bytes(), &signature)
}

/// RFC 7515 appendix A.3. Its `s` is high: valid by the standard, but not accepted as ours.
#[test]
fn the_es256_example_of_rfc_7515_verifies() {
    let message = format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}");
    let signature =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    assert!(fits(&es256(), &message, signature));
    assert!(!fits(&es256(), &format!("{message}A"), signature));

    let given = URL_SAFE_NO_PAD.decode(signature).unwrap();
    assert!(!low_s::is_low(&given));
    let lowered = low_s::lowered(&given).unwrap();
    assert!(low_s::is_low(&lowered));
    assert!(verifies(&es256(), message.as_bytes(), &lowered));
}

/// RFC 7515 appendix A.2.
#[test]
fn the_rs256_example_of_rfc_7515_verifies() {
    let message = format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}");
    let signature = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    assert!(fits(&rs256(), &message, signature));
    assert!(!fits(&rs256(), &format!("{message}A"), signature));
}

/// RFC 8037 appendix A.4.
#[test]
fn the_ed25519_example_of_rfc_8037_verifies() {
    let message = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature =
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert!(fits(&eddsa(), message, signature));
    assert!(!fits(&eddsa(), &format!("{message}A"), signature));
}

#[test]
fn a_public_half_of_another_kind_or_with_missing_or_odd_members_verifies_nothing() {
    let signature = [7; 64];
    let jwks = [
        es256().public_jwk,
        rs256().public_jwk,
        eddsa().public_jwk,
        json!({}),
        json!(null),
        json!([]),
        json!({"kty": "EC", "crv": "P-256", "x": 1, "y": 2}),
        json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}),
        json!({"kty": "EC", "crv": "P-256", "x": "%", "y": "%"}),
        json!({"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}),
        json!({"kty": "RSA", "n": "", "e": ""}),
        json!({"kty": "OKP", "crv": "Ed25519", "x": ""}),
        json!({"kty": "oct", "k": "c2VjcmV0"}),
    ];
    for jwk in jwks {
        for algorithm in [Algorithm::ES256, Algorithm::RS256, Algorithm::EdDSA] {
            assert!(!verifies(&key(algorithm, jwk.clone()), b"m", &signature));
        }
    }
}
