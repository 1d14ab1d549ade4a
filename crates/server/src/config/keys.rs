//! All settings, with their types and defaults.

/// One setting.
pub(super) struct Key {
    /// Dotted name, as in the file; `a.b_c` is `VESTRY_A__B_C` in the environment.
    pub(super) name: &'static str,
    /// The type of the value.
    pub(super) kind: Kind,
    /// The default, written as in the environment; `None` if the setting is absent by default.
    pub(super) default: Option<&'static str>,
    /// Whether it can be set only in the environment, because it does not belong in a settings file.
    pub(super) environment_only: bool,
}

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A TOML string.
    Text,
    /// A TOML integer.
    Number,
    /// A TOML boolean.
    Switch,
    /// A TOML array of strings; separated by commas in the environment.
    List,
}

const fn key(name: &'static str, kind: Kind, default: Option<&'static str>) -> Key {
    Key {
        name,
        kind,
        default,
        environment_only: false,
    }
}

/// All settings. `deploy/vestry.example.toml` describes them; a test compares the two.
pub(super) const KEYS: &[Key] = &[
    key("database.url", Kind::Text, Some("sqlite:.vestry/vestry.db")),
    key("database.max_connections", Kind::Number, Some("10")),
    key("database.max_readers", Kind::Number, Some("4")),
    key("database.acquire_timeout", Kind::Number, Some("5")),
    key("database.connect_timeout", Kind::Number, Some("5")),
    key("database.synchronous", Kind::Text, Some("full")),
    key("database.prepared_statements", Kind::Switch, Some("true")),
    key("database.migrate_on_start", Kind::Switch, Some("false")),
    key(
        "database.allow_unsafe_durability",
        Kind::Switch,
        Some("false"),
    ),
    key("http.listen", Kind::Text, Some("127.0.0.1:8080")),
    key("http.base_url", Kind::Text, None),
    key("http.tls.cert", Kind::Text, None),
    key("http.tls.key", Kind::Text, None),
    key("http.trusted_proxies", Kind::List, Some("")),
    key("http.request_timeout", Kind::Number, Some("30")),
    key("http.keep_alive", Kind::Number, Some("75")),
    key("http.workers", Kind::Number, Some("0")),
    key("http.drain_delay", Kind::Number, Some("5")),
    key("http.shutdown_timeout", Kind::Number, Some("20")),
    key("console.enabled", Kind::Switch, Some("false")),
    key("console.base_url", Kind::Text, None),
    key("console.listen", Kind::Text, None),
    key("vault.kind", Kind::Text, Some("local")),
    key("vault.local.path", Kind::Text, Some(".vestry/root.key")),
    key("vault.local.sign_in_path", Kind::Text, None),
    Key {
        environment_only: true,
        ..key("vault.env.key", Kind::Text, None)
    },
    Key {
        environment_only: true,
        ..key("vault.env.sign_in_key", Kind::Text, None)
    },
    key("mail.kind", Kind::Text, Some("capture")),
    key("mail.smtp.url", Kind::Text, None),
    key("mail.smtp.from", Kind::Text, None),
    key("mail.smtp.ca_file", Kind::Text, None),
    key("sms.kind", Kind::Text, Some("capture")),
    key("sms.http.base_url", Kind::Text, None),
    key("sms.http.account_sid", Kind::Text, None),
    key("sms.http.auth_token", Kind::Text, None),
    key("sms.http.from", Kind::Text, None),
    key("outbound.allowed_networks", Kind::List, Some("")),
    key("limits.store", Kind::Text, Some("memory")),
    key("limits.test_per_minute", Kind::Number, Some("100")),
    key("limits.live_per_minute", Kind::Number, Some("1000")),
    key("passwords.memory_kib", Kind::Number, Some("19456")),
    key("passwords.iterations", Kind::Number, Some("2")),
    key("passwords.parallelism", Kind::Number, Some("1")),
    key("passwords.threads", Kind::Number, Some("0")),
    key("passwords.queue", Kind::Number, Some("64")),
    key("passwords.breach.kind", Kind::Text, Some("off")),
    key("passwords.breach.file", Kind::Text, None),
    key("limits.sends_per_identifier", Kind::Number, Some("0")),
    key("limits.failed_auth_per_minute", Kind::Number, Some("60")),
    key("limits.replicas", Kind::Number, Some("1")),
    key("outbox.worker", Kind::Switch, Some("true")),
    key("outbox.max_waiting", Kind::Number, Some("50000")),
    key("webhooks.worker", Kind::Switch, Some("true")),
    key("webhooks.max_in_flight", Kind::Number, Some("256")),
    key("webhooks.timeout", Kind::Number, Some("15")),
    key("audit.sinks", Kind::List, Some("log")),
    key("audit.http_token", Kind::Text, None),
    key("audit.checkpoint_seconds", Kind::Number, Some("60")),
    key("audit.require_anchor_minutes", Kind::Number, Some("0")),
    key("epoch.store", Kind::Text, Some("none")),
    key("log.format", Kind::Text, Some("json")),
    key("log.level", Kind::Text, Some("info")),
    key("log.requests", Kind::Text, Some("all")),
    key("telemetry.listen", Kind::Text, Some("127.0.0.1:9464")),
];

/// The setting with this name.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// The most similar known name, if any is close: for "did you mean".
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    KEYS.iter()
        .map(|key| (distance(key.name, name), key.name))
        .filter(|(distance, known)| *distance <= 3.max(known.len() / 4))
        .min()
        .map(|(_, known)| known)
}

/// The Levenshtein distance: the number of characters to insert, delete or replace.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, character) in one.chars().enumerate() {
        let mut diagonal = above;
        let mut left = above + 1;
        let mut next = vec![left];
        for (against, up) in other.iter().zip(row.iter().skip(1)) {
            let replaced = diagonal + usize::from(character != *against);
            left = replaced.min(left + 1).min(up + 1);
            next.push(left);
            diagonal = *up;
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
