//! What surrounds the content of a page: where the reader is, where they can go, and who they are.

use std::sync::Arc;

use vestry_app::Principal;
use vestry_domain::action::Action;
use vestry_domain::app::App;
use vestry_domain::extent::Extent;
use vestry_domain::ids::{AppId, UserId, WalletId};
use vestry_domain::operator::{Grants, Role};
use vestry_domain::{Environment, Timestamp, World};

use crate::assets;
use crate::flash::Flash;
use crate::form::token_of;
use crate::theme::Theme;
use crate::visit::{Signed, Visit};

/// The version of this build.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What surrounds a page for an operator.
pub(crate) struct Frame {
    /// The token of its forms.
    pub(crate) token: String,
    pub(crate) email: String,
    /// The operator's roles, in words.
    pub(crate) roles: String,
    /// The App and environment; `None` on pages of the deployment.
    pub(crate) place: Option<Place>,
    /// The current entry of the navigation, by its path.
    pub(crate) current: &'static str,
    pub(crate) flash: Option<Flash>,
    pub(crate) now: Timestamp,
    /// Path and query of the page.
    pub(crate) address: String,
    pub(crate) outer: Outer,
    links: Vec<Group>,
}

/// What surrounds a page for strangers too.
pub(crate) struct Outer {
    pub(crate) theme: Theme,
    /// The host and port at which operators reach the console.
    pub(crate) host: String,
    pub(crate) request_id: Arc<str>,
    pub(crate) version: &'static str,
}

/// The App and the environment that a page is about.
pub(crate) struct Place {
    pub(crate) app: App,
    pub(crate) environment: Environment,
    /// The Apps to switch to.
    pub(crate) others: Vec<App>,
}

/// A group of links in the navigation.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) links: Vec<Link>,
}

/// A link of the navigation.
pub(crate) struct Link {
    /// The last part of the path; also names the current entry.
    pub(crate) page: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) name: &'static str,
}

/// A page in the navigation, with the action that its readers must be allowed.
type Entry = (&'static str, &'static str, &'static str, Option<Action>);

/// Pages of the deployment.
const DEPLOYMENT: &[(&str, &[Entry])] = &[(
    "",
    &[
        ("", "overview", "Apps", None),
        (
            "operators",
            "users",
            "Operators",
            Some(Action::ReadOperators),
        ),
        (
            "management-keys",
            "key",
            "Management keys",
            Some(Action::ReadManagementKeys),
        ),
        (
            "deployment",
            "server",
            "Deployment",
            Some(Action::ReadStatus),
        ),
        ("me", "passkey", "Your account", None),
    ],
)];

/// Pages of an App and environment.
const APP: &[(&str, &[Entry])] = &[
    (
        "",
        &[
            ("", "overview", "Overview", None),
            (
                "quick-start",
                "bolt",
                "Quick start",
                Some(Action::ReadEvents),
            ),
        ],
    ),
    (
        "People",
        &[
            ("users", "users", "Users", Some(Action::SearchUsers)),
            ("wallets", "wallet", "Wallets", Some(Action::ListWallets)),
        ],
    ),
    (
        "Sign-in",
        &[
            ("methods", "door", "Methods", Some(Action::ReadProviders)),
            (
                "redirect-urls",
                "link",
                "Redirect URLs",
                Some(Action::ReadRedirectUrls),
            ),
        ],
    ),
    (
        "Integration",
        &[
            ("keys", "key", "API keys", Some(Action::ReadApiKeys)),
            ("webhooks", "hook", "Webhooks", Some(Action::ReadWebhooks)),
            ("events", "pulse", "Events", Some(Action::ReadEvents)),
            (
                "messages",
                "mail",
                "Messages",
                Some(Action::ControlTestEnvironment),
            ),
            (
                "clock",
                "clock",
                "Test clock",
                Some(Action::ControlTestEnvironment),
            ),
        ],
    ),
    (
        "Administration",
        &[
            ("audit", "book", "Audit log", Some(Action::ReadAuditLog)),
            (
                "settings",
                "sliders",
                "Settings",
                Some(Action::ReadSettings),
            ),
        ],
    ),
];

/// Pages that only test environments have.
const ONLY_IN_TEST: &[&str] = &["messages", "clock"];

impl Outer {
    pub(crate) fn of(visit: &Visit) -> Self {
        let origin = &visit.settings.origin;
        let host = origin
            .split_once("://")
            .map_or(origin.as_str(), |(_, host)| host);
        Self {
            theme: visit.theme,
            host: host.to_owned(),
            request_id: Arc::clone(&visit.request.id),
            version: VERSION,
        }
    }

    /// The theme that the reader chose over the browser's.
    pub(crate) fn forced_theme(&self) -> Option<&'static str> {
        (self.theme != Theme::System).then(|| self.theme.as_str())
    }

    /// The directory of static files.
    #[expect(clippy::unused_self, reason = "templates call methods of their values")]
    pub(crate) fn assets(&self) -> &'static str {
        assets::directory()
    }
}

impl Frame {
    /// The frame of a page of the deployment.
    pub(crate) fn new(visit: &Visit, signed: &Signed, current: &'static str) -> Self {
        let by = signed.session.principal();
        Self {
            token: token_of(&signed.token),
            email: signed.session.email.clone(),
            roles: roles(&signed.session.operator.grants),
            place: None,
            current,
            flash: visit.flash,
            now: visit.service.machine_time(),
            address: visit.address.clone(),
            outer: Outer::of(visit),
            links: by.map_or_else(Vec::new, |by| groups(DEPLOYMENT, &by, Extent::Deployment)),
        }
    }

