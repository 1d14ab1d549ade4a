//! Sign-in through identity providers at the use case level: the flow, and which user a person resolves to.

mod both_keys;
mod landing;
mod starters;
mod unfinished;

use std::sync::Arc;

use serde_json::json;
use vestry_app::identity::codes::VerifyCode;
use vestry_app::identity::oauth::{
    BeginOauth, BeginOauthError, BegunOauth, Callback, CallbackError, ComeBack, OauthProof,
    VerifiedOauth, VerifyOauth, VerifyOauthError,
};
use vestry_app::identity::sessions::{SessionFields, SessionObject};
use vestry_app::{Caller, Principal, Refusal};
use vestry_domain::api_key::{ApiKeyKind, KeyFields};
use vestry_domain::ids::{Id, OauthCallbackId, UserId};
use vestry_domain::provider::{ConnectionSettings, ProvenIdentity, ProviderName, SignInFailure};
use vestry_domain::redirect::RedirectKind;
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::{Environment, Secret};
use vestry_ports::store::Store;

use crate::harness::{Harness, lasting, proof};

const LOGIN: &str = "https://app.example.com/in";
const REGISTRATION: &str = "https://app.example.com/new";
const OWN: &str = "https://app.example.com/own";
const VICTIM: &str = "victim@example.com";

/// A harness whose App has a Google connection and registered landing URLs.
struct OauthHarness {
    harness: Harness,
    test: Arc<Caller>,
    callback: OauthCallbackId,
}

impl OauthHarness {
    async fn new() -> Self {
        Self::with(ConnectionSettings::default()).await
    }

    async fn with(settings: ConnectionSettings) -> Self {
        let harness = Harness::new().await;
        let test = harness.test().await;
        for (kind, url) in [
            (RedirectKind::Login, LOGIN),
            (RedirectKind::Registration, REGISTRATION),
        ] {
            let added =
                harness
                    .service
                    .add_redirect_url(Principal::cli(), test.world, kind, url, true);
            added.await.unwrap();
        }
        let login = RedirectKind::Login;
        let own = harness
            .service
            .add_redirect_url(Principal::cli(), test.world, login, OWN, false);
        own.await.unwrap();
        let secret = Secret::new("s3cret".to_owned());
        let set = harness.service.set_provider(
            Principal::cli(),
            test.world,
            google(),
            "client",
            &secret,
            settings,
        );
        let callback = set.await.unwrap().connection.callback_id;
        Self {
            harness,
            test,
            callback,
        }
    }

    async fn begin(&self, command: BeginOauth) -> BegunOauth {
        let begun = self.harness.service.begin_oauth(&self.test, command).await;
        begun.unwrap()
    }

    /// The browser returns to our callback.
    async fn back(&self, begun: &BegunOauth, code: Option<String>) -> ComeBack {
        let callback = Callback {
            state: Some(begun.state.clone()),
            code: code.map(Secret::new),
            browser: begun.browser.clone(),
            ..Callback::default()
        };
        let back = self
            .harness
            .service
            .finish_oauth(self.callback, callback)
            .await;
        back.unwrap()
    }

    /// Signs a person in at Google and returns the landing URL and the token.
    async fn token_of(&self, person: &ProvenIdentity) -> (String, String, Secret<String>) {
        let begun = self.begin(to_google()).await;
        let state = begun.state.expose();
        let code = self.harness.providers.sign_in(state, person.clone());
        let back = self.back(&begun, Some(code)).await;
        assert_eq!(back.failure, None);
        let (page, token) = back.url.split_once("?token=").unwrap();
        assert_eq!(token.len(), 64);
        (page.to_owned(), token.to_owned(), begun.state)
    }

    async fn verify(
        &self,
        token: &str,
        state: Option<&Secret<String>>,
        session_fields: SessionFields,
    ) -> Result<VerifiedOauth, VerifyOauthError> {
        let command = VerifyOauth {
            proof: OauthProof::Token {
                token: Secret::new(token.to_owned()),
                state: state.cloned(),
                code_verifier: None,
            },
            session_fields,
            device_fingerprint: DeviceFingerprint::default(),
        };
        self.harness.service.verify_oauth(&self.test, command).await
    }

    /// The whole flow, without a session.
    async fn sign_in(&self, person: &ProvenIdentity) -> Result<VerifiedOauth, VerifyOauthError> {
        let (_, token, _) = self.token_of(person).await;
        self.verify(&token, None, SessionFields::default()).await
    }

    /// A fresh public token of the App's test environment.
    async fn public_token(&self) -> String {
        let service = &self.harness.service;
        let made = service.create_api_key(
            Principal::cli(),
            self.test.world,
            ApiKeyKind::Public,
            KeyFields::default(),
        );
        made.await.unwrap().key.expose().clone()
    }

