use clap::CommandFactory;

use super::*;

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn changes_are_pairs() {
    assert_eq!(
        assignment("name=My = Shop"),
        Ok(("name".to_owned(), "My = Shop".to_owned()))
    );
    assert_eq!(assignment("name="), Ok(("name".to_owned(), String::new())));
    assert!(assignment("=x").is_err());
    assert!(assignment("name").is_err());
}

/// Parses the arguments of `vestry`.
fn read(line: &str) -> Result<Cli, clap::Error> {
    let words = std::iter::once("vestry").chain(line.split(' '));
    Cli::read(&words.map(OsString::from).collect::<Vec<_>>())
}

const APP: &str = "app_000000000000000000000000000";

/// Old scripts keep working: both spellings give the same command, in any order.
#[test]
fn m_19_the_app_comes_first_and_the_old_spelling_works() {
    for (now, before) in [
        (
            "users import APP live f --dry-run",
            "users import f --app APP --environment live --dry-run",
        ),
        (
            "users import APP live f --dry-run",
            "users import --environment=live --app=APP --dry-run f",
        ),
        (
            "users export APP test",
            "users export --app APP --environment test",
        ),
        ("provider list APP --json", "provider list --app APP --json"),
        (
            "provider remove APP live acme",
            "--config f provider remove acme --environment live --app APP",
        ),
        (
            "provider set APP live acme --client-id a --client-secret-file b",
            "provider set acme --app APP --environment live --client-id a --client-secret-file b",
        ),
    ] {
        let [now, before] = [now, before].map(|line| read(&line.replace("APP", APP)).unwrap());
        assert_eq!(
            format!("{:?}", now.command),
            format!("{:?}", before.command)
        );
    }
    for wrong in [
        "users import f --app",
        "users import f --app nobody --environment live",
        "key list --app APP",
    ] {
        assert!(read(&wrong.replace("APP", APP)).is_err(), "{wrong}");
    }
}

#[test]
fn m_19_wrong_usage_is_reported_on_one_line() {
    for (line, told) in [
        ("frobnicate", "unrecognized subcommand 'frobnicate'"),
        (
            "app create --json",
            "the following required arguments were not provided: <NAME>",
        ),
        ("key list nobody", "invalid value 'nobody' for '<APP>':"),
        ("app list --jsn", "unexpected argument '--jsn' found"),
    ] {
        let refused = wrong_usage(&read(line).unwrap_err());
        assert!(
            refused.starts_with(told) && !refused.contains(['\n', '\u{1b}']),
            "{refused:?}"
        );
    }
}
