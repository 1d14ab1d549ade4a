//! Shared helpers of the magic link tests.

use vestry_app::identity::links::{
    CreateLink, CreatedLink, InviteByLink, LoginByLink, SentLink, VerifiedLink, VerifyLink,
    VerifyLinkError,
};
use vestry_app::identity::sessions::SessionFields;
use vestry_app::{Caller, Principal};
use vestry_domain::email::Email;
use vestry_domain::ids::{EmailId, Id, SessionId, UserId};
use vestry_domain::message::Message;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::user::UserEmail;
use vestry_domain::{Environment, Secret};
use vestry_ports::store::{Attached, Store};

use crate::harness::Harness;

/// The destination URL for links of each kind.
pub(crate) fn url_of(kind: RedirectKind) -> String {
    format!("https://app.example.com/{kind}")
}

impl Harness {
    /// A harness with a default URL of each kind in both environments.
    pub(crate) async fn with_urls() -> Self {
        let harness = Self::new().await;
        for environment in Environment::ALL {
            let world = harness.world(environment);
            for kind in RedirectKind::ALL {
                let url = url_of(kind);
                let added =
                    harness
                        .service
                        .add_redirect_url(Principal::cli(), world, kind, &url, true);
                added.await.unwrap();
            }
        }
        harness
    }

    /// Sends a link that is valid for an hour.
    pub(crate) async fn send_link(&self, caller: &Caller, email: &str) -> SentLink {
        let sent = self
            .service
            .login_or_create_by_link(caller, link_for(email));
        sent.await.unwrap()
    }

    /// Sends a link and reads the captured mail.
    pub(crate) async fn fresh_link(&self, caller: &Caller, email: &str) -> (SentLink, Message) {
        let sent = self.send_link(caller, email).await;
        (sent, self.newest_to(caller, email).await.message)
    }

    /// Creates a link for an existing user.
    pub(crate) async fn created_link(&self, caller: &Caller, email: &str) -> CreatedLink {
        let command = CreateLink {
            email: Some(email.to_owned()),
            ..CreateLink::default()
        };
        self.service.create_link(caller, command).await.unwrap()
    }

    /// Attaches another address to a user, as a claim.
    pub(crate) async fn attach_claim(&self, caller: &Caller, user: UserId, email: &str) -> EmailId {
        let mut random = [0; 16];
        self.ports.entropy.fill(&mut random);
        let email = UserEmail {
            id: EmailId::new(self.now(), random),
            user_id: user,
            email: Email::parse(email).unwrap(),
            verified: false,
            created_at: self.now(),
            updated_at: self.now(),
            pending_owner: None,
            of_owned: false,
        };
        let mut tx = self.fake.begin().await.unwrap();
        let attached = tx
            .identifiers()
            .attach_email(&caller.world, &email)
            .await
            .unwrap();
        assert_eq!(attached, Attached::Yes);
        tx.commit().await.unwrap();
        email.id
    }

    /// A session of a user that rests on a password, in an account that no one has proved; returns its token.
    pub(crate) async fn planted_session(&self, caller: &Caller, user: UserId) -> Secret<String> {
        let token = "p".repeat(64);
        let sign_in = SignIn {
            user_id: user,
            factor: Factor {
                proof: Proof::Password,
                last_verified_at: self.now(),
            },
            device_fingerprint: DeviceFingerprint::default(),
        };
        let (limits, now) = (caller.settings().session_limits(), self.now());
        let mut random = [0; 16];
        self.ports.entropy.fill(&mut random);
        let id = SessionId::new(now, random);
        let session = Session::start(id, caller.world, sign_in, Seconds(3_600), limits, now);
        let mut tx = self.fake.begin().await.unwrap();
        tx.sessions()
            .insert(&session, &TokenHash::of(&token))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        Secret::new(token)
    }

    pub(crate) async fn open(
        &self,
        caller: &Caller,
        token: &str,
    ) -> Result<VerifiedLink, VerifyLinkError> {
        self.service.verify_link(caller, opened(token)).await
    }

    /// Opens a link and requests a session of the given length in minutes.
    pub(crate) async fn open_for(
        &self,
        caller: &Caller,
        token: &str,
        minutes: i64,
    ) -> VerifiedLink {
        let command = VerifyLink {
            session_fields: crate::harness::lasting(minutes),
            ..opened(token)
        };
        self.service.verify_link(caller, command).await.unwrap()
    }
}

/// A link request for an address, with defaults for everything else.
pub(crate) fn link_for(email: &str) -> LoginByLink {
    LoginByLink {
        email: email.to_owned(),
        ..LoginByLink::default()
    }
}

pub(crate) fn invitation(email: &str) -> InviteByLink {
    InviteByLink {
        email: email.to_owned(),
        ..InviteByLink::default()
    }
}

/// A token as presented, with no session requested.
pub(crate) fn opened(token: &str) -> VerifyLink {
    VerifyLink {
        token: Secret::new(token.to_owned()),
        origin_token: None,
        code_verifier: None,
        session_fields: SessionFields::default(),
        device_fingerprint: DeviceFingerprint::default(),
    }
}

pub(crate) fn device(ip: &str, user_agent: &str) -> DeviceFingerprint {
    DeviceFingerprint::new(Some(ip.into()), Some(user_agent.into())).unwrap()
}

pub(crate) fn is_invalid<T>(outcome: &Result<T, VerifyLinkError>) -> bool {
    matches!(outcome, Err(VerifyLinkError::InvalidToken))
}