    /// The caller that uses the token.
    async fn page(&self, token: &str) -> Arc<Caller> {
        let service = &self.harness.service;
        let caller = service.authenticate_as(ApiKeyKind::Public, token).await;
        caller.unwrap()
    }

    async fn emails(&self, user: UserId) -> Vec<(String, bool)> {
        let user = self
            .harness
            .service
            .get_user(&self.test, user)
            .await
            .unwrap();
        let emails = user.profile.emails.into_iter();
        emails
            .map(|email| (email.email.address().to_owned(), email.verified))
            .collect()
    }
}

fn google() -> ProviderName {
    ProviderName::parse("google").unwrap()
}

fn to_google() -> BeginOauth {
    BeginOauth {
        provider: "google".to_owned(),
        ..BeginOauth::default()
    }
}

fn person(subject: &str, email: &str, email_verified: bool) -> ProvenIdentity {
    ProvenIdentity {
        issuer: "https://accounts.google.com".to_owned(),
        subject: subject.to_owned(),
        email: Some(email.to_owned()),
        email_verified,
        name: Some("Ada Lovelace".to_owned()),
        given_name: Some("Ada".to_owned()),
        family_name: Some("Lovelace".to_owned()),
    }
}

/// Session fields that continue a returned session.
fn within(token: &Secret<String>) -> SessionFields {
    SessionFields {
        session_token: Some(token.clone()),
        ..SessionFields::default()
    }
}

/// M-26: only the name fields that the provider sends separately become the names of a new user.
#[tokio::test]
async fn m_26_only_separate_name_fields_are_used() {
    for (given, family, expected) in [
        (Some("Ada"), Some("Lovelace"), ("Ada", "Lovelace")),
        (Some("Ada"), None, ("Ada", "")),
        (None, Some("Lovelace"), ("", "Lovelace")),
        (None, None, ("", "")),
        (
            Some("Mary Ann"),
            Some("van der Berg"),
            ("Mary Ann", "van der Berg"),
        ),
        (Some("a\nb"), None, ("", "")),
    ] {
        let oauth = OauthHarness::new().await;
        let identity = ProvenIdentity {
            given_name: given.map(str::to_owned),
            family_name: family.map(str::to_owned),
            ..person("1", "ada@example.com", true)
        };
        let (_, token, _) = oauth.token_of(&identity).await;
        let first = oauth.verify(&token, None, lasting(60)).await.unwrap();
        let user = first.link.user_id;
        let user = oauth
            .harness
            .service
            .get_user(&oauth.test, user)
            .await
            .unwrap();
        let user = user.profile.user;
        assert_eq!((&*user.first_name, &*user.last_name), expected, "{given:?}");
    }
}

#[tokio::test]
async fn a_new_person_registers_and_a_known_one_logs_in() {
    let oauth = OauthHarness::new().await;
    let ada = person("1", "ada@example.com", true);
    let (page, token, _) = oauth.token_of(&ada).await;
    assert_eq!(page, REGISTRATION);
    let first = oauth.verify(&token, None, lasting(60)).await.unwrap();
    let session = first.issued.unwrap().session;
    assert_eq!(session.user_id, first.link.user_id);
    let factor = &json!(SessionObject::of(&session))["factors"][0];
    assert_eq!(factor["delivery_channel"], "google_oauth");
    assert_eq!(factor["type"], "oauth");
    let user = first.link.user_id;
    assert_eq!(
        oauth.emails(user).await,
        [("ada@example.com".to_owned(), true)]
    );
    let profile = oauth
        .harness
        .service
        .get_user(&oauth.test, user)
        .await
        .unwrap();
    assert_eq!(profile.profile.user.first_name, "Ada");
    assert_eq!(profile.provider_links, std::slice::from_ref(&first.link));
    let (page, token, _) = oauth.token_of(&ada).await;
    assert_eq!(page, LOGIN);
    let second = oauth
        .verify(&token, None, SessionFields::default())
        .await
        .unwrap();
    assert_eq!(second.link.id, first.link.id);
    assert!(second.issued.is_none());
}

