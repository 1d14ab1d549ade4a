use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use super::source::Entries;
use super::*;

const EXAMPLE: &str = include_str!("../../../../deploy/vestry.example.toml");

fn load(file: &str, variables: &[(&str, &str)]) -> Result<Settings, Failure> {
    let variables = variables
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let entries = Entries::from_parts(Some((Path::new("vestry.toml"), file)), variables)?;
    Settings::from_entries(&entries)
}

fn refusal(file: &str, variables: &[(&str, &str)]) -> String {
    load(file, variables)
        .expect_err("it must be refused")
        .to_string()
}

/// OPS-7: `deploy/vestry.example.toml` documents every setting and contains no unknown one.
#[test]
fn the_example_is_valid_and_names_every_key() {
    load(EXAMPLE, &[]).expect("the example is valid");
    let mut named = BTreeSet::new();
    collect("", &toml::from_str(EXAMPLE).unwrap(), &mut named);
    for key in keys::KEYS {
        if key.environment_only {
            assert!(EXAMPLE.contains(key.name), "{} is not documented", key.name);
        } else {
            assert!(named.remove(key.name), "{} is not in the example", key.name);
        }
    }
    assert_eq!(named, BTreeSet::new(), "in the example but not in KEYS");
}

/// Every key of the example follows a comment that describes it.
#[test]
fn the_example_explains_every_key() {
    let mut explained = false;
    for line in EXAMPLE.lines() {
        match line {
            comment if comment.starts_with('#') => explained = true,
            "" => explained = false,
            // A section, or a key right after a documented one, shares its comment.
            _ => assert!(
                explained || line.starts_with('['),
                "no comment above: {line}"
            ),
        }
        if line.starts_with('[') {
            explained = explained && line.contains('.');
        }
    }
}

fn collect(above: &str, table: &toml::Table, into: &mut BTreeSet<String>) {
    for (name, value) in table {
        let name = format!("{above}{name}");
        match value {
            toml::Value::Table(below) => collect(&format!("{name}."), below, into),
            _ => {
                into.insert(name);
            }
        }
    }
}

#[test]
fn without_a_file_the_defaults_hold() {
    let settings = load("", &[]).unwrap();
    assert_eq!(
        settings.database.database,
        Database::Sqlite("./.vestry/vestry.db".into())
    );
    assert_eq!(settings.limits.test_per_minute, 100);
    assert_eq!(settings.limits.live_per_minute, 1000);
    assert!(matches!(settings.limits.store, LimitStore::Memory));
    assert_eq!(settings.limits.failed_auth_per_minute, 60);
    assert_eq!(settings.limits.replicas.get(), 1);
    assert_eq!(settings.outbox.max_waiting, 50_000);
    assert!(matches!(settings.mail, MailSettings::Capture));
    assert!(matches!(settings.sms, SmsSettings::Capture));
    assert!(settings.outbound.allowed_networks.is_empty());
    let VaultSettings::Local(files) = settings.vault else {
        panic!("{:?}", settings.vault);
    };
    assert_eq!(files.root, Path::new(".vestry/root.key"));
    assert_eq!(files.sign_in, Path::new(".vestry/sign-in.key"));
    assert_eq!(settings.http.keep_alive, Duration::from_secs(75));
    assert_eq!(settings.http.drain_delay, Duration::from_secs(5));
    assert_eq!(settings.http.shutdown_timeout, Duration::from_secs(20));
    assert!(settings.http.base_url.is_none());
    assert_eq!(settings.log.format, LogFormat::Json);
}

#[test]
fn a_variable_overrides_the_file() {
    let file = "[limits]\ntest_per_minute = 7\nlive_per_minute = 8";
    let settings = load(file, &[("VESTRY_LIMITS__TEST_PER_MINUTE", "0")]).unwrap();
    assert_eq!(settings.limits.test_per_minute, 0);
    assert_eq!(settings.limits.live_per_minute, 8);
    let empty = load(file, &[("VESTRY_LIMITS__TEST_PER_MINUTE", "")]).unwrap();
    assert_eq!(empty.limits.test_per_minute, 7);
}

