//! The configuration of an App as one document: its settings, and the redirect URLs, identity providers and webhook endpoints of each
//! environment. It contains no secrets and no ids, so it can be kept in a repository and applied to another App.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::invalid::Reason;
use crate::provider::ConnectionSettings;
use crate::{Environment, Invalid};

/// Names under which other calls show or take secrets.
const SECRETS: [&str; 5] = ["client_secret", "key", "private_key", "secret", "secrets"];

/// A configuration document. A part that is absent is not described: applying the document leaves it as it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The settings of the App by name. One that is not listed has its default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Map<String, Value>>,
    /// The test environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<Section>,
    /// The live environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Section>,
}

/// The configuration of one environment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Section {
    /// The redirect URLs, by kind and URL.
    pub redirect_urls: Vec<RedirectUrl>,
    /// The identity providers by name.
    pub providers: BTreeMap<String, Provider>,
    /// The webhook endpoints, by URL and types.
    pub webhook_endpoints: Vec<WebhookEndpoint>,
}

/// A redirect URL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedirectUrl {
    /// `login`, `registration` or `invite`.
    pub kind: String,
    /// The URL.
    pub url: String,
    /// Whether calls that name no URL use it.
    #[serde(default)]
    pub default: bool,
}

/// A connection to an identity provider, without its client secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The id that the provider gave the App.
    pub client_id: String,
    /// The optional settings.
    #[serde(default)]
    pub settings: ConnectionSettings,
}

/// A webhook endpoint. Whether it is enabled is not configuration: the service disables endpoints that fail.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookEndpoint {
    /// The URL that events are sent to. It identifies the endpoint: another URL is another endpoint, with a secret of its own.
    pub url: String,
    /// Event types: names, `group.*`, or `*` for all.
    #[serde(default = "all_types")]
    pub types: Vec<String>,
    /// The display name.
    #[serde(default)]
    pub name: Option<String>,
}

fn all_types() -> Vec<String> {
    vec!["*".to_owned()]
}

/// A difference between two documents. An object that one of them lacks is `null` there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfigChange {
    /// The path of the value, such as `live.providers.google.client_id`.
    pub path: String,
    /// The value in the first document.
    pub from: Value,
    /// The value in the second document.
    pub to: Value,
}

impl Config {
    /// The section of an environment, if the document has it.
    pub const fn section(&self, environment: Environment) -> Option<&Section> {
        match environment {
            Environment::Test => self.test.as_ref(),
            Environment::Live => self.live.as_ref(),
        }
    }

    /// The place of the section of an environment.
    pub const fn section_mut(&mut self, environment: Environment) -> &mut Option<Section> {
        match environment {
            Environment::Test => &mut self.test,
            Environment::Live => &mut self.live,
        }
    }

    /// The differences to another document, in the parts that both have.
    pub fn changes_to(&self, wanted: &Self) -> Vec<ConfigChange> {
        let mut changes = Changes::default();
        if let (Some(from), Some(to)) = (&self.settings, &wanted.settings) {
            changes.fields("settings", from, to);
        }
        for environment in Environment::ALL {
            if let (Some(from), Some(to)) = (self.section(environment), wanted.section(environment))
            {
                changes.section(environment.as_str(), from, to);
            }
        }
        changes.0
    }
}

/// Explains the error of a name that stands for a secret elsewhere. Any other error is returned as it is.
#[must_use]
pub fn without_secrets(invalid: Invalid) -> Invalid {
    let name = invalid.param.rsplit(['.', ']']).next().unwrap_or_default();
    if invalid.reason != Reason::Unknown || !SECRETS.contains(&name) {
        return invalid;
    }
    Invalid::value(
        invalid.param,
        "a configuration document contains no secrets; set the secret of a provider with its own call",
    )
}