/// O-11, R6: a token is single-use, valid for ten minutes, and only in its own environment.
#[tokio::test]
async fn o_11_a_token_is_single_use() {
    let oauth = OauthHarness::new().await;
    let ada = person("1", "ada@example.com", true);
    let (_, token, state) = oauth.token_of(&ada).await;
    let live = oauth.harness.live().await;
    for (caller, token, bound) in [
        (&live, token.clone(), None),
        (&oauth.test, "0".repeat(64), None),
        (
            &oauth.test,
            token.clone(),
            Some(Secret::new("google-other".to_owned())),
        ),
    ] {
        let command = VerifyOauth {
            proof: OauthProof::Token {
                token: Secret::new(token),
                state: bound,
                code_verifier: None,
            },
            session_fields: SessionFields::default(),
            device_fingerprint: DeviceFingerprint::default(),
        };
        let refused = oauth.harness.service.verify_oauth(caller, command).await;
        assert!(matches!(refused, Err(VerifyOauthError::InvalidToken)));
    }
    oauth
        .verify(&token, Some(&state), SessionFields::default())
        .await
        .unwrap();
    let again = oauth.verify(&token, None, SessionFields::default()).await;
    assert!(matches!(again, Err(VerifyOauthError::InvalidToken)));
    let (_, late, _) = oauth.token_of(&ada).await;
    oauth.harness.pass(600);
    let late = oauth.verify(&late, None, SessionFields::default()).await;
    assert!(matches!(late, Err(VerifyOauthError::InvalidToken)));
}

/// O-2, attack 18: a state is used once, within ten minutes, by its own browser, at its own callback.
#[tokio::test]
async fn o_2_a_state_is_single_use_and_bound_to_its_browser() {
    let oauth = OauthHarness::new().await;
    let ada = person("1", "ada@example.com", true);
    let command = BeginOauth {
        sends_browser: true,
        ..to_google()
    };
    let begun = oauth.begin(command).await;
    let code = oauth
        .harness
        .providers
        .sign_in(begun.state.expose(), ada.clone());
    let elsewhere = [
        BegunOauth {
            browser: None,
            state: begun.state.clone(),
            url: String::new(),
            is_posted_back: false,
        },
        BegunOauth {
            browser: Some(Secret::new("mine".to_owned())),
            state: begun.state.clone(),
            url: String::new(),
            is_posted_back: false,
        },
        BegunOauth {
            browser: begun.browser.clone(),
            state: Secret::new("google-1".to_owned()),
            url: String::new(),
            is_posted_back: false,
        },
    ];
    for other in elsewhere {
        let back = oauth.back(&other, Some(code.clone())).await;
        assert_eq!(back.failure, Some(SignInFailure::InvalidState));
        assert_eq!(back.url, format!("{LOGIN}?error=invalid_state"));
    }
    let test = OauthCallbackId::of_test_provider(oauth.test.world.app_id);
    let callback = Callback {
        state: Some(begun.state.clone()),
        code: Some(Secret::new(code.clone())),
        browser: begun.browser.clone(),
        ..Callback::default()
    };
    let mixed_up = oauth
        .harness
        .service
        .finish_oauth(test, callback)
        .await
        .unwrap();
    assert_eq!(mixed_up.failure, Some(SignInFailure::InvalidState));
    // None of it has cost the browser its sign-in.
    assert_eq!(oauth.back(&begun, Some(code.clone())).await.failure, None);
    let again = oauth.back(&begun, Some(code)).await;
    assert_eq!(again.failure, Some(SignInFailure::InvalidState));

    let late = oauth.begin(to_google()).await;
    let code = oauth.harness.providers.sign_in(late.state.expose(), ada);
    oauth.harness.pass(600);
    let back = oauth.back(&late, Some(code)).await;
    assert_eq!(back.failure, Some(SignInFailure::InvalidState));
}

/// Attack 18: a code of another sign-in is rejected, used codes and errors are reported to the App, and no one is signed in.
#[tokio::test]
async fn attack_18_codes_fit_their_own_flow() {
    let oauth = OauthHarness::new().await;
    let ada = person("1", "ada@example.com", true);
    let (one, other) = (
        oauth.begin(to_google()).await,
        oauth.begin(to_google()).await,
    );
    let code = oauth.harness.providers.sign_in(one.state.expose(), ada);
    let injected = oauth.back(&other, Some(code)).await;
    assert_eq!(injected.failure, Some(SignInFailure::ProviderRefused));
    let unknown = oauth.back(&one, Some("code-0".to_owned())).await;
    assert_eq!(unknown.url, format!("{LOGIN}?error=provider_refused"));
    for (error, expected) in [
        ("access_denied", "access_denied"),
        ("user_cancelled_authorize", "access_denied"),
        ("server_error", "provider_unavailable"),
        ("https://evil.example/", "provider_error"),
    ] {
        let begun = oauth.begin(to_google()).await;
        let callback = Callback {
            state: Some(begun.state),
            error: Some(error.to_owned()),
            ..Callback::default()
        };
        let back = oauth
            .harness
            .service
            .finish_oauth(oauth.callback, callback)
            .await;
        assert_eq!(back.unwrap().url, format!("{LOGIN}?error={expected}"));
    }
    let begun = oauth.begin(to_google()).await;
    let code = oauth
        .harness
        .providers
        .sign_in(begun.state.expose(), person("2", VICTIM, true));
    oauth.harness.providers.set_unavailable(true);
    let away = oauth.back(&begun, Some(code)).await;
    assert_eq!(away.failure, Some(SignInFailure::ProviderUnavailable));
    let refused = oauth
        .harness
        .service
        .begin_oauth(&oauth.test, to_google())
        .await;
    assert!(matches!(
        refused,
        Err(BeginOauthError::Common(Refusal::Fault(_)))
    ));
    let unknown = OauthCallbackId::new(oauth.harness.now(), [3; 16]);
    let back = oauth
        .harness
        .service
        .finish_oauth(unknown, Callback::default())
        .await;
    assert!(matches!(back, Err(CallbackError::NotFound)));
}

