//! Responses in every form that RFC 7519 and RFC 6749 allow, and unused members of any type (O-15).

use serde_json::{Value, json};
use vestry_contract::provider::{ProviderServer, Reply, Shape};
use vestry_ports::identity_providers::ProviderFault;

use crate::app::{App, connection, settings};

/// Values of every JSON type.
fn anything() -> [Value; 8] {
    [
        json!(null),
        json!(true),
        json!("3600"),
        json!("soon"),
        json!(3600.5),
        json!(-1e300),
        json!(["openid", 1, {}]),
        json!({"in": 3600}),
    ]
}

#[tokio::test]
async fn o_15_unused_members_of_a_token_response_can_have_any_type() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let app = App::of(&server, "example");
    for member in [
        "expires_in",
        "scope",
        "refresh_token_expires_in",
        "ext_expires_in",
        "session_state",
    ] {
        for value in anything() {
            let spoilt = value.clone();
            server.spoils(move |draft| drop(draft.body.insert(member.to_owned(), spoilt.clone())));
            let outcome = app.sign_in(&server, 1).await;
            assert!(outcome.is_ok(), "{member} = {value}: {outcome:?}");
        }
    }
    // A refresh token of another type is ignored.
    for value in anything().into_iter().filter(|value| !value.is_string()) {
        let spoilt = value.clone();
        server.spoils(move |draft| {
            drop(
                draft
                    .body
                    .insert("refresh_token".to_owned(), spoilt.clone()),
            )
        });
        let exchanged = app.sign_in(&server, 1).await.unwrap();
        assert!(exchanged.tokens.refresh_token.is_none(), "{value}");
    }
    server.spoils(|draft| drop(draft.body.insert("token_type".to_owned(), json!("BEARER"))));
    app.sign_in(&server, 1).await.unwrap();
    // Members in use must have the right type.
    for member in ["access_token", "token_type"] {
        for value in anything().into_iter().filter(|value| !value.is_string()) {
            let spoilt = value.clone();
            server.spoils(move |draft| drop(draft.body.insert(member.to_owned(), spoilt.clone())));
            let refused = app.sign_in(&server, 1).await;
            assert!(
                matches!(refused, Err(ProviderFault::Invalid(_))),
                "{member} = {value}: {refused:?}"
            );
        }
    }
}

/// NumericDate (RFC 7519, section 2): "non-integer values can be represented".
#[tokio::test]
async fn o_15_times_have_fractions_and_exponents() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let app = App::of(&server, "example");
    for fraction in [0.0, 0.5, 0.999] {
        server.spoils(move |draft| {
            for name in ["iat", "exp", "nbf"] {
                if let Some(moment) = draft.claims.get(name).and_then(Value::as_f64) {
                    draft
                        .claims
                        .insert(name.to_owned(), json!(moment + fraction));
                }
            }
        });
        app.sign_in(&server, 1).await.unwrap();
    }
    server.spoils(|draft| drop(draft.claims.insert("exp".to_owned(), json!(9.999e9))));
    app.sign_in(&server, 1).await.unwrap();
}

#[tokio::test]
async fn o_15_unused_claims_can_have_any_type() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let app = App::of(&server, "example");
    for claim in [
        "auth_time",
        "acr",
        "amr",
        "groups",
        "name",
        "given_name",
        "updated_at",
        "jti",
        "at_hash",
    ] {
        for value in anything() {
            let spoilt = value.clone();
            server.spoils(move |draft| drop(draft.claims.insert(claim.to_owned(), spoilt.clone())));
            let outcome = app.sign_in(&server, 1).await;
            assert!(outcome.is_ok(), "{claim} = {value}: {outcome:?}");
        }
    }
    server.spoils(|draft| {
        drop(
            draft
                .header
                .insert("typ".to_owned(), json!("application/JWT")),
        )
    });
    app.sign_in(&server, 1).await.unwrap();
}

#[tokio::test]
async fn o_15_unused_members_of_a_discovery_document_can_have_any_type() {
    let server = ProviderServer::start(Shape::OpenId).await;
    for member in [
        "scopes_supported",
        "claims_supported",
        "response_types_supported",
        "userinfo_endpoint",
        "token_endpoint_auth_methods_supported",
        "authorization_response_iss_parameter_supported",
    ] {
        for value in anything()
            .into_iter()
            .filter(|value| *value != true && !value.is_string())
        {
            server.says_in_its_document(member, value.clone());
            let outcome = App::of(&server, "example").sign_in(&server, 1).await;
            assert!(outcome.is_ok(), "{member} = {value}: {outcome:?}");
        }
    }
    // An endpoint is required unless the connection sets it.
    for (member, value) in ["token_endpoint", "jwks_uri", "authorization_endpoint"]
        .into_iter()
        .flat_map(|member| [json!(null), json!(5), json!([])].map(|value| (member, value)))
    {
        let mut set = server.settings();
        server.says_in_its_document(member, value.clone());
        let refused = App::of(&server, "example").sign_in(&server, 1).await;
        assert!(
            matches!(refused, Err(ProviderFault::Invalid(_))),
            "{member} = {value}: {refused:?}"
        );
        let document = server.url();
        match member {
            "token_endpoint" => set.token_endpoint = Some(format!("{document}/token")),
            "jwks_uri" => set.jwks_uri = Some(format!("{document}{}", server.keys_path())),
            _ => continue,
        }
        let app = App::with(&settings(), &server, connection("example", set));
        let outcome = app.sign_in(&server, 1).await;
        assert!(
            !matches!(
                outcome,
                Err(ProviderFault::Misconfigured("an endpoint is missing"))
            ),
            "{outcome:?}"
        );
    }
}

/// docs/oauth.md: an id token has at most 64 KiB.
#[tokio::test]
async fn o_15_an_id_token_has_up_to_64_kib() {
    const MAX_SIZE: usize = 64 * 1024;
    let server = ProviderServer::start(Shape::OpenId).await;
    let app = App::of(&server, "example");
    // The size is exact to three base64 characters, since a claim consists of whole characters.
    for (padding, is_right) in [
        (20_000, true),
        (47_000, true),
        (48_400, true),
        (49_200, false),
    ] {
        server.spoils(move |draft| {
            draft
                .claims
                .insert("groups".to_owned(), json!("g".repeat(padding)));
        });
        let outcome = app.sign_in(&server, 1).await;
        assert_eq!(
            outcome.is_ok(),
            is_right,
            "{padding} of about {}: {outcome:?}",
            MAX_SIZE / 4 * 3
        );
    }
}

/// RFC 6749, section 5.2: a refusal is recognised, whatever its other members.
#[tokio::test]
async fn o_15_a_refusal_is_recognised_with_other_members_of_any_type() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let app = App::of(&server, "example");
    for value in anything() {
        let refusal =
            json!({"error": "invalid_grant", "error_description": value, "error_uri": value});
        server.replies("/token", Some(Reply::json(400, &refusal)));
        let refused = app.sign_in(&server, 1).await;
        assert!(
            matches!(refused, Err(ProviderFault::Refused)),
            "{value}: {refused:?}"
        );
    }
}
