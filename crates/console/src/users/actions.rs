//! What support does for a user: each action has a page that says what follows, and a form.

use actix_web::HttpResponse;
use actix_web::web::Path;
use askama::Template;
use serde::Deserialize;
use vestry_app::identity::sessions::ListSessions;
use vestry_app::identity::users::FullUser;
use vestry_app::{Caller, Refusal, Service};
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::ids::{
    EmailId, PhoneNumberId, ProviderLinkId, SessionId, TotpId, UserId, WebauthnCredentialId,
};
use vestry_domain::session::SessionSelector;

use super::{USERS, find, title};
use crate::app::{Inside, enter, received};
use crate::filters;
use crate::flash::Done;
use crate::form::Posted;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, page};
use crate::problems::Problems;
use crate::visit::Visit;

/// The parts of the path of an action.
#[derive(Deserialize)]
pub(crate) struct ActionAddress {
    #[serde(flatten)]
    inside: crate::app::Address,
    action: String,
}

/// An action.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Disable,
    Enable,
    Unlock,
    EndSessions,
    EndSession,
    RemoveEmail,
    RemovePhone,
    RemovePasskey,
    RemoveTotp,
    RemoveLink,
    Delete,
}

/// What the page about an action says.
struct Words {
    title: &'static str,
    button: &'static str,
    way_out: &'static str,
    text: &'static str,
}

