//! Database URLs.

use std::path::{Path, PathBuf};

use tokio_postgres::config::SslMode;
use vestry_store_rows::settings::{Database, DatabaseUrlError, PostgresUrl, Tls};

fn postgres(url: &str) -> PostgresUrl {
    match url.parse().unwrap() {
        Database::Postgres(url) => *url,
        Database::Sqlite(path) => panic!("{} is not a Postgres URL", path.display()),
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
fn sqlite_databases_must_be_plain_files() {
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
fn m_3_remote_connections_are_verified_by_default() {
    for url in [
        "postgres://u@db.example/d",
        "postgres://u@10.0.0.1/d",
        "postgres://u@[2001:db8::1]/d",
        "postgres://u@0.0.0.0/d",
        "postgres://u@127.1/d",
        "postgres://u@localhost.example/d",
        "postgres://u@127.0.0.1.example/d",
        // One remote host is enough, in any position.
        "postgres://u@localhost,db.example/d",
        "postgres://u@db.example,localhost/d",
        "postgres://u@%2Frun%2Fpostgresql,db.example/d",
        "postgres://u@localhost/d?host=db.example",
        "postgres:///d?host=db.example",
        "postgres:///d?h%6Fst=db.example",
        // The connection goes to the address; the certificate is for the name.
        "postgres://u@localhost/d?hostaddr=10.0.0.1",
        "postgres://u@db.example/d?hostaddr=127.0.0.1",
        "postgres:///d?hostaddr=10.0.0.1",
        "postgres://u@localhost,localhost/d?hostaddr=127.0.0.1,10.0.0.1",
        // In or after a password, this is not a parameter.
        "postgres://u:p?sslmode=disable@db.example/d",
        "postgres://db.example/d?sslmode=disable&application_name=a@db.example/d",
    ] {
        let verified = Tls::Verified { roots: None };
        assert_eq!(postgres(url).tls, verified, "{url}");
        assert_eq!(postgres(url).config.get_ssl_mode(), SslMode::Require);
    }
}

#[test]
fn m_3_local_connections_need_no_tls() {
    for url in [
        "postgres://u@localhost/d",
        "postgres://u@LocalHost:5433/d",
        "postgres://u@127.0.0.1/d",
        "postgres://u@127.8.9.10/d",
        "postgres://u@[::1]/d",
        "postgres://u@[::ffff:127.0.0.1]/d",
        "postgres://u@%2Frun%2Fpostgresql/d",
        "postgres:///d?host=/run/postgresql",
        "postgres:///d?host=%2Frun%2Fpostgresql",
        "postgres://u@localhost,127.0.0.1/d",
        "postgres://u@localhost/d?hostaddr=::1",
        "postgres:///d?hostaddr=127.0.0.1",
    ] {
        assert_eq!(postgres(url).tls, Tls::Off, "{url}");
        assert_eq!(postgres(url).config.get_ssl_mode(), SslMode::Disable);
        assert_eq!(postgres(url).warning(), None, "{url}");
    }
}

#[test]
fn m_3_sslmode_means_the_same_as_in_libpq() {
    let verified = Tls::Verified { roots: None };
    for (mode, expected) in [
        ("disable", Tls::Off),
        ("require", Tls::Unverified),
        ("verify-ca", verified.clone()),
        ("verify-full", verified.clone()),
        ("verify%2Dfull", verified),
    ] {
        for (host, key) in [("db.example", "sslmode"), ("localhost", "ssl%6Dode")] {
            let url = format!("postgres://u@{host}/d?connect_timeout=3&{key}={mode}");
            let url = postgres(&url);
            assert_eq!(url.tls, expected, "{host} {mode}");
            assert_eq!(url.config.get_connect_timeout().unwrap().as_secs(), 3);
        }
    }
}

#[test]
fn m_3_modes_that_fall_back_to_plain_text_are_refused() {
    for host in ["db.example", "localhost"] {
        for mode in ["prefer", "allow", "prefe%72"] {
            let url = format!("postgres://u:hunter2@{host}/d?sslmode={mode}");
            let refused = url.parse::<Database>().unwrap_err();
            assert!(matches!(refused, DatabaseUrlError::MayFallBack), "{mode}");
            let said = refused.to_string();
            assert!(said.contains("fall back to plain text"), "{said}");
            assert!(said.contains("sslmode=verify-full"), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
    for mode in ["", "full", "REQUIRE"] {
        let refused = format!("postgres://h/d?sslmode={mode}").parse::<Database>();
        assert!(matches!(refused, Err(DatabaseUrlError::SslMode)), "{mode}");
    }
}

#[test]
fn m_3_the_warning_about_weak_tls_does_not_reveal_the_url() {
    for (mode, expected) in [
        ("disable", Some("sslmode=disable")),
        ("require", Some("sslmode=require")),
        ("verify-ca", None),
        ("verify-full", None),
    ] {
        let url = format!("postgres://someone:hunter2@db.example/d?sslmode={mode}");
        let warning = postgres(&url).warning();
        assert_eq!(warning.is_some(), expected.is_some(), "{mode}");
        if let (Some(warning), Some(expected)) = (warning, expected) {
            assert!(warning.contains(expected), "{warning}");
            for kept in ["someone", "hunter2", "db.example"] {
                assert!(!warning.contains(kept), "{warning}");
            }
        }
        let stays = postgres(&format!("postgres://localhost/d?sslmode={mode}"));
        assert_eq!(stays.warning(), None, "{mode}");
    }
}

#[test]
fn sslrootcert_names_the_trusted_certificates() {
    let roots = Some(PathBuf::from("/etc/my ca.pem"));
    // libpq also verifies under `require` if a root certificate is given.
    for mode in ["", "&sslmode=require", "&sslmode=verify-full"] {
        let url = format!("postgresql://h/d?sslrootcert=%2Fetc%2Fmy%20ca.pem{mode}");
        let roots = roots.clone();
        assert_eq!(postgres(&url).tls, Tls::Verified { roots }, "{mode}");
    }
}

#[test]
fn a_question_mark_in_the_password_does_not_begin_the_parameters() {
    let url = postgres("postgres://u:p?sslmode=disable@h/d?sslmode=require");
    assert_eq!(url.config.get_password().unwrap(), b"p?sslmode=disable");
    assert_eq!(url.config.get_ssl_mode(), SslMode::Require);
}

/// OTP-9 and I9 for the operator's passwords: neither the value nor an error reveals them.
#[test]
fn the_password_is_never_revealed() {
    let url: Database = "postgres://someone:hunter2@h/d".parse().unwrap();
    assert!(!format!("{url:?}").contains("hunter2"));
    let refused = "postgres://someone:hunter2@h:port/d".parse::<Database>();
    let refused = refused.unwrap_err();
    assert!(!format!("{refused:?} {refused}").contains("hunter2"));
}