/// Pairs each webhook endpoint of one list with its counterpart in the other, by index: one with the same URL and types, or else one with
/// the same URL.
pub fn counterparts(
    from: &[WebhookEndpoint],
    to: &[WebhookEndpoint],
) -> Vec<(Option<usize>, Option<usize>)> {
    let mut pairs: Vec<Option<usize>> = vec![None; to.len()];
    let mut paired = BTreeSet::new();
    for needs_types in [true, false] {
        for (wanted, pair) in to.iter().zip(&mut pairs) {
            let fits = |known: &WebhookEndpoint| {
                known.url == wanted.url && (!needs_types || known.types == wanted.types)
            };
            if pair.is_none() {
                let mut free = from.iter().enumerate();
                let found = free.find(|(index, known)| !paired.contains(index) && fits(known));
                *pair = found.map(|(index, _)| index);
                paired.extend(*pair);
            }
        }
    }
    let removed = (0..from.len()).filter(|index| !paired.contains(index));
    let removed: Vec<_> = removed.map(|index| (Some(index), None)).collect();
    let kept = pairs.into_iter().enumerate();
    let kept = kept.map(|(index, pair)| (pair, Some(index)));
    removed.into_iter().chain(kept).collect()
}

#[derive(Default)]
struct Changes(Vec<ConfigChange>);

impl Changes {
    fn value(&mut self, path: String, from: Value, to: Value) {
        if from != to {
            self.0.push(ConfigChange { path, from, to });
        }
    }

    /// Compares two objects field by field; an absent field counts as `null`.
    fn fields(&mut self, path: &str, from: &Map<String, Value>, to: &Map<String, Value>) {
        let names: BTreeSet<_> = from.keys().chain(to.keys()).collect();
        for name in names {
            let value = |object: &Map<String, Value>| object.get(name).cloned().unwrap_or_default();
            self.value(format!("{path}.{name}"), value(from), value(to));
        }
    }

    /// Compares two objects of which one can be absent.
    fn object<T: Serialize>(&mut self, path: &str, from: Option<&T>, to: Option<&T>) {
        let document = |object: Option<&T>| {
            let value = object.map(serde_json::to_value);
            value.and_then(Result::ok).unwrap_or_default()
        };
        match (document(from), document(to)) {
            (Value::Object(from), Value::Object(to)) => self.fields(path, &from, &to),
            (from, to) => self.value(path.to_owned(), from, to),
        }
    }

    fn section(&mut self, path: &str, from: &Section, to: &Section) {
        let by_url = |urls: &[RedirectUrl]| -> BTreeMap<(String, String), RedirectUrl> {
            let named = urls
                .iter()
                .map(|url| ((url.kind.clone(), url.url.clone()), url.clone()));
            named.collect()
        };
        let (known, wanted) = (by_url(&from.redirect_urls), by_url(&to.redirect_urls));
        let all: BTreeSet<_> = known.keys().chain(wanted.keys()).collect();
        for name in all {
            let (kind, url) = name;
            let path = format!("{path}.redirect_urls[{kind} {url}]");
            self.object(&path, known.get(name), wanted.get(name));
        }
        let names: BTreeSet<_> = from.providers.keys().chain(to.providers.keys()).collect();
        for name in names {
            let path = format!("{path}.providers.{name}");
            match (from.providers.get(name), to.providers.get(name)) {
                (Some(known), Some(wanted)) => {
                    let [a, b] = [&known.client_id, &wanted.client_id].map(|id| id.clone().into());
                    self.value(format!("{path}.client_id"), a, b);
                    let settings = format!("{path}.settings");
                    self.object(&settings, Some(&known.settings), Some(&wanted.settings));
                }
                (known, wanted) => self.object(&path, known, wanted),
            }
        }
        let (known, wanted) = (&from.webhook_endpoints, &to.webhook_endpoints);
        for (before, after) in counterparts(known, wanted) {
            let before = before.and_then(|index| known.get(index));
            let after = after.and_then(|index| wanted.get(index));
            let url = before.or(after).map(|endpoint| endpoint.url.as_str());
            let path = format!("{path}.webhook_endpoints[{}]", url.unwrap_or_default());
            self.object(&path, before, after);
        }
    }
}

#[cfg(test)]
mod tests;