impl Verb {
    const ALL: [(Self, &'static str); 11] = [
        (Self::Disable, "disable"),
        (Self::Enable, "enable"),
        (Self::Unlock, "unlock"),
        (Self::EndSessions, "end-sessions"),
        (Self::EndSession, "end-session"),
        (Self::RemoveEmail, "remove-email"),
        (Self::RemovePhone, "remove-phone"),
        (Self::RemovePasskey, "remove-passkey"),
        (Self::RemoveTotp, "remove-authenticator"),
        (Self::RemoveLink, "remove-link"),
        (Self::Delete, "delete"),
    ];

    fn parse(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, own)| *own == name);
        found.map(|(verb, _)| *verb)
    }

    /// The right that it needs.
    const fn action(self) -> Action {
        match self {
            Self::Disable | Self::Enable => Action::SwitchUser,
            Self::Unlock => Action::UnlockUser,
            Self::EndSessions => Action::DeleteSessionsOfUser,
            Self::EndSession => Action::DeleteSession,
            Self::RemoveEmail | Self::RemovePhone => Action::DeleteIdentifier,
            Self::RemovePasskey => Action::DeletePasskey,
            Self::RemoveTotp => Action::DeleteTotp,
            Self::RemoveLink => Action::DeleteProviderLink,
            Self::Delete => Action::DeleteUser,
        }
    }

    const fn words(self) -> Words {
        let (title, button, way_out, text) = match self {
            Self::Disable => (
                "Disable user",
                "Disable user",
                "Keep enabled",
                "All sessions end. Sign-in attempts fail exactly as with wrong credentials until the user is enabled. Wallets can still sign for your backend.",
            ),
            Self::Enable => (
                "Enable user",
                "Enable user",
                "Keep disabled",
                "The user can sign in again. Ended sessions stay ended.",
            ),
            Self::Unlock => (
                "Unlock user",
                "Unlock user",
                "Keep locked",
                "Lockouts after failed attempts end now. New failures lock the user again.",
            ),
            Self::EndSessions => (
                "End all sessions",
                "End all sessions",
                "Keep sessions",
                "The user is signed out on all devices within a second. JWTs that were already issued stay valid until they expire.",
            ),
            Self::EndSession => (
                "End session",
                "End session",
                "Keep session",
                "The user is signed out on this device within a second.",
            ),
            Self::RemoveEmail => (
                "Remove email address",
                "Remove address",
                "Keep address",
                "The user can no longer sign in with this address, and receives no more mail there.",
            ),
            Self::RemovePhone => (
                "Remove phone number",
                "Remove number",
                "Keep number",
                "The user can no longer sign in with this number.",
            ),
            Self::RemovePasskey => (
                "Remove passkey",
                "Remove passkey",
                "Keep passkey",
                "The user can no longer sign in with this passkey. It stays on the device.",
            ),
            Self::RemoveTotp => (
                "Remove authenticator app",
                "Remove authenticator app",
                "Keep authenticator app",
                "Codes of this app and its recovery codes no longer work.",
            ),
            Self::RemoveLink => (
                "Remove identity provider link",
                "Remove link",
                "Keep link",
                "The user can no longer sign in with this account of the identity provider.",
            ),
            Self::Delete => (
                "Delete user",
                "Delete user",
                "Keep user",
                "The user, all sessions, all wallets and their keys are deleted. Funds in these wallets become unrecoverable. This cannot be undone.",
            ),
        };
        Words {
            title,
            button,
            way_out,
            text,
        }
    }

    const fn done(self) -> Done {
        match self {
            Self::Disable => Done::UserDisabled,
            Self::Enable => Done::UserEnabled,
            Self::Unlock => Done::UserUnlocked,
            Self::EndSessions => Done::AllSessionsEnded,
            Self::EndSession => Done::SessionsEnded,
            Self::RemoveEmail => Done::EmailRemoved,
            Self::RemovePhone => Done::PhoneRemoved,
            Self::RemovePasskey => Done::PasskeyRemoved,
            Self::RemoveTotp => Done::AuthenticatorRemoved,
            Self::RemoveLink => Done::LinkRemoved,
            Self::Delete => Done::UserDeleted,
        }
    }

    /// The part of the user that it is about, as people know it; `None` if the user has no such part.
    fn subject(self, user: &FullUser, of: &str) -> Option<String> {
        let profile = &user.profile;
        match self {
            Self::Disable | Self::Enable | Self::Unlock | Self::EndSessions | Self::Delete => {
                Some(title(user))
            }
            // Sessions are not part of the user; its use case says whether it exists.
            Self::EndSession => of.parse::<SessionId>().ok().map(|id| id.to_string()),
            Self::RemoveEmail => {
                let own = profile.emails.iter().find(|own| own.id.to_string() == of);
                own.map(|own| own.email.address().to_owned())
            }
            Self::RemovePhone => {
                let own = profile.phones.iter().find(|own| own.id.to_string() == of);
                own.map(|own| own.number.as_str().to_owned())
            }
            Self::RemovePasskey => {
                let own = user.passkeys.iter().find(|own| own.id.to_string() == of);
                own.map(|own| own.id.to_string())
            }
            Self::RemoveTotp => {
                let own = user.totps.iter().find(|own| own.id.to_string() == of);
                own.map(|own| own.id.to_string())
            }
            Self::RemoveLink => {
                let own = user
                    .provider_links
                    .iter()
                    .find(|own| own.id.to_string() == of);
                own.map(|own| own.provider.to_string())
            }
        }
    }

    /// The audit entry that it leaves; `None` if its use case writes its own.
    const fn entry(self) -> Option<ControlAction> {
        match self {
            Self::Disable => Some(ControlAction::UserDisable),
            Self::Enable => Some(ControlAction::UserEnable),
            Self::Delete => Some(ControlAction::UserDelete),
            Self::Unlock => None,
            Self::EndSessions
            | Self::EndSession
            | Self::RemoveEmail
            | Self::RemovePhone
            | Self::RemovePasskey
            | Self::RemoveTotp
            | Self::RemoveLink => Some(ControlAction::UserUpdate),
        }
    }

    /// The detail of the entry.
    fn detail(self, of: &str) -> Detail {
        let detail = Detail::default();
        let mut names = Self::ALL.iter();
        match (self.entry(), names.find(|(verb, _)| *verb == self)) {
            (Some(ControlAction::UserUpdate), Some((_, name))) if of.is_empty() => {
                detail.with("change", *name)
            }
            (Some(ControlAction::UserUpdate), Some((_, name))) => {
                detail.with("change", *name).with("of", of)
            }
            _ => detail,
        }
    }

    async fn run(
        self,
        service: &Service,
        caller: &Caller,
        user: UserId,
        of: &str,
    ) -> Result<(), Refusal> {
        let none = || Refusal::NotFound("object");
        let recorded = match self.entry() {
            Some(action) => {
                let detail = self.detail(of);
                service.recorded(caller, action, user, &detail).await?
            }
            None => caller.clone(),
        };
        let caller = &recorded;
        match self {
            Self::Disable => service.disable_user(caller, user, "").await.map(drop),
            Self::Enable => service.enable_user(caller, user).await.map(drop),
            Self::Unlock => service.unlock_user(caller, user).await.map(drop),
            Self::EndSessions => service.delete_all_sessions(caller, user).await.map(drop),
            Self::EndSession => {
                let id = of.parse::<SessionId>().map_err(|_malformed| none())?;
                let own = service
                    .list_sessions(caller, ListSessions::of(user))
                    .await?;
                if !own.sessions.iter().any(|session| session.id == id) {
                    return Err(none());
                }
                service
                    .delete_session(caller, SessionSelector::Id(id))
                    .await
            }
            Self::RemoveEmail => {
                let id = of.parse::<EmailId>().map_err(|_malformed| none())?;
                service.delete_email(caller, id).await.map(drop)
            }
            Self::RemovePhone => {
                let id = of.parse::<PhoneNumberId>().map_err(|_malformed| none())?;
                service.delete_phone_number(caller, id).await.map(drop)
            }
            Self::RemovePasskey => {
                let id = of
                    .parse::<WebauthnCredentialId>()
                    .map_err(|_malformed| none())?;
                service.delete_passkey(caller, id).await.map(drop)
            }
            Self::RemoveTotp => {
                let id = of.parse::<TotpId>().map_err(|_malformed| none())?;
                service.delete_totp(caller, id).await.map(drop)
            }
            Self::RemoveLink => {
                let id = of.parse::<ProviderLinkId>().map_err(|_malformed| none())?;
                service.delete_provider_link(caller, id).await.map(drop)
            }
            Self::Delete => service.delete_user(caller, user).await,
        }
    }
}