    /// The same for a page of an App.
    pub(crate) fn in_place(self, by: &Principal, place: Place) -> Self {
        let world = World::new(place.app.id, place.environment);
        let mut links = groups(APP, by, Extent::World(world));
        if place.environment == Environment::Live {
            for group in &mut links {
                group
                    .links
                    .retain(|link| !ONLY_IN_TEST.contains(&link.page));
            }
        }
        Self {
            links,
            place: Some(place),
            ..self
        }
    }

    pub(crate) fn navigation(&self) -> &[Group] {
        &self.links
    }

    pub(crate) fn is_live(&self) -> bool {
        let environment = self.place.as_ref().map(|place| place.environment);
        environment == Some(Environment::Live)
    }

    /// The path below which the pages of the navigation are.
    pub(crate) fn base(&self) -> String {
        match &self.place {
            None => vestry_edge::CONSOLE.to_owned(),
            Some(place) => place.path(place.environment),
        }
    }

    /// The path of the page about a user.
    pub(crate) fn user_path(&self, user: &UserId) -> String {
        format!("{}/users/{user}", self.base())
    }

    /// The path of the page about a wallet.
    pub(crate) fn wallet_path(&self, wallet: &WalletId) -> String {
        format!("{}/wallets/{wallet}", self.base())
    }

    /// The name of the environment, in a sentence.
    pub(crate) fn environment(&self) -> &'static str {
        match self.is_live() {
            true => "live",
            false => "test",
        }
    }

    /// The same at the start of a sentence.
    pub(crate) fn environment_capital(&self) -> &'static str {
        match self.is_live() {
            true => "Live",
            false => "Test",
        }
    }

    /// The path of the page, to which its form is sent.
    pub(crate) fn path(&self) -> &str {
        self.address.split('?').next().unwrap_or_default()
    }

    /// The initials of the address, for the account button.
    pub(crate) fn initials(&self) -> String {
        let name = self.email.split('@').next().unwrap_or_default();
        let words = name
            .split(['.', '-', '_', '+'])
            .filter(|word| !word.is_empty());
        words
            .filter_map(|word| word.chars().next())
            .take(2)
            .collect::<String>()
            .to_uppercase()
    }
}

impl Place {
    /// The path of the pages of an environment.
    pub(crate) fn path(&self, environment: Environment) -> String {
        path(self.app.id, environment)
    }

    pub(crate) fn test(&self) -> String {
        self.path(Environment::Test)
    }

    pub(crate) fn live(&self) -> String {
        self.path(Environment::Live)
    }
}

/// The path of the pages of an App and environment.
pub(crate) fn path(app: AppId, environment: Environment) -> String {
    format!("{}/{app}/{}", vestry_edge::CONSOLE, environment.as_str())
}

fn groups(of: &[(&'static str, &[Entry])], by: &Principal, extent: Extent) -> Vec<Group> {
    let is_open = |action: Option<Action>| {
        action.is_none_or(|action| match extent {
            Extent::Deployment => by.may_somewhere(action),
            extent => by.may(action, extent),
        })
    };
    let groups = of.iter().map(|(name, entries)| Group {
        name,
        links: entries
            .iter()
            .filter(|(.., action)| is_open(*action))
            .map(|(page, icon, name, _)| Link { page, icon, name })
            .collect(),
    });
    groups.filter(|group| !group.links.is_empty()).collect()
}

/// Roles in words, such as `Owner` or `Developer of 2 Apps`.
pub(crate) fn roles(grants: &Grants) -> String {
    let mut parts = Vec::new();
    if let Some(role) = grants.in_all() {
        parts.push(match role {
            Role::Owner => "Owner".to_owned(),
            other => format!("{} of all Apps", capital(other)),
        });
    }
    for role in Role::ALL.into_iter().rev() {
        match grants.in_apps().filter(|(_, own)| *own == role).count() {
            0 => {}
            1 => parts.push(format!("{} of 1 App", capital(role))),
            many => parts.push(format!("{} of {many} Apps", capital(role))),
        }
    }
    parts.join(", ")
}

/// The name of a role, capitalised.
pub(crate) const fn capital(role: Role) -> &'static str {
    match role {
        Role::Viewer => "Viewer",
        Role::Developer => "Developer",
        Role::Admin => "Admin",
        Role::Owner => "Owner",
    }
}

#[cfg(test)]
mod tests {
    use vestry_domain::ids::Id;

    use super::*;

    #[test]
    fn roles_read_as_words() {
        let [a, b] = [1, 2].map(|byte| AppId::new(Timestamp::from_unix(0), [byte; 16]));
        for (grants, expected) in [
            (Grants::new(Role::Owner, None), "Owner"),
            (Grants::new(Role::Admin, None), "Admin of all Apps"),
            (Grants::new(Role::Viewer, Some(vec![a])), "Viewer of 1 App"),
            (
                Grants::new(Role::Developer, Some(vec![a, b])),
                "Developer of 2 Apps",
            ),
        ] {
            assert_eq!(roles(&grants.unwrap()), expected);
        }
    }
}
