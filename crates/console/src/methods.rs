//! The sign-in methods of an environment: which are on, what the others lack, and where they are changed.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use vestry_app::operators::TestMessage;
use vestry_app::platform::{ListedConnection, RedirectUrl};
use vestry_domain::Environment;
use vestry_domain::action::Action;
use vestry_domain::app::AppSettings;
use vestry_domain::provider::{ProviderKind, ProviderName};
use vestry_domain::wallet::WalletType;
use vestry_domain::{code, totp};

use crate::app::{Address, Inside, enter, received};
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::Done;
use crate::form::Posted;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, page};
use crate::problems::capitalised;
use crate::providers::{self, METHODS, WELL_KNOWN, connections};
use crate::submission::{NotSubmitted, Submitted};
use crate::visit::Visit;

/// Pages on which methods are changed, and what the links to them say.
const NOWHERE: (&str, &str) = ("", "");
const REDIRECT_URLS: (&str, &str) = ("redirect-urls", "Redirect URLs");
const SIGN_IN: (&str, &str) = ("settings#sign-in", "Settings");
const DOMAINS: (&str, &str) = ("settings#passkeys", "Settings");
const LIMITS: (&str, &str) = ("settings#limits", "Settings");

/// The calls of the built-in provider.
const TEST_PROVIDER: &str = "oauth/test";

/// Whether a method can be used, with its configuration or the missing part of it.
enum Found {
    On(String),
    /// A part of it works.
    Incomplete(String),
    Off(String),
}

/// A method that is part of the service.
struct Method {
    name: &'static str,
    /// The start of its calls.
    calls: &'static str,
    found: Found,
    limits: String,
    /// Where it is changed, and the text of the link.
    change: (&'static str, &'static str),
    /// Whether a test message tries it out.
    has_mail: bool,
}

impl Method {
    const fn tone(&self) -> &'static str {
        match self.found {
            Found::On(_) => "ok",
            Found::Incomplete(_) => "warn",
            Found::Off(_) => "",
        }
    }

    const fn state(&self) -> &'static str {
        match self.found {
            Found::On(_) => "On",
            Found::Incomplete(_) => "Incomplete",
            Found::Off(_) => "Off",
        }
    }

    fn configuration(&self) -> &str {
        match &self.found {
            Found::On(text) | Found::Incomplete(text) | Found::Off(text) => text,
        }
    }

    /// The page on which it is changed; empty if nothing can be.
    const fn page(&self) -> &'static str {
        self.change.0
    }

    const fn link(&self) -> &'static str {
        self.change.1
    }
}

/// An identity provider in the list.
struct ProviderRow {
    name: String,
    title: String,
    protocol: &'static str,
    tone: &'static str,
    state: &'static str,
    configuration: &'static str,
    may_try: bool,
}

#[derive(Template)]
#[template(path = "methods.html")]
struct MethodsPage {
    frame: Frame,
    methods: Vec<Method>,
    providers: Vec<ProviderRow>,
    may_change: bool,
    may_try: bool,
    may_send: bool,
    submission: String,
    /// A test message that was not sent: the cause, and the setting to change.
    failure: Option<(String, &'static str)>,
    by_api: ByApi,
}

/// What decides about the methods that are part of the service.
struct Given<'a> {
    is_test: bool,
    has_mailer: bool,
    has_sms: bool,
    has_breached_passwords: bool,
    settings: &'a AppSettings,
    urls: &'a [RedirectUrl],
}

/// `GET methods`
pub(crate) async fn list(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    show(&visit, &inside, None).await
}

/// `POST methods/mail`: sends a test message to the operator.
pub(crate) async fn send_mail(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::SendTestMessage, inside.world())
        .await?;
    let caller = inside.caller.clone();
    // Not one commit: the transport takes part in no transaction.
    let sent = visit.once(
        inside.caller.clone(),
        &form,
        move |service, _run| async move { service.send_test_mail(&caller).await },
    );
    let to = inside.path(METHODS);
    match sent.await {
        Ok(Submitted::First(TestMessage::Sent)) => Ok(done(&visit, Done::TestMailSent, &to)),
        Ok(Submitted::First(TestMessage::Captured)) => {
            Ok(done(&visit, Done::TestMailCaptured, &to))
        }
        Ok(Submitted::First(TestMessage::Failed { cause, advice })) => {
            show(&visit, &inside, Some((capitalised(&cause), advice))).await
        }
        Ok(Submitted::Repeated) => Ok(done(&visit, Done::Repeated, &to)),
        Err(NotSubmitted::Problem(problem)) => Err(page::refused(&visit, problem)),
        Err(NotSubmitted::Refused(refusal)) => Err(inside.refused(&visit, refusal, METHODS).await),
    }
}