#[derive(Template)]
#[template(path = "user_action.html")]
struct ActionPage {
    frame: Frame,
    user: FullUser,
    name: String,
    /// The part of the user, and its id.
    subject: String,
    of: String,
    words: Words,
    /// Whether the id has to be typed.
    is_final: bool,
    wallets: usize,
    problems: Problems,
}

/// The part of the user that is meant.
#[derive(Deserialize)]
pub(crate) struct Part {
    #[serde(default)]
    of: String,
}

/// A user, and the part of the user that an action is about.
struct Subject {
    user: FullUser,
    of: String,
    name: String,
}

/// Finds them.
async fn subject(
    visit: &Visit,
    inside: &Inside,
    verb: Verb,
    id: &str,
    of: &str,
) -> Result<Subject, HttpResponse> {
    let user = find(visit, inside, id).await?;
    match verb.subject(&user, of) {
        Some(name) => Ok(Subject {
            user,
            of: of.to_owned(),
            name,
        }),
        None => Err(page::refused(visit, Refusal::NotFound("object").into())),
    }
}

fn shown(
    visit: &Visit,
    inside: &Inside,
    verb: Verb,
    subject: Subject,
    problems: Problems,
) -> HttpResponse {
    let Subject { user, of, name } = subject;
    let template = ActionPage {
        frame: inside.frame(visit, USERS),
        name: title(&user),
        subject: name,
        of,
        words: verb.words(),
        is_final: verb == Verb::Delete,
        wallets: user.wallets.len(),
        problems,
        user,
    };
    page(visit, template.problems.status(), &template)
}

/// `GET users/{id}/{action}`
pub(crate) async fn confirm(
    visit: Visit,
    address: Path<ActionAddress>,
    part: actix_web::web::Query<Part>,
) -> Shown {
    let inside = enter(&visit, &address.inside).await?;
    let Some(verb) = Verb::parse(&address.action) else {
        return Err(page::unknown(visit).await);
    };
    inside.ready(&visit, verb.action(), inside.world()).await?;
    let subject = subject(&visit, &inside, verb, &address.inside.id, &part.of).await?;
    Ok(shown(&visit, &inside, verb, subject, Problems::none()))
}

/// `POST users/{id}/{action}`
pub(crate) async fn act(visit: Visit, posted: Posted, address: Path<ActionAddress>) -> Shown {
    let (form, inside) = received(&visit, posted, &address.inside).await?;
    let Some(verb) = Verb::parse(&address.action) else {
        return Err(page::unknown(visit).await);
    };
    inside.ready(&visit, verb.action(), inside.world()).await?;
    let of = form.text("of").to_owned();
    let subject = subject(&visit, &inside, verb, &address.inside.id, &of).await?;
    let id = subject.user.profile.user.id;
    if verb == Verb::Delete && form.text("typed").trim() != id.to_string() {
        let invalid = Invalid::value("typed", "this is not the id of the user");
        let problems = Problems::of("The user was not deleted.", invalid);
        return Ok(shown(&visit, &inside, verb, subject, problems));
    }
    let (caller, part) = (inside.caller.clone(), of);
    let acted = visit.run(|service| async move { verb.run(&service, &caller, id, &part).await });
    match acted.await {
        Ok(()) if verb == Verb::Delete => Ok(done(&visit, verb.done(), &inside.path(USERS))),
        Ok(()) => {
            let to = inside.path(&format!("{USERS}/{id}"));
            Ok(done(&visit, verb.done(), &to))
        }
        Err(Refusal::Invalid(invalid)) => {
            let problems = Problems::of("Nothing was changed.", invalid);
            Ok(shown(&visit, &inside, verb, subject, problems))
        }
        Err(Refusal::LastSignInMethod) => {
            let message = "this is the only way in which the user can sign in";
            let problems = Problems::of("Nothing was changed.", Invalid::value("", message));
            Ok(shown(&visit, &inside, verb, subject, problems))
        }
        Err(Refusal::NotNow(message)) => {
            let problems = Problems::of("Nothing was changed.", Invalid::value("", message));
            Ok(shown(&visit, &inside, verb, subject, problems))
        }
        Err(refusal) => {
            let back = format!("{USERS}/{id}/{}", address.action);
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}
