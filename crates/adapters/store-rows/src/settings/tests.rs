use std::path::Path;

use tokio_postgres::config::SslMode;

use super::{Database, DatabaseUrlError, PostgresUrl};

fn postgres(url: &str) -> PostgresUrl {
    match url.parse().unwrap() {
        Database::Postgres(url) => *url,
        Database::Sqlite(path) => panic!("{} is no Postgres", path.display()),
    }
}

#[test]
fn a_sqlite_url_is_a_path() {
    for (url, path) in [
        ("sqlite:.vestry/vestry.db", "./.vestry/vestry.db"),
        ("sqlite:/var/lib/vestry.db", "/var/lib/vestry.db"),
        ("sqlite:///var/lib/vestry.db", "/var/lib/vestry.db"),
        ("sqlite:file:x", "./file:x"),
        ("sqlite:with space.db", "./with space.db"),
    ] {
        let database: Database = url.parse().unwrap();
        assert_eq!(database, Database::Sqlite(Path::new(path).to_path_buf()));
    }
}

#[test]
fn sqlite_has_no_database_that_is_not_a_file() {
    for url in [
        "sqlite:",
        "sqlite://",
        "sqlite::memory:",
        "sqlite:a.db?mode=memory",
        "sqlite:a\0b",
    ] {
        let refused = url.parse::<Database>();
        assert!(
            matches!(refused, Err(DatabaseUrlError::SqlitePath)),
            "{url}"
        );
    }
}

#[test]
fn another_scheme_is_refused() {
    for url in ["", "mysql://h/d", "/var/lib/vestry.db", "host=h user=u"] {
        let refused = url.parse::<Database>();
        assert!(matches!(refused, Err(DatabaseUrlError::Scheme)), "{url}");
    }
}

#[test]
fn the_ssl_modes_of_libpq_are_known() {
    for (mode, expected) in [
        ("disable", SslMode::Disable),
        ("prefer", SslMode::Prefer),
        ("require", SslMode::Require),
        ("verify-ca", SslMode::Require),
        ("verify-full", SslMode::Require),
    ] {
        let url = postgres(&format!(
            "postgres://u@h/d?connect_timeout=3&sslmode={mode}"
        ));
        assert_eq!(url.config.get_ssl_mode(), expected, "{mode}");
        assert_eq!(url.config.get_connect_timeout().unwrap().as_secs(), 3);
    }
    assert_eq!(
        postgres("postgres://h/d").config.get_ssl_mode(),
        SslMode::Prefer
    );
    let refused = "postgres://h/d?sslmode=allow".parse::<Database>();
    assert!(matches!(refused, Err(DatabaseUrlError::SslMode)));
}

#[test]
fn certificates_can_be_named() {
    let url = postgres("postgresql://h/d?sslrootcert=%2Fetc%2Fmy%20ca.pem&sslmode=verify-full");
    assert_eq!(url.root_certificates.unwrap(), Path::new("/etc/my ca.pem"));
}

#[test]
fn a_question_mark_in_the_password_is_not_the_end_of_the_address() {
    let url = postgres("postgres://u:p?sslmode=disable@h/d?sslmode=require");
    assert_eq!(url.config.get_password().unwrap(), b"p?sslmode=disable");
    assert_eq!(url.config.get_ssl_mode(), SslMode::Require);
}

/// OTP-9 and I9 for passwords of the operator: neither the value nor an error shows them.
#[test]
fn the_password_is_never_shown() {
    let url: Database = "postgres://someone:hunter2@h/d".parse().unwrap();
    assert!(!format!("{url:?}").contains("hunter2"));
    let refused = "postgres://someone:hunter2@h:port/d".parse::<Database>();
    let refused = refused.unwrap_err();
    assert!(!format!("{refused:?} {refused}").contains("hunter2"));
}
