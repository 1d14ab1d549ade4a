//! The form of an identity provider: its fields as text, and the connection that they describe.

use serde_json::{Map, Value};
use vestry_domain::provider::{AppleKey, Connection, ConnectionSettings, ProviderKind};
use vestry_domain::{Invalid, Secret};

use crate::by_api::quoted;
use crate::form::Form;

/// The fields as text. The client secret is not among them: no page shows it.
#[derive(Debug, Clone, Default)]
pub(super) struct Input {
    /// The name of a new issuer.
    pub(super) provider: String,
    pub(super) client_id: String,
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) userinfo_endpoint: String,
    pub(super) jwks_uri: String,
    pub(super) token_endpoint_auth_method: String,
    pub(super) tenants: String,
    pub(super) trust_email_verified: bool,
    pub(super) apple_team_id: String,
    pub(super) apple_key_id: String,
    pub(super) store_tokens: bool,
    pub(super) scopes: String,
}

impl Input {
    /// The fields of an existing connection.
    pub(super) fn of(connection: &Connection) -> Self {
        let of = &connection.settings;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let (apple_team_id, apple_key_id) = match &of.apple {
            Some(key) => (key.team_id.clone(), key.key_id.clone()),
            None => (String::new(), String::new()),
        };
        Self {
            provider: connection.name.to_string(),
            client_id: connection.client_id.clone(),
            issuer: text(&of.issuer),
            authorization_endpoint: text(&of.authorization_endpoint),
            token_endpoint: text(&of.token_endpoint),
            userinfo_endpoint: text(&of.userinfo_endpoint),
            jwks_uri: text(&of.jwks_uri),
            token_endpoint_auth_method: of
                .token_endpoint_auth_method
                .map_or_else(String::new, |method| method.as_str().to_owned()),
            tenants: of.tenants.join("\n"),
            trust_email_verified: of.trust_email_verified,
            apple_team_id,
            apple_key_id,
            store_tokens: of.store_tokens,
            scopes: of.scopes.join(" "),
        }
    }

    pub(super) fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).trim().to_owned();
        Self {
            provider: text("provider"),
            client_id: text("client_id"),
            issuer: text("issuer"),
            authorization_endpoint: text("authorization_endpoint"),
            token_endpoint: text("token_endpoint"),
            userinfo_endpoint: text("userinfo_endpoint"),
            jwks_uri: text("jwks_uri"),
            token_endpoint_auth_method: text("token_endpoint_auth_method"),
            tenants: text("tenants"),
            trust_email_verified: form.text("trust_email_verified") == "on",
            apple_team_id: text("apple_team_id"),
            apple_key_id: text("apple_key_id"),
            store_tokens: form.text("store_tokens") == "on",
            scopes: text("scopes"),
        }
    }

    /// The settings. Those that the form of this kind does not have stay as they are stored.
    pub(super) fn settings(
        &self,
        kind: ProviderKind,
        stored: ConnectionSettings,
    ) -> Result<ConnectionSettings, Invalid> {
        let text = |value: &String| (!value.is_empty()).then(|| value.clone());
        let mut settings = ConnectionSettings {
            authorization_endpoint: text(&self.authorization_endpoint),
            token_endpoint: text(&self.token_endpoint),
            userinfo_endpoint: text(&self.userinfo_endpoint),
            store_tokens: self.store_tokens,
            scopes: words(&self.scopes),
            ..stored
        };
        if !is_plain(kind) {
            let method = text(&self.token_endpoint_auth_method);
            let method = method.map(|method| method.parse()).transpose()?;
            settings.issuer = text(&self.issuer);
            settings.jwks_uri = text(&self.jwks_uri);
            settings.token_endpoint_auth_method = method;
        }
        match kind {
            ProviderKind::Apple => {
                settings.apple = Some(AppleKey {
                    team_id: self.apple_team_id.clone(),
                    key_id: self.apple_key_id.clone(),
                });
            }
            ProviderKind::Microsoft => settings.tenants = words(&self.tenants),
            ProviderKind::Oidc => settings.trust_email_verified = self.trust_email_verified,
            _ => {}
        }
        Ok(settings)
    }
}

/// Whether a provider has no issuer and no id tokens.
pub(super) const fn is_plain(kind: ProviderKind) -> bool {
    matches!(kind, ProviderKind::GitHub | ProviderKind::Discord)
}

/// The client secret of a form; `None` if none was typed. Browsers send a private key with other line ends than its file has.
pub(super) fn secret(form: &Form) -> Option<Secret<String>> {
    let typed = form.secret("client_secret");
    let typed = typed.expose().trim();
    (!typed.is_empty()).then(|| Secret::new(typed.replace("\r\n", "\n")))
}

/// Words that are separated by spaces, line ends or commas.
fn words(text: &str) -> Vec<String> {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_end_matches(','));
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// The settings that differ from their defaults, in JSON.
fn described(settings: &ConnectionSettings) -> Map<String, Value> {
    let Ok(Value::Object(mut described)) = serde_json::to_value(settings) else {
        return Map::new();
    };
    described.retain(|_, value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        _ => true,
    });
    described
}

