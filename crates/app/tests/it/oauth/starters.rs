//! Binding of sign-in tokens to their requester (M-2), and where a secret key lets the flow end (M-15).

use vestry_app::SignInBinding;
use vestry_domain::pkce::CodeChallenge;

use super::*;

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn with_challenge() -> SignInBinding {
    SignInBinding {
        code_challenge: Some(CodeChallenge::of(&secret(VERIFIER)).to_string()),
        ..SignInBinding::default()
    }
}

impl OauthHarness {
    /// Signs a person in at Google and returns the token.
    async fn token_for(&self, person: &ProvenIdentity, started_by: SignInBinding) -> String {
        let command = BeginOauth {
            started_by,
            ..to_google()
        };
        let begun = self.begin(command).await;
        let code = self
            .harness
            .providers
            .sign_in(begun.state.expose(), person.clone());
        let back = self.back(&begun, Some(code)).await;
        let (_, token) = back.url.split_once("token=").unwrap();
        token[..64].to_owned()
    }

    async fn verify_with(
        &self,
        token: &str,
        verifier: Option<&str>,
    ) -> Result<VerifiedOauth, VerifyOauthError> {
        self.verify_within(token, verifier, SessionFields::default())
            .await
    }

    async fn verify_within(
        &self,
        token: &str,
        verifier: Option<&str>,
        session_fields: SessionFields,
    ) -> Result<VerifiedOauth, VerifyOauthError> {
        let command = VerifyOauth {
            proof: OauthProof::Token {
                token: secret(token),
                state: None,
                code_verifier: verifier.map(secret),
            },
            session_fields,
            device_fingerprint: DeviceFingerprint::default(),
        };
        self.harness.service.verify_oauth(&self.test, command).await
    }

    /// The same App with other settings.
    async fn set(&mut self, changes: &[(&str, &str)]) {
        self.harness.set(changes).await;
        self.test = self.harness.test().await;
    }
}

fn is_invalid(outcome: &Result<VerifiedOauth, VerifyOauthError>) -> bool {
    matches!(outcome, Err(VerifyOauthError::InvalidToken))
}

/// The field for which a begin call was refused.
fn refused_field(outcome: Result<BegunOauth, BeginOauthError>) -> String {
    match outcome {
        Err(BeginOauthError::Common(Refusal::Invalid(invalid))) => invalid.param.into_owned(),
        other => panic!("{other:?}"),
    }
}

/// M-2: the attacker begins, returns from the provider, and hands the token to a victim. The victim's browser has no verifier, or that of
/// its own sign-in.
#[tokio::test]
async fn m_2_a_token_belongs_to_its_requester() {
    let oauth = OauthHarness::new().await;
    let ada = person("1", "ada@example.com", true);
    for others in [None, Some(""), Some(&*"v".repeat(43))] {
        let token = oauth.token_for(&ada, with_challenge()).await;
        assert!(is_invalid(&oauth.verify_with(&token, others).await));
        oauth.verify_with(&token, Some(VERIFIER)).await.unwrap();
        let again = oauth.verify_with(&token, Some(VERIFIER)).await;
        assert!(is_invalid(&again));
    }
}

/// M-2, RFC 9700, section 2.1.1: if an App sends a verifier, a token of a sign-in without a challenge is rejected as foreign.
#[tokio::test]
async fn m_2_a_verifier_is_refused_without_a_challenge() {
    let oauth = OauthHarness::new().await;
    let ada = person("1", "ada@example.com", true);
    let token = oauth.token_for(&ada, SignInBinding::default()).await;
    for verifier in ["", VERIFIER] {
        let refused = oauth.verify_with(&token, Some(verifier)).await;
        assert!(is_invalid(&refused), "{verifier}");
    }
    oauth.verify_with(&token, None).await.unwrap();
}

/// M-2: the fifth wrong verifier voids the token, with a challenge and without.
#[tokio::test]
async fn m_2_five_wrong_verifiers_use_a_token_up() {
    let oauth = OauthHarness::new().await;
    let ada = person("1", "ada@example.com", true);
    for (started_by, right) in [
        (with_challenge(), Some(VERIFIER)),
        (SignInBinding::default(), None),
    ] {
        for wrong in [4, 5] {
            let token = oauth.token_for(&ada, started_by.clone()).await;
            for _ in 0..wrong {
                let refused = oauth.verify_with(&token, Some("x")).await;
                assert!(is_invalid(&refused));
            }
            let outcome = oauth.verify_with(&token, right).await;
            assert_eq!(outcome.is_ok(), wrong == 4, "after {wrong}");
        }
    }
}