/// Attack 17: the flow lands only on registered URLs, and not on ones removed in the meantime.
#[tokio::test]
async fn attack_17_only_registered_urls_are_landing_urls() {
    let oauth = OauthHarness::new().await;
    for (login, registration, own) in [
        (Some("https://app.example.com/in/"), None, None),
        (Some("https://APP.example.com/in"), None, None),
        (Some("https://app.example.com@evil.example/in"), None, None),
        (Some(REGISTRATION), None, None),
        (None, Some(LOGIN), None),
        (None, None, Some("https://app.example.com/own?x=1")),
    ] {
        let command = BeginOauth {
            login_redirect_url: login.map(str::to_owned),
            registration_redirect_url: registration.map(str::to_owned),
            redirect_uri: own.map(str::to_owned),
            ..to_google()
        };
        let refused = oauth
            .harness
            .service
            .begin_oauth(&oauth.test, command)
            .await;
        assert!(
            matches!(refused, Err(BeginOauthError::Common(Refusal::Redirect(_)))),
            "{login:?} {own:?}"
        );
    }
    let world = oauth.test.world;
    let other = "https://app.example.com/other";
    let added = oauth.harness.service.add_redirect_url(
        Principal::cli(),
        world,
        RedirectKind::Login,
        other,
        false,
    );
    let added = added.await.unwrap();
    let begin = || BeginOauth {
        login_redirect_url: Some(other.to_owned()),
        ..to_google()
    };
    oauth
        .sign_in(&person("1", "ada@example.com", true))
        .await
        .unwrap();
    let (first, second) = (oauth.begin(begin()).await, oauth.begin(begin()).await);
    let code = |begun: &BegunOauth| {
        let ada = person("1", "ada@example.com", true);
        oauth.harness.providers.sign_in(begun.state.expose(), ada)
    };
    let back = oauth.back(&first, Some(code(&first))).await;
    assert!(
        back.url.starts_with(&format!("{other}?token=")),
        "{}",
        back.url
    );
    let removed =
        oauth
            .harness
            .service
            .remove_redirect_url(Principal::cli(), world.app_id.into(), added.id);
    removed.await.unwrap();
    let back = oauth.back(&second, Some(code(&second))).await;
    assert!(
        back.url.starts_with(&format!("{LOGIN}?token=")),
        "{}",
        back.url
    );
}

/// The App's own callback: the App verifies state and code, once, and our callback does not.
#[tokio::test]
async fn an_app_verifies_its_own_callback() {
    let oauth = OauthHarness::with(ConnectionSettings {
        store_tokens: true,
        ..ConnectionSettings::default()
    })
    .await;
    let own = || BeginOauth {
        redirect_uri: Some(OWN.to_owned()),
        ..to_google()
    };
    let ada = person("1", "ada@example.com", true);
    let verify = |begun: &BegunOauth, code: &str, issuer: Option<&str>| {
        let command = VerifyOauth {
            proof: OauthProof::Code {
                code: Secret::new(code.to_owned()),
                state: begun.state.clone(),
                issuer: issuer.map(str::to_owned),
            },
            session_fields: lasting(60),
            device_fingerprint: DeviceFingerprint::default(),
        };
        let (service, caller) = (Arc::clone(&oauth.harness.service), Arc::clone(&oauth.test));
        async move { service.verify_oauth(&caller, command).await }
    };
    let begun = oauth.begin(own()).await;
    let code = oauth
        .harness
        .providers
        .sign_in(begun.state.expose(), ada.clone());
    let back = oauth.back(&begun, Some(code.clone())).await;
    assert_eq!(
        back.failure,
        Some(SignInFailure::InvalidState),
        "it is not ours"
    );
    let verified = verify(&begun, &code, Some("https://accounts.google.com"))
        .await
        .unwrap();
    assert_eq!(verified.user_email, "ada@example.com");
    assert_eq!(
        verified.tokens.unwrap().access_token.expose(),
        "access-of-1"
    );
    let again = verify(&begun, &code, None).await;
    assert!(matches!(again, Err(VerifyOauthError::InvalidState)));
    let begun = oauth.begin(own()).await;
    let wrong = verify(&begun, "code-0", None).await;
    assert!(matches!(wrong, Err(VerifyOauthError::InvalidToken)));
    let begun = oauth.begin(own()).await;
    let code = oauth
        .harness
        .providers
        .sign_in(begun.state.expose(), ada.clone());
    let mixed_up = verify(&begun, &code, Some("https://evil.example")).await;
    assert!(matches!(mixed_up, Err(VerifyOauthError::InvalidToken)));
    // A flow to our callback belongs to Vestry: only our callback sees the browser that it is bound to.
    let begun = oauth.begin(to_google()).await;
    let code = oauth.harness.providers.sign_in(begun.state.expose(), ada);
    let refused = verify(&begun, &code, None).await;
    assert!(matches!(refused, Err(VerifyOauthError::ForOurCallback)));
}

