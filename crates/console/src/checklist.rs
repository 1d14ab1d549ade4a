//! The go-live checklist: what a live environment needs before users come.

use actix_web::HttpResponse;
use vestry_app::platform::{ListedConnection, RedirectUrl};
use vestry_domain::action::Action;
use vestry_domain::api_key::{ApiKey, ApiKeyKind};
use vestry_domain::extent::Extent;
use vestry_domain::webhook::Endpoint;
use vestry_domain::{Environment, Timestamp};

use crate::app::Inside;
use crate::visit::Visit;

/// The tasks, done and open.
pub(crate) struct Checklist {
    pub(crate) open: Vec<Task>,
    pub(crate) done: Vec<Task>,
}

/// A task of the list.
pub(crate) struct Task {
    pub(crate) name: &'static str,
    /// The state, or why the task matters.
    pub(crate) text: String,
    /// The page on which it is done, and the text of the link; empty if the reader has none.
    pub(crate) page: String,
    pub(crate) link: &'static str,
    is_done: bool,
}

impl Checklist {
    /// The list of a live environment.
    ///
    /// # Errors
    /// The page for a call that was refused.
    pub(crate) async fn of(visit: &Visit, inside: &Inside) -> Result<Option<Self>, HttpResponse> {
        if inside.world().environment != Environment::Live || !inside.may(Action::ReadApiKeys) {
            return Ok(None);
        }
        let (by, world) = (inside.by.clone(), inside.world());
        let found = visit.run(|service| async move { service.readiness(&by, world).await });
        let found = match found.await {
            Ok(found) => found,
            Err(refusal) => return Err(inside.refused(visit, refusal, "").await),
        };
        let mut tasks = vec![
            restricted_keys(&found.keys, visit.service.machine_time()),
            redirect_url(&found.redirect_urls),
            provider_secrets(&found.providers),
            transports(visit.service.has_mailer(), visit.service.has_sms()),
            webhook(&found.endpoints),
            remote_sink(visit.service.has_remote_sink()),
        ];
        for task in &mut tasks {
            task.page = match task.page.as_str() {
                "deployment" if inside.by.may(Action::ReadStatus, Extent::Deployment) => {
                    "/console/deployment#checkpoints".to_owned()
                }
                "deployment" => String::new(),
                page => inside.path(page),
            };
        }
        let (done, open) = tasks.into_iter().partition(|task| task.is_done);
        Ok(Some(Self { open, done }))
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len() + self.done.len()
    }
}

/// Something counted, such as `2 redirect URLs`.
fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

fn restricted_keys(keys: &[ApiKey], now: Timestamp) -> Task {
    let usable = || {
        keys.iter().filter(move |key| {
            let is_secret = key.kind == ApiKeyKind::Secret;
            is_secret && key.revoked_at.is_none() && !key.restrictions.has_expired(now)
        })
    };
    let full = usable().filter(|key| key.scopes.is_empty()).count();
    let text = match (usable().count(), full) {
        (0, _) => "No live key exists yet. Create one with the least access that its program needs.".to_owned(),
        (count, 0) => counted(count, "restricted key", "restricted keys"),
        (_, 1) => "1 key has full access. If stolen, it can sign with every wallet. Restrict it, then turn on require_named_scopes.".to_owned(),
        (_, full) => format!("{full} keys have full access. If stolen, they can sign with every wallet. Restrict them, then turn on require_named_scopes."),
    };
    Task {
        name: "Restrict live keys",
        text,
        page: "keys".to_owned(),
        link: "View keys",
        is_done: full == 0 && usable().count() > 0,
    }
}

fn redirect_url(urls: &[RedirectUrl]) -> Task {
    let defaults = urls.iter().filter(|url| url.is_default).count();
    Task {
        name: "Register a redirect URL",
        text: match urls.len() {
            0 => {
                "Magic links, password resets and identity providers lead only to registered URLs."
                    .to_owned()
            }
            count => format!(
                "{}, {}",
                counted(count, "URL", "URLs"),
                counted(defaults, "default", "defaults")
            ),
        },
        page: "redirect-urls".to_owned(),
        link: "View redirect URLs",
        is_done: !urls.is_empty(),
    }
}

fn provider_secrets(providers: &[ListedConnection]) -> Task {
    let names = |providers: Vec<&ListedConnection>| {
        let names = providers.iter().map(|known| known.connection.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let (set, missing): (Vec<_>, Vec<_>) =
        providers.iter().partition(|known| known.secret.is_some());
    let is_done = missing.is_empty();
    Task {
        name: "Set provider secrets",
        text: match (set.len(), is_done) {
            (_, false) => format!("Without a client secret: {}", names(missing)),
            (0, true) => "No identity provider is configured, so no secret is missing.".to_owned(),
            (_, true) => names(set),
        },
        page: "methods".to_owned(),
        link: "View methods",
        is_done,
    }
}

fn transports(has_mailer: bool, has_sms: bool) -> Task {
    let text = match (has_mailer, has_sms) {
        (true, true) => "The deployment has both transports.",
        (true, false) => "The deployment has no SMS transport: codes by SMS are refused in live.",
        (false, true) => {
            "The deployment has no mail transport: codes and links by e-mail are refused in live."
        }
        (false, false) => "The deployment has neither: codes and links are refused in live.",
    };
    Task {
        name: "Configure mail and SMS",
        text: text.to_owned(),
        page: "methods".to_owned(),
        link: "View transports",
        is_done: has_mailer && has_sms,
    }
}

fn webhook(endpoints: &[Endpoint]) -> Task {
    let enabled = endpoints
        .iter()
        .filter(|endpoint| endpoint.disabled.is_none())
        .count();
    Task {
        name: "Add a webhook endpoint",
        text: match enabled {
            0 => "Your backend is not notified of changes, such as disabled users and signatures."
                .to_owned(),
            count => counted(count, "enabled endpoint", "enabled endpoints"),
        },
        page: "webhooks".to_owned(),
        link: "View webhooks",
        is_done: enabled > 0,
    }
}

fn remote_sink(has_one: bool) -> Task {
    let text = match has_one {
        true => "Checkpoints are stored outside the database.",
        false => {
            "Checkpoints are only in the log of the service. Add a sink on a machine that administrators of this deployment cannot change (audit.sinks)."
        }
    };
    Task {
        name: "Add a remote checkpoint sink",
        text: text.to_owned(),
        page: "deployment".to_owned(),
        link: "View checkpoints",
        is_done: has_one,
    }
}