/// M-2: with the right verifier other failures are as unlimited as before.
#[tokio::test]
async fn m_2_a_right_verifier_is_not_an_attempt() {
    let oauth = OauthHarness::new().await;
    let victim = oauth.harness.sign_in(&oauth.test, VICTIM, 60).await;
    let claimed = person("2", VICTIM, false);
    let token = oauth.token_for(&claimed, with_challenge()).await;
    for _ in 0..6 {
        let taken = oauth.verify_with(&token, Some(VERIFIER)).await;
        assert!(matches!(
            taken,
            Err(VerifyOauthError::Common(Refusal::Taken(_)))
        ));
    }
    // A verifier is not the state: it links no one.
    let session = within(&victim.token);
    let taken = oauth.verify_within(&token, Some(VERIFIER), session).await;
    assert!(matches!(
        taken,
        Err(VerifyOauthError::Common(Refusal::Taken(_)))
    ));
}

/// CL-1: for an address that the session's account claims, the challenge's verifier shows that this browser began.
#[tokio::test]
async fn cl_1_a_verifier_proves_a_claim_of_the_session() {
    let oauth = OauthHarness::new().await;
    let victim = oauth.harness.sign_in(&oauth.test, VICTIM, 60).await;
    let user = victim.session.user_id;
    let profile = oauth
        .harness
        .service
        .get_user(&oauth.test, user)
        .await
        .unwrap();
    oauth
        .harness
        .attach(&oauth.test, &profile, "second@example.com")
        .await;
    let second = person("2", "second@example.com", true);
    let token = oauth.token_for(&second, with_challenge()).await;
    let session = || within(&victim.token);
    let wrong = oauth.verify_within(&token, Some("x"), session()).await;
    assert!(is_invalid(&wrong));
    let linked = oauth.verify_within(&token, Some(VERIFIER), session()).await;
    assert_eq!(linked.unwrap().link.user_id, user);
    assert!(
        oauth
            .emails(user)
            .await
            .iter()
            .all(|(_, verified)| *verified)
    );
}

/// M-2: after a hundred concurrent wrong verifiers the right one is too late; of a hundred concurrent right ones a single one wins.
#[tokio::test]
async fn m_2_parallel_verifiers_are_counted_one_by_one() {
    let oauth = OauthHarness::new().await;
    let ada = person("1", "ada@example.com", true);
    let token = oauth.token_for(&ada, with_challenge()).await;
    let wrong = (0..100).map(|_| oauth.verify_with(&token, Some("x")));
    let outcomes = futures_util::future::join_all(wrong).await;
    assert!(outcomes.iter().all(is_invalid));
    let late = oauth.verify_with(&token, Some(VERIFIER)).await;
    assert!(is_invalid(&late));
    let token = oauth.token_for(&ada, with_challenge()).await;
    let right = (0..100).map(|_| oauth.verify_with(&token, Some(VERIFIER)));
    let outcomes = futures_util::future::join_all(right).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
}

/// M-2: what an App can require. Flows in which the browser returns to the App, which compares the state, are exempt.
#[tokio::test]
async fn m_2_an_app_may_require_a_challenge() {
    let mut oauth = OauthHarness::new().await;
    oauth.set(&[("require_code_challenge", "true")]).await;
    let page = oauth.page(&oauth.public_token().await).await;
    let sent = || BeginOauth {
        sends_browser: true,
        ..to_google()
    };
    for (caller, command) in [
        (&page, to_google()),
        (&page, sent()),
        (&oauth.test, to_google()),
        (&oauth.test, sent()),
    ] {
        let service = &oauth.harness.service;
        let refused = service.begin_oauth(caller, command).await;
        assert_eq!(refused_field(refused), "code_challenge");
        let command = BeginOauth {
            started_by: with_challenge(),
            ..sent()
        };
        service.begin_oauth(caller, command).await.unwrap();
    }
    let own = BeginOauth {
        redirect_uri: Some(OWN.to_owned()),
        ..to_google()
    };
    oauth.begin(own).await;
}

/// M-2: the caller's state is returned with the token and with an error; an invalid one is refused.
#[tokio::test]
async fn m_2_the_callers_state_is_returned() {
    let oauth = OauthHarness::new().await;
    let started_by = SignInBinding {
        state: Some("a b&token=x".to_owned()),
        ..with_challenge()
    };
    let begin = || BeginOauth {
        started_by: started_by.clone(),
        ..to_google()
    };
    let begun = oauth.begin(begin()).await;
    let ada = person("1", "ada@example.com", true);
    let code = oauth.harness.providers.sign_in(begun.state.expose(), ada);
    let back = oauth.back(&begun, Some(code)).await;
    assert!(back.url.starts_with(&format!("{REGISTRATION}?token=")));
    assert!(back.url.ends_with("&state=a%20b%26token%3Dx"));
    let begun = oauth.begin(begin()).await;
    let back = oauth.back(&begun, None).await;
    let expected = format!("{LOGIN}?error=provider_error&state=a%20b%26token%3Dx");
    assert_eq!(back.url, expected);
    // A state that is not ours is unknown.
    let back = oauth.back(&begun, None).await;
    assert_eq!(back.url, format!("{LOGIN}?error=invalid_state"));

    let none = SignInBinding::default;
    let own = Some(OWN.to_owned());
    for (redirect_uri, started_by, field) in [
        (
            None,
            SignInBinding {
                state: Some(String::new()),
                ..none()
            },
            "state",
        ),
        (
            None,
            SignInBinding {
                code_challenge: Some("x".to_owned()),
                ..none()
            },
            "code_challenge",
        ),
        (
            None,
            SignInBinding {
                code_challenge_method: Some("plain".to_owned()),
                ..with_challenge()
            },
            "code_challenge_method",
        ),
        (own.clone(), with_challenge(), "code_challenge"),
        (
            own,
            SignInBinding {
                state: Some("x".to_owned()),
                ..none()
            },
            "state",
        ),
    ] {
        let command = BeginOauth {
            redirect_uri,
            started_by,
            ..to_google()
        };
        let refused = oauth
            .harness
            .service
            .begin_oauth(&oauth.test, command)
            .await;
        assert_eq!(refused_field(refused), field);
    }
}