/// O-12: the provider's own tokens are returned only to Apps that ask for them, and stored nowhere.
#[tokio::test]
async fn o_12_tokens_are_for_apps_that_ask() {
    let ada = person("1", "ada@example.com", true);
    let oauth = OauthHarness::new().await;
    assert!(oauth.sign_in(&ada).await.unwrap().tokens.is_none());
    let oauth = OauthHarness::with(ConnectionSettings {
        store_tokens: true,
        ..ConnectionSettings::default()
    })
    .await;
    let tokens = oauth.sign_in(&ada).await.unwrap().tokens.unwrap();
    assert_eq!(tokens.refresh_token.unwrap().expose(), "refresh-of-1");
}

/// Attack 2, O-8: the subject identifies a person. A changed address is the same user; an unproved address joins no user.
#[tokio::test]
async fn attack_2_an_address_never_identifies_a_person() {
    let oauth = OauthHarness::new().await;
    let victim = oauth.harness.sign_in(&oauth.test, VICTIM, 60).await;
    let first = oauth
        .sign_in(&person("1", "ada@example.com", true))
        .await
        .unwrap();
    let moved = oauth.sign_in(&person("1", VICTIM, true)).await.unwrap();
    assert_eq!(moved.link.user_id, first.link.user_id);
    assert_eq!(
        oauth.emails(first.link.user_id).await,
        [("ada@example.com".to_owned(), true)]
    );
    for spelled in [VICTIM, "Victim@Example.com", "VICTIM@EXAMPLE.COM"] {
        let refused = oauth.sign_in(&person("2", spelled, false)).await;
        assert!(
            matches!(refused, Err(VerifyOauthError::Common(Refusal::Taken(_)))),
            "{spelled}"
        );
    }
    let stranger = oauth
        .sign_in(&person("3", "free@example.com", false))
        .await
        .unwrap();
    assert_eq!(oauth.emails(stranger.link.user_id).await, []);
    assert_eq!(stranger.link.email_id, None);
    assert!(
        oauth
            .harness
            .by_token(&oauth.test, &victim.token)
            .await
            .is_ok()
    );
    assert_eq!(
        oauth.emails(victim.session.user_id).await,
        [(VICTIM.to_owned(), true)]
    );
    // The same subject at another issuer is another person.
    let elsewhere = ProvenIdentity {
        issuer: "https://evil.example".to_owned(),
        ..person("1", "evil@example.com", true)
    };
    let elsewhere = oauth.sign_in(&elsewhere).await.unwrap();
    assert_ne!(elsewhere.link.user_id, first.link.user_id);
}

/// A proved address joins the user who has it verified, who is notified, and ends the other sessions (O-9a, O-9c).
#[tokio::test]
async fn a_proved_address_joins_its_verified_owner() {
    let oauth = OauthHarness::new().await;
    let owner = oauth
        .harness
        .sign_in(&oauth.test, "ada@example.com", 60)
        .await;
    let ada = person("1", "ADA@example.com", true);
    let (page, token, _) = oauth.token_of(&ada).await;
    assert_eq!(page, LOGIN);
    oauth.harness.pass(1);
    let joined = oauth.verify(&token, None, lasting(60)).await.unwrap();
    assert_eq!(joined.link.user_id, owner.session.user_id);
    assert!(
        oauth
            .harness
            .by_token(&oauth.test, &owner.token)
            .await
            .is_err()
    );
    let issued = joined.issued.unwrap();
    assert!(
        oauth
            .harness
            .by_token(&oauth.test, &issued.token)
            .await
            .is_ok()
    );
    let notice = oauth
        .harness
        .newest_to(&oauth.test, "ada@example.com")
        .await;
    assert!(notice.message.text.contains("sign-in provider was linked"));
}

