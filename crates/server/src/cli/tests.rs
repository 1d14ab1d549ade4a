use clap::CommandFactory;

use super::*;

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

/// Parses the arguments of `vestry`.
fn read(line: &str) -> Result<Cli, clap::Error> {
    let words = std::iter::once("vestry").chain(line.split(' '));
    Cli::try_parse_from(words)
}

#[test]
fn m_19_wrong_usage_is_reported_on_one_line() {
    for (line, expected) in [
        ("frobnicate", "unrecognized subcommand 'frobnicate'"),
        (
            "app create --json",
            "the following required arguments were not provided: <NAME>",
        ),
        ("key list shop", "invalid value 'shop' for '<APP>':"),
        ("app list --jsn", "unexpected argument '--jsn' found"),
    ] {
        let refused = wrong_usage(&read(line).unwrap_err());
        assert!(
            refused.starts_with(expected) && !refused.contains(['\n', '\u{1b}']),
            "{refused:?}"
        );
    }
}

/// The names of a command's visible subcommands, at every level.
fn visible(command: &clap::Command) -> Vec<String> {
    let below = command.get_subcommands().filter(|it| !it.is_hide_set());
    below
        .flat_map(|it| [vec![it.get_name().to_owned()], visible(it)].concat())
        .collect()
}

#[test]
fn pr_48_completions_name_every_visible_command() {
    let names = visible(&Cli::command());
    assert!(names.len() > 60, "{}", names.len());
    for shell in ["bash", "zsh", "fish"] {
        let Command::Completions(command) = read(&format!("completions {shell}")).unwrap().command
        else {
            panic!("completions {shell} is another command");
        };
        let script = command.script(Cli::command()).unwrap();
        for name in &names {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
    assert!(read("completions powershell").is_err());
}