/// M-15: if a begin call with a secret key does not say where the browser ends, it ends at the App's callback, once the settings name it.
#[tokio::test]
async fn m_15_the_apps_own_callback_is_a_setting() {
    let mut oauth = OauthHarness::new().await;
    let ada = person("1", "ada@example.com", true);
    let verify = |begun: &BegunOauth, code: &str| VerifyOauth {
        proof: OauthProof::Code {
            code: secret(code),
            state: begun.state.clone(),
            issuer: None,
        },
        session_fields: lasting(60),
        device_fingerprint: DeviceFingerprint::default(),
    };
    // Without it the response names the missing field, and the sign-in continues at our callback.
    let begun = oauth.begin(to_google()).await;
    let code = oauth
        .harness
        .providers
        .sign_in(begun.state.expose(), ada.clone());
    let (service, test) = (Arc::clone(&oauth.harness.service), Arc::clone(&oauth.test));
    let refused = service.verify_oauth(&test, verify(&begun, &code)).await;
    assert!(matches!(refused, Err(VerifyOauthError::ForOurCallback)));
    // It is unknown in every other environment, and after its lifetime.
    let live = oauth.harness.live().await;
    let refused = service.verify_oauth(&live, verify(&begun, &code)).await;
    assert!(matches!(refused, Err(VerifyOauthError::InvalidState)));
    assert_eq!(oauth.back(&begun, Some(code.clone())).await.failure, None);
    let refused = service.verify_oauth(&test, verify(&begun, &code)).await;
    assert!(matches!(refused, Err(VerifyOauthError::InvalidState)));
    let begun = oauth.begin(to_google()).await;
    oauth.harness.pass(600);
    let refused = service.verify_oauth(&test, verify(&begun, "x")).await;
    assert!(matches!(refused, Err(VerifyOauthError::InvalidState)));

    oauth.set(&[("oauth_test_redirect_uri", OWN)]).await;
    let begun = oauth.begin(to_google()).await;
    let code = oauth
        .harness
        .providers
        .sign_in(begun.state.expose(), ada.clone());
    let back = oauth.back(&begun, Some(code.clone())).await;
    assert_eq!(back.failure, Some(SignInFailure::InvalidState));
    let command = verify(&begun, &code);
    let verified = service.verify_oauth(&oauth.test, command).await;
    assert!(verified.unwrap().issued.is_some());
    // A call that says the browser ends here keeps it here.
    let page = oauth.page(&oauth.public_token().await).await;
    for (caller, command) in [
        (&page, to_google()),
        (
            &oauth.test,
            BeginOauth {
                sends_browser: true,
                ..to_google()
            },
        ),
        (
            &oauth.test,
            BeginOauth {
                login_redirect_url: Some(LOGIN.to_owned()),
                ..to_google()
            },
        ),
        (
            &oauth.test,
            BeginOauth {
                registration_redirect_url: Some(REGISTRATION.to_owned()),
                ..to_google()
            },
        ),
        (
            &oauth.test,
            BeginOauth {
                started_by: with_challenge(),
                ..to_google()
            },
        ),
    ] {
        let begun = service.begin_oauth(caller, command).await.unwrap();
        let code = oauth
            .harness
            .providers
            .sign_in(begun.state.expose(), ada.clone());
        assert_eq!(oauth.back(&begun, Some(code)).await.failure, None);
    }
}

/// M-15, attack 17: the setting names a URL; registration decides whether the browser may go there.
#[tokio::test]
async fn m_15_a_setting_does_not_register_a_url() {
    let mut oauth = OauthHarness::new().await;
    let elsewhere = "https://app.example.com/elsewhere";
    oauth.set(&[("oauth_test_redirect_uri", elsewhere)]).await;
    let refused = oauth
        .harness
        .service
        .begin_oauth(&oauth.test, to_google())
        .await;
    assert!(matches!(
        refused,
        Err(BeginOauthError::Common(Refusal::Redirect(
            vestry_app::identity::links::RedirectError::NotAllowed("oauth_test_redirect_uri")
        )))
    ));
}