/// Attack 1, classic: an account planted under the address, in which nothing is proved, becomes the victim's alone.
#[tokio::test]
async fn attack_1_a_planted_account_is_taken_over() {
    let oauth = OauthHarness::new().await;
    let planted = oauth.harness.user(&oauth.test, VICTIM).await;
    let user = planted.profile.user.id;
    let session = oauth.harness.planted_session(&oauth.test, user).await;
    let victim = oauth.sign_in(&person("1", VICTIM, true)).await.unwrap();
    assert_eq!(victim.link.user_id, user);
    assert!(oauth.harness.by_token(&oauth.test, &session).await.is_err());
    let left = oauth
        .harness
        .service
        .get_user(&oauth.test, user)
        .await
        .unwrap();
    assert_eq!(left.provider_links, [victim.link]);
}

/// CL-4: linking the attacker's own provider account within a session of the planted account makes that account the attacker's. The victim
/// gets another one, and each keeps what is theirs.
#[tokio::test]
async fn attack_1_an_account_that_a_link_founded_is_not_the_victims() {
    let oauth = OauthHarness::new().await;
    let planted = oauth.harness.user(&oauth.test, VICTIM).await;
    let user = planted.profile.user.id;
    let attacker = person("666", "attacker@example.com", false);
    let session = oauth.harness.planted_session(&oauth.test, user).await;
    let (_, token, state) = oauth.token_of(&attacker).await;
    let linked = oauth
        .verify(&token, Some(&state), within(&session))
        .await
        .unwrap();
    assert_eq!(linked.link.user_id, user);
    let victim = oauth.sign_in(&person("1", VICTIM, true)).await.unwrap();
    assert_ne!(victim.link.user_id, user);
    assert_eq!(oauth.emails(user).await, []);
    let own = oauth.emails(victim.link.user_id).await;
    assert_eq!(own, [(VICTIM.to_owned(), true)]);
    let back = oauth.sign_in(&attacker).await.unwrap();
    assert_eq!(back.link.user_id, user);
}

/// Attack 1, trojan identifier: the victim's address in an account that the attacker's link founded moves to the victim.
#[tokio::test]
async fn attack_1_an_address_in_an_account_of_a_link_moves_to_its_owner() {
    let oauth = OauthHarness::new().await;
    let attacker = person("666", "attacker@example.com", false);
    let trojan = oauth.sign_in(&attacker).await.unwrap();
    let account = oauth
        .harness
        .service
        .get_user(&oauth.test, trojan.link.user_id);
    let account = account.await.unwrap();
    oauth.harness.attach(&oauth.test, &account, VICTIM).await;
    let victim = oauth.sign_in(&person("1", VICTIM, true)).await.unwrap();
    assert_ne!(victim.link.user_id, trojan.link.user_id);
    assert_eq!(
        oauth.emails(victim.link.user_id).await,
        [(VICTIM.to_owned(), true)]
    );
    assert_eq!(oauth.emails(trojan.link.user_id).await, []);
    // The same by code.
    let again = oauth.harness.sign_in(&oauth.test, VICTIM, 60).await;
    assert_eq!(again.session.user_id, victim.link.user_id);
}

/// Attack 18: within a session a person is linked only if the call includes the flow's state.
#[tokio::test]
async fn attack_18_no_user_can_be_tricked_into_linking_a_stranger() {
    let oauth = OauthHarness::new().await;
    let victim = oauth.harness.sign_in(&oauth.test, VICTIM, 60).await;
    let attacker = person("666", "attacker@example.com", true);
    oauth.harness.pass(1);
    let (_, token, state) = oauth.token_of(&attacker).await;
    let refused = oauth.verify(&token, None, within(&victim.token)).await;
    assert!(matches!(
        refused,
        Err(VerifyOauthError::Common(Refusal::InvalidSession))
    ));
    let other = oauth.begin(to_google()).await;
    let refused = oauth
        .verify(&token, Some(&other.state), within(&victim.token))
        .await;
    assert!(matches!(refused, Err(VerifyOauthError::InvalidToken)));
    assert!(
        oauth
            .harness
            .by_token(&oauth.test, &victim.token)
            .await
            .is_ok()
    );
    // The App that kept the state in its own browser links, and the address comes along.
    let linked = oauth
        .verify(&token, Some(&state), within(&victim.token))
        .await
        .unwrap();
    assert_eq!(linked.link.user_id, victim.session.user_id);
    assert_eq!(
        oauth.emails(victim.session.user_id).await,
        [
            (VICTIM.to_owned(), true),
            ("attacker@example.com".to_owned(), true)
        ]
    );
    // A person who is already linked stays that user.
    let second = oauth
        .harness
        .sign_in(&oauth.test, "second@example.com", 60)
        .await;
    let (_, token, state) = oauth.token_of(&attacker).await;
    let refused = oauth
        .verify(&token, Some(&state), within(&second.token))
        .await;
    assert!(matches!(
        refused,
        Err(VerifyOauthError::Common(Refusal::InvalidSession))
    ));
}

