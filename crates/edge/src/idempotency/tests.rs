use actix_web::test::TestRequest;
use vestry_domain::Invalid;

use super::*;
use crate::problem::Code;

/// The stored form of a response, or `None` if it is not stored.
async fn kept(response: HttpResponse) -> Option<Vec<u8>> {
    let request = TestRequest::default().to_http_request();
    let (_, outcome) = outcome(ServiceResponse::new(request, response)).await;
    match outcome {
        Outcome::Decided(kept) => Some(kept.expose().clone()),
        Outcome::Undecided | Outcome::Failed => None,
    }
}

#[actix_web::test]
async fn a_response_is_replayed_byte_for_byte() {
    let text = r#"{"a": "\u00e4 ä", "b":[1 ]}"#;
    let bytes = kept(HttpResponse::Ok().body(text)).await.unwrap();
    let request = TestRequest::default().to_srv_request();
    let replayed = replay(request, &bytes);
    assert_eq!(replayed.status(), StatusCode::OK);
    let headers = replayed.headers();
    assert_eq!(headers.get("content-type").unwrap(), "application/json");
    assert_eq!(headers.get(REPLAYED).unwrap(), "true");
    assert_eq!(to_bytes(replayed.into_body()).await.unwrap(), text);
}

#[actix_web::test]
async fn an_error_is_replayed_in_full() {
    let refused = || Problem::from(Invalid::value("metadata.a", "not this"));
    let bytes = kept(HttpResponse::from_error(refused())).await.unwrap();
    let replayed = replay(TestRequest::default().to_srv_request(), &bytes);
    let error = replayed.response().error().unwrap();
    let again: &Problem = error.as_error().unwrap();
    let body = |problem: &Problem| serde_json::to_string(&problem.body("id")).unwrap();
    assert_eq!(body(again), body(&refused()));
}

#[actix_web::test]
async fn undecided_errors_are_not_stored() {
    let undecided = [
        Code::MissingApiKey,
        Code::InvalidSession,
        Code::InvalidCredentials,
        Code::KeyNotAllowed,
        Code::MagicLinkNotVerified,
        Code::UnsupportedMediaType,
        Code::BodyTooLarge,
        Code::RateLimited,
        Code::TooManyAttempts,
        Code::Internal,
        Code::Unavailable,
        Code::Sealed,
    ];
    for code in undecided {
        let refused = HttpResponse::from_error(Problem::new(code));
        assert_eq!(kept(refused).await, None, "{code:?}");
    }
    for code in [Code::NotFound, Code::Duplicate, Code::InvalidOtp] {
        let refused = HttpResponse::from_error(Problem::new(code));
        assert!(kept(refused).await.is_some(), "{code:?}");
    }
}

#[test]
fn malformed_stored_responses_are_rejected() {
    for bytes in [
        b"".as_slice(),
        b"\x01",
        b"\x01\x90",
        b"\x01\x90{}",
        b"\0\0{}",
    ] {
        assert!(stored_response(bytes).is_none(), "{bytes:?}");
    }
}