async fn show(visit: &Visit, inside: &Inside, failure: Option<(String, &'static str)>) -> Shown {
    let known = connections(visit, inside).await?;
    let (settings, urls) = read(visit, inside).await?;
    let given = Given {
        is_test: inside.world().environment == Environment::Test,
        has_mailer: visit.service.has_mailer(),
        has_sms: visit.service.has_sms(),
        has_breached_passwords: visit.service.has_breached_passwords(),
        settings: &settings,
        urls: &urls,
    };
    let template = MethodsPage {
        methods: given.methods(),
        providers: provider_rows(inside, &known),
        may_change: inside.may(Action::SetProvider),
        may_try: inside.may(Action::TryProvider),
        may_send: inside.may(Action::SendTestMessage),
        submission: visit.new_submission(),
        failure,
        by_api: by_api(inside),
        frame: inside.frame(visit, METHODS),
    };
    Ok(page(visit, StatusCode::OK, &template))
}

async fn read(
    visit: &Visit,
    inside: &Inside,
) -> Result<(AppSettings, Vec<RedirectUrl>), HttpResponse> {
    let (by, world) = (inside.by.clone(), inside.world());
    let read = visit.run(|service| async move {
        let app = service.show_settings(&by, world.app_id).await?;
        let urls = service.list_redirect_urls(&by, world.into()).await?;
        Ok::<_, vestry_app::Refusal>((app.settings, urls))
    });
    match read.await {
        Ok(read) => Ok(read),
        Err(refusal) => Err(inside.refused(visit, refusal, "").await),
    }
}

impl Given<'_> {
    fn methods(&self) -> Vec<Method> {
        let mut methods = vec![
            self.email_code(),
            self.sms_code(),
            self.magic_link(),
            self.password(),
            self.passkey(),
            authenticator_app(),
            self.wallet(),
        ];
        if self.is_test {
            methods.push(Method {
                name: "Test provider",
                calls: TEST_PROVIDER,
                found: Found::On("Built in; calls no network".to_owned()),
                limits: String::new(),
                change: NOWHERE,
                has_mail: false,
            });
        }
        methods
    }

    /// What carries messages, or that nothing does. In test they are captured.
    fn transport(&self, is_set: bool, name: &str) -> Found {
        match (self.is_test, is_set) {
            (true, _) => Found::On("Messages are captured, not sent".to_owned()),
            (false, true) => Found::On(format!("The deployment has {name} transport")),
            (false, false) => Found::Off(format!("Missing: {name} transport of the deployment")),
        }
    }

    fn email_code(&self) -> Method {
        Method {
            name: "Email code",
            calls: "otps/email",
            found: self.transport(self.has_mailer, "a mail"),
            limits: code_limits(),
            change: SIGN_IN,
            has_mail: true,
        }
    }

    fn sms_code(&self) -> Method {
        let hourly = match self.settings.sms_per_hour {
            0 => "No hourly limit".to_owned(),
            limit => format!("{limit} per hour"),
        };
        let countries = match self.settings.sms_countries.len() {
            0 => "all countries".to_owned(),
            1 => "1 country".to_owned(),
            count => format!("{count} countries"),
        };
        Method {
            name: "SMS code",
            calls: "otps/sms",
            found: self.transport(self.has_sms, "an SMS"),
            limits: format!("{hourly}, {countries}"),
            change: LIMITS,
            has_mail: false,
        }
    }

    fn magic_link(&self) -> Method {
        let defaults = self.urls.iter().filter(|url| url.is_default);
        let defaults: Vec<_> = defaults.map(|url| url.kind.as_str()).collect();
        let urls = match self.urls.len() {
            1 => "1 redirect URL".to_owned(),
            count => format!("{count} redirect URLs"),
        };
        let has_mail = self.is_test || self.has_mailer;
        let found = if self.urls.is_empty() {
            Found::Off("Missing: a redirect URL".to_owned())
        } else if !has_mail {
            let text = "Missing: a mail transport of the deployment. Your backend can create links and send them.";
            Found::Incomplete(text.to_owned())
        } else if defaults.is_empty() {
            Found::On(format!("{urls}, no default: each call must name one"))
        } else {
            Found::On(format!("{urls}, defaults: {}", defaults.join(", ")))
        };
        let minutes = self.settings.magic_link_max_minutes;
        Method {
            name: "Magic link",
            calls: "magic_links",
            found,
            limits: format!("Valid {minutes} minutes at most"),
            change: REDIRECT_URLS,
            has_mail: true,
        }
    }

    fn password(&self) -> Method {
        let list = match self.has_breached_passwords {
            true => "New passwords are checked against a list of breached ones",
            false => "The deployment has no list of breached passwords",
        };
        Method {
            name: "Password",
            calls: "passwords",
            found: Found::On(list.to_owned()),
            limits: format!(
                "At least {} characters, lockout after {} failures in a row",
                self.settings.password_min_length,
                code::FAILURES_BEFORE_WAIT
            ),
            change: SIGN_IN,
            has_mail: false,
        }
    }

    fn passkey(&self) -> Method {
        Method {
            name: "Passkey",
            calls: "webauthn",
            found: self.domains("webauthn_domains", &self.settings.webauthn_domains),
            limits: format!(
                "User verification {}",
                self.settings.webauthn_user_verification.as_str()
            ),
            change: DOMAINS,
            has_mail: false,
        }
    }

    fn wallet(&self) -> Method {
        let [ethereum, solana] = [WalletType::Ethereum, WalletType::Solana]
            .map(|wallet_type| self.settings.sign_in_chains(wallet_type).join(", "));
        Method {
            name: "Wallet",
            calls: "wallets",
            found: self.domains("siwe_domains", &self.settings.siwe_domains),
            limits: format!("Ethereum chains {ethereum}; Solana {solana}"),
            change: DOMAINS,
            has_mail: false,
        }
    }

    /// The sites of a method. In test `localhost` always is one.
    fn domains(&self, setting: &str, listed: &[String]) -> Found {
        match listed {
            [] if self.is_test => Found::On(format!("localhost only; {setting} is empty")),
            [] => Found::Off(format!("Missing: {setting}")),
            listed => Found::On(listed.join(", ")),
        }
    }
}