/// Attack 18: an address that the session's account claims but has not proved does not replace the flow's state. A token slipped to the
/// user links no one and stays valid for the browser that began.
#[tokio::test]
async fn attack_18_a_claimed_address_does_not_replace_the_state() {
    for is_owned in [true, false] {
        let oauth = OauthHarness::new().await;
        let attacker = person("666", "attacker@example.com", true);
        let (user, session) = if is_owned {
            let victim = oauth.harness.sign_in(&oauth.test, VICTIM, 60).await;
            let user = oauth
                .harness
                .service
                .get_user(&oauth.test, victim.session.user_id);
            let user = user.await.unwrap();
            oauth
                .harness
                .attach(&oauth.test, &user, "attacker@example.com")
                .await;
            (victim.session.user_id, victim.token)
        } else {
            let user = oauth
                .harness
                .user(&oauth.test, "attacker@example.com")
                .await;
            let user = user.profile.user.id;
            (user, oauth.harness.planted_session(&oauth.test, user).await)
        };
        let before = oauth.emails(user).await;
        let (_, token, state) = oauth.token_of(&attacker).await;
        let refused = oauth.verify(&token, None, within(&session)).await;
        assert!(
            matches!(
                refused,
                Err(VerifyOauthError::Common(Refusal::InvalidSession))
            ),
            "owned: {is_owned}, {refused:?}"
        );
        assert_eq!(oauth.emails(user).await, before);
        let left = oauth
            .harness
            .service
            .get_user(&oauth.test, user)
            .await
            .unwrap();
        assert_eq!(left.provider_links, []);
        assert!(oauth.harness.by_token(&oauth.test, &session).await.is_ok());
        let linked = oauth.verify(&token, Some(&state), within(&session)).await;
        assert_eq!(linked.unwrap().link.user_id, user);
        assert!(
            oauth
                .emails(user)
                .await
                .iter()
                .all(|(_, verified)| *verified)
        );
    }
}

/// An unproved address does not use up the token: its owner signs in and links.
#[tokio::test]
async fn a_refused_person_links_within_a_session() {
    let oauth = OauthHarness::new().await;
    let (sent, code) = oauth
        .harness
        .fresh_code(&oauth.test, "ada@example.com")
        .await;
    let ada = person("1", "ada@example.com", false);
    let (_, token, state) = oauth.token_of(&ada).await;
    let refused = oauth
        .verify(&token, Some(&state), SessionFields::default())
        .await;
    assert!(matches!(
        refused,
        Err(VerifyOauthError::Common(Refusal::Taken(_)))
    ));
    let command = VerifyCode {
        session_fields: lasting(60),
        ..proof(sent.email.id, &code)
    };
    let signed_in = oauth
        .harness
        .service
        .verify_code(&oauth.test, command)
        .await
        .unwrap();
    let session = signed_in.issued.unwrap();
    let linked = oauth
        .verify(&token, Some(&state), within(&session.token))
        .await
        .unwrap();
    assert_eq!(linked.link.user_id, session.session.user_id);
    let later = oauth.sign_in(&ada).await.unwrap();
    assert_eq!(later.link.id, linked.link.id);
}

/// R6: of a hundred concurrent first sign-ins of one person each succeeds, and there is one user. Of a hundred uses of one token one
/// succeeds.
#[tokio::test]
async fn r6_parallel_sign_ins_make_one_user() {
    let oauth = OauthHarness::new().await;
    let ada = person("1", "ada@example.com", true);
    let mut tokens = Vec::new();
    for _ in 0..20 {
        tokens.push(oauth.token_of(&ada).await.1);
    }
    let all = tokens
        .iter()
        .map(|token| oauth.verify(token, None, SessionFields::default()));
    let signed_in = futures_util::future::join_all(all).await;
    let users: Vec<UserId> = signed_in
        .into_iter()
        .map(|verified| verified.unwrap().link.user_id)
        .collect();
    assert!(users.iter().all(|user| *user == users[0]));
    let (_, token, _) = oauth.token_of(&ada).await;
    let all = (0..20).map(|_| oauth.verify(&token, None, SessionFields::default()));
    let outcomes = futures_util::future::join_all(all).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
}