#[test]
fn lists_are_read_from_both() {
    let networks = |settings: Settings| settings.http.trusted_proxies.len();
    assert_eq!(
        networks(load("http.trusted_proxies = [\"10.0.0.0/8\", \"::1/128\"]", &[]).unwrap()),
        2
    );
    let variable = [(
        "VESTRY_HTTP__TRUSTED_PROXIES",
        "10.0.0.0/8, 192.168.0.0/16,::1/128",
    )];
    assert_eq!(networks(load("", &variable).unwrap()), 3);
}

/// Credentials exported for API clients configure nothing and break no command. This applies only to their exact names.
#[test]
fn credentials_in_the_environment_are_not_settings() {
    let variables = source::CREDENTIALS.map(|name| (name, "sk_test_x"));
    load("", &variables).unwrap();
    for (name, _) in variables {
        let longer = format!("{name}S");
        assert!(refusal("", &[(&longer, "x")]).contains(&longer));
        let in_file = name.strip_prefix("VESTRY_").unwrap().to_lowercase();
        let message = refusal(&format!("{in_file} = \"x\""), &[]);
        assert!(message.contains("unknown setting"), "{message}");
    }
}

#[test]
fn an_unknown_key_is_named_with_a_suggestion() {
    assert_eq!(
        refusal("[http]\nlistn = \"x\"", &[]),
        "unknown setting http.listn in vestry.toml; did you mean http.listen?"
    );
    assert_eq!(
        refusal("", &[("VESTRY_DATABASE__URI", "x")]),
        "unknown setting database.uri in VESTRY_DATABASE__URI; did you mean VESTRY_DATABASE__URL?"
    );
    assert_eq!(
        refusal("[telephone]\nnumber = 1", &[]),
        "unknown setting telephone in vestry.toml"
    );
    assert_eq!(
        refusal("http = 3", &[]),
        "unknown setting http in vestry.toml"
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_by_name() {
    for (file, message) in [
        (
            "limits.test_per_minute = \"many\"",
            "limits.test_per_minute in vestry.toml: must be a whole number without quotes",
        ),
        (
            "limits.test_per_minute = -1",
            "limits.test_per_minute in vestry.toml: must be a whole number from 0 to 4294967295",
        ),
        (
            "http.drain_delay = 1.5",
            "http.drain_delay in vestry.toml: must be a whole number without quotes",
        ),
        (
            "http.listen = \"localhost\"",
            "http.listen in vestry.toml: must be an address and port, such as 127.0.0.1:8080 or [::]:443",
        ),
        (
            "http.base_url = \"id.example.com\"",
            "http.base_url in vestry.toml: must be the public URL without a path, such as https://id.example.com",
        ),
        (
            "http.base_url = \"https://id.example.com/auth\"",
            "http.base_url in vestry.toml: must be the public URL without a path, such as https://id.example.com",
        ),
        (
            "http.tls.cert = \"x.pem\"",
            "http.tls.cert in vestry.toml: requires http.tls.key",
        ),
        (
            "http.trusted_proxies = [\"everybody\"]",
            "http.trusted_proxies in vestry.toml: must be networks such as 10.0.0.0/8",
        ),
        (
            "vault.kind = \"hsm\"",
            "vault.kind in vestry.toml: must be \"local\" or \"env\"",
        ),
        (
            "mail.kind = \"smtp\"",
            "mail.smtp.url is not set; set it in vestry.toml or VESTRY_MAIL__SMTP__URL",
        ),
        (
            "sms.kind = \"http\"",
            "sms.http.base_url is not set; set it in vestry.toml or VESTRY_SMS__HTTP__BASE_URL",
        ),
        (
            "outbound.allowed_networks = [\"home\"]",
            "outbound.allowed_networks in vestry.toml: must be networks such as 10.0.0.0/8",
        ),
        (
            "database.url = \"mysql://x\"",
            "database.url in vestry.toml: the database URL must begin with sqlite: or postgres://",
        ),
        (
            "database.url = \"postgres://u:hunter2@h/d?sslmode=prefer\"",
            "database.url in vestry.toml: sslmode=prefer and sslmode=allow fall back to plain text if the server, or an \
             attacker on the network path, says that TLS is not available; set sslmode=verify-full, with sslrootcert=FILE for \
             a private authority, or sslmode=disable to choose plain text",
        ),
        (
            "limits.store = \"memcached\"",
            "limits.store in vestry.toml: must be memory, database or redis://…",
        ),
        (
            "audit.sinks = [\"log\", \"s3://bucket\"]",
            "audit.sinks in vestry.toml: must be log, file:DIRECTORY, or http:URL such as http:https://anchor.example.com/vestry",
        ),
        (
            "audit.sinks = [\"http:https://anchor.example.com/\"]",
            "audit.http_token is not set; set it in vestry.toml or VESTRY_AUDIT__HTTP_TOKEN",
        ),
        (
            "audit.checkpoint_seconds = 0",
            "audit.checkpoint_seconds in vestry.toml: must be a whole number from 1 to 3600",
        ),
        (
            "audit.require_anchor_minutes = 10",
            "audit.require_anchor_minutes in vestry.toml: requires a sink other than log in audit.sinks, because logs may not be retained",
        ),
        (
            "audit.sinks = [\"file:/srv/anchor\"]\naudit.checkpoint_seconds = 31\naudit.require_anchor_minutes = 1",
            "audit.require_anchor_minutes in vestry.toml: must be at least twice audit.checkpoint_seconds",
        ),
        (
            "epoch.store = \"file:/srv/anchor\"",
            "epoch.store in vestry.toml: must be \"none\" or a file: entry of audit.sinks",
        ),
        (
            "audit.sinks = [\"file:/srv/anchor\"]\nepoch.store = \"/srv/anchor\"",
            "epoch.store in vestry.toml: must be \"none\" or a file: entry of audit.sinks",
        ),
        (
            "log.level = \"loud\"",
            "log.level in vestry.toml: must be \"error\", \"warn\", \"info\", \"debug\" or \"trace\"",
        ),
        (
            "vault.env.key = \"x\"",
            "vault.env.key in vestry.toml: can be set only in the environment, as VESTRY_VAULT__ENV__KEY",
        ),
        (
            "vault.local.sign_in_path = \".vestry/root.key\"",
            "vault.local.sign_in_path in vestry.toml: must differ from vault.local.path",
        ),
    ] {
        assert_eq!(refusal(file, &[]), message);
    }
}

/// OTP-9 in spirit: an error about the settings never repeats a value, because three of them contain passwords.
#[test]
fn a_refusal_does_not_repeat_the_value() {
    let secret = "hunter2hunter2";
    for file in [
        format!("database.url = \"mysql://u:{secret}@h/d\""),
        format!("limits.store = \"memcached://:{secret}@h\""),
        format!("database.url = \"postgres://u:{secret}@h/d"),
    ] {
        let message = refusal(&file, &[]);
        assert!(!message.contains(secret), "{message}");
    }
    let settings = load(
        &format!("database.url = \"postgres://u:{secret}@h/d\""),
        &[],
    )
    .unwrap();
    assert!(!format!("{settings:?}").contains(secret));
}

#[test]
fn unrelated_and_test_variables_are_ignored() {
    let variables = [
        ("VESTRYX", "1"),
        ("HOME", "/"),
        ("VESTRY_TEST_POSTGRES_URL", "postgres://x"),
    ];
    load("", &variables).unwrap();
}

#[test]
fn dev_defaults_do_not_override_configured_values() {
    let variables = [(OsString::from("VESTRY_LOG__FORMAT"), OsString::from("json"))];
    let mut entries = Entries::from_parts(None, variables).unwrap();
    entries.set_default("log.format", "pretty");
    entries.set_default("database.url", "sqlite:elsewhere.db");
    let settings = Settings::from_entries(&entries).unwrap();
    assert_eq!(settings.log.format, LogFormat::Json);
    assert_eq!(
        settings.database.database,
        Database::Sqlite("./elsewhere.db".into())
    );
}

#[test]
fn the_issuer_is_host_and_port_of_the_base_url() {
    let authority = |text: &str| text.parse::<BaseUrl>().unwrap().authority();
    assert_eq!(authority("https://id.example.com"), "id.example.com");
    assert_eq!(authority("https://id.example.com:443/"), "id.example.com");
    assert_eq!(authority("http://127.0.0.1:8080"), "127.0.0.1:8080");
    assert_eq!(authority("https://[::1]:9"), "[::1]:9");
    assert_eq!(
        "https://id.example.com/"
            .parse::<BaseUrl>()
            .unwrap()
            .to_string(),
        "https://id.example.com"
    );
}

/// docs/configuration.md lists every setting with its default.
#[test]
fn the_documentation_names_every_key_and_its_default() {
    const PAGE: &str = include_str!("../../../../docs/configuration.md");
    for key in keys::KEYS {
        let quoted = format!("`{}`", key.name);
        let line = PAGE
            .lines()
            .find(|line| line.starts_with('|') && line.contains(&quoted));
        let line = line.unwrap_or_else(|| panic!("{} is not in the table", key.name));
        if let Some(default) = key.default.filter(|default| !default.is_empty()) {
            let default = format!("`{default}`");
            assert!(line.contains(&default), "{} has another default", key.name);
        }
    }
}

/// By default the sign-in key is next to the root key. In the environment, one value can serve as both.
#[test]
fn the_sign_in_key_follows_the_root_key() {
    let local = |file| match load(file, &[]).unwrap().vault {
        VaultSettings::Local(files) => files,
        other => panic!("{other:?}"),
    };
    let beside = local("[vault.local]\npath = \"/run/keys/wallets.key\"");
    assert_eq!(beside.sign_in, Path::new("/run/keys/sign-in.key"));
    let elsewhere = local("[vault.local]\nsign_in_path = \"/etc/vestry/secrets.key\"");
    assert_eq!(elsewhere.root, Path::new(".vestry/root.key"));
    assert_eq!(elsewhere.sign_in, Path::new("/etc/vestry/secrets.key"));

    let environment = |variables: &[(&str, &str)]| match load("[vault]\nkind = \"env\"", variables)
        .unwrap()
        .vault
    {
        VaultSettings::Env { root, sign_in } => [root.expose().clone(), sign_in.expose().clone()],
        other => panic!("{other:?}"),
    };
    let root = ("VESTRY_VAULT__ENV__KEY", "one");
    let sign_in = ("VESTRY_VAULT__ENV__SIGN_IN_KEY", "other");
    assert_eq!(environment(&[root]), ["one", "one"]);
    assert_eq!(environment(&[root, sign_in]), ["one", "other"]);
}

/// PR-44: what systemd passes to a service applies where the setting is absent.
#[test]
fn pr_44_credentials_apply_where_the_setting_is_absent() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    std::fs::write(file("database-url"), "sqlite:/data/passed.db\n").unwrap();
    std::fs::write(file("root.key"), "").unwrap();
    std::fs::write(file("other"), "").unwrap();
    let passed = ("CREDENTIALS_DIRECTORY", directory.path().to_str().unwrap());
    let root_keys = |settings: Settings| match settings.vault {
        VaultSettings::Local(files) => (files.root, files.sign_in),
        VaultSettings::Env { .. } => panic!("root keys are in the environment"),
    };

    let settings = load("", &[passed]).unwrap();
    let database = |settings: &Settings| settings.database.database.clone();
    assert_eq!(
        database(&settings),
        Database::Sqlite("/data/passed.db".into())
    );
    // No sign-in key was passed, so it is next to the root key, as always.
    assert_eq!(root_keys(settings), (file("root.key"), file("sign-in.key")));

    std::fs::write(file("sign-in.key"), "").unwrap();
    let set = "database.url = \"sqlite:/data/set.db\"\nvault.local.path = \"/keys/root.key\"";
    let settings = load(set, &[passed]).unwrap();
    assert_eq!(database(&settings), Database::Sqlite("/data/set.db".into()));
    assert_eq!(
        root_keys(settings),
        ("/keys/root.key".into(), file("sign-in.key"))
    );
    let variable = ("VESTRY_DATABASE__URL", "sqlite:/data/variable.db");
    assert_eq!(
        database(&load("", &[passed, variable]).unwrap()),
        Database::Sqlite("/data/variable.db".into())
    );

    // A wrong value is named by its file and not repeated.
    std::fs::write(file("database-url"), "mysql://secret").unwrap();
    let refused = refusal("", &[passed]);
    let place = file("database-url").display().to_string();
    assert!(
        refused.contains(&place) && !refused.contains("secret"),
        "{refused}"
    );
}
