use super::*;

fn parsed(arguments: &[&str]) -> Result<Request, Failure> {
    parse(
        &arguments
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect::<Vec<_>>(),
    )
}

#[test]
fn nothing_said_means_everything() {
    let request = parsed(&[]).unwrap();
    assert!(request.install && request.is_whole());
    assert!(parsed(&["--no-install"]).unwrap().is_whole());
}

#[test]
fn packages_and_filters_mean_a_part() {
    let request = parsed(&[
        "-p",
        "vestry-domain",
        "email",
        "--no-install",
        "--package",
        "vestry-app",
    ])
    .unwrap();
    assert_eq!(request.packages, ["vestry-domain", "vestry-app"]);
    assert_eq!(request.filters, ["email"]);
    assert!(!request.install && !request.is_whole());
}

#[test]
fn what_it_does_not_know_is_wrong_usage() {
    assert!(matches!(parsed(&["--release"]), Err(Failure::Usage(_))));
    assert!(matches!(parsed(&["-p"]), Err(Failure::Usage(_))));
}