fn authenticator_app() -> Method {
    Method {
        name: "Authenticator app",
        calls: "totps, second factor",
        found: Found::On("No configuration required".to_owned()),
        limits: format!(
            "{} per user, {} recovery codes",
            totp::MAX_PER_USER,
            totp::RECOVERY_CODES
        ),
        change: NOWHERE,
        has_mail: false,
    }
}

fn code_limits() -> String {
    let (shortest, longest) = code::EXPIRES_IN_MINUTES;
    let attempts = code::MAX_TRIES;
    format!("Valid {shortest} to {longest} minutes, {attempts} attempts")
}

fn by_api(inside: &Inside) -> ByApi {
    let world = inside.world();
    let (app, environment) = (world.app_id, world.environment);
    let path = format!("/v1/manage/apps/{app}/{environment}/providers");
    ByApi::new("GET", &path, "", format!("vestry provider list {app}"))
}

/// Every connection and, after them, the well-known providers without one.
fn provider_rows(inside: &Inside, known: &[ListedConnection]) -> Vec<ProviderRow> {
    let connected = |kind: &ProviderKind| {
        let mut known = known.iter();
        known.any(|one| one.connection.name.as_str() == kind.as_str())
    };
    let others = WELL_KNOWN.into_iter().filter(|kind| !connected(kind));
    let others = others.filter_map(|kind| ProviderName::parse(kind.as_str()).ok());
    let rows = known
        .iter()
        .map(|one| row(inside, &one.connection.name, Some(one)));
    rows.chain(others.map(|name| row(inside, &name, None)))
        .collect()
}

fn row(inside: &Inside, name: &ProviderName, known: Option<&ListedConnection>) -> ProviderRow {
    let (tone, state) = providers::state(known);
    ProviderRow {
        name: name.to_string(),
        title: providers::title(name).to_owned(),
        protocol: providers::protocol(name.kind()),
        tone,
        state,
        configuration: match known {
            None => "Missing: client id and secret",
            Some(known) if known.secret.is_none() => "Missing: client secret",
            Some(_) => "Client id and secret set",
        },
        may_try: providers::may_try(inside, known),
    }
}