/// A public token begins sign-ins and does nothing else.
#[tokio::test]
async fn a_public_token_begins_and_does_nothing_else() {
    let oauth = OauthHarness::new().await;
    let service = &oauth.harness.service;
    let token = oauth.public_token().await;
    assert!(service.authenticate(&token).await.is_err());
    let caller = oauth.page(&token).await;
    service.begin_oauth(&caller, to_google()).await.unwrap();
    let own = BeginOauth {
        redirect_uri: Some(OWN.to_owned()),
        ..to_google()
    };
    let refused = service.begin_oauth(&caller, own).await;
    assert!(matches!(
        refused,
        Err(BeginOauthError::Common(Refusal::Invalid(_)))
    ));
    let refused = service
        .delete_user(&caller, UserId::new(oauth.harness.now(), [0; 16]))
        .await;
    assert!(refused.unwrap_err().to_string().contains("scope"));
    let command = VerifyOauth {
        proof: OauthProof::Token {
            token: Secret::new("0".repeat(64)),
            state: None,
            code_verifier: None,
        },
        session_fields: SessionFields::default(),
        device_fingerprint: DeviceFingerprint::default(),
    };
    let refused = service.verify_oauth(&caller, command).await;
    assert!(matches!(
        refused,
        Err(VerifyOauthError::Common(Refusal::NotAllowed(_)))
    ));
}

/// The settings are stored with their callback; the secret is in no row as plain text.
#[tokio::test]
async fn a_connection_keeps_its_callback_and_hides_its_secret() {
    let oauth = OauthHarness::new().await;
    let world = oauth.test.world;
    let service = &oauth.harness.service;
    let secret = Secret::new("another secret".to_owned());
    let again = service.set_provider(
        Principal::cli(),
        world,
        google(),
        "client-2",
        &secret,
        ConnectionSettings::default(),
    );
    let again = again.await.unwrap();
    assert_eq!(again.connection.callback_id, oauth.callback);
    assert_eq!(
        again.callback_url,
        format!(
            "https://id.example.com/v1/auth/oauth/callback/{}",
            oauth.callback
        )
    );
    let listed = service
        .list_providers(Principal::cli(), world.app_id.into())
        .await
        .unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].connection.client_id, "client-2");
    let mut read = oauth.harness.fake.read().await.unwrap();
    let stored = read
        .provider_connections()
        .find(&world, &google())
        .await
        .unwrap();
    let sealed = stored.unwrap().secret.bytes;
    assert!(!sealed.windows(7).any(|part| part == b"another"));
    drop(read);
    let test = ProviderName::parse("test").unwrap();
    let refused = service.set_provider(
        Principal::cli(),
        world,
        test,
        "c",
        &secret,
        ConnectionSettings::default(),
    );
    assert!(matches!(refused.await, Err(Refusal::Invalid(_))));
    service
        .remove_provider(Principal::cli(), world, &google())
        .await
        .unwrap();
    let refused = service.begin_oauth(&oauth.test, to_google()).await;
    assert!(matches!(refused, Err(BeginOauthError::NotConfigured)));
    let gone = service
        .remove_provider(Principal::cli(), world, &google())
        .await;
    assert!(matches!(gone, Err(Refusal::NotFound(_))));
}

/// The last sign-in method cannot be removed; a link counts as one.
#[tokio::test]
async fn the_last_link_cannot_be_removed() {
    let oauth = OauthHarness::new().await;
    let alone = oauth
        .sign_in(&person("1", "ada@example.com", false))
        .await
        .unwrap();
    let refused = oauth
        .harness
        .service
        .delete_provider_link(&oauth.test, alone.link.id)
        .await;
    assert!(refused.unwrap_err().to_string().contains("last way"));
    let both = oauth
        .sign_in(&person("2", "bob@example.com", true))
        .await
        .unwrap();
    let gone = oauth
        .harness
        .service
        .delete_provider_link(&oauth.test, both.link.id)
        .await;
    assert_eq!(gone.unwrap().user_id, both.link.user_id);
    assert!(
        oauth
            .harness
            .service
            .delete_provider_link(&oauth.test, both.link.id)
            .await
            .is_err()
    );
    let notice = oauth
        .harness
        .newest_to(&oauth.test, "bob@example.com")
        .await;
    assert!(notice.message.text.contains("provider was removed"));
}

/// S-17: the built-in provider is available in test environments only.
#[tokio::test]
async fn s_17_the_built_in_provider_is_for_test_environments_only() {
    let oauth = OauthHarness::new().await;
    let live = oauth.harness.live().await;
    assert_eq!(live.world.environment, Environment::Live);
    let to_test = || BeginOauth {
        provider: "test".to_owned(),
        ..BeginOauth::default()
    };
    let refused = oauth.harness.service.begin_oauth(&live, to_test()).await;
    assert!(matches!(
        refused,
        Err(BeginOauthError::Common(Refusal::NotFound("provider")))
    ));
    let begun = oauth.begin(to_test()).await;
    assert!(
        begun
            .url
            .starts_with("https://id.example.com/v1/auth/oauth/test/oauthcb_")
    );
}
