use serde_json::{Value, json};

use vestry_domain::timestamp::Seconds;

use super::*;

/// API-20: the status of the codes that the specification lists.
#[test]
fn codes_have_the_specified_status() {
    let table: [(u16, &[Code]); 10] = [
        (
            400,
            &[
                Code::InvalidRequest,
                Code::MissingField,
                Code::InvalidField,
                Code::UnknownField,
                Code::InvalidOtp,
                Code::InvalidMagicToken,
                Code::MagicLinkExpired,
                Code::MagicLinkNotVerified,
                Code::InvalidRequestOriginToken,
                Code::RedirectUrlMissing,
                Code::RedirectUrlNotAllowed,
                Code::DecryptionFailed,
                Code::AddressMismatch,
                Code::HttpsRequired,
            ],
        ),
        (
            401,
            &[
                Code::MissingApiKey,
                Code::InvalidApiKey,
                Code::InvalidSession,
                Code::InvalidCredentials,
            ],
        ),
        (
            403,
            &[
                Code::KeyNotAllowed,
                Code::InsufficientFactor,
                Code::WalletReadOnly,
                Code::PolicyDenied,
                Code::FeatureDisabled,
            ],
        ),
        (404, &[Code::NotFound]),
        (405, &[Code::MethodNotAllowed]),
        (
            409,
            &[
                Code::Duplicate,
                Code::CursorUnknown,
                Code::LastSignInMethod,
                Code::LimitReached,
            ],
        ),
        (413, &[Code::BodyTooLarge]),
        (415, &[Code::UnsupportedMediaType]),
        (429, &[Code::RateLimited, Code::TooManyAttempts]),
        (503, &[Code::Unavailable, Code::Sealed]),
    ];
    for (status, codes) in table {
        for code in codes {
            assert_eq!(code.status().as_u16(), status, "{code:?}");
        }
    }
    assert_eq!(Code::Internal.status().as_u16(), 500);
    assert_eq!(Code::InvalidOtp.as_str(), "invalid_otp");
    assert_eq!(
        Code::UnsupportedMediaType.as_str(),
        "unsupported_media_type"
    );
}

#[test]
fn the_body_repeats_its_fields_for_older_clients() {
    let problem = Problem::from(Invalid::value("email", "email must not be empty"));
    let body: Value = serde_json::to_value(problem.body("req_1")).unwrap();
    let expected = json!({
        "error": {"code": "invalid_field", "message": "email must not be empty", "param": "email"},
        "status_code": 400,
        "error_type": "invalid_field",
        "error_message": "email must not be empty",
        "request_id": "req_1",
    });
    assert_eq!(body, expected);
    let body = serde_json::to_value(Problem::new(Code::Internal).body("req_2")).unwrap();
    assert_eq!(body["error"].get("param"), None);
}

/// The cause of an internal failure is logged only.
#[test]
fn a_cause_is_not_in_the_response() {
    let fault = vestry_app::Fault::Internal("canary".into());
    let problem = Problem::from(fault);
    assert_eq!(problem.code, Code::Internal);
    let shown = format!(
        "{problem} {}",
        serde_json::to_string(&problem.body("id")).unwrap()
    );
    assert!(!shown.contains("canary"), "{shown}");
    let cause = problem.cause.unwrap();
    assert!(
        std::error::Error::source(&*cause)
            .unwrap()
            .to_string()
            .contains("canary")
    );
}

#[test]
fn retry_after_is_at_least_a_second() {
    let problem = Problem::new(Code::RateLimited).with_retry_after(Seconds(-5));
    assert_eq!(problem.retry_after, Some(1));
}

/// The page with the table of all error codes, in the order of [`Code`].
const PAGE: &str = include_str!("../../../../docs/errors-and-limits.md");
const TABLE_START: &str = "<!-- error codes: generated from crates/edge/src/problem/table.rs -->\n";
const TABLE_END: &str = "<!-- end of error codes -->\n";

fn all_codes() -> Vec<Code> {
    let schema = serde_json::to_value(<Code as utoipa::PartialSchema>::schema()).unwrap();
    serde_json::from_value(schema["enum"].clone()).unwrap()
}

#[test]
fn the_docs_describe_every_code() {
    let codes = all_codes();
    assert!(codes.len() > 40, "{}", codes.len());
    let rows = codes.iter().map(|code| {
        let (status, meaning) = (code.status().as_u16(), code.meaning());
        format!("| {status} | `{}` | {meaning} |\n", code.as_str())
    });
    let table = format!(
        "| Status | Code | Meaning |\n|---|---|---|\n{}",
        rows.collect::<String>()
    );
    let (_, rest) = PAGE.split_once(TABLE_START).unwrap();
    let (written, _) = rest.split_once(TABLE_END).unwrap();
    assert!(
        written == table,
        "docs/errors-and-limits.md is out of date; replace its table with:\n\n{table}"
    );
}