/// The body of the call that sets a connection.
pub(super) fn body(client_id: &str, needs_secret: bool, settings: &ConnectionSettings) -> String {
    let mut body = Map::new();
    body.insert("client_id".to_owned(), client_id.into());
    if needs_secret {
        body.insert("client_secret".to_owned(), "CLIENT_SECRET".into());
    }
    body.insert("settings".to_owned(), Value::Object(described(settings)));
    Value::Object(body).to_string()
}

/// The options of the command that sets a connection.
pub(super) fn options(client_id: &str, settings: &ConnectionSettings) -> String {
    let secret = match settings.apple {
        Some(_) => "AuthKey.p8",
        None => "client.secret",
    };
    let mut options = format!(
        "--client-id {} --client-secret-file {secret}",
        quoted(client_id)
    );
    let method = settings.token_endpoint_auth_method;
    let method = method.map(|method| method.as_str().to_owned());
    for (name, value) in [
        ("issuer", &settings.issuer),
        ("authorization-endpoint", &settings.authorization_endpoint),
        ("token-endpoint", &settings.token_endpoint),
        ("userinfo-endpoint", &settings.userinfo_endpoint),
        ("jwks-uri", &settings.jwks_uri),
        ("token-endpoint-auth-method", &method),
    ] {
        if let Some(value) = value {
            options.push_str(&format!(" --{name} {}", quoted(value)));
        }
    }
    for (name, values) in [("tenant", &settings.tenants), ("scope", &settings.scopes)] {
        if !values.is_empty() {
            options.push_str(&format!(" --{name} {}", quoted(&values.join(","))));
        }
    }
    if let Some(AppleKey { team_id, key_id }) = &settings.apple {
        let (team, key) = (quoted(team_id), quoted(key_id));
        options.push_str(&format!(" --apple-team-id {team} --apple-key-id {key}"));
    }
    for (name, is_on) in [
        ("trust-email-verified", settings.trust_email_verified),
        ("store-tokens", settings.store_tokens),
    ] {
        if is_on {
            options.push_str(&format!(" --{name}"));
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use vestry_domain::ids::{AppId, Id};
    use vestry_domain::{Environment, Timestamp, World};

    use super::*;

    /// A form that is sent as it was filled changes nothing, whichever kind of provider it is about.
    #[test]
    fn a_form_keeps_every_setting() {
        let text = |text: &str| Some(text.to_owned());
        let common = ConnectionSettings {
            authorization_endpoint: text("https://a.example/authorize"),
            token_endpoint: text("https://a.example/token"),
            userinfo_endpoint: text("https://a.example/userinfo"),
            jwks_uri: text("https://a.example/jwks"),
            store_tokens: true,
            scopes: vec!["guilds".to_owned(), "a,b".to_owned()],
            ..ConnectionSettings::default()
        };
        let issuer = ConnectionSettings {
            issuer: text("https://a.example"),
            token_endpoint_auth_method: Some("client_secret_post".parse().unwrap()),
            ..common.clone()
        };
        let key = AppleKey {
            team_id: "TEAM".to_owned(),
            key_id: "KEY".to_owned(),
        };
        for (name, settings) in [
            ("github", common.clone()),
            ("discord", common),
            ("google", issuer.clone()),
            (
                "apple",
                ConnectionSettings {
                    apple: Some(key),
                    ..issuer.clone()
                },
            ),
            (
                "microsoft",
                ConnectionSettings {
                    tenants: vec!["t1".to_owned(), "t2".to_owned()],
                    ..issuer.clone()
                },
            ),
            (
                "acme",
                ConnectionSettings {
                    trust_email_verified: true,
                    ..issuer
                },
            ),
        ] {
            let connection = connection(name, settings);
            let input = Input::of(&connection);
            let stored = connection.settings.clone();
            let again = input.settings(connection.kind(), stored);
            assert_eq!(again.as_ref(), Ok(&connection.settings), "{name}");
        }
    }

    fn connection(name: &str, settings: ConnectionSettings) -> Connection {
        let start = Timestamp::from_unix(0);
        Connection {
            callback_id: Id::new(start, [1; 16]),
            world: World::new(AppId::new(start, [2; 16]), Environment::Test),
            name: name.parse().unwrap(),
            client_id: "id".to_owned(),
            settings,
            created_at: start,
            updated_at: start,
        }
    }

    #[test]
    fn words_are_read() {
        assert_eq!(words(" a, b\r\nc\t,"), ["a", "b", "c"]);
        assert!(words(" \n").is_empty());
    }

    #[test]
    fn calls_name_what_is_set() {
        let settings = ConnectionSettings {
            issuer: Some("https://a.example".to_owned()),
            trust_email_verified: true,
            scopes: vec!["x".to_owned(), "y".to_owned()],
            ..ConnectionSettings::default()
        };
        let body: Value = serde_json::from_str(&body("an id", false, &settings)).unwrap();
        let set = serde_json::json!({"issuer": "https://a.example", "trust_email_verified": true, "scopes": ["x", "y"]});
        assert_eq!(
            body,
            serde_json::json!({"client_id": "an id", "settings": set})
        );
        assert_eq!(
            options("an id", &settings),
            "--client-id 'an id' --client-secret-file client.secret --issuer https://a.example --scope x,y --trust-email-verified"
        );
    }
}
